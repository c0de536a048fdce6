//! `reload`: asks the gateway that runs to look at everything anew.

use clap::Args;
use serde_json::Value;

use crate::admin::Route;
use crate::cli::ask::Where;
use crate::cli::failure::Done;
use crate::cli::{Common, Exit, Format, print};

/// Ask the running gateway to read its configuration and all plugins anew, and wait until it has
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate reload
  moongate reload --admin 127.0.0.1:8932 --format json

It also takes into use what waits for the operator: other code of plugins with `reload = \"pinned\"`, and wider grants \
where `wider_grants = \"wait\"`.")]
pub(super) struct Reload {
    #[command(flatten)]
    place: Where,
    /// How to print the answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

impl Reload {
    pub(super) async fn run(self, common: &Common) -> Done {
        let gateway = self.place.gateway(common)?;
        let answer = gateway.post(Route::Reload).await?;
        let document = answer.json()?;
        let (Some(changed), Some(failed), true) =
            (lines(&document, "changed"), lines(&document, "failed"), answer.is_ok)
        else {
            return Err(answer.complaint().into());
        };
        let restart = lines(&document, "needs_restart").unwrap_or_default();
        match self.format {
            Format::Json => print::json(&document)?,
            Format::Text => print::foreign(&text(&changed, &failed, &restart))?,
        }
        Ok(if failed.is_empty() { Exit::Success } else { Exit::Failure })
    }
}

fn lines<'a>(document: &'a Value, key: &str) -> Option<Vec<&'a str>> {
    document[key].as_array()?.iter().map(Value::as_str).collect()
}

/// What came of it, a line each.
fn text(changed: &[&str], failed: &[&str], restart: &[&str]) -> String {
    if changed.is_empty() && failed.is_empty() && restart.is_empty() {
        return "nothing changed\n".to_owned();
    }
    let changed = changed.iter().map(|line| format!("changed  {}\n", print::said(line)));
    let failed = failed.iter().map(|line| format!("failed   {}\n", print::said(line)));
    let waits = restart
        .iter()
        .map(|key| format!("waits    needs a restart: `{}`{}\n", print::said(key), until_then(key)));
    changed.chain(failed).chain(waits).collect()
}

/// What goes on until a key is taken into use, where that is more than a nuisance.
fn until_then(key: &str) -> &'static str {
    match key {
        "http.auth.tokens" => ", and until then the earlier tokens go on working",
        "http.listen" | "admin.listen" | "admin" => ", and until then it listens where it did",
        _ => "",
    }
}

#[cfg(test)]
mod tests;
