//! The decision which requests are traced.
//!
//! Strangers don't decide: neither the sampled flag of a `traceparent` nor a chosen trace id matters, unless the operator
//! lets the gateway follow its callers. The number of traces in a second is limited either way, which also bounds what
//! tracing costs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use moongate_model::trace_context::{Sampling, SpanContext, SpanId};

use crate::settings::{ParentPolicy, SamplingSettings};

/// The time whose traces can begin at once, in nanoseconds.
const BURST_NANOS: u64 = 1_000_000_000;

/// Decides which requests are traced.
#[derive(Debug)]
pub(crate) struct Sampler {
    ratio: f64,
    parents: ParentPolicy,
    /// The time that one trace uses of a second, in nanoseconds.
    cost_nanos: u64,
    started: Instant,
    /// The time until which the traces so far have used the rate, in nanoseconds since the start.
    used_until: AtomicU64,
}

impl Sampler {
    pub(crate) fn new(settings: SamplingSettings) -> Self {
        let SamplingSettings { ratio, traces_per_second, parents } = settings;
        Self {
            ratio,
            parents,
            cost_nanos: 1_000_000_000 / u64::from(traces_per_second.max(1)),
            started: Instant::now(),
            used_until: AtomicU64::new(0),
        }
    }

    /// Decides about a request with this parent.
    pub(crate) fn sample(&self, parent: Option<SpanContext>) -> Sampling {
        let is_wanted = match (self.parents, parent) {
            (ParentPolicy::Followed, Some(parent)) => parent.sampling == Sampling::Sampled,
            (ParentPolicy::Followed, None) | (ParentPolicy::Ignored, _) => self.is_in_ratio(),
        };
        if is_wanted && self.is_in_rate() { Sampling::Sampled } else { Sampling::NotSampled }
    }

    fn is_in_ratio(&self) -> bool {
        self.ratio >= 1.0 || {
            let random = u64::from_be_bytes(SpanId::random().to_bytes()) as f64 / u64::MAX as f64;
            random < self.ratio
        }
    }

    fn is_in_rate(&self) -> bool {
        let now = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX) + BURST_NANOS;
        let use_more = |used_until: u64| {
            let used_until = used_until.max(now - BURST_NANOS) + self.cost_nanos;
            (used_until <= now).then_some(used_until)
        };
        self.used_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, use_more).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(ratio: f64, traces_per_second: u32, parents: ParentPolicy) -> Sampler {
        Sampler::new(SamplingSettings { ratio, traces_per_second, parents })
    }

    fn sampled(sampler: &Sampler, parent: Option<&str>) -> bool {
        sampler.sample(parent.and_then(SpanContext::parse)) == Sampling::Sampled
    }

    const YES: Option<&str> = Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    const NO: Option<&str> = Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00");

    #[test]
    fn strangers_decide_nothing() {
        let all = sampler(1.0, 1_000, ParentPolicy::Ignored);
        assert!([None, YES, NO].into_iter().all(|parent| sampled(&all, parent)));
        let none = sampler(0.0, 1_000, ParentPolicy::Ignored);
        assert!(![None, YES, NO].into_iter().any(|parent| sampled(&none, parent)));
    }

    #[test]
    fn callers_are_followed_if_the_operator_wants_it() {
        let none = sampler(0.0, 1_000, ParentPolicy::Followed);
        assert_eq!([None, YES, NO].map(|parent| sampled(&none, parent)), [false, true, false]);
        let all = sampler(1.0, 1_000, ParentPolicy::Followed);
        assert_eq!([None, YES, NO].map(|parent| sampled(&all, parent)), [true, true, false]);
    }

    #[test]
    fn ratio_is_roughly_kept() {
        let half = sampler(0.5, 1_000_000, ParentPolicy::Ignored);
        let count = (0..10_000).filter(|_| sampled(&half, None)).count();
        assert!((4_000..6_000).contains(&count), "{count}");
    }

    #[test]
    fn rate_bounds_a_burst() {
        let few = sampler(1.0, 5, ParentPolicy::Followed);
        let count = (0..1_000).filter(|_| sampled(&few, YES)).count();
        assert!((5..=6).contains(&count), "{count}");
    }
}
