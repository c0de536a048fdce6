//! A time zone by its exact IANA name.

use std::fmt;

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

/// Zones whose law defines summer time as standard time and sets clocks back in winter. The built-in database has it
/// the other way round.
const INVERTED_DST_ZONES: &[&str] = &["Europe/Dublin", "Eire"];

/// A time zone of the built-in database.
#[derive(Debug, Clone)]
pub(crate) struct Zone {
    name: String,
    pub(crate) rules: TimeZone,
}

/// The error for an unknown time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownZone(String);

impl Zone {
    /// The zone with this name, which is case-sensitive.
    pub(crate) fn named(name: &str) -> Result<Self, UnknownZone> {
        match TimeZoneDatabase::bundled().get(name) {
            Ok(rules) if rules.iana_name() == Some(name) => Ok(Self { name: name.to_owned(), rules }),
            Ok(_) | Err(_) => Err(UnknownZone(name.to_owned())),
        }
    }

    /// Returns `true` if daylight saving time is in effect at this moment.
    pub(crate) fn saves_daylight(&self, at: Timestamp) -> bool {
        let forward = self.rules.to_offset_info(at).dst().is_dst();
        forward != INVERTED_DST_ZONES.contains(&self.name.as_str())
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for UnknownZone {
    /// Quoted, because Python shows a missing key like this.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.0;
        let mark = if name.contains('\'') && !name.contains('"') { '"' } else { '\'' };
        write!(f, "{mark}No time zone found with key ")?;
        for c in name.chars() {
            match c {
                '\\' => f.write_str("\\\\")?,
                '\'' if mark == '\'' => f.write_str("\\'")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                c if c.is_ascii_control() => write!(f, "\\x{:02x}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        write!(f, "{mark}")
    }
}

#[cfg(test)]
mod tests;
