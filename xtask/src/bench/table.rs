//! The results as Markdown tables.

use std::fmt::Write as _;

use serde_json::Value;

/// All tables.
pub(super) fn markdown(figures: &Value) -> String {
    let mut out = String::new();
    if let Some(entries) = figures["traffic"].as_array() {
        traffic(&mut out, entries);
        alone(&mut out, figures);
    }
    fairness(&mut out, &figures["fairness"]);
    reload(&mut out, &figures["reload"]);
    out
}

/// The effect of looping guests; empty if it wasn't measured.
fn fairness(out: &mut String, entries: &Value) {
    let mut heading = "\n| calls during | calls/s | p50 µs | p99 µs |\n|---|--:|--:|--:|\n";
    for entry in entries.as_array().into_iter().flatten() {
        out.push_str(std::mem::take(&mut heading));
        let loops = match entry["loops"].as_u64() {
            Some(1) => "1 looping guest".to_owned(),
            count => format!("{} looping guests", count.unwrap_or_default()),
        };
        let figure = |key: &str| number(entry[key].as_f64(), 0);
        row(out, &[loops, figure("calls_per_second"), figure("p50_us"), figure("p99_us")]);
    }
}

fn traffic(out: &mut String, entries: &[Value]) {
    out.push_str(
        "| load | subject | calls/s | (all rounds) | ÷ rmcp | ÷ axum | p50 µs | p99 µs | CPU µs per call ",
    );
    out.push_str("| RSS MiB before | after |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for entry in entries {
        let rate = |entry: &Value| entry["calls_per_second"].as_f64();
        let ratio_to = |key: &str| {
            let other = entries.iter().find(|other| {
                other["load"] == entry["load"] && entry[key].is_string() && other["subject"] == entry[key]
            });
            let ratio = other.and_then(|other| Some(rate(entry)? / rate(other)?));
            ratio.map_or_else(String::new, |ratio| format!("× {ratio:.2}"))
        };
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

fn alone(out: &mut String, figures: &Value) {
    out.push_str("\n| the gateway alone | |\n|---|--:|\n");
    let f = |path: &[&str]| path.iter().fold(figures, |at, key| &at[*key]).as_f64();
    let http = figures["traffic"].as_array().into_iter().flatten().find(|entry| {
        entry["load"].as_str().is_some_and(|load| load.starts_with("HTTP, 100 B, 1 "))
            && entry["subject"].as_str().is_some_and(|subject| subject.starts_with("moongate"))
    });
    let rows = [
        ("first list of tools, nothing cached", number(f(&["cold", "compiling_ms"]), 1), "ms"),
        ("first list of tools, compiled code cached", number(f(&["cold", "cached_ms"]), 1), "ms"),
        ("the same for rmcp", number(f(&["cold", "rmcp_ms"]), 1), "ms"),
        ("a call through dispatch alone, p50", number(f(&["inside", "dispatch_p50_us"]), 1), "µs"),
        ("the same with 64 KiB of text", number(f(&["inside", "dispatch_64kib_p50_us"]), 1), "µs"),
        ("a call over HTTP, one connection, p50", number(http.and_then(|e| e["p50_us"].as_f64()), 1), "µs"),
        ("delay of a 2 ms timer, idle, p50", number(f(&["inside", "timer_idle_p50_us"]), 0), "µs"),
        (
            "delay of a 2 ms timer during two looping guests, p50",
            number(f(&["inside", "timer_p50_us"]), 0),
            "µs",
        ),
        ("the same, p99", number(f(&["inside", "timer_p99_us"]), 0), "µs"),
        (
            "memory with one idle plugin",
            number(f(&["idle_plugin_kib", "one_plugin"]).map(|kib| kib / 1024.0), 1),
            "MiB",
        ),
        ("memory of each additional plugin", number(f(&["idle_plugin_kib", "each_more"]), 0), "KiB"),
        ("the binary", number(f(&["binary_bytes"]).map(|bytes| bytes / f64::from(1 << 20)), 1), "MiB"),
    ];
    for (what, figure, unit) in rows {
        row(out, &[what.to_owned(), format!("{figure} {unit}")]);
    }
}

/// The cost of replacing a plugin.
fn reload(out: &mut String, figures: &Value) {
    let list = |key: &str| figures[key].as_array().into_iter().flatten();
    let mut heading = "| from the last write to the first answer by new code | MB | compiled, p50 ms | max | cached, p50 ms | max |\n|---|--:|--:|--:|--:|--:|\n";
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

fn row(out: &mut String, cells: &[String]) {
    writeln!(out, "| {} |", cells.join(" | ")).expect("writing to a string can't fail");
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A number with separated thousands; `–` if there is none.
fn number(figure: Option<f64>, decimals: usize) -> String {
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
