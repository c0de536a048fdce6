//! Limits under other names, and with their unit in the name.

use toml::de::DeValue;

use crate::config::read::habits::{Habit, Stray, shown_value};
use crate::config::spec::keys::{Kind, LIMITS};

/// What a limit is called elsewhere, without the unit.
const NAMES: [(&[&str], &str); 9] = [
    (&["cpu", "max_cpu", "cpu_limit", "cpus", "fuel", "max_cpu_time"], "cpu_time"),
    (&["max_memory", "memory_limit", "mem", "ram", "max_mem", "mem_limit", "memory"], "memory"),
    (&["max_time", "duration", "max_duration", "deadline", "time_limit", "wall_time", "timeout"], "timeout"),
    (
        &["max_concurrency", "parallel", "parallelism", "max_concurrent", "max_calls", "threads", "workers"],
        "concurrency",
    ),
    (&["max_requests", "http_requests"], "requests"),
    (&["max_output", "stdout"], "output"),
    (&["queue_size", "max_queue", "backlog"], "queue"),
    (&["disk", "max_disk", "write_limit"], "written"),
    (&["max_tools"], "items"),
];

/// The units that a name may end with, and how they are written behind the number.
const UNITS: [(&str, &str); 13] = [
    ("_ms", "ms"),
    ("_millis", "ms"),
    ("_seconds", "s"),
    ("_secs", "s"),
    ("_sec", "s"),
    ("_s", "s"),
    ("_minutes", "m"),
    ("_bytes", "B"),
    ("_kb", "KiB"),
    ("_mb", "MiB"),
    ("_mib", "MiB"),
    ("_gb", "GiB"),
    ("_gib", "GiB"),
];

pub(in crate::config) fn habit(stray: &Stray<'_, '_>) -> Option<Habit> {
    let is_gateway = stray.is_where(&["sealing_key"]);
    let place = if stray.is_where(&["cpu_time"]) {
        String::new()
    } else if stray.is_in_plugin() {
        format!(" in `[plugins.{}.limits]`", stray.plugin()?)
    } else if stray.is_where(&["limits"]) || stray.is_where(&["plugins"]) || is_gateway {
        " in `[defaults.limits]`".to_owned()
    } else {
        return None;
    };
    let word = stray.name.to_ascii_lowercase().replace('-', "_");
    if ["rate", "rate_limit", "ratelimit", "rps", "qps", "requests_per_second", "requests_per_minute"]
        .contains(&word.as_str())
    {
        let hint = format!(
            "remove this: calls aren't counted by time; `concurrency = 16`{place} says how many run at once"
        );
        return Some(Habit::new(hint));
    }
    let unit = UNITS.iter().find_map(|(end, unit)| Some((word.strip_suffix(end)?, *unit)));
    let (stem, unit) = unit.map_or((word.as_str(), None), |(stem, unit)| (stem, Some(unit)));
    if unit.is_none() && LIMITS.iter().any(|key| key.name == stem) {
        return None; // it only stands in another table
    }
    let (_, name) = NAMES.iter().find(|(words, _)| words.contains(&stem))?;
    let place = if is_gateway && *name == "concurrency" { String::new() } else { place };
    let kind = LIMITS.iter().find(|key| key.name == *name)?.kind;
    let usual = match kind {
        Kind::Duration(_) => unit.or(Some("s")),
        Kind::Size(_) => unit.or(Some("MiB")),
        _ => None,
    };
    let number = match stray.value {
        DeValue::Integer(number) => Some(number.as_str().replace('_', "")),
        DeValue::String(text) if unit.is_some() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(text.to_string())
        }
        _ => None,
    };
    let value = match (number, usual) {
        (Some(number), Some("MiB")) if unit.is_none() && number.len() > 3 => Some(number),
        (Some(number), Some(unit)) => Some(format!("\"{number}{unit}\"")),
        (Some(number), None) => Some(number),
        (None, _) => shown_value(stray.value),
    };
    Some(Habit::new(match value {
        Some(value) => format!("write `{name} = {value}`{place} instead"),
        None => format!("write `{name}`{place} instead"),
    }))
}
