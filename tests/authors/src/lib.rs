//! Tests of the errors and documentation that plugin authors see.
//!
//! `tests/mistakes.rs` and `tests/component.rs` compile likely mistakes and compare the compiler's errors with golden
//! files. The code in `docs/plugins.md` is compiled here, as doctests and in `tests/first_plugin.rs`. So is the code
//! in the README.

/// The page for plugin authors.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/plugins.md")]
pub struct PluginsPage;

/// The README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
