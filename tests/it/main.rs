//! The whole gateway, as its users see it. One test binary; each module says what belongs there.

#![expect(clippy::unwrap_used, reason = "a test says by panicking what went wrong")]

/// The operator's listener, and the verbs that ask it.
mod admin;
/// What was probably meant, and what would help.
mod advice;
/// Tools that ask, called from the command line.
mod answers;
/// What a tool takes, and calls that give it something else.
mod arguments;
/// Bad input to the binary.
mod bad_input;
/// Calls that nobody waits for any more.
mod cancel;
/// How changes reach clients.
mod changes;
/// The verbs that look and call.
mod commands;
/// Names and resources that two plugins claim.
mod conflicts;
/// Plugins of earlier states of the contract.
mod contract;
/// Conversations whose plugin is replaced meanwhile.
mod conversations;
/// Hints that cure what they are said of.
mod cures;
/// Ways out of a granted directory, and changes to what may only be read.
#[cfg(unix)]
mod directories;
/// Which error is told when.
mod errors;
/// Files in granted directories.
#[cfg(unix)]
mod filesystem;
/// The plugin `fetch`, and the web server that it reads.
mod fetch;
mod first_hour;
/// What plugins and servers write that reads as the gateway's own.
mod forged;
/// The order of modules, and which of them may speak of which library.
mod floors;
/// Nothing reaches a guest that wasn't granted.
mod grants;
/// Instances that serve several calls.
mod reuse;
/// SIGHUP.
#[cfg(unix)]
mod hangup;
/// The revisions with a handshake.
mod handshake;
/// What a plugin asks for, beside what it is granted.
mod inspect;
/// What HTTP refuses before a message is read.
mod http_checks;
/// Questions to the client, in the revisions with a handshake.
mod input;
/// Questions to the client, in 2026-07-28.
mod input_stateless;
/// Many calls, one in ten of them hostile.
mod hostile;
/// JSON-RPC's corners, on both transports and in every revision.
mod json_rpc;
/// Clients that use the same ids at once.
mod identities;
/// What an operator sees while a gateway runs.
mod live;
/// Every limit, hit by a tool of the zoo.
mod limits;
/// The HTTP transport of 2024-11-05.
mod legacy_sse;
/// Files that are no usable plugin.
mod load_cases;
/// Several gateways on one `gateway.toml` at once.
mod many_gateways;
/// The plugin `memory`: one graph, whoever changes it.
mod memory;
/// What is counted.
mod metrics;
/// What is told of each call.
mod observed;
/// The pages that people begin with.
#[cfg(unix)]
mod readme;
/// Plugins whose lists change while they serve.
mod relist;
/// Plugins and configurations that change while the gateway serves.
mod reload;
/// Slips at the command line, and files that aren't what they should be.
mod slips;
/// What plugins of the SDK ask and keep.
mod sdk;
/// What plugins keep from one process to the next.
mod lasting_state;
/// Plugins in JavaScript and Python.
mod other_languages;
/// Where plugins' requests go.
mod outgoing;
/// Where mistakes are shown that only loading brings to light.
#[cfg(unix)]
mod places;
/// What plugins keep from one call to the next.
mod state;
/// 2026-07-28.
mod stateless;
/// Streams of a session over HTTP, for clients whose connections break.
mod streams;
/// One message a line, nothing else on stdout.
mod stdio;
/// How the gateway starts.
mod starting;
/// How the gateway ends.
mod stopping;
/// Files that change while the gateway serves.
mod watching;
/// What a service manager hears.
#[cfg(unix)]
mod systemd;
/// What the zoo's tools come to.
mod zoo;
/// `serve --trace`.
#[cfg(unix)]
mod trace;
/// Plugins that are replaced again and again while clients call them.
mod storm;
