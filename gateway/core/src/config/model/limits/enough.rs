//! Values for limits that were too low: for the line that cures it.

use std::time::Duration;

use bytesize::ByteSize;

use crate::config::model::limits::Limits;
use crate::config::model::limits::written::{size_text, time_text};
use crate::config::spec::keys::{self, Kind};

/// A limit that a plugin may come up against before it serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitKey {
    /// The component's file, in bytes.
    Component,
    /// Processor time for compiling it, in milliseconds.
    CompileTime,
    /// Addresses for compiling it, in bytes.
    CompileMemory,
    /// How long it takes to describe itself, in milliseconds.
    DescribeTimeout,
    /// Processor time, in milliseconds.
    CpuTime,
    /// Linear memory, in bytes.
    Memory,
    /// Elements of all tables together.
    TableElements,
    /// Handles held at once.
    Handles,
    /// What crosses between plugin and gateway at once, in bytes.
    Transfer,
    /// Items of one list.
    Items,
    /// The text of one schema, in bytes.
    Schema,
    /// How deep it nests.
    SchemaDepth,
}

impl LimitKey {
    /// All of them.
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

    /// How it is called in `limits`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Component => "component",
            Self::CompileTime => "compile_time",
            Self::CompileMemory => "compile_memory",
            Self::DescribeTimeout => "describe_timeout",
            Self::CpuTime => "cpu_time",
            Self::Memory => "memory",
            Self::TableElements => "table_elements",
            Self::Handles => "handles",
            Self::Transfer => "transfer",
            Self::Items => "items",
            Self::Schema => "schema",
            Self::SchemaDepth => "schema_depth",
        }
    }

    /// An amount in words, to stand in a sentence.
    #[must_use]
    pub fn shown(self, amount: u64) -> String {
        match self.kind() {
            Kind::Size(_) => ByteSize::b(amount).display().iec().to_string(),
            Kind::Duration(_) => humantime::format_duration(Duration::from_millis(amount)).to_string(),
            _ => amount.to_string(),
        }
    }

    /// A value, as TOML, that leaves some room where `wanted` is needed: the usual one, if that does. None: so much can't
    /// be allowed.
    #[must_use]
    pub fn with_room(self, wanted: u64) -> Option<String> {
        room(self.kind(), Limits::default().amount(self), wanted)
    }

    fn kind(self) -> Kind {
        let key = keys::LIMITS.iter().find(|key| key.name == self.as_str());
        key.map(|key| key.kind).expect("a test looks all of them up")
    }
}

/// A value that holds so much, as TOML: the `usual` one, or else a round one.
fn room(kind: Kind, usual: Option<u64>, wanted: u64) -> Option<String> {
    let (most, value): (u64, fn(u64) -> String) = match kind {
        Kind::Size(number) => (number.most, |bytes| size_text(ByteSize::b(bytes))),
        Kind::Duration(number) => {
            (number.most.saturating_mul(1000), |time| time_text(Duration::from_millis(time)))
        }
        Kind::Integer(number) => (number.most, |number| number.to_string()),
        _ => return None,
    };
    if wanted > most {
        return None;
    }
    let enough = match usual {
        Some(usual) if usual >= wanted => usual,
        _ => round_up(kind, wanted).min(most),
    };
    Some(value(enough))
}

/// To a number that people would choose: a size to a power of two, everything else to one digit with zeros.
fn round_up(kind: Kind, wanted: u64) -> u64 {
    match kind {
        Kind::Size(_) => wanted.checked_next_power_of_two().unwrap_or(wanted),
        _ => {
            let step = 10_u64.pow(wanted.max(1).ilog10());
            wanted.div_ceil(step).saturating_mul(step)
        }
    }
}

impl Limits {
    /// The value of a limit; none where what holds depends on something else.
    fn amount(&self, key: LimitKey) -> Option<u64> {
        let time = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Some(match key {
            LimitKey::Component => self.component.as_u64(),
            LimitKey::CompileTime => time(self.compile_time?),
            LimitKey::CompileMemory => self.compile_memory?.as_u64(),
            LimitKey::DescribeTimeout => time(self.describe_timeout),
            LimitKey::CpuTime => time(self.cpu_time),
            LimitKey::Memory => self.memory.as_u64(),
            LimitKey::TableElements => self.table_elements.into(),
            LimitKey::Handles => self.handles.into(),
            LimitKey::Transfer => self.transfer.as_u64(),
            LimitKey::Items => self.items.into(),
            LimitKey::Schema => self.schema.as_u64(),
            LimitKey::SchemaDepth => self.schema_depth.into(),
        })
    }

    /// A value, as TOML, for a limit that was too low, where nobody knows by how much: the usual one, or else more than
    /// now.
    #[must_use]
    pub fn more_than_now(&self, key: LimitKey) -> Option<String> {
        key.with_room(self.amount(key)?.saturating_add(1))
    }

    /// The same for the key of any limit; none: it has no value, or no greater one.
    #[must_use]
    pub fn more_of(&self, key: &str) -> Option<String> {
        let kind = keys::LIMITS.iter().find(|its| its.name == key)?.kind;
        let number = |limits: &Self| {
            let value = limits.value(key)?;
            let value = value.trim_matches('"');
            match kind {
                Kind::Size(_) => value.parse::<ByteSize>().ok().map(|size| size.as_u64()),
                Kind::Duration(_) => {
                    let time = humantime::parse_duration(value).ok()?;
                    u64::try_from(time.as_millis()).ok()
                }
                Kind::Integer(_) => value.parse().ok(),
                _ => None,
            }
        };
        room(kind, number(&Self::default()), number(self)?.saturating_add(1))
    }
}

#[cfg(test)]
mod tests;
