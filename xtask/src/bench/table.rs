//! The results as Markdown tables.

use std::fmt::Write as _;

use serde_json::Value;

use super::memory::growth_kib;

/// All tables.
pub(super) fn markdown(figures: &Value) -> String {
    let mut out = String::new();
    if let Some(entries) = figures["throughput"].as_array() {
        throughput(&mut out, entries);
        inside(&mut out, figures);
    }
    for section in [start, fairness, access, replicas, sight, memory] {
        let table = section(figures);
        if !table.is_empty() {
            out.push('\n');
            out.push_str(&table);
        }
    }
    reload(&mut out, &figures["reload"]);
    out
}

/// Calls next to neighbours; empty if they weren't measured.
pub(super) fn fairness(figures: &Value) -> String {
    let mut out = String::new();
    let mut heading = "| neighbours | calls/s | p50 µs | p99 µs | p99 ÷ without |\n|---|--:|--:|--:|--:|\n";
    let entries = || figures["fairness"].as_array().into_iter().flatten();
    let alone = entries().next().and_then(|entry| entry["p99_us"].as_f64());
    for entry in entries() {
        out.push_str(std::mem::take(&mut heading));
        let figure = |key: &str| number(entry[key].as_f64(), 0);
        let ratio = entry["p99_us"].as_f64().zip(alone).map(|(p99, alone)| p99 / alone);
        row(
            &mut out,
            &[
                text(&entry["neighbours"]),
                figure("calls_per_second"),
                figure("p50_us"),
                figure("p99_us"),
                times(ratio),
            ],
        );
    }
    out
}

/// Calls with access control; empty if they weren't measured.
pub(super) fn access(figures: &Value) -> String {
    let mut out = String::new();
    let mut heading =
        "| case | connections | calls/s | p50 µs | p99 µs | CPU µs per call |\n|---|--:|--:|--:|--:|--:|\n";
    for entry in figures["access"].as_array().into_iter().flatten() {
        out.push_str(std::mem::take(&mut heading));
        let figure = |key: &str, digits: usize| number(entry[key].as_f64(), digits);
        row(
            &mut out,
            &[
                text(&entry["case"]),
                figure("connections", 0),
                figure("calls_per_second", 0),
                figure("p50_us", 0),
                figure("p99_us", 0),
                figure("cpu_us_per_call", 1),
            ],
        );
    }
    out
}

/// Calls to gateways that are watched; empty if they weren't measured.
pub(super) fn sight(figures: &Value) -> String {
    let mut out = String::new();
    let mut heading =
        "| case | calls/s | ÷ without | p50 µs | p99 µs | CPU µs per call |\n|---|--:|--:|--:|--:|--:|\n";
    for entry in figures["sight"].as_array().into_iter().flatten() {
        out.push_str(std::mem::take(&mut heading));
        let figure = |key: &str, digits: usize| number(entry[key].as_f64(), digits);
        row(
            &mut out,
            &[
                text(&entry["case"]),
                figure("calls_per_second", 0),
                format!("× {}", figure("ratio", 3)),
                figure("p50_us", 0),
                figure("p99_us", 0),
                figure("cpu_us_per_call", 1),
            ],
        );
    }
    out
}

/// Calls to gateways with a shared store; empty if they weren't measured.
pub(super) fn replicas(figures: &Value) -> String {
    let mut out = String::new();
    let mut heading = "| gateways | revision | calls/s | p50 µs | p99 µs |\n|---|---|--:|--:|--:|\n";
    for entry in figures["replicas"].as_array().into_iter().flatten() {
        out.push_str(std::mem::take(&mut heading));
        let figure = |key: &str| number(entry[key].as_f64(), 0);
        row(
            &mut out,
            &[
                text(&entry["setting"]),
                text(&entry["revision"]),
                figure("calls_per_second"),
                figure("p50_us"),
                figure("p99_us"),
            ],
        );
    }
    out
}

/// Starts; empty if they weren't measured.
pub(super) fn start(figures: &Value) -> String {
    let mut out = String::new();
    let mut heading = "| start over stdio | response to `initialize`, ms | first list of tools, ms | complete list, ms \
                       | ÷ 1 plugin | RSS MiB |\n|---|--:|--:|--:|--:|--:|\n";
    let entries =
        || ["cached", "empty_cache"].into_iter().flat_map(|key| figures["start"][key].as_array()).flatten();
    let one = entries().next().and_then(|entry| entry["complete_list_ms"].as_f64());
    for entry in entries() {
        out.push_str(std::mem::take(&mut heading));
        let ms = |key: &str| number(entry[key].as_f64(), 1);
        let is_cached_gateway = entry["plugins"].is_u64() && !text(&entry["name"]).contains("empty cache");
        let time = entry["complete_list_ms"].as_f64().filter(|_| is_cached_gateway);
        let ratio = time.zip(one).map(|(time, one)| time / one);
        row(
            &mut out,
            &[
                text(&entry["name"]),
                ms("initialize_ms"),
                ms("first_list_ms"),
                ms("complete_list_ms"),
                times(ratio),
                number(entry["resident_kib"].as_f64().map(|kib| kib / 1024.0), 1),
            ],
        );
    }
    out
}

/// Memory over very many calls; empty if it wasn't measured.
pub(super) fn memory(figures: &Value) -> String {
    let mut out = String::new();
    let mut heading = "| memory over calls, one in ten hostile | calls | RSS MiB before | at the end | growth after the \
                       warm-up, MiB |\n|---|--:|--:|--:|--:|\n";
    for transport in ["HTTP", "stdio"] {
        let Some(samples) = figures["memory"][transport]["samples"].as_array() else { continue };
        out.push_str(std::mem::take(&mut heading));
        let mib = |kib: Option<f64>| number(kib.map(|kib| kib / 1024.0), 1);
        let at = |sample: Option<&Value>| mib(sample.and_then(|sample| sample[1].as_f64()));
        row(
            &mut out,
            &[
                transport.to_owned(),
                number(samples.last().and_then(|sample| sample[0].as_f64()), 0),
                at(samples.first()),
                at(samples.last()),
                mib(growth_kib(&figures["memory"][transport]["samples"])),
            ],
        );
    }
    out
}

fn throughput(out: &mut String, entries: &[Value]) {
    out.push_str(
        "| load | subject | calls/s | (all rounds) | ÷ rmcp | ÷ axum | Moongate ÷ it | p50 µs | p99 µs | CPU µs per call ",
    );
    out.push_str("| RSS MiB before | after |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for entry in entries {
        let rate = |entry: &Value| entry["calls_per_second"].as_f64();
        let ratio_to = |key: &str| {
            let other = entries.iter().find(|other| {
                other["load"] == entry["load"] && entry[key].is_string() && other["subject"] == entry[key]
            });
            let ratio = other.and_then(|other| Some(rate(entry)? / rate(other)?));
            times(ratio)
        };
        let is_moongate = |entry: &Value| entry["reference"].is_string();
        let own = entries.iter().find(|other| other["load"] == entry["load"] && is_moongate(other));
        let own = own.filter(|_| !is_moongate(entry)).and_then(|own| Some(rate(own)? / rate(entry)?));
        let mib = |key: &str| number(entry[key].as_f64().map(|kib| kib / 1024.0), 1);
        row(
            out,
            &[
                text(&entry["load"]),
                text(&entry["subject"]),
                number(rate(entry), 0),
                spread(&entry["rounds"]),
                ratio_to("reference"),
                ratio_to("floor"),
                times(own),
                number(entry["p50_us"].as_f64(), 0),
                number(entry["p99_us"].as_f64(), 0),
                number(entry["cpu_us_per_call"].as_f64(), 1),
                mib("idle_kib"),
                mib("resident_kib"),
            ],
        );
    }
}

/// The slowest and the fastest round, which show the noise of the machine.
fn spread(rounds: &Value) -> String {
    let rounds = || rounds.as_array().into_iter().flatten().filter_map(Value::as_f64);
    let slowest = rounds().reduce(f64::min);
    let fastest = rounds().reduce(f64::max);
    format!("{}–{}", number(slowest, 0), number(fastest, 0))
}

fn inside(out: &mut String, figures: &Value) {
    out.push_str("\n| the gateway alone | |\n|---|--:|\n");
    let f = |key: &str| figures["inside"][key].as_f64();
    let rows = [
        ("a call through dispatch alone, p50", number(f("dispatch_p50_us"), 1), "µs"),
        ("the same with 64 KiB of text", number(f("dispatch_64kib_p50_us"), 1), "µs"),
        ("delay of a 2 ms timer, idle, p50", number(f("timer_idle_p50_us"), 0), "µs"),
        ("delay of a 2 ms timer during two looping guests, p50", number(f("timer_p50_us"), 0), "µs"),
        ("the same, p99", number(f("timer_p99_us"), 0), "µs"),
        (
            "the binary",
            number(figures["binary_bytes"].as_f64().map(|bytes| bytes / f64::from(1 << 20)), 1),
            "MiB",
        ),
    ];
    for (what, figure, unit) in rows {
        row(out, &[what.to_owned(), format!("{figure} {unit}")]);
    }
}

/// The cost of replacing a plugin.
pub(super) fn reload(out: &mut String, figures: &Value) {
    let list = |key: &str| figures[key].as_array().into_iter().flatten();
    let mut heading = "| from the last write to the first response of the new code | MB | compiled, p50 ms | max | cached, p50 ms | max |\n|---|--:|--:|--:|--:|--:|\n";
    for entry in list("latency") {
        out.push_str(std::mem::take(&mut heading));
        let ms = |code: &str, key: &str| number(entry[code][key].as_f64(), 1);
        row(
            out,
            &[
                format!("{} plugin", text(&entry["plugin"])),
                number(entry["bytes"].as_f64().map(|bytes| bytes / 1e6), 3),
                ms("new", "p50_ms"),
                ms("new", "max_ms"),
                ms("cached", "p50_ms"),
                ms("cached", "max_ms"),
            ],
        );
    }
    heading = "\n| calls to another plugin while one is replaced | replacements | calls/s without | during | p50 µs without | during | p99 µs without | during |\n|---|--:|--:|--:|--:|--:|--:|--:|\n";
    for entry in list("during_replacement") {
        out.push_str(std::mem::take(&mut heading));
        let mut cells =
            vec![format!("{} plugin", text(&entry["plugin"])), number(entry["replacements"].as_f64(), 0)];
        for key in ["calls_per_second", "p50_us", "p99_us"] {
            cells.extend(["without", "during"].map(|when| number(entry[key][when].as_f64(), 0)));
        }
        row(out, &cells);
    }
}

/// A ratio; empty if there is none.
pub(super) fn times(ratio: Option<f64>) -> String {
    ratio.map_or_else(String::new, |ratio| format!("× {ratio:.2}"))
}

pub(super) fn row(out: &mut String, cells: &[String]) {
    writeln!(out, "| {} |", cells.join(" | ")).expect("writing to a string can't fail");
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A number with separated thousands; `–` if there is none.
pub(super) fn number(figure: Option<f64>, decimals: usize) -> String {
    let Some(figure) = figure else { return "–".to_owned() };
    let plain = format!("{figure:.decimals$}");
    let (whole, rest) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
    let digits = whole.len() - usize::from(whole.starts_with('-'));
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        let left = whole.len() - at;
        if at > whole.len() - digits && left.is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

#[cfg(test)]
mod tests;
