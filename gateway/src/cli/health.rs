//! `health`: asks the gateway that runs whether it serves. For health checks of containers, which have no curl.

use clap::Args;
use serde_json::json;

use crate::admin::Route;
use crate::cli::ask::Where;
use crate::cli::failure::Done;
use crate::cli::{Common, Exit, Format, print};

/// How a line begins that says that something is well.
const WELL: &str = "[+]";

/// Ask the running gateway whether it serves
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate health
  moongate health --details

It ends with 0 if requests are taken, with 1 while the gateway starts or stops, and with 4 if none answers. A plugin \
that can't be used and a configuration that isn't in use are told of, and change nothing of this.")]
pub(super) struct Health {
    #[command(flatten)]
    place: Where,
    /// Say what is well, too: all that was looked at, and each plugin
    #[arg(long)]
    details: bool,
    /// How to print the answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

impl Health {
    pub(super) async fn run(self, common: &Common) -> Done {
        let gateway = self.place.gateway(common)?;
        let answer = gateway.get(Route::Readyz, "?verbose").await?;
        let mut lines: Vec<&str> = answer.body.lines().collect();
        let sum = lines.pop();
        if !matches!((sum, answer.is_ok), (Some("ready"), true) | (Some("not ready"), false)) {
            return Err(answer.complaint().into());
        }
        lines.retain(|line| self.details || !line.starts_with(WELL));
        match self.format {
            Format::Json => print::json(&json!({ "ready": answer.is_ok, "checks": lines }))?,
            Format::Text => {
                let lines = lines.into_iter().chain(sum);
                print::foreign(&lines.map(|line| format!("{line}\n")).collect::<String>())?;
            }
        }
        Ok(if answer.is_ok { Exit::Success } else { Exit::Failure })
    }
}
