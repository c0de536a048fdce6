//! Types that all parts of the gateway share.
//!
//! The modules are in reading order: a module uses only those above it.

// Exact JSON text, and a strict parser that rejects duplicate keys.
pub mod json;
// Text from plugins, clients and files, made safe to show; and "did you mean".
pub mod text;
// Names as types: plugins, tools, prompts, resources, digests, principals.
pub mod names;
// The plugins that are part of the gateway.
pub mod builtin_plugin;
// URIs in a form in which equivalent spellings are equal.
pub mod uri_form;
// Limits on the calls of callers and of tools.
pub mod call_rate;
// Roles: the callers that may see plugins, tools, prompts and resources.
pub mod roles;
// The caller that a request counts for.
pub mod caller;
// Budgets that callers share.
pub mod caller_budget;
// The processor time of a call.
pub mod cpu_time;
// Values of log fields.
pub mod log_field;
// A plugin's description of itself, as plain values.
pub mod manifest;
// Positions in traces (W3C Trace Context).
pub mod trace_context;
// One call: its context, its outcome and its errors.
pub mod call;
// How a plugin used its grants.
pub mod access_history;
// Secret strings, and how to find them in other text.
pub mod secret;
// The part of a plugin's configuration that the protocol needs.
pub mod policy;
// Diagnostics for operators.
pub mod diagnostic;
// Plugins' state, and the interface to what keeps it.
pub mod state;
// The interface to a store that several gateways share.
pub mod shared_store;
// The interface between the protocol and the host.
pub mod plugin;
// A fake plugin, for tests.
#[cfg(any(test, feature = "test-support"))]
pub mod test_support;
// Runs a corpus and fixed mutations of it, in place of a fuzzer.
#[cfg(any(test, feature = "test-support"))]
#[expect(clippy::unwrap_used, reason = "a test reports failures by panicking")]
pub mod seeded;
