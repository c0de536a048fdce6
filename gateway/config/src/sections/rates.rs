//! `[callers]`, `[roles.NAME.limits]` and `[plugins.NAME.rates]`: the rates of calls, and the number of concurrent
//! calls of each caller.

use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

use moongate_model::call_rate::{CallRate, CallerLimits, ToolRate, ToolRates};
use moongate_model::names::ToolName;

use super::http::HttpConfig;
use super::plugin::or_report_name;
use crate::model::diagnostic::quoted;
use crate::model::{Diagnostic, PluginConfig};
use crate::read::{ConfigReader, TomlTable};
use crate::spec::keys::{EVERY_TOOL, RATE, TOOL_RATE};

/// Reads `[callers]`.
pub(crate) fn read_callers(reader: &mut ConfigReader<'_>, root: &TomlTable<'_>) -> CallerLimits {
    reader.table(root, "callers").map(|table| read_caller_limits(reader, &table)).unwrap_or_default()
}

/// Reads the limits of each caller, or of each caller with a role.
pub(super) fn read_caller_limits(reader: &mut ConfigReader<'_>, table: &TomlTable<'_>) -> CallerLimits {
    let concurrency = table.get("concurrency").map(|_| reader.integer(table, "concurrency", 0));
    CallerLimits {
        calls: read_rate(reader, table, "calls"),
        completions: read_rate(reader, table, "completions"),
        concurrency: concurrency.and_then(NonZeroU32::new),
    }
}

/// Reads the rates of a plugin's tools.
pub(super) fn read_tool_rates(reader: &mut ConfigReader<'_>, plugin: &TomlTable<'_>) -> ToolRates {
    let mut rates = ToolRates::default();
    for (name, value) in reader.named_entries(plugin, "rates") {
        let Some(table) = reader.as_table(&value, TOOL_RATE) else { continue };
        let rate = ToolRate {
            calls: read_rate(reader, &table, "calls"),
            per_caller: read_rate(reader, &table, "per_caller"),
        };
        if name == EVERY_TOOL {
            rates.each = rate;
            rates.places.insert(name.to_owned(), value.key_span);
            continue;
        }
        let hint =
            "write the plugin's own name for a tool, or `\"*\"` for each; `moongate inspect` lists them";
        if or_report_name(reader, ToolName::new(name), &value.key_span, "invalid tool name", hint).is_some() {
            rates.tools.insert(name.to_owned(), rate);
            rates.places.insert(name.to_owned(), value.key_span);
        }
    }
    rates
}

/// Warnings of rates of tools that one caller can use up for all others.
pub(crate) fn shared_tool_rates(http: &HttpConfig, plugins: &[Arc<PluginConfig>]) -> Vec<Diagnostic> {
    let has_several_callers =
        http.tokens.len() > 1 || !http.oauth.issuers.is_empty() || http.accepts_certificates();
    if !has_several_callers {
        return Vec::new();
    }
    let rates = plugins.iter().flat_map(|plugin| {
        let ToolRates { each, tools, places } = &plugin.rates;
        let tools = tools.iter().map(|(name, own)| (name.as_str(), own.calls, plugin.rates.of(name)));
        let all = tools.chain([(EVERY_TOOL, each.calls, *each)]);
        all.filter_map(|(name, written, effective)| {
            written.filter(|_| effective.per_caller.is_none())?;
            Some((name, places.get(name)?))
        })
    });
    let warning = |(name, span): (&str, &Range<usize>)| {
        let what = if name == EVERY_TOOL { "each tool".to_owned() } else { quoted(name) };
        Diagnostic::warning(format!("one caller can use up the rate of {what} for all others"))
            .with_span(span.clone())
            .with_hint("add `per_caller`, such as half of `calls`")
    };
    rates.map(warning).collect()
}

/// Reads a rate: `"60/min"` or `{ rate = "60/min", burst = 10 }`.
fn read_rate(reader: &mut ConfigReader<'_>, parent: &TomlTable<'_>, name: &str) -> Option<CallRate> {
    let value = parent.get(name)?;
    let (text, burst) = if value.inner.is_str() {
        (reader.as_string(&value, &parent.key(name).kind)?, None)
    } else if value.inner.is_table() {
        let table = reader.as_table(&value, RATE)?;
        let burst = table.get("burst").map(|_| reader.integer(&table, "burst", 0));
        (reader.string(&table, "rate")?, burst)
    } else {
        reader.report_wrong_type(&value, &parent.key(name).kind);
        return None;
    };
    let Some(rate) = CallRate::parse(&text.text) else {
        let problem = Diagnostic::error(format!("invalid rate {}", quoted(&text.text))).with_span(text.span);
        reader.report(problem.with_hint(format!(
            "write a number from 1 to {} and a period, such as \"60/min\"; the periods are `s`, `min`, `h` and `d`",
            CallRate::MAX_CALLS
        )));
        return None;
    };
    Some(CallRate { burst: burst.and_then(NonZeroU32::new).unwrap_or(rate.burst), ..rate })
}
