//! The ratios of a run: what the gateway costs compared with other servers, with fewer plugins, and without neighbours.

use serde_json::Value;

use super::table::{number, row, text};

/// One comparison.
#[derive(Debug, PartialEq)]
pub(super) struct Ratio {
    /// What is compared with what.
    pub(super) case: String,
    pub(super) ratio: f64,
}

/// All comparisons whose figures exist.
pub(super) fn all(figures: &Value) -> Vec<Ratio> {
    let mut ratios = throughput(figures);
    let starts = figures["start"]["cached"].as_array().into_iter().flatten();
    let starts = starts.filter(|entry| entry["plugins"].is_u64());
    ratios.extend(compared_with_first(starts, "complete_list_ms", |entry| {
        format!("start, complete list of tools, {} ÷ 1 plugin", text(&entry["name"]))
    }));
    let neighbours = figures["fairness"].as_array().into_iter().flatten();
    ratios.extend(compared_with_first(neighbours, "p99_us", |entry| {
        format!("p99 next to {} ÷ without", text(&entry["neighbours"]))
    }));
    ratios
}

/// The calls per second of the gateway under the loads of several calls at once, divided by those of other servers.
fn throughput(figures: &Value) -> Vec<Ratio> {
    let entries = || figures["throughput"].as_array().into_iter().flatten();
    let mut ratios = Vec::new();
    for own in entries().filter(|entry| entry["reference"].is_string() && entry["width"] != 1) {
        let others = entries().filter(|other| other["load"] == own["load"] && other["reference"].is_null());
        for other in others {
            // The revisions of rmcp are compared with the same revision.
            let is_other_revision =
                text(&other["subject"]).starts_with("rmcp") && other["subject"] != own["reference"];
            let rates = own["calls_per_second"].as_f64().zip(other["calls_per_second"].as_f64());
            if let (false, Some((own_rate, other_rate))) = (is_other_revision, rates) {
                let case = format!(
                    "{}: {} ÷ {}",
                    text(&own["load"]),
                    text(&own["subject"]),
                    text(&other["subject"])
                );
                ratios.push(Ratio { case, ratio: own_rate / other_rate });
            }
        }
    }
    ratios
}

/// The figures of entries divided by that of the first.
fn compared_with_first<'a>(
    mut entries: impl Iterator<Item = &'a Value>,
    key: &str,
    case: impl Fn(&Value) -> String,
) -> Vec<Ratio> {
    let Some(first) = entries.next().and_then(|entry| entry[key].as_f64()) else { return Vec::new() };
    let ratio = |entry: &Value| Some(Ratio { case: case(entry), ratio: entry[key].as_f64()? / first });
    entries.filter_map(ratio).collect()
}

/// The comparisons as a table; empty if there are none.
pub(super) fn markdown(figures: &Value) -> String {
    let mut out = String::new();
    let mut heading = "\n| ratio | |\n|---|--:|\n";
    for Ratio { case, ratio } in all(figures) {
        out.push_str(std::mem::take(&mut heading));
        row(&mut out, &[case, number(Some(ratio), 2)]);
    }
    out
}

#[cfg(test)]
mod tests;
