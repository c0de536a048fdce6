//! The zoo: misbehaving tools, and how the gateway handles those that no other module covers. The tools are in
//! `tests/guests`; tools that hit a limit are called in `limits`.

/// Every guest tool is called by a test, and no test calls a missing one.
mod inventory;
/// The promises of `SECURITY.md`.
mod security_promises;
/// Hidden characters in every string that a plugin can send.
mod hidden_characters;
/// System calls that no library makes.
mod host_calls;
