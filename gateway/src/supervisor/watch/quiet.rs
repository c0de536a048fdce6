//! How long to wait after something happened: until it is quiet, but not for ever.

use std::time::Duration;

use tokio::time::Instant;

/// After so long without anything more it is quiet: programs write a file in several steps.
pub(super) const QUIET: Duration = Duration::from_millis(100);

/// Who never stops writing is looked at anyway.
pub(super) const MOST: Duration = Duration::from_millis(500);

/// While things happen they are only counted up so often.
const SLICE: Duration = Duration::from_millis(25);

/// Things that happened shortly after one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Burst {
    first: Instant,
    last: Instant,
}

impl Burst {
    /// Something happened.
    pub(super) fn new(now: Instant) -> Self {
        Self { first: now, last: now }
    }

    /// Something more happened.
    pub(super) fn more(&mut self, now: Instant) {
        self.last = now;
    }

    /// When to look at what came of it, unless more happens.
    pub(super) fn due(&self) -> Instant {
        (self.last + QUIET).min(self.first + MOST)
    }

    /// When to ask whether more has happened.
    pub(super) fn next(&self, now: Instant) -> Instant {
        self.due().min(now + SLICE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_ends_when_it_is_quiet() {
        let begun = Instant::now();
        let mut burst = Burst::new(begun);
        assert_eq!(burst.due(), begun + QUIET);
        burst.more(begun + SLICE);
        assert_eq!(burst.due(), begun + SLICE + QUIET);
        assert_eq!(burst.next(begun + SLICE), begun + 2 * SLICE);
        assert_eq!(burst.next(begun + QUIET), begun + SLICE + QUIET);
    }

    #[test]
    fn a_burst_that_goes_on_ends_nevertheless() {
        let begun = Instant::now();
        let mut burst = Burst::new(begun);
        burst.more(begun + MOST - SLICE);
        assert_eq!(burst.due(), begun + MOST);
    }
}
