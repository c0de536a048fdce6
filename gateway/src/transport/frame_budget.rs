//! The small frames of a connection that carry no request, such as pings: each costs almost as much work as a request, but
//! counts for no caller. No client needs many of them, so a connection with too many is closed.

use tokio::time::Instant;

/// The number of small frames at once.
const MAX_FRAMES: f64 = 200.0;

/// The number of further ones in each second.
const FRAMES_PER_SECOND: f64 = 10.0;

/// The length of a payload above which a part of a message isn't a small frame, in bytes.
pub(in crate::transport) const MAX_SMALL_BYTES: u64 = 127;

/// The small frames that a connection can still receive.
#[derive(Debug)]
pub(in crate::transport) struct FrameBudget {
    left: f64,
    refilled_at: Instant,
}

impl Default for FrameBudget {
    fn default() -> Self {
        Self { left: MAX_FRAMES, refilled_at: Instant::now() }
    }
}

impl FrameBudget {
    /// Counts small frames. False if there were too many.
    pub(in crate::transport) fn spend(&mut self, frames: u32) -> bool {
        if frames == 0 {
            return true;
        }
        let now = Instant::now();
        let refill = (now - self.refilled_at).as_secs_f64() * FRAMES_PER_SECOND;
        self.refilled_at = now;
        self.earn(refill);
        self.left -= f64::from(frames);
        self.left >= 0.0
    }

    /// Allows more frames, because there is a reason for them.
    pub(in crate::transport) fn earn(&mut self, frames: f64) {
        self.left = (self.left + frames).min(MAX_FRAMES);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn small_frames_are_limited_by_number_and_rate() {
        let mut budget = FrameBudget::default();
        assert!(budget.spend(150) && budget.spend(50) && budget.spend(0));
        assert!(!budget.spend(1));
        let mut slow = FrameBudget::default();
        for _ in 0..10_000 {
            assert!(slow.spend(1));
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        tokio::time::advance(Duration::from_secs(3600)).await;
        slow.earn(1e9);
        assert!(slow.spend(200) && !slow.spend(1), "unused ones don't add up");
    }
}
