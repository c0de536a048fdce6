//! The included plugins and the SDK.

mod author_errors;
mod exported_functions;
mod fetch;
mod memory;
mod other_languages;
mod hostile_sources;
mod registries;
mod remote_sources;
mod sdk;
mod signatures;
mod system_errors;
