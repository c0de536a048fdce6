//! Input from the client: what a plugin asks of the person, the model or the host (2026-07-28, basic/patterns/mrtr;
//! 2025-11-25, client/elicitation, client/sampling, client/roots).

mod peer;

pub use peer::{AskError, Asking, Peer};
