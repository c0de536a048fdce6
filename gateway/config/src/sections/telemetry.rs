//! `[telemetry]`: the export of traces and metrics over OTLP.

use std::collections::BTreeSet;

use url::Url;

use crate::grants::read_headers;
use crate::model::diagnostic::quoted;
use crate::model::{Diagnostic, Secret};
use crate::read::{ConfigReader, TomlString, TomlTable};

/// The default of [`TelemetryConfig::traces_per_second`].
const DEFAULT_TRACES_PER_SECOND: u32 = 100;

/// The export of traces and metrics over OTLP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetryConfig {
    /// The base address of the collector, without a `/` at its end. `None` leaves it to environment variables.
    pub otlp: Option<String>,
    /// Headers for the collector: names in lower case, with complete values.
    pub headers: Vec<(String, Secret)>,
    /// The signals to export.
    pub signals: BTreeSet<TelemetrySignal>,
    /// The percentage of requests to trace. `None` leaves it to environment variables.
    pub sample_percent: Option<u32>,
    /// The maximum number of requests to trace per second.
    pub traces_per_second: u32,
    /// True if callers decide which of their requests are traced. `None` leaves it to environment variables.
    pub follow_callers: Option<bool>,
}

/// A signal of OpenTelemetry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TelemetrySignal {
    /// Spans.
    Traces,
    /// Metrics.
    Metrics,
}

impl TelemetrySignal {
    const ALL: [Self; 2] = [Self::Traces, Self::Metrics];

    fn as_str(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Metrics => "metrics",
        }
    }
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self {
            otlp: None,
            headers: Vec::new(),
            signals: TelemetrySignal::ALL.into(),
            sample_percent: None,
            traces_per_second: DEFAULT_TRACES_PER_SECOND,
            follow_callers: None,
        }
    }
}

/// Reads `[telemetry]`. Without the table, only environment variables turn the export on.
pub(crate) fn read_telemetry(reader: &mut ConfigReader<'_>, root: &TomlTable<'_>) -> Option<TelemetryConfig> {
    let table = reader.table(root, "telemetry")?;
    let disclosed = reader.disclosed.len();
    let (headers, _) = read_headers(reader, &table);
    reader.disclosed.truncate(disclosed); // it is a secret of the gateway itself
    let otlp =
        reader.string(&table, "otlp").and_then(|text| read_address(reader, &text, !headers.is_empty()));
    let signals = match reader.strings(&table, "signals") {
        Some(words) => {
            let is_named = |signal: &TelemetrySignal| words.iter().any(|word| word.text == signal.as_str());
            TelemetrySignal::ALL.into_iter().filter(is_named).collect()
        }
        None => TelemetrySignal::ALL.into(),
    };
    let sample_percent = table.get("sample_percent").map(|_| reader.integer(&table, "sample_percent", 100));
    let follow_callers = table.get("follow_callers").map(|_| reader.boolean(&table, "follow_callers", false));
    Some(TelemetryConfig {
        otlp,
        headers: headers.into_iter().map(|(name, value, _)| (name, value)).collect(),
        signals,
        sample_percent,
        traces_per_second: reader.integer(&table, "traces_per_second", DEFAULT_TRACES_PER_SECOND),
        follow_callers,
    })
}

/// Reads the base address of the collector.
fn read_address(reader: &mut ConfigReader<'_>, text: &TomlString, has_headers: bool) -> Option<String> {
    let example = "write an address such as \"http://127.0.0.1:4318\" or \"https://collector.example.com\"";
    let url = Url::parse(&text.text).ok().filter(|url| ["http", "https"].contains(&url.scheme()));
    let Some(url) = url.filter(Url::has_host) else {
        let problem = Diagnostic::error(format!("invalid collector address: {}", quoted(&text.text)));
        reader.report(problem.with_span(text.span.clone()).with_hint(example));
        return None;
    };
    if !url.username().is_empty() || url.password().is_some() {
        reader.secret_spans.push(text.span.clone());
        let problem = Diagnostic::error("the collector address contains credentials");
        let hint =
            "remove it, and add `headers = { authorization = { file = \"path\", prefix = \"Basic \" } }`";
        reader.report(problem.with_span(text.span.clone()).with_hint(hint));
        return None;
    }
    if url.query().is_some() || url.fragment().is_some() || url.path().ends_with("/v1/traces") {
        let problem = Diagnostic::error("the collector address must be a base address");
        let hint = "remove any query, fragment and `/v1/traces`: the gateway adds the path of each signal";
        reader.report(problem.with_span(text.span.clone()).with_hint(hint));
        return None;
    }
    if has_headers && url.scheme() == "http" && !is_loopback(&url) {
        let problem = Diagnostic::warning("`headers` are sent to the collector without encryption");
        reader.report(problem.with_span(text.span.clone()).with_hint("write `https`"));
    }
    Some(url.as_str().trim_end_matches('/').to_owned())
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}
