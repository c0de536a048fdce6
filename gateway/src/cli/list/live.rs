//! `list plugins`, as the gateway that runs has them: with their states, and why one doesn't serve as it should.

use std::path::Path;

use anyhow::Result;
use moongate_core::config::Loaded;
use serde_json::Value;

use crate::admin::Route;
use crate::cli::ask::{Gateway, Silence, Where};
use crate::cli::failure::Failure;
use crate::cli::{Common, configuration, print};

/// What became of the question.
#[derive(Debug)]
pub(super) enum Asked {
    /// The plugins, as `/status.json` has them.
    Plugins(Vec<Value>),
    /// Nobody has told, for this reason: they can be loaded here.
    Nobody(String),
}

/// The answer of a gateway.
struct Told {
    plugins: Vec<Value>,
    /// The configuration that it runs with.
    file: String,
    /// Why what stands in that file isn't in use.
    rejected: Option<String>,
}

impl Told {
    /// The plugins, after a word on a file that says something else.
    fn plugins(self, common: &Common) -> Asked {
        if let Some(reason) = &self.rejected {
            let reason = print::said(reason);
            note(common, &format!("what stands in `{}` isn't in use: {reason}", print::said(&self.file)));
        }
        Asked::Plugins(self.plugins)
    }
}

/// Asks the gateway that was named, or else the one of the configuration, and says beside whose plugins these are.
///
/// # Errors
/// The gateway that was named doesn't answer, or with something else.
pub(super) async fn ask(place: &Where, common: &Common) -> Result<Asked, Failure> {
    if let Some(gateway) = place.named() {
        return Ok(status(gateway).await??.plugins(common));
    }
    let loaded = configuration::read(common.config.as_deref());
    let gateway = match Gateway::of(&loaded) {
        Ok(gateway) => gateway,
        Err(silence) => return Ok(Asked::Nobody(silence.to_string())),
    };
    match status(gateway).await {
        Ok(Ok(told)) => {
            let of = of(&told.file, &loaded);
            note(common, &format!("as the gateway at {} has them{of}", gateway.address()));
            Ok(told.plugins(common))
        }
        Ok(Err(error)) => Ok(Asked::Nobody(format!("at {}: {error}", gateway.address()))),
        Err(silence) => Ok(Asked::Nobody(silence.to_string())),
    }
}

/// Says something beside, unless only errors are wanted.
pub(super) fn note(common: &Common, text: &str) {
    if !common.quiet {
        print::remark(text);
    }
}

/// Another configuration than the one at hand is worth a word.
fn of(file: &str, loaded: &Loaded) -> String {
    let path = &loaded.source.path;
    let same = match (path.canonicalize(), Path::new(file).canonicalize()) {
        (Ok(here), Ok(there)) => here == there,
        (Ok(_) | Err(_), _) => false,
    };
    if same { String::new() } else { format!(", which runs with `{file}`") }
}

async fn status(gateway: Gateway) -> Result<Result<Told>, Silence> {
    let answer = gateway.get(Route::Status, "").await?;
    Ok(answer.json().and_then(|mut document| {
        let file = document["config"]["file"].as_str().map(str::to_owned);
        let rejected = document["config"]["rejected"].as_str().map(str::to_owned);
        match (document["plugins"].take(), file) {
            (Value::Array(plugins), Some(file)) => Ok(Told { plugins, file, rejected }),
            _ => Err(answer.complaint()),
        }
    }))
}

/// A table, and below a plugin what an operator should know of it.
pub(super) fn text(plugins: &[Value]) -> String {
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
        text.extend(remarks(plugin).iter().map(|remark| format!("  {}\n", print::said(remark))));
    }
    text
}

fn row(plugin: &Value) -> [String; 6] {
    let word = |key: &str| print::said(plugin[key].as_str().unwrap_or("-"));
    let code = print::said(plugin["sha256"].as_str().and_then(|digest| digest.get(..12)).unwrap_or("-"));
    let since = plugin["since"].as_str().map_or("-".to_owned(), moment);
    [word("id"), word("state"), word("version"), code, since, offers(plugin)]
}

/// `2026-01-02T03:04:05.678Z` as people write it.
fn moment(time: &str) -> String {
    let seconds = time.split('.').next().unwrap_or(time);
    print::said(&format!("{} UTC", seconds.trim_end_matches('Z').replace('T', " ")))
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
    remarks.extend(trouble["retry_at"].as_str().map(|at| format!("tried again at {}", moment(at))));
    let waiting = &plugin["waiting"];
    if let Some(digest) = waiting["sha256"].as_str().and_then(|digest| digest.get(..12)) {
        remarks.push(format!("waits for `moongate reload`: other code, {digest}"));
    }
    if let Some(grants) = waiting["grants"].as_array() {
        let grants: Vec<&str> = grants.iter().filter_map(Value::as_str).collect();
        remarks.push(format!("waits for `moongate reload`: wider grants, {}", grants.join(", ")));
    }
    remarks
}

#[cfg(test)]
mod tests;
