//! Limits on the calls of callers and of tools: their rates and the number of concurrent ones.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::ops::Range;
use std::time::Duration;

/// A number of calls in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallRate {
    /// The number of calls.
    pub calls: NonZeroU32,
    /// The period.
    pub period: RatePeriod,
    /// The maximum number of calls in quick succession after a pause.
    pub burst: NonZeroU32,
}

/// The period of a [`CallRate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RatePeriod {
    /// A second.
    Second,
    /// A minute.
    Minute,
    /// An hour.
    Hour,
    /// A day.
    Day,
}

impl CallRate {
    /// The most calls in a period.
    pub const MAX_CALLS: u32 = 1_000_000;

    /// Parses a number and a period, such as `60/min`. The burst is the number of calls. `None` means that the text has
    /// another form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (number, unit) = text.split_once('/')?;
        let calls =
            number.trim().parse::<NonZeroU32>().ok().filter(|calls| calls.get() <= Self::MAX_CALLS)?;
        let period = match unit.trim() {
            "s" | "sec" | "second" => RatePeriod::Second,
            "min" | "minute" => RatePeriod::Minute,
            "h" | "hour" => RatePeriod::Hour,
            "d" | "day" => RatePeriod::Day,
            _ => return None,
        };
        Some(Self { calls, period, burst: calls })
    }

    /// The time after which one more call is possible.
    #[must_use]
    pub fn interval(self) -> Duration {
        self.period.duration() / self.calls.get()
    }

    /// The time after which as many calls as the burst are possible again.
    #[must_use]
    pub fn refill_time(self) -> Duration {
        self.interval().saturating_mul(self.burst.get())
    }

    /// The one that allows more calls in the long run or, if they are the same, the larger burst.
    #[must_use]
    fn higher(self, other: Self) -> Self {
        match self.interval().cmp(&other.interval()) {
            Ordering::Less => self,
            Ordering::Equal if self.burst >= other.burst => self,
            Ordering::Equal | Ordering::Greater => other,
        }
    }
}

impl RatePeriod {
    fn duration(self) -> Duration {
        Duration::from_secs(match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 3_600,
            Self::Day => 86_400,
        })
    }
}

impl fmt::Display for CallRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let period = match self.period {
            RatePeriod::Second => "a second",
            RatePeriod::Minute => "a minute",
            RatePeriod::Hour => "an hour",
            RatePeriod::Day => "a day",
        };
        write!(f, "{} {period}", self.calls)?;
        if self.burst != self.calls { write!(f, " (burst {})", self.burst) } else { Ok(()) }
    }
}

/// A time to wait in whole seconds, at least one: a client that waits as long isn't refused again.
#[must_use]
pub fn whole_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

/// The limits of a caller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallerLimits {
    /// Tool calls, resource reads and prompt requests.
    pub calls: Option<CallRate>,
    /// Argument completions.
    pub completions: Option<CallRate>,
    /// The number of calls at the same time, running or waiting for their plugin.
    pub concurrency: Option<NonZeroU32>,
}

impl CallerLimits {
    /// The higher of both for each limit that both set, otherwise the one that is set.
    #[must_use]
    pub fn highest(self, other: Self) -> Self {
        let Self { calls, completions, concurrency } = other;
        let higher = |a: Option<CallRate>, b| a.zip(b).map(|(a, b)| a.higher(b)).or(a).or(b);
        Self {
            calls: higher(self.calls, calls),
            completions: higher(self.completions, completions),
            concurrency: self.concurrency.max(concurrency),
        }
    }

    /// These limits, with those of `other` in place of limits that aren't set.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let Self { calls, completions, concurrency } = other;
        Self {
            calls: self.calls.or(calls),
            completions: self.completions.or(completions),
            concurrency: self.concurrency.or(concurrency),
        }
    }
}

/// The rates of one tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolRate {
    /// Calls of all callers together.
    pub calls: Option<CallRate>,
    /// Calls of each caller.
    pub per_caller: Option<CallRate>,
}

/// The rates of a plugin's tools.
#[derive(Debug, Clone, Default)]
pub struct ToolRates {
    /// The rates of each tool that has none of its own.
    pub each: ToolRate,
    /// The rates of tools, by the plugin's own names.
    pub tools: BTreeMap<String, ToolRate>,
    /// The byte range of each of these names in the configuration file.
    pub places: BTreeMap<String, Range<usize>>,
}

impl ToolRates {
    /// The rates of a tool.
    #[must_use]
    pub fn of(&self, tool: &str) -> ToolRate {
        let own = self.tools.get(tool).copied().unwrap_or_default();
        ToolRate { calls: own.calls.or(self.each.calls), per_caller: own.per_caller.or(self.each.per_caller) }
    }

    /// Compares two sets of rates, ignoring their locations in the file.
    #[must_use]
    pub fn is_equivalent_to(&self, other: &Self) -> bool {
        let Self { each, tools, places: _ } = self;
        *each == other.each && *tools == other.tools
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_a_number_and_a_period() {
        for (text, shown, interval) in [
            ("60/min", "60 a minute", Duration::from_secs(1)),
            ("1000 / h", "1000 an hour", Duration::from_millis(3_600)),
            ("1/day", "1 a day", Duration::from_secs(86_400)),
            ("1000000/s", "1000000 a second", Duration::from_micros(1)),
        ] {
            let rate = CallRate::parse(text).unwrap();
            assert_eq!((rate.to_string().as_str(), rate.interval()), (shown, interval), "{text}");
        }
        for text in ["", "60", "60/", "/min", "0/min", "-1/min", "1.5/s", "60/m", "60/week", "1000001/s"] {
            assert_eq!(CallRate::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_highest_limits_are_those_that_allow_most() {
        let limits = |calls: &str, burst: u32, concurrency| CallerLimits {
            calls: CallRate::parse(calls)
                .map(|rate| CallRate { burst: NonZeroU32::new(burst).unwrap(), ..rate }),
            completions: None,
            concurrency: NonZeroU32::new(concurrency),
        };
        for (a, b, highest) in [
            (("60/min", 1, 2), ("2/s", 1, 1), ("2/s", 1, 2)),
            (("60/min", 9, 1), ("1/s", 5, 3), ("60/min", 9, 3)),
            (("1/h", 9, 0), ("", 1, 0), ("1/h", 9, 0)),
        ] {
            let [a, b, highest] =
                [a, b, highest].map(|(calls, burst, concurrency)| limits(calls, burst, concurrency));
            assert_eq!((a.highest(b), b.highest(a)), (highest, highest));
        }
        let each = limits("5/s", 5, 8);
        assert_eq!(limits("", 1, 2).or(each), limits("5/s", 5, 2));
    }

    #[test]
    fn a_tool_takes_what_it_does_not_set_from_all_tools() {
        let rate = |text| CallRate::parse(text);
        let rates = ToolRates {
            each: ToolRate { calls: rate("5/s"), per_caller: rate("1/s") },
            tools: [("web".to_owned(), ToolRate { calls: rate("9/s"), per_caller: None })].into(),
            places: BTreeMap::new(),
        };
        assert_eq!(rates.of("web"), ToolRate { calls: rate("9/s"), per_caller: rate("1/s") });
        assert_eq!(rates.of("other"), rates.each);
    }
}
