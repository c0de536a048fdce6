//! `list plugins`: the plugins of the running gateway, with their states and problems.

use std::path::Path;

use anyhow::Result;
use moongate_config::LoadedConfig;
use serde_json::Value;

use crate::admin::AdminRoute;
use crate::cli::admin_client::{AdminClient, AdminClientError, AdminOptions};
use crate::cli::error::CommandError;
use crate::cli::{CommonOptions, configuration, print};

/// The plugins of a running gateway, if one responds.
#[derive(Debug)]
pub(super) enum LivePlugins {
    /// The plugins as in `/status.json`.
    Listed(Vec<Value>),
    /// No gateway responded, for this reason.
    Unavailable(String),
}

/// The status of a gateway.
struct GatewayStatus {
    plugins: Vec<Value>,
    /// The path of its configuration.
    file: String,
    /// The reason that the file's current content isn't used.
    rejected: Option<String>,
}

impl GatewayStatus {
    /// The plugins, after a note if the configuration was rejected.
    fn plugins(self, common: &CommonOptions) -> LivePlugins {
        if let Some(reason) = &self.rejected {
            let reason = print::inline(reason);
            note(
                common,
                &format!("the gateway rejected the current `{}`: {reason}", print::inline(&self.file)),
            );
        }
        LivePlugins::Listed(self.plugins)
    }
}

/// Asks the gateway given by `--admin`, or otherwise the one in the configuration, and prints a note with its address.
///
/// # Errors
/// The gateway given by `--admin` doesn't respond, or isn't a gateway.
pub(super) async fn list_live_plugins(
    place: &AdminOptions,
    common: &CommonOptions,
) -> Result<LivePlugins, CommandError> {
    if let Some(gateway) = place.named(common)? {
        return Ok(request_status(&gateway).await??.plugins(common));
    }
    let loaded = configuration::read(common.config.as_deref());
    let gateway = match AdminClient::of(&loaded, &place.tls) {
        Ok(gateway) => gateway,
        Err(silence) => return Ok(LivePlugins::Unavailable(silence.to_string())),
    };
    match request_status(&gateway).await {
        Ok(Ok(status)) => {
            let other_file = other_file_note(&status.file, &loaded);
            note(common, &format!("the plugins of the gateway at {}{other_file}", gateway.address()));
            Ok(status.plugins(common))
        }
        Ok(Err(error)) => Ok(LivePlugins::Unavailable(format!("at {}: {error}", gateway.address()))),
        Err(silence) => Ok(LivePlugins::Unavailable(silence.to_string())),
    }
}

/// Prints a note, except with `--quiet`.
pub(super) fn note(common: &CommonOptions, text: &str) {
    if !common.quiet {
        print::note(text);
    }
}

/// A remark if the gateway uses a different configuration than this command; otherwise empty.
fn other_file_note(file: &str, loaded: &LoadedConfig) -> String {
    let path = &loaded.source.path;
    let same = match (path.canonicalize(), Path::new(file).canonicalize()) {
        (Ok(here), Ok(there)) => here == there,
        (Ok(_) | Err(_), _) => false,
    };
    if same { String::new() } else { format!(", which uses `{file}`") }
}

async fn request_status(gateway: &AdminClient) -> Result<Result<GatewayStatus>, AdminClientError> {
    let answer = gateway.get(AdminRoute::Status, "").await?;
    Ok(answer.json().and_then(|mut document| {
        let file = document["config"]["file"].as_str().map(str::to_owned);
        let rejected = document["config"]["rejected"].as_str().map(str::to_owned);
        match (document["plugins"].take(), file) {
            (Value::Array(plugins), Some(file)) => Ok(GatewayStatus { plugins, file, rejected }),
            _ => Err(answer.unexpected_response()),
        }
    }))
}

/// A table of plugins, each followed by its problems and pending changes.
pub(super) fn plugins_table(plugins: &[Value]) -> String {
    let rows: Vec<[String; 6]> = plugins.iter().map(row).collect();
    let head = ["PLUGIN", "STATE", "VERSION", "CODE", "SINCE", "OFFERS"].map(str::to_owned);
    let mut widths = [0; 6];
    for cells in rows.iter().chain([&head]) {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: &[String; 6]| {
        let cells = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut text = line(&head);
    for (plugin, cells) in plugins.iter().zip(&rows) {
        text.push_str(&line(cells));
        text.extend(remarks(plugin).iter().map(|remark| format!("  {}\n", print::inline(remark))));
    }
    text
}

fn row(plugin: &Value) -> [String; 6] {
    let word = |key: &str| print::inline(plugin[key].as_str().unwrap_or("-"));
    let code = print::inline(plugin["sha256"].as_str().and_then(|digest| digest.get(..12)).unwrap_or("-"));
    let since = plugin["since"].as_str().map_or("-".to_owned(), utc_time);
    [word("id"), word("state"), word("version"), code, since, offers(plugin)]
}

/// `2026-01-02 03:04:05 UTC` for `2026-01-02T03:04:05.678Z`.
fn utc_time(time: &str) -> String {
    let seconds = time.split('.').next().unwrap_or(time);
    print::inline(&format!("{} UTC", seconds.trim_end_matches('Z').replace('T', " ")))
}

fn offers(plugin: &Value) -> String {
    let kinds =
        [("tools", "tool"), ("resources", "resource"), ("templates", "template"), ("prompts", "prompt")];
    let number = |key| plugin["offers"][key].as_u64().and_then(|number| usize::try_from(number).ok());
    let some = kinds.iter().filter_map(|(key, one)| Some((number(key).filter(|number| *number > 0)?, one)));
    let all: Vec<String> = some.map(|(number, one)| print::count(number, one)).collect();
    if all.is_empty() { "-".to_owned() } else { all.join(", ") }
}

fn remarks(plugin: &Value) -> Vec<String> {
    let trouble = &plugin["trouble"];
    let mut remarks: Vec<String> = trouble["reason"].as_str().map(str::to_owned).into_iter().collect();
    remarks.extend(trouble["hint"].as_str().map(|hint| format!("hint: {hint}")));
    remarks.extend(trouble["retry_at"].as_str().map(|at| format!("next retry at {}", utc_time(at))));
    let missing =
        plugin["unavailable_directories"].as_array().into_iter().flatten().filter_map(Value::as_str);
    remarks.extend(missing.map(|path| format!("the granted directory `{path}` can't be opened")));
    let waiting = &plugin["waiting"];
    if let Some(digest) = waiting["sha256"].as_str().and_then(|digest| digest.get(..12)) {
        remarks.push(format!("run `moongate reload` to load new code: {digest}"));
    }
    if let Some(grants) = waiting["grants"].as_array() {
        let grants: Vec<&str> = grants.iter().filter_map(Value::as_str).collect();
        remarks.push(format!("run `moongate reload` to apply wider grants: {}", grants.join(", ")));
    }
    remarks
}

#[cfg(test)]
mod tests;
