//! Requests with a token that isn't accepted: logs them, and slows down peers that guess.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use moongate_auth::TokenProblem;
use moongate_model::caller::Caller;
use tokio::time::Instant;

use moongate_system::log_interval::LogInterval;

/// The number of failures of a peer that aren't slowed down: a client with an outdated token repeats its request a few
/// times.
const FREE_FAILURES: u32 = 10;

/// The first delay, which doubles with each failure.
const MIN_DELAY: Duration = Duration::from_millis(50);

/// The longest delay.
const MAX_DELAY: Duration = Duration::from_secs(1);

/// The time after which the failures of a peer are forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// The maximum number of peers that are remembered.
const MAX_PEERS: usize = 1024;

/// Counts refused tokens by peer. A peer is an address, or a /64 network of IPv6.
#[derive(Debug, Default)]
pub(crate) struct FailedTokens(Mutex<FailedTokensState>);

#[derive(Debug, Default)]
struct FailedTokensState {
    peers: HashMap<Caller, PeerFailures>,
    log_interval: LogInterval,
}

#[derive(Debug, Clone, Copy)]
struct PeerFailures {
    count: u32,
    last: Instant,
}

impl FailedTokens {
    /// Records a refused token and returns the delay of its response.
    pub(crate) fn record(&self, address: IpAddr, problem: TokenProblem) -> Duration {
        let now = Instant::now();
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(failures) = state.log_interval.record(now, 1) {
            let reason = problem.description();
            tracing::warn!(%address, failures, "refused a bearer token: {reason}");
        }
        let peer = Caller::from_address(address);
        if state.peers.len() >= MAX_PEERS && !state.peers.contains_key(&peer) {
            state.peers.retain(|_, failures| now - failures.last < FORGET_AFTER);
            state.forget_oldest();
        }
        let failures = state.peers.entry(peer).or_insert(PeerFailures { count: 0, last: now });
        if now - failures.last >= FORGET_AFTER {
            failures.count = 0;
        }
        failures.last = now;
        failures.count = failures.count.saturating_add(1);
        delay(failures.count)
    }
}

impl FailedTokensState {
    /// Makes room for one more peer.
    fn forget_oldest(&mut self) {
        if self.peers.len() < MAX_PEERS {
            return;
        }
        let oldest = self.peers.iter().min_by_key(|(_, failures)| failures.last);
        if let Some(peer) = oldest.map(|(peer, _)| peer.clone()) {
            self.peers.remove(&peer);
        }
    }
}

/// The delay of the answer to this failure of a peer.
fn delay(failure: u32) -> Duration {
    match failure.checked_sub(FREE_FAILURES + 1) {
        None => Duration::ZERO,
        Some(doublings) => MAX_DELAY.min(MIN_DELAY.saturating_mul(2_u32.saturating_pow(doublings))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> IpAddr {
        IpAddr::from(number.to_be_bytes())
    }

    #[tokio::test(start_paused = true)]
    async fn guesses_are_slowed_down_by_peer_until_they_are_forgotten() {
        let failed = FailedTokens::default();
        let delays = |address: IpAddr, count: usize| {
            (0..count).map(|_| failed.record(address, TokenProblem::Unknown).as_millis()).collect::<Vec<_>>()
        };
        assert_eq!(delays(address(1), 10), [0; 10]);
        assert_eq!(delays(address(1), 7), [50, 100, 200, 400, 800, 1000, 1000]);
        assert_eq!(delays(address(2), 10), [0; 10], "another peer");
        let network = |host: u16| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, host]);
        assert_eq!(
            (0..11).map(|host| failed.record(network(host), TokenProblem::Unknown).as_millis()).last(),
            Some(50)
        );
        tokio::time::advance(FORGET_AFTER).await;
        assert_eq!(delays(address(1), 1), [0]);
    }

    #[tokio::test(start_paused = true)]
    async fn remembers_a_limited_number_of_peers() {
        let failed = FailedTokens::default();
        for number in 0..3 * u32::try_from(MAX_PEERS).unwrap() {
            tokio::time::advance(Duration::from_micros(1)).await;
            let _ = failed.record(address(number), TokenProblem::Unknown);
        }
        assert_eq!(failed.0.lock().unwrap().peers.len(), MAX_PEERS);
    }
}
