//! A strict parser for OpenMetrics text (OpenMetrics 1.0, "Text Format"), limited to the features that the gateway
//! uses.

use std::collections::{BTreeMap, HashSet};

/// All samples of one metric.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) help: String,
    pub(super) samples: Vec<Sample>,
}

/// One sample.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) value: f64,
}

impl Sample {
    pub(super) fn has(&self, label: &str, value: &str) -> bool {
        self.labels.get(label).is_some_and(|it| it == value)
    }
}

/// Parses everything, or returns the first invalid line.
pub(super) fn read(text: &str) -> Result<Vec<Family>, String> {
    let body = text.strip_suffix("# EOF\n").ok_or("it doesn't end with `# EOF`")?;
    let mut families: Vec<Family> = Vec::new();
    let mut seen = HashSet::new();
    for line in body.lines() {
        let wrong = |why: &str| format!("{why}: {line}");
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').ok_or_else(|| wrong("no help"))?;
            if families.iter().any(|family| family.name == name) || !is_name(name) {
                return Err(wrong("a bad name, or one that was there"));
            }
            let (name, help) = (name.to_owned(), help.to_owned());
            families.push(Family { name, kind: String::new(), help, samples: Vec::new() });
            continue;
        }
        let family = families.last_mut().ok_or_else(|| wrong("nothing was announced"))?;
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').ok_or_else(|| wrong("no type"))?;
            if name != family.name || !["counter", "gauge", "histogram", "info"].contains(&kind) {
                return Err(wrong("a bad type"));
            }
            kind.clone_into(&mut family.kind);
            continue;
        }
        let sample = sample(line).ok_or_else(|| wrong("no sample"))?;
        let suffixes: &[&str] = match family.kind.as_str() {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_sum", "_count"],
            "info" => &["_info"],
            _ => &[""],
        };
        let own = sample.name.strip_prefix(&family.name).is_some_and(|rest| suffixes.contains(&rest));
        if !own || !seen.insert((sample.name.clone(), sample.labels.clone())) {
            return Err(wrong("of another family, or twice"));
        }
        family.samples.push(sample);
    }
    families.iter().filter(|family| family.kind == "histogram").try_for_each(is_histogram)?;
    Ok(families)
}

fn sample(line: &str) -> Option<Sample> {
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(end);
    let (labels, value) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (BTreeMap::new(), rest),
    };
    let value = value.strip_prefix(' ')?.parse().ok()?;
    is_name(name).then(|| Sample { name: name.to_owned(), labels, value })
}

/// Parses up to the closing brace.
fn labels(mut rest: &str) -> Option<(BTreeMap<String, String>, &str)> {
    let mut labels = BTreeMap::new();
    loop {
        let (name, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut chars = after.char_indices();
        let end = loop {
            match chars.next()? {
                (at, '"') => break at,
                (_, '\n') => return None,
                (_, '\\') => value.push(match chars.next()?.1 {
                    'n' => '\n',
                    c @ ('\\' | '"') => c,
                    _ => return None,
                }),
                (_, c) => value.push(c),
            }
        };
        if !is_name(name) || labels.insert(name.to_owned(), value).is_some() {
            return None;
        }
        rest = &after[end + 1..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => return Some((labels, rest.strip_prefix('}')?)),
        }
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Checks that bucket counts only grow, and that the last bucket contains all samples.
fn is_histogram(family: &Family) -> Result<(), String> {
    let mut sets: BTreeMap<BTreeMap<String, String>, Vec<(f64, f64)>> = BTreeMap::new();
    for sample in family.samples.iter().filter(|sample| sample.name.ends_with("_bucket")) {
        let mut labels = sample.labels.clone();
        let bound = labels.remove("le").and_then(|le| le.parse().ok()).ok_or("a bucket without a bound")?;
        sets.entry(labels).or_default().push((bound, sample.value));
    }
    for (labels, buckets) in sets {
        let count = family.samples.iter().find(|it| it.name.ends_with("_count") && it.labels == labels);
        let grows = buckets.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        let last = buckets.last().ok_or("no buckets")?;
        if !grows || last.0 != f64::INFINITY || count.is_none_or(|count| count.value != last.1) {
            return Err(format!("no histogram: {} {labels:?} {buckets:?}", family.name));
        }
    }
    Ok(())
}
