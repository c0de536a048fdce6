//! How much may be asked, how long a person has for it, and how much is kept meanwhile (2026-07-28, basic/patterns/mrtr:
//! security). None of it can be configured: whoever needs more asks for something that a person doesn't answer.

use std::time::Duration;

/// How often one call may ask.
pub(super) const ROUNDS: u32 = 8;

/// How long a question of the handshake era waits for its answer. The call's own time limit doesn't run meanwhile.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// How many questions of one session may be open at once: far more than anybody answers, and far fewer than the
/// requests that one connection may have running, so that there is always room for the answers.
pub const OPEN_QUESTIONS: usize = 64;

/// How long a state of the stateless era is good for.
pub(super) const LIFE: Duration = Duration::from_secs(600);

/// The longest state, sealed, in bytes. Clients send it back with everything else.
pub(super) const SEALED: usize = 256 << 10;

/// How many used states of one caller are remembered. When so many were used within [`LIFE`], there are no new ones for
/// that caller: none is forgotten before it can't be used any more.
pub(super) const SPENT: usize = 1 << 15;

/// A question to a model of more bytes isn't carried, and can't be asked again.
pub(super) const CARRIED: usize = 16 << 10;

/// The longest answer, in bytes: what a model says is kept until the call ends.
pub(super) const ANSWER: usize = 1 << 20;

/// The answers of one call that are kept, all together, in bytes.
pub(super) const ANSWERS: usize = 4 << 20;
