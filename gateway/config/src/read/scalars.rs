//! Booleans, numbers, durations and sizes.

use std::time::Duration;

use bytesize::ByteSize;
use toml::de::DeValue;

use super::reader::{ConfigReader, TomlString, TomlTable, TomlValue};
use crate::model::Diagnostic;
use crate::model::diagnostic::quoted;
use crate::spec::keys::{Key, MIN_SIZE_WITHOUT_UNIT, NumberRange, ValueKind};

/// The value of a key of `ValueKind::NameOrBoolean`.
pub(crate) enum NameOrBoolean {
    Name(TomlString),
    Boolean(bool),
}

/// An item of `ValueKind::StringOrTable`.
pub(crate) enum TextOrTable<'t> {
    Text(TomlString),
    Table(TomlTable<'t>),
}

impl ConfigReader<'_> {
    /// An array of strings and tables.
    pub(crate) fn strings_or_tables<'t>(
        &mut self,
        parent: &TomlTable<'t>,
        name: &str,
    ) -> Vec<TextOrTable<'t>> {
        let ValueKind::Array(kind @ ValueKind::StringOrTable(_, keys)) = parent.key(name).kind else {
            unreachable!("`{name}` is an array of strings and tables in the key table")
        };
        let items = self.items(parent, name).unwrap_or_default();
        let read = |item: &TomlValue<'t>| match item.inner {
            DeValue::Table(_) => self.as_table(item, keys).map(TextOrTable::Table),
            _ => self.as_string(item, kind).map(TextOrTable::Text),
        };
        items.iter().filter_map(read).collect()
    }

    /// `true` or `false`.
    pub(crate) fn boolean(&mut self, parent: &TomlTable<'_>, name: &str, default: bool) -> bool {
        let Some(value) = parent.get(name) else { return default };
        match value.inner {
            DeValue::Boolean(boolean) => *boolean,
            _ => {
                self.report_wrong_type(&value, &parent.key(name).kind);
                default
            }
        }
    }

    /// `true`, `false` or a name.
    pub(crate) fn name_or_boolean(&mut self, parent: &TomlTable<'_>, name: &str) -> Option<NameOrBoolean> {
        let value = parent.get(name)?;
        match value.inner {
            DeValue::Boolean(boolean) => Some(NameOrBoolean::Boolean(*boolean)),
            _ => self.as_string(&value, &parent.key(name).kind).map(NameOrBoolean::Name),
        }
    }

    /// An integer within the key's range.
    pub(crate) fn integer(&mut self, parent: &TomlTable<'_>, name: &str, default: u32) -> u32 {
        let Some(value) = parent.get(name) else { return default };
        let kind = parent.key(name).kind;
        let ValueKind::Integer(range) = kind else { unreachable!("`{name}` is an integer in the key table") };
        if !value.inner.is_integer() {
            self.report_wrong_type(&value, &kind);
            return default;
        }
        let number = self
            .non_negative(&value)
            .and_then(|number| self.in_range(&value, number, range, &|number| number.to_string()));
        number.and_then(|number| u32::try_from(number).ok()).unwrap_or(default)
    }

    /// A duration within the key's range.
    pub(crate) fn duration(&mut self, parent: &TomlTable<'_>, name: &str, default: Duration) -> Duration {
        let Some(value) = parent.get(name) else { return default };
        let kind = parent.key(name).kind;
        let ValueKind::Duration(range) = kind else {
            unreachable!("`{name}` is a duration in the key table")
        };
        let Some(text) = self.as_string(&value, &kind) else { return default };
        let Ok(duration) = humantime::parse_duration(&text.text) else {
            let message = format!("invalid duration {} in `{}`", quoted(&text.text), value.path);
            let hint = match text.text.trim().parse::<u64>() {
                Ok(number) => format!("add a unit, such as \"{number}s\""),
                Err(_) => "write a number and a unit, such as \"500ms\", \"30s\" or \"1h 30m\"".to_owned(),
            };
            self.report(Diagnostic::error(message).with_span(text.span).with_hint(hint));
            return default;
        };
        // Rounded up, so that only zero is zero.
        let seconds = duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0));
        let written = |seconds| humantime::format_duration(Duration::from_secs(seconds)).to_string();
        self.in_range(&value, seconds, range, &written).map_or(default, |_| duration)
    }

    /// A size within the key's range.
    pub(crate) fn size(&mut self, parent: &TomlTable<'_>, name: &str, default: ByteSize) -> ByteSize {
        let Some(value) = parent.get(name) else { return default };
        let kind = parent.key(name).kind;
        let ValueKind::Size(range) = kind else { unreachable!("`{name}` is a size in the key table") };
        let bytes = if value.inner.is_integer() {
            self.non_negative(&value).and_then(|bytes| self.with_unit(&value, bytes, parent.key(name)))
        } else {
            let Some(text) = self.as_string(&value, &kind) else { return default };
            match (text.text.trim().parse::<u64>(), text.text.trim().parse::<ByteSize>()) {
                (Ok(bytes), _) => self.with_unit(&value, bytes, parent.key(name)),
                (Err(_), Ok(size)) => Some(size.as_u64()),
                (Err(_), Err(_)) => {
                    let message = format!("invalid size {} in `{}`", quoted(&text.text), value.path);
                    let hint = "write a number and a unit, such as \"64KiB\", \"64MiB\" or \"1GiB\"";
                    self.report(Diagnostic::error(message).with_span(text.span).with_hint(hint));
                    None
                }
            }
        };
        let written =
            |bytes| ByteSize::b(bytes).display().iec().to_string().replace(".0 ", "").replace(' ', "");
        bytes.and_then(|bytes| self.in_range(&value, bytes, range, &written)).map_or(default, ByteSize::b)
    }

    /// Reports a number of bytes that is so small that its unit was probably forgotten.
    fn with_unit(&mut self, value: &TomlValue<'_>, bytes: u64, key: &Key) -> Option<u64> {
        if bytes == 0 || bytes >= MIN_SIZE_WITHOUT_UNIT {
            return Some(bytes);
        }
        let unit = key.default.map_or("MiB", |default| {
            default.trim_matches('"').trim_start_matches(|c: char| c.is_ascii_digit())
        });
        let message = format!("`{}` has no unit", value.path);
        let hint = format!("add a unit, such as \"{bytes}{unit}\" (or \"{bytes}B\" for bytes)");
        self.report(Diagnostic::error(message).with_span(value.span.clone()).with_hint(hint));
        None
    }

    /// The value of an integer, unless it is negative.
    fn non_negative(&mut self, value: &TomlValue<'_>) -> Option<u64> {
        let number = value.inner.as_integer()?;
        let read =
            i128::from_str_radix(&number.as_str().replace('_', ""), number.radix()).unwrap_or(i128::MAX);
        if read < 0 {
            let problem = Diagnostic::error(format!("`{}` can't be negative", value.path));
            self.report(problem.with_span(value.span.clone()).with_hint("remove the key to use the default"));
            return None;
        }
        Some(u64::try_from(read).unwrap_or(u64::MAX))
    }

    /// Reports a number that is too small or too large. `written` renders a number as in the file.
    fn in_range(
        &mut self,
        value: &TomlValue<'_>,
        number: u64,
        range: NumberRange,
        written: &dyn Fn(u64) -> String,
    ) -> Option<u64> {
        let problem = match range.zero_reason {
            Some(reason) if number == 0 => {
                Diagnostic::error(format!("`{}` can't be zero: {reason}", value.path))
                    .with_hint("remove the key to use the default")
            }
            _ if number < range.min => {
                Diagnostic::error(format!("`{}` can't be less than {}", value.path, written(range.min)))
                    .with_hint("raise it, or remove the key to use the default")
            }
            _ if number > range.max => {
                Diagnostic::error(format!("`{}` can't be more than {}", value.path, written(range.max)))
                    .with_hint("lower it, or remove the key to use the default")
            }
            _ => return Some(number),
        };
        self.report(problem.with_span(value.span.clone()));
        None
    }
}
