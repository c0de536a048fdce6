//! `reload`: requests a reload of the running gateway.

use clap::Args;
use serde_json::Value;

use crate::admin::AdminRoute;
use crate::cli::admin_client::AdminOptions;
use crate::cli::error::CommandResult;
use crate::cli::{CommonOptions, ExitKind, OutputFormat, print};

/// Reload the running gateway's configuration and plugins, and wait for the result
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate reload
  moongate reload --admin 127.0.0.1:8932 --format json

This also applies held changes: new code for plugins with `reload = \"pinned\"`, and wider grants if \
`wider_grants = \"wait\"`.")]
pub(super) struct Reload {
    #[command(flatten)]
    place: AdminOptions,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: OutputFormat,
}

impl Reload {
    pub(super) async fn run(self, common: &CommonOptions) -> CommandResult {
        let gateway = self.place.gateway(common)?;
        let answer = gateway.post(AdminRoute::Reload).await?;
        let document = answer.json()?;
        let (Some(changed), Some(failed), true) =
            (lines(&document, "changed"), lines(&document, "failed"), answer.is_ok)
        else {
            return Err(answer.unexpected_response().into());
        };
        let restart = lines(&document, "needs_restart").unwrap_or_default();
        match self.format {
            OutputFormat::Json => print::json(&document)?,
            OutputFormat::Text => print::untrusted(&text(&changed, &failed, &restart))?,
        }
        Ok(if failed.is_empty() { ExitKind::Success } else { ExitKind::Failure })
    }
}

fn lines<'a>(document: &'a Value, key: &str) -> Option<Vec<&'a str>> {
    document[key].as_array()?.iter().map(Value::as_str).collect()
}

/// The results of a reload, one per line.
fn text(changed: &[&str], failed: &[&str], restart: &[&str]) -> String {
    if changed.is_empty() && failed.is_empty() && restart.is_empty() {
        return "nothing changed\n".to_owned();
    }
    let changed = changed.iter().map(|line| format!("changed  {}\n", print::inline(line)));
    let failed = failed.iter().map(|line| format!("failed   {}\n", print::inline(line)));
    let waits = restart.iter().map(|key| {
        format!("waits    needs a restart: `{}`{}\n", print::inline(key), restart_consequence(key))
    });
    changed.chain(failed).chain(waits).collect()
}

/// The consequences worth mentioning of a change that needs a restart.
fn restart_consequence(key: &str) -> &'static str {
    match key {
        "http.auth.issuers" => "; the old issuers work until then",
        "http.auth.tokens" => "; no static token works until then",
        "admin.token" => "; no token of the admin listener works until then",
        "http.listen" | "admin.listen" | "admin" => "; the old address is used until then",
        _ => "",
    }
}

#[cfg(test)]
mod tests;
