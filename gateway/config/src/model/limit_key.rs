//! The limits that can keep a plugin from loading, with suggestions for higher values.

use std::time::Duration;

use bytesize::ByteSize;

use super::Limits;
use super::limits::{duration_to_toml, size_to_toml};

/// The longest duration that a limit can have: a day, in milliseconds.
const DAY_MILLIS: u64 = 86_400_000;

/// A limit that can keep a plugin from loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitKey {
    /// Size of the component's file, in bytes.
    Component,
    /// CPU time for compiling it, in milliseconds.
    CompileTime,
    /// Address space for compiling it, in bytes.
    CompileMemory,
    /// Time for the plugin to describe itself, in milliseconds.
    DescribeTimeout,
    /// CPU time, in milliseconds.
    CpuTime,
    /// Linear memory, in bytes.
    Memory,
    /// Elements of all WebAssembly tables together.
    TableElements,
    /// Handles held at once.
    Handles,
    /// The largest single message between plugin and gateway, in bytes.
    Transfer,
    /// Items of one list.
    Items,
    /// Size of one JSON Schema, in bytes.
    Schema,
    /// Nesting depth of one JSON Schema.
    SchemaDepth,
}

/// The unit of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LimitUnit {
    Bytes,
    Milliseconds,
    Items,
}

impl LimitKey {
    /// All limits.
    pub const ALL: [Self; 12] = [
        Self::Component,
        Self::CompileTime,
        Self::CompileMemory,
        Self::DescribeTimeout,
        Self::CpuTime,
        Self::Memory,
        Self::TableElements,
        Self::Handles,
        Self::Transfer,
        Self::Items,
        Self::Schema,
        Self::SchemaDepth,
    ];

    /// Its key, its unit and its largest value. A test compares them with the key table.
    fn spec(self) -> (&'static str, LimitUnit, u64) {
        match self {
            Self::Component => ("component", LimitUnit::Bytes, 1 << 30),
            Self::CompileTime => ("compile_time", LimitUnit::Milliseconds, DAY_MILLIS),
            Self::CompileMemory => ("compile_memory", LimitUnit::Bytes, 1 << 40),
            Self::DescribeTimeout => ("describe_timeout", LimitUnit::Milliseconds, DAY_MILLIS),
            Self::CpuTime => ("cpu_time", LimitUnit::Milliseconds, DAY_MILLIS),
            Self::Memory => ("memory", LimitUnit::Bytes, 1 << 32),
            Self::TableElements => ("table_elements", LimitUnit::Items, 10_000_000),
            Self::Handles => ("handles", LimitUnit::Items, 1_000_000),
            Self::Transfer => ("transfer", LimitUnit::Bytes, 1 << 30),
            Self::Items => ("items", LimitUnit::Items, 1_000_000),
            Self::Schema => ("schema", LimitUnit::Bytes, 1 << 30),
            Self::SchemaDepth => ("schema_depth", LimitUnit::Items, 100),
        }
    }

    /// Its key in `limits`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.spec().0
    }

    /// An amount in readable form, such as `64.0 MiB`.
    #[must_use]
    pub fn format_amount(self, amount: u64) -> String {
        match self.spec().1 {
            LimitUnit::Bytes => ByteSize::b(amount).display().iec().to_string(),
            LimitUnit::Milliseconds => humantime::format_duration(Duration::from_millis(amount)).to_string(),
            LimitUnit::Items => amount.to_string(),
        }
    }

    /// A TOML value that allows `wanted`: the default if it suffices. `None` means that no valid value suffices.
    #[must_use]
    pub fn suggest_value(self, wanted: u64) -> Option<String> {
        let (key, unit, max) = self.spec();
        let default = Limits::default().value_as_toml(key).and_then(|value| Some(unit_and_amount(&value)?.1));
        (wanted <= max).then(|| unit.suggestion(default, wanted, max))
    }
}

impl LimitUnit {
    /// The default if it suffices, or else a round number: a power of two for sizes, one digit and zeros otherwise.
    fn suggestion(self, default: Option<u64>, wanted: u64, max: u64) -> String {
        let round = || match self {
            Self::Bytes => wanted.checked_next_power_of_two().unwrap_or(wanted),
            Self::Milliseconds | Self::Items => {
                let step = 10_u64.pow(wanted.max(1).ilog10());
                wanted.div_ceil(step).saturating_mul(step)
            }
        };
        let amount = default.filter(|default| *default >= wanted).unwrap_or_else(|| round().min(max));
        match self {
            Self::Bytes => size_to_toml(ByteSize::b(amount)),
            Self::Milliseconds => duration_to_toml(Duration::from_millis(amount)),
            Self::Items => amount.to_string(),
        }
    }
}

/// Reads the value of a limit as `Limits` writes it.
fn unit_and_amount(value: &str) -> Option<(LimitUnit, u64)> {
    let text = value.trim_matches('"');
    if let Ok(number) = value.parse() {
        return Some((LimitUnit::Items, number));
    }
    match humantime::parse_duration(text) {
        Ok(duration) => {
            Some((LimitUnit::Milliseconds, u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
        }
        Err(_) => Some((LimitUnit::Bytes, text.parse::<ByteSize>().ok()?.as_u64())),
    }
}

impl Limits {
    /// A higher value, as TOML, for a limit that was too low by an unknown amount: the default, or a value above the
    /// current one.
    #[must_use]
    pub fn suggest_higher(&self, key: LimitKey) -> Option<String> {
        let (_, now) = unit_and_amount(&self.value_as_toml(key.as_str())?)?;
        key.suggest_value(now.saturating_add(1))
    }

    /// The same for the key of any limit. `None` means that it has no value.
    #[must_use]
    pub fn suggest_higher_for_key(&self, key: &str) -> Option<String> {
        if let Some(key) = LimitKey::ALL.into_iter().find(|its| its.as_str() == key) {
            return self.suggest_higher(key);
        }
        let (unit, now) = unit_and_amount(&self.value_as_toml(key)?)?;
        let default = Self::default().value_as_toml(key).and_then(|value| Some(unit_and_amount(&value)?.1));
        Some(unit.suggestion(default, now.saturating_add(1), u64::MAX))
    }
}

#[cfg(test)]
mod tests;
