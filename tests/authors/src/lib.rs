//! What authors of plugins meet.
//!
//! `tests/mistakes.rs` makes the likeliest mistakes, and holds what the compiler says of each against a file.
