//! The plugin `time` beside `mcp-server-time`.
//!
//! Each knows the zones from a package of its own, of a pinned version; the two hold the same release of the zone data.

use anyhow::Result;
use serde_json::{Value, json};

use super::Subject;
use crate::bench::Bench;
use crate::difference::{Difference, Gap};
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
        what: "Tools have titles.",
        reason: "Hosts show titles to users; the official server has none.",
        meant: |gap| {
            let tools = ["get_current_time", "convert_time"];
            tools.iter().any(|tool| gap.lists(tool, "/title")) && gap.theirs.is_none()
        },
    },
    Difference {
        what: "If a zone name is a directory of zones (`Europe`), a path (`../etc/passwd`) or contains a \
               null character, it is refused with the message for unknown zones.",
        reason: "The official server shows its language's own messages, which contain paths of its \
                 machine.",
        meant: is_odd_zone,
    },
];

/// Does the official server speak of its files where ours says that there is no such zone?
fn is_odd_zone(gap: &Gap<'_>) -> bool {
    let [theirs, ours] = [gap.theirs, gap.ours].map(|text| text.and_then(Value::as_str).unwrap_or_default());
    let refused = |answer: &Value| answer["isError"] == true;
    let odd = ["Is a directory", "must refer to subdirectories", "embedded null byte"];
    gap.at == "/content/0/text"
        && refused(gap.answers.0)
        && refused(gap.answers.1)
        && odd.iter().any(|words| theirs.contains(words))
        && ours.contains(": Invalid timezone: 'No time zone found with key ")
}

const ZONES: [&str; 17] = [
    "UTC",
    "Etc/UTC",
    "Etc/GMT+12",
    "Europe/Warsaw",
    "Europe/Dublin",     // its winter time is the odd one out in the zone data
    "Africa/Casablanca", // so is its summer
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

/// How often two answers may fall on either side of a second's end.
const ATTEMPTS: usize = 3;

fn check(bench: &mut Bench<'_>) -> Result<()> {
    let mut official = bench.python("mcp_server_time");
    // With an empty PYTHONTZPATH it reads the zone data of the package `tzdata`, not whatever the machine has.
    official.args(["--local-timezone", "UTC"]).env("PYTHONTZPATH", "");
    bench.start(official, "")?;
    bench.lists();
    bench.check("the current time", |bench| ZONES.iter().try_for_each(|zone| current(bench, zone)));
    bench.check("times in an odd form", |bench| {
        ODD_TIMES
            .iter()
            .try_for_each(|time| convert(bench, &json!("UTC"), &json!(time), &json!("Asia/Tokyo")))
    });
    bench.check("zones that aren't there", |bench| {
        for zone in ODD_ZONES {
            current(bench, zone)?;
            convert(bench, &json!(zone), &json!("12:00"), &json!("UTC"))?;
            convert(bench, &json!("UTC"), &json!("12:00"), &json!(zone))?;
        }
        Ok(())
    });
    bench.check("arguments that don't fit", |bench| {
        for zone in [json!({}), json!({ "timezone": 1 }), json!({ "timezone": null })] {
            bench.call("get_current_time", &zone)?;
        }
        bench.call("convert_time", &json!({ "source_timezone": "UTC", "time": "12:00" }))?;
        convert(bench, &json!("UTC"), &json!(12), &json!("Asia/Tokyo"))
    });
    bench.generated("conversions", 0..4, |bench, random| {
        for _ in 0..60 {
            let [source, target] = [zone(random), zone(random)];
            convert(bench, &json!(source), &json!(time(random)), &json!(target))?;
        }
        Ok(())
    });
    Ok(())
}

/// A zone, seldom one that isn't there.
fn zone(random: &mut Random) -> &'static str {
    let zones: &[&str] = if random.once_in(20) { &ODD_ZONES } else { &ZONES };
    random.pick(zones)
}

/// A time of the day, seldom in an odd form.
fn time(random: &mut Random) -> String {
    if random.once_in(20) {
        return random.pick(&ODD_TIMES).to_owned();
    }
    format!("{:02}:{:02}", random.below(24), random.below(60))
}

fn convert(bench: &mut Bench<'_>, source: &Value, time: &Value, target: &Value) -> Result<()> {
    let arguments = json!({ "source_timezone": source, "time": time, "target_timezone": target });
    call(bench, "convert_time", &arguments)
}

fn current(bench: &mut Bench<'_>, zone: &str) -> Result<()> {
    call(bench, "get_current_time", &json!({ "timezone": zone }))
}

/// Calls both until they answer alike: a second, or a day, may begin between the two.
fn call(bench: &mut Bench<'_>, tool: &str, arguments: &Value) -> Result<()> {
    let params = json!({ "name": tool, "arguments": arguments });
    let mut answers = bench.answers("tools/call", &params, &params)?;
    for _ in 0..ATTEMPTS {
        if answers[0] == answers[1] {
            break;
        }
        answers = bench.answers("tools/call", &params, &params)?;
    }
    bench.compare("tools/call", &params, &answers[0], &answers[1]);
    Ok(())
}
