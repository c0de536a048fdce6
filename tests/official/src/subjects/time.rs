//! The plugin `time` and `mcp-server-time`.
//!
//! Each has its own package of zone data, with pinned versions that contain the same release of the data.

use anyhow::Result;
use serde_json::{Value, json};

use super::Subject;
use crate::comparison::Comparison;
use crate::difference::{Difference, Mismatch};
use crate::random::Random;

pub(super) const SUBJECT: Subject = Subject {
    plugin: "time",
    package: "mcp-server-time",
    compared: "The current time in many kinds of zones, conversions between them, times in unusual \
               formats, unknown zones, and several errors at once. If a second or a day ends between the \
               two calls, both are repeated.",
    differences: DIFFERENCES,
    check,
};

const DIFFERENCES: &[Difference] = &[
    Difference {
        description: "Tools have titles.",
        reason: "Hosts show titles to users; the official server has none.",
        matches: |mismatch| {
            let tools = ["get_current_time", "convert_time"];
            tools.iter().any(|tool| mismatch.is_tool_property(tool, "/title")) && mismatch.theirs.is_none()
        },
    },
    Difference {
        description: "The description of `target_timezone` has the example `America/Los_Angeles` instead of \
               `America/San_Francisco`.",
        reason: "The official server's example isn't a valid zone name.",
        matches: |mismatch| {
            let at = "/inputSchema/properties/target_timezone/description/America~1San_Francisco";
            mismatch.is_tool_property("convert_time", at) && mismatch.ours.is_none()
        },
    },
    Difference {
        description: "If a zone name is a directory of zones (`Europe`), a path (`../etc/passwd`) or contains a \
               null character, it is refused with the message for unknown zones.",
        reason: "The official server shows its language's own messages, which contain paths of its \
                 machine.",
        matches: is_odd_zone,
    },
];

/// Returns true if the official server's message mentions its files, and ours an unknown zone.
fn is_odd_zone(mismatch: &Mismatch<'_>) -> bool {
    let [theirs, ours] =
        [mismatch.theirs, mismatch.ours].map(|text| text.and_then(Value::as_str).unwrap_or_default());
    let refused = |answer: &Value| answer["isError"] == true;
    let odd = ["Is a directory", "must refer to subdirectories", "embedded null byte"];
    mismatch.at == "/content/0/text"
        && refused(mismatch.answers.0)
        && refused(mismatch.answers.1)
        && odd.iter().any(|words| theirs.contains(words))
        && ours.contains(": Invalid timezone: 'No time zone found with key ")
}

const ZONES: [&str; 17] = [
    "UTC",
    "Etc/UTC",
    "Etc/GMT+12",
    "Europe/Warsaw",
    "Europe/Dublin",     // winter time is the exception in the zone data
    "Africa/Casablanca", // summer time is the exception in the zone data
    "America/New_York",
    "America/St_Johns",
    "America/Sao_Paulo",
    "Asia/Kathmandu",
    "Asia/Kolkata",
    "Asia/Tokyo",
    "Australia/Lord_Howe", // half an hour of summer time
    "Pacific/Apia",
    "Pacific/Chatham",
    "US/Pacific", // an old name
    "EST5EDT",
];

const ODD_ZONES: [&str; 8] =
    ["Mars/Olympus", "europe/warsaw", "Utc+2", "", "Europe", "../etc/passwd", "Europe/Warsaw ", "a\0b"];

const ODD_TIMES: [&str; 12] =
    ["9:5", "7:05", "24:00", "12:60", "25:00", "noon", "", "12", "12:30:00", " 12:30", "12:30 ", "-1:30"];

/// The number of retries if a second ends between two answers.
const MAX_RETRIES: usize = 3;

fn check(comparison: &mut Comparison<'_>) -> Result<()> {
    let mut official = comparison.python("mcp_server_time");
    // With an empty PYTHONTZPATH, Python reads the zone data of the package `tzdata` instead of the machine's.
    official.env("PYTHONTZPATH", "");
    let settings = "[plugins.time.config]\nlocal_timezone = \"${TZ}\"\n";
    // The descriptions name the local zone.
    comparison.start_with(official, settings, &[("TZ", "Europe/Warsaw")])?;
    comparison.compare_lists();
    comparison
        .check("the current time", |comparison| ZONES.iter().try_for_each(|zone| current(comparison, zone)));
    comparison.check("unusual times", |comparison| {
        ODD_TIMES
            .iter()
            .try_for_each(|time| convert(comparison, &json!("UTC"), &json!(time), &json!("Asia/Tokyo")))
    });
    comparison.check("unknown zones", |comparison| {
        for zone in ODD_ZONES {
            current(comparison, zone)?;
            convert(comparison, &json!(zone), &json!("12:00"), &json!("UTC"))?;
            convert(comparison, &json!("UTC"), &json!("12:00"), &json!(zone))?;
        }
        Ok(())
    });
    comparison.check("invalid arguments", |comparison| {
        for zone in [json!({}), json!({ "timezone": 1 }), json!({ "timezone": null })] {
            comparison.call("get_current_time", &zone)?;
        }
        comparison.call("convert_time", &json!({ "source_timezone": "UTC", "time": "12:00" }))?;
        convert(comparison, &json!("UTC"), &json!(12), &json!("Asia/Tokyo"))
    });
    comparison.generated("conversions", 0..4, |comparison, random| {
        for _ in 0..60 {
            let [source, target] = [zone(random), zone(random)];
            convert(comparison, &json!(source), &json!(time(random)), &json!(target))?;
        }
        Ok(())
    });
    Ok(())
}

/// A random zone, rarely an unknown one.
fn zone(random: &mut Random) -> &'static str {
    let zones: &[&str] = if random.once_in(20) { &ODD_ZONES } else { &ZONES };
    random.pick(zones)
}

/// A random time of day, rarely in an unusual format.
fn time(random: &mut Random) -> String {
    if random.once_in(20) {
        return random.pick(&ODD_TIMES).to_owned();
    }
    format!("{:02}:{:02}", random.below(24), random.below(60))
}

fn convert(comparison: &mut Comparison<'_>, source: &Value, time: &Value, target: &Value) -> Result<()> {
    let arguments = json!({ "source_timezone": source, "time": time, "target_timezone": target });
    call(comparison, "convert_time", &arguments)
}

fn current(comparison: &mut Comparison<'_>, zone: &str) -> Result<()> {
    call(comparison, "get_current_time", &json!({ "timezone": zone }))
}

/// Calls both servers and retries if the answers differ, because a second or a day may end between the calls.
fn call(comparison: &mut Comparison<'_>, tool: &str, arguments: &Value) -> Result<()> {
    let params = json!({ "name": tool, "arguments": arguments });
    let mut answers = comparison.request_both("tools/call", &params, &params)?;
    for _ in 0..MAX_RETRIES {
        if answers[0] == answers[1] {
            break;
        }
        answers = comparison.request_both("tools/call", &params, &params)?;
    }
    comparison.compare("tools/call", &params, &answers[0], &answers[1]);
    Ok(())
}
