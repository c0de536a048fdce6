//! The zoo: tools that misbehave, each called from some test, and what the gateway does about those that no other
//! module is for. `tests/guests` has the tools; `limits` has those that run into a limit.

/// Every tool of the guests is called by a test, and no test calls one that isn't there.
mod inventory;
/// The promises of `SECURITY.md`.
mod promises;
/// Every text that a plugin can say, said in characters that nobody sees.
mod texts;
/// Calls of the system that no library makes.
mod wild;
