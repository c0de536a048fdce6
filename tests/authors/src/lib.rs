//! What authors of plugins meet.
//!
//! `tests/mistakes.rs` and `tests/component.rs` make the likeliest mistakes, and hold what the compiler says of each
//! against a file. The code of `docs/plugins.md` is compiled here, as documentation tests and in `tests/first_plugin.rs`;
//! that of the README, too.

/// The page for authors.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/plugins.md")]
pub struct PluginsPage;

/// The page that everybody begins with.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
