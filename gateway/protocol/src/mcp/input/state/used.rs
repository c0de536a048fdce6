//! The states that were used, as one bit for each state that a gateway issued (2026-07-28, basic/patterns/mrtr).
//!
//! States are numbered, so a client that is asked often needs a few kilobytes and can't use up what others need.

use std::collections::HashMap;

/// The number of states in a chunk.
const CHUNK_STATES: u64 = 4096;

/// The maximum number of chunks, 8 MiB in all. One gateway would have to issue 100,000 states a second to reach it.
const MAX_CHUNKS: usize = 16 * 1024;

/// The number of a state. It is unique, and the numbers of one gateway follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StateNumber {
    /// The gateway process that issued it: gateways can share a sealing key.
    pub(super) issuer: u64,
    /// The number of states that it issued before.
    pub(super) number: u64,
}

/// A state that can't be marked as used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mcp::input) enum MarkUsedError {
    /// It was used before.
    Already,
    /// No more states can be remembered. The client can retry.
    Full,
    /// The store that gateways share can't be used. The client can retry.
    StoreDown,
}

/// The used states that haven't expired.
#[derive(Debug, Default)]
pub(super) struct UsedStates(HashMap<(u64, u64), StateChunk>);

/// Consecutive states of one gateway.
#[derive(Debug)]
struct StateChunk {
    used: Box<[u64; (CHUNK_STATES / 64) as usize]>,
    /// The expiry of the used state that expires last.
    expires_at: u64,
}

impl UsedStates {
    /// Marks a state as used, until it expires.
    pub(super) fn mark(
        &mut self,
        state: StateNumber,
        expires_at: u64,
        now: u64,
    ) -> Result<(), MarkUsedError> {
        let key = (state.issuer, state.number / CHUNK_STATES);
        if !self.0.contains_key(&key) {
            self.0.retain(|_, chunk| chunk.expires_at > now);
            if self.0.len() >= MAX_CHUNKS {
                return Err(MarkUsedError::Full);
            }
        }
        let chunk = self.0.entry(key).or_insert_with(|| StateChunk { used: Box::new([0; _]), expires_at });
        chunk.expires_at = chunk.expires_at.max(expires_at);
        let place = state.number % CHUNK_STATES;
        let bit = 1 << (place % 64);
        match chunk.used.get_mut((place / 64) as usize) {
            Some(bits) if *bits & bit == 0 => {
                *bits |= bit;
                Ok(())
            }
            Some(_) | None => Err(MarkUsedError::Already),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(issuer: u64, number: u64) -> StateNumber {
        StateNumber { issuer, number }
    }

    #[test]
    fn each_state_is_used_once() {
        let mut used = UsedStates::default();
        let states = [(1, 0), (1, 1), (1, 63), (1, 64), (1, 4095), (1, 4096), (2, 0), (1, u64::MAX)];
        for (issuer, number) in states {
            assert_eq!(used.mark(state(issuer, number), 600, 0), Ok(()), "{issuer} {number}");
        }
        for (issuer, number) in states {
            let again = used.mark(state(issuer, number), 600, 0);
            assert_eq!(again, Err(MarkUsedError::Already), "{issuer} {number}");
        }
    }

    #[test]
    fn a_million_states_need_little_memory() {
        let mut used = UsedStates::default();
        for number in 0..1_000_000 {
            assert_eq!(used.mark(state(1, number), 600, 0), Ok(()));
        }
        assert_eq!(used.0.len(), 245); // 125 KiB
    }

    #[test]
    fn forgets_chunks_whose_states_have_all_expired() {
        let mut used = UsedStates::default();
        for (number, expires_at) in [(0, 600), (1, 700), (4096, 600)] {
            assert_eq!(used.mark(state(1, number), expires_at, 0), Ok(()));
        }
        assert_eq!(used.mark(state(2, 0), 1200, 650), Ok(()));
        assert_eq!(used.mark(state(1, 1), 700, 650), Err(MarkUsedError::Already));
        assert_eq!(used.0.len(), 2, "the chunk of state 4096 has expired");
    }

    #[test]
    fn the_number_of_chunks_is_limited() {
        let mut used = UsedStates::default();
        for issuer in 0..MAX_CHUNKS as u64 {
            assert_eq!(used.mark(state(issuer, 0), 600, 0), Ok(()));
        }
        assert_eq!(used.mark(state(u64::MAX, 0), 600, 0), Err(MarkUsedError::Full));
        assert_eq!(used.mark(state(7, 1), 600, 0), Ok(()), "known chunks have room");
        assert_eq!(used.mark(state(u64::MAX, 0), 1200, 600), Ok(()));
    }
}
