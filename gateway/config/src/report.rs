//! Diagnostics and the resolved configuration as operators read them, without secrets.

pub(crate) mod redact;
mod render;
mod resolved;
pub(crate) mod syntax;

pub use render::{ConfigSource, RenderStyle, render_diagnostics};
pub use resolved::resolved_config;
