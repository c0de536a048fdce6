//! Requests with a token that isn't accepted: a peer that guesses is slowed down, and has to wait.
//!
//! A valid token is always accepted, because others can use the same address. But while a peer has to wait, a token that
//! it hasn't used lately is checked only after a delay: a client that doesn't wait for the answer learns nothing. Only so
//! many checks of a peer are delayed at a time, and further ones wait for their turn.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use moongate_auth::TokenProblem;
use moongate_model::call_rate::CallRate;
use moongate_model::caller::Caller;
use moongate_model::names::Digest;
use moongate_system::rate_table::RateTable;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// The refused tokens of a peer that get an ordinary answer: a client with an outdated token repeats its request a few
/// times.
const FAILURE_RATE: &str = "10/min";

/// The delay before each further one is checked.
const FAILURE_DELAY: Duration = Duration::from_secs(1);

/// The maximum number of a peer's checks that are delayed at the same time, and so of its guesses in a second. It is more
/// than the clients behind one address send at once, because each token is delayed only once in a while.
const MAX_DELAYED_CHECKS: usize = 32;

/// The maximum number of peers that are remembered.
const MAX_PEERS: usize = 1024;

/// The time for which a token that a guessing peer used is checked without a delay.
const ACCEPTED_TIME: Duration = Duration::from_secs(600);

/// The maximum number of such tokens. Only valid ones are kept.
const MAX_ACCEPTED_TOKENS: usize = 4096;

/// Counts refused tokens by peer. A peer is an address, or a /64 network of IPv6.
#[derive(Debug)]
pub(crate) struct FailedTokens {
    rate: CallRate,
    peers: Mutex<RateTable<Caller>>,
    accepted: Mutex<HashMap<(Caller, Digest), Instant>>,
    /// The turns of the delayed checks of each peer, while it has any.
    turns: Mutex<HashMap<Caller, Weak<Semaphore>>>,
}

/// A token whose check was delayed.
#[derive(Debug)]
pub(crate) struct DelayedToken(Caller, Digest);

impl Default for FailedTokens {
    fn default() -> Self {
        let rate = CallRate::parse(FAILURE_RATE).expect("a valid rate");
        let peers = Mutex::new(RateTable::new(MAX_PEERS));
        Self { rate, peers, accepted: Mutex::default(), turns: Mutex::default() }
    }
}

impl FailedTokens {
    /// Waits before a token is checked, if there were too many refused ones from its peer. If the client disconnects
    /// while it waits, `abandoned` is called.
    pub(crate) async fn delay_check(
        &self,
        address: IpAddr,
        token: &[u8],
        abandoned: impl FnOnce(),
    ) -> Option<DelayedToken> {
        if !self.is_exceeded(address) {
            return None;
        }
        let token = (Caller::from_address(address), Digest::of(token));
        let accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner).get(&token).copied();
        if accepted.is_some_and(|at| at.elapsed() < ACCEPTED_TIME) {
            return None;
        }
        let (peer, digest) = token;
        let abandoned = AbandonedCheck::new(abandoned);
        let turns = self.turns(&peer);
        let turn = turns.acquire().await; // never closed
        tokio::time::sleep(FAILURE_DELAY).await;
        drop(turn);
        abandoned.finish();
        Some(DelayedToken(peer, digest))
    }

    /// The turns of a peer's delayed checks. They are kept by these checks alone.
    fn turns(&self, peer: &Caller) -> Arc<Semaphore> {
        let mut all = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turns) = all.get(peer).and_then(Weak::upgrade) {
            return turns;
        }
        all.retain(|_, turns| turns.strong_count() > 0);
        let turns = Arc::new(Semaphore::new(MAX_DELAYED_CHECKS));
        all.insert(peer.clone(), Arc::downgrade(&turns));
        turns
    }

    /// Keeps a token that was valid, so that its check isn't delayed again.
    pub(crate) fn accept(&self, DelayedToken(peer, digest): DelayedToken) {
        let mut accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        if accepted.len() >= MAX_ACCEPTED_TOKENS {
            accepted.clear();
        }
        accepted.insert((peer, digest), Instant::now());
    }

    /// Reports whether there were too many refused tokens.
    fn is_exceeded(&self, address: IpAddr) -> bool {
        let peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers.wait(Instant::now(), &Caller::from_address(address), self.rate).is_some()
    }

    /// Counts a refused token. If there were too many before it, returns the time after which the peer can try again.
    pub(crate) fn record(&self, address: IpAddr, problem: TokenProblem) -> Option<Duration> {
        // The holder of a token needs to learn that it has expired or was revoked. Nobody has one with a wrong signature,
        // and verifying it takes up to a millisecond. For an opaque token, it takes a request to its issuer.
        let is_guess = matches!(
            problem,
            TokenProblem::Unknown
                | TokenProblem::Malformed
                | TokenProblem::Signature
                | TokenProblem::Algorithm
                | TokenProblem::Issuer
                | TokenProblem::Inactive
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

/// The check of a token, which calls its function if it is dropped before it has finished: the client has disconnected.
pub(crate) struct AbandonedCheck<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> AbandonedCheck<F> {
    pub(crate) fn new(abandoned: F) -> Self {
        Self(Some(abandoned))
    }

    pub(crate) fn finish(mut self) {
        self.0 = None;
    }
}

impl<F: FnOnce()> Drop for AbandonedCheck<F> {
    fn drop(&mut self) {
        if let Some(abandoned) = self.0.take() {
            abandoned();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::FutureExt as _;
    use futures_util::future::join_all;

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
        for problem in [TokenProblem::Expired, TokenProblem::UnknownKey, TokenProblem::Revoked] {
            assert_eq!(failed.record(address(1), problem), None, "it isn't a guess");
        }
        for problem in
            [TokenProblem::Signature, TokenProblem::Algorithm, TokenProblem::Issuer, TokenProblem::Inactive]
        {
            assert!(failed.record(address(1), problem).is_some(), "no client has such a token");
        }
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(waits(address(1), 2).len(), 1);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert!(waits(address(1), 10).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn guesses_are_checked_late_and_count_if_nobody_waits() {
        let failed = FailedTokens::default();
        let count = Cell::new(0);
        let abandoned = || count.set(count.get() + 1);
        let begun = Instant::now();
        assert!(failed.delay_check(address(1), b"valid", abandoned).await.is_none(), "nobody has guessed");
        (0..10).for_each(|_| assert!(failed.record(address(1), TokenProblem::Unknown).is_none()));
        assert!(failed.delay_check(address(2), b"valid", abandoned).await.is_none(), "another peer");
        assert_eq!(begun.elapsed(), Duration::ZERO);
        assert!(failed.delay_check(address(1), b"valid", abandoned).now_or_never().is_none());
        assert_eq!(count.get(), 1, "the client didn't wait");
        let delayed = failed.delay_check(address(1), b"valid", abandoned).await.unwrap();
        assert_eq!((begun.elapsed(), count.get()), (FAILURE_DELAY, 1));
        failed.accept(delayed);
        assert!(failed.delay_check(address(1), b"valid", abandoned).await.is_none(), "it was valid");
        assert!(failed.delay_check(address(1), b"other", abandoned).await.is_some());
        assert_eq!((begun.elapsed(), count.get()), (2 * FAILURE_DELAY, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_guesses_of_a_peer_wait_at_a_time() {
        let failed = FailedTokens::default();
        for guess in 0..20 {
            assert_eq!(failed.record(address(guess / 10), TokenProblem::Unknown), None);
        }
        let check = |peer, guess: usize| {
            let token = guess.to_string();
            let failed = &failed;
            async move {
                assert!(failed.delay_check(address(peer), &token.into_bytes(), || {}).await.is_some());
                Instant::now()
            }
        };
        let begun = Instant::now();
        let checks = (0..2 * MAX_DELAYED_CHECKS).map(|guess| check(0, guess));
        let (checked, other) = tokio::join!(join_all(checks), check(1, 0));
        let at_once = checked.iter().filter(|end| **end - begun == FAILURE_DELAY).count();
        let later = checked.iter().filter(|end| **end - begun == 2 * FAILURE_DELAY).count();
        assert_eq!((at_once, later), (MAX_DELAYED_CHECKS, MAX_DELAYED_CHECKS));
        assert_eq!(other - begun, FAILURE_DELAY, "another peer");
    }
}
