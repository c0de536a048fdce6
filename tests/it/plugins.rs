//! The included plugins and the SDK.

mod fetch;
mod memory;
mod other_languages;
mod sdk;
mod system_errors;
