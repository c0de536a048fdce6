//! Diagnostics and the resolved configuration as operators read them, without secrets.

pub(crate) mod redact;
mod render;
mod resolved;
pub(crate) mod syntax;

pub use render::{Source, Style, render};
pub use resolved::resolved;
