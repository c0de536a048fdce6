//! Requests with a token that isn't accepted: a peer that guesses is slowed down, and has to wait.
//!
//! A valid token is always accepted, because others can use the same address.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use moongate_auth::TokenProblem;
use moongate_model::call_rate::CallRate;
use moongate_model::caller::Caller;
use moongate_system::rate_table::RateTable;
use tokio::time::Instant;

/// The refused tokens of a peer that get an ordinary answer: a client with an outdated token repeats its request a few
/// times.
const FAILURE_RATE: &str = "10/min";

/// The delay of the answer to each further one.
pub(crate) const FAILURE_DELAY: Duration = Duration::from_secs(1);

/// The maximum number of peers that are remembered.
const MAX_PEERS: usize = 1024;

/// Counts refused tokens by peer. A peer is an address, or a /64 network of IPv6.
#[derive(Debug)]
pub(crate) struct FailedTokens {
    rate: CallRate,
    peers: Mutex<RateTable<Caller>>,
}

impl Default for FailedTokens {
    fn default() -> Self {
        let rate = CallRate::parse(FAILURE_RATE).expect("a valid rate");
        Self { rate, peers: Mutex::new(RateTable::new(MAX_PEERS)) }
    }
}

impl FailedTokens {
    /// Reports whether there were too many refused tokens.
    pub(crate) fn is_exceeded(&self, address: IpAddr) -> bool {
        let peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers.wait(Instant::now(), &Caller::from_address(address), self.rate).is_some()
    }

    /// Counts a refused token. If there were too many before it, returns the time after which the peer can try again.
    pub(crate) fn record(&self, address: IpAddr, problem: TokenProblem) -> Option<Duration> {
        // The holder of a token needs to learn that it has expired or was revoked. Nobody has one with a wrong signature,
        // and verifying it takes up to a millisecond.
        let is_guess = matches!(
            problem,
            TokenProblem::Unknown
                | TokenProblem::Malformed
                | TokenProblem::Signature
                | TokenProblem::Algorithm
                | TokenProblem::Issuer
        );
        if !is_guess {
            return None;
        }
        let (peer, now) = (Caller::from_address(address), Instant::now());
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = peers.wait(now, &peer, self.rate);
        if wait.is_none() {
            peers.add(now, &peer, self.rate);
        }
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> IpAddr {
        IpAddr::from(number.to_be_bytes())
    }

    #[tokio::test(start_paused = true)]
    async fn guesses_are_refused_by_peer_until_it_has_waited() {
        let failed = FailedTokens::default();
        let waits = |address: IpAddr, count: usize| {
            (0..count).filter_map(|_| failed.record(address, TokenProblem::Unknown)).collect::<Vec<_>>()
        };
        assert!(!failed.is_exceeded(address(1)));
        assert!(waits(address(1), 10).is_empty());
        assert!(failed.is_exceeded(address(1)) && !failed.is_exceeded(address(2)));
        assert_eq!(waits(address(1), 2), [Duration::from_secs(6); 2]);
        assert!(waits(address(2), 10).is_empty(), "another peer");
        let network = |host: u16| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, host]);
        let guessed = (0..11).filter_map(|host| failed.record(network(host), TokenProblem::Unknown));
        assert_eq!(guessed.count(), 1, "a network of IPv6 is one peer");
        for problem in [TokenProblem::Expired, TokenProblem::UnknownKey, TokenProblem::Inactive] {
            assert_eq!(failed.record(address(1), problem), None, "it isn't a guess");
        }
        for problem in [TokenProblem::Signature, TokenProblem::Algorithm, TokenProblem::Issuer] {
            assert!(failed.record(address(1), problem).is_some(), "no client has such a token");
        }
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(waits(address(1), 2).len(), 1);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert!(waits(address(1), 10).is_empty());
    }
}
