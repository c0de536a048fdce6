//! `logs`: the calls, reloads and refusals of the running gateway, as they happen.

use std::time::Duration;

use clap::Args;
use tokio::time::sleep;

use crate::admin::AdminRoute;
use crate::admin::activity::Activity;
use crate::cli::admin_client::{AdminClient, AdminOptions};
use crate::cli::error::{CommandError, CommandResult};
use crate::cli::{CommonOptions, ExitKind, OutputFormat, print};

mod feed;

use feed::{ActivityEvent, ActivityFeed};

/// The interval at which the gateway is asked for new events: short enough to look immediate.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The interval at which a gateway that doesn't respond is asked again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Show the calls, reloads and refusals of the running gateway
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate logs
  moongate logs --follow
  moongate logs --follow --format json

The gateway remembers the last 2000 calls, without arguments and results. To see the log lines of the gateway and of \
plugins, read the gateway's stderr.")]
pub(super) struct Logs {
    #[command(flatten)]
    place: AdminOptions,
    /// Print new events as they happen, until you press Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// Number of earlier events to print
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 20)]
    lines: usize,
    /// Output format. With `json`, each line is an object
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: OutputFormat,
}

impl Logs {
    pub(super) async fn run(self, common: &CommonOptions) -> CommandResult {
        let gateway = self.place.gateway(common)?;
        let mut feed = ActivityFeed::default();
        let mut events = feed.new_events(request_activity(&gateway, &feed.query()).await?);
        events.drain(..events.len().saturating_sub(self.lines));
        let mut is_lost = false;
        loop {
            let text: String = events.iter().map(|event| self.line(event)).collect();
            if !print::is_stdout_open_after(&text)? || !self.follow {
                return Ok(ExitKind::Success);
            }
            sleep(if is_lost { RETRY_INTERVAL } else { POLL_INTERVAL }).await;
            let activity = request_activity(&gateway, &feed.query()).await;
            let was_lost = std::mem::replace(&mut is_lost, activity.is_err());
            events = match activity {
                Ok(activity) => feed.new_events(activity),
                Err(error) if error.exit() == ExitKind::Unauthorized => return Err(error),
                Err(error) => {
                    if !was_lost {
                        print::note(&format!("waiting for the gateway: {}", error.first_message()));
                    }
                    Vec::new()
                }
            };
        }
    }

    fn line(&self, event: &ActivityEvent) -> String {
        match self.format {
            OutputFormat::Json => print::json_line(&event.document()),
            OutputFormat::Text => event.line(print::stdout_style()),
        }
    }
}

/// The gateway's activity.
///
/// # Errors
/// The gateway doesn't respond, or is an earlier version.
pub(super) async fn request_activity(gateway: &AdminClient, query: &str) -> Result<Activity, CommandError> {
    let answer = gateway.get(AdminRoute::Activity, query).await?;
    match serde_json::from_str(&answer.body) {
        Ok(activity) if answer.is_ok => Ok(activity),
        Ok(_) | Err(_) => Err(answer.unexpected_response().into()),
    }
}
