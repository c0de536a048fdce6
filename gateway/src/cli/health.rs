//! `health`: asks the running gateway if it is ready, for health checks in containers without curl.

use clap::Args;
use serde_json::json;

use crate::admin::AdminRoute;
use crate::cli::admin_client::AdminOptions;
use crate::cli::error::CommandResult;
use crate::cli::{CommonOptions, ExitKind, OutputFormat, print};

/// The prefix of a line about a check that passed.
const PASSED_PREFIX: &str = "[+]";

/// Check that the running gateway is ready
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate health
  moongate health --details

The exit code is 0 if the gateway accepts requests, 1 while it starts or stops, and 4 if no gateway responds. A failed \
plugin or a rejected configuration is reported and doesn't change the exit code.")]
pub(super) struct Health {
    #[command(flatten)]
    place: AdminOptions,
    /// Also print the checks that passed, including each plugin
    #[arg(long)]
    details: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: OutputFormat,
}

impl Health {
    pub(super) async fn run(self, common: &CommonOptions) -> CommandResult {
        let gateway = self.place.gateway(common)?;
        let answer = gateway.get(AdminRoute::Readyz, "?verbose").await?;
        let mut lines: Vec<&str> = answer.body.lines().collect();
        let sum = lines.pop();
        if !matches!((sum, answer.is_ok), (Some("ready"), true) | (Some("not ready"), false)) {
            return Err(answer.unexpected_response().into());
        }
        lines.retain(|line| self.details || !line.starts_with(PASSED_PREFIX));
        match self.format {
            OutputFormat::Json => print::json(&json!({ "ready": answer.is_ok, "checks": lines }))?,
            OutputFormat::Text => {
                let lines = lines.into_iter().chain(sum);
                print::untrusted(&lines.map(|line| format!("{line}\n")).collect::<String>())?;
            }
        }
        Ok(if answer.is_ok { ExitKind::Success } else { ExitKind::Failure })
    }
}
