//! Numbers with units, and without.

use std::time::Duration;

use bytesize::ByteSize;
use toml::de::DeValue;

use crate::config::spec::keys::{Key, Kind, LEAST_WITHOUT_UNIT, Number};
use crate::config::model::diagnostic::{Problem, quoted};
use crate::config::read::reader::{Reading, Table, Text, Value};

/// What a key of [`Kind::NameOrBoolean`] holds.
pub(in crate::config) enum NameOrBoolean {
    Name(Text),
    Boolean(bool),
}

/// What an item of [`Kind::TextOrTable`] is.
pub(in crate::config) enum TextOrTable<'t> {
    Text(Text),
    Table(Table<'t>),
}

impl Reading<'_> {
    /// A list of texts and tables.
    pub(in crate::config) fn texts_or_tables<'t>(
        &mut self,
        parent: &Table<'t>,
        name: &str,
    ) -> Vec<TextOrTable<'t>> {
        let Kind::List(kind @ Kind::TextOrTable(_, keys)) = parent.key(name).kind else {
            unreachable!("`{name}` is a list of texts and tables in the key table")
        };
        let items = self.items(parent, name).unwrap_or_default();
        let read = |item: &Value<'t>| match item.inner {
            DeValue::Table(_) => self.as_table(item, keys).map(TextOrTable::Table),
            _ => self.as_text(item, kind).map(TextOrTable::Text),
        };
        items.iter().filter_map(read).collect()
    }

    /// `true` or `false`.
    pub(in crate::config) fn boolean(&mut self, parent: &Table<'_>, name: &str, default: bool) -> bool {
        let Some(value) = parent.get(name) else { return default };
        match value.inner {
            DeValue::Boolean(answer) => *answer,
            _ => {
                self.wrong_type(&value, &parent.key(name).kind);
                default
            }
        }
    }

    /// `true`, `false` or a name.
    pub(in crate::config) fn name_or_boolean(
        &mut self,
        parent: &Table<'_>,
        name: &str,
    ) -> Option<NameOrBoolean> {
        let value = parent.get(name)?;
        match value.inner {
            DeValue::Boolean(answer) => Some(NameOrBoolean::Boolean(*answer)),
            _ => self.as_text(&value, &parent.key(name).kind).map(NameOrBoolean::Name),
        }
    }

    /// A whole number within the key's range.
    pub(in crate::config) fn integer(&mut self, parent: &Table<'_>, name: &str, default: u32) -> u32 {
        let Some(value) = parent.get(name) else { return default };
        let kind = parent.key(name).kind;
        let Kind::Integer(range) = kind else { unreachable!("`{name}` is a whole number in the key table") };
        if !value.inner.is_integer() {
            self.wrong_type(&value, &kind);
            return default;
        }
        let number = self
            .whole(&value)
            .and_then(|number| self.in_range(&value, number, range, &range.most.to_string()));
        number.and_then(|number| u32::try_from(number).ok()).unwrap_or(default)
    }

    /// A duration within the key's range.
    pub(in crate::config) fn duration(
        &mut self,
        parent: &Table<'_>,
        name: &str,
        default: Duration,
    ) -> Duration {
        let Some(value) = parent.get(name) else { return default };
        let kind = parent.key(name).kind;
        let Kind::Duration(range) = kind else { unreachable!("`{name}` is a duration in the key table") };
        let Some(text) = self.as_text(&value, &kind) else { return default };
        let Ok(duration) = humantime::parse_duration(&text.text) else {
            let problem =
                Problem::error(format!("{} in `{}` is no duration", quoted(&text.text), value.path))
                    .at(text.place);
            let number = text.text.trim().parse::<u64>().ok();
            self.note(match number {
                Some(number) => problem.hint(format!("say the unit: \"{number}s\" are {number} seconds")),
                None => problem.hint("write a number and a unit: \"500ms\", \"30s\", \"5m\", \"1h 30m\""),
            });
            return default;
        };
        // Rounded up, so that only nothing is zero.
        let seconds = duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0));
        let most = humantime::format_duration(Duration::from_secs(range.most)).to_string();
        self.in_range(&value, seconds, range, &most).map_or(default, |_| duration)
    }

    /// A size within the key's range.
    pub(in crate::config) fn size(&mut self, parent: &Table<'_>, name: &str, default: ByteSize) -> ByteSize {
        let Some(value) = parent.get(name) else { return default };
        let kind = parent.key(name).kind;
        let Kind::Size(range) = kind else { unreachable!("`{name}` is a size in the key table") };
        let bytes = if value.inner.is_integer() {
            self.whole(&value).and_then(|bytes| self.with_unit(&value, bytes, parent.key(name)))
        } else {
            let Some(text) = self.as_text(&value, &kind) else { return default };
            match (text.text.trim().parse::<u64>(), text.text.trim().parse::<ByteSize>()) {
                (Ok(bytes), _) => self.with_unit(&value, bytes, parent.key(name)),
                (Err(_), Ok(size)) => Some(size.as_u64()),
                (Err(_), Err(_)) => {
                    let problem =
                        Problem::error(format!("{} in `{}` is no size", quoted(&text.text), value.path))
                            .at(text.place);
                    self.note(match in_units(&text.text) {
                        Some(size) => problem.hint(format!("write \"{size}\"")),
                        None => problem.hint("write a number and a unit: \"64KiB\", \"64MiB\", \"1GiB\""),
                    });
                    None
                }
            }
        };
        let most = ByteSize::b(range.most).display().iec().to_string().replace(".0 ", "").replace(' ', "");
        bytes.and_then(|bytes| self.in_range(&value, bytes, range, &most)).map_or(default, ByteSize::b)
    }

    /// Notes a number of bytes that is so small that its unit was probably forgotten.
    fn with_unit(&mut self, value: &Value<'_>, bytes: u64, key: &Key) -> Option<u64> {
        if bytes == 0 || bytes >= LEAST_WITHOUT_UNIT {
            return Some(bytes);
        }
        let usual = key
            .default
            .map(|default| default.trim_matches('"').trim_start_matches(|c: char| c.is_ascii_digit()));
        let unit = usual.unwrap_or("MiB");
        let message = format!("`{}` would be {bytes} bytes", value.path);
        let problem = Problem::error(message).at(value.place.clone());
        let hint = format!("say the unit: \"{bytes}{unit}\"");
        self.note(problem.hint(match key.kind {
            // So few bytes are of use to nobody where none are.
            Kind::Size(Number { zero: Some(_), .. }) => hint,
            _ => format!("{hint}, or \"{bytes}B\" if bytes are meant"),
        }));
        None
    }

    /// The number that an integer of the file stands for, if it isn't negative.
    fn whole(&mut self, value: &Value<'_>) -> Option<u64> {
        let number = value.inner.as_integer()?;
        let read =
            i128::from_str_radix(&number.as_str().replace('_', ""), number.radix()).unwrap_or(i128::MAX);
        if read < 0 {
            let problem = Problem::error(format!("`{}` can't be negative", value.path));
            self.note(problem.at(value.place.clone()).hint("leave the key out for the usual value"));
            return None;
        }
        Some(u64::try_from(read).unwrap_or(u64::MAX))
    }

    /// Notes a number that is zero where that makes no sense, or too large; `most` is how the largest is written.
    fn in_range(&mut self, value: &Value<'_>, number: u64, range: Number, most: &str) -> Option<u64> {
        let problem = match range.zero {
            Some(reason) if number == 0 => {
                Problem::error(format!("`{}` can't be zero: {reason}", value.path))
                    .hint("leave the key out for the usual value")
            }
            _ if number > range.most => Problem::error(format!("`{}` can't be more than {most}", value.path))
                .hint("write less, or leave the key out for the usual value"),
            _ => return Some(number),
        };
        self.note(problem.at(value.place.clone()));
        None
    }
}

/// A size whose unit is written as a word, such as `64 megabytes`.
fn in_units(text: &str) -> Option<String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, word) = (&text[..end], text[end..].trim().to_ascii_lowercase());
    let unit = match word.as_str() {
        "kilobyte" | "kilobytes" | "kibibytes" => "KiB",
        "megabyte" | "megabytes" | "mebibytes" | "meg" | "megs" => "MiB",
        "gigabyte" | "gigabytes" | "gibibytes" | "gig" | "gigs" => "GiB",
        _ => return None,
    };
    (!number.is_empty()).then(|| format!("{number}{unit}"))
}
