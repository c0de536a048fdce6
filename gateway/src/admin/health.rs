//! Whether the gateway serves: for load balancers and containers in one status, for people line by line.

use std::fmt::Write as _;
use std::sync::Arc;

use moongate_model::names::is_hidden;

use crate::admin::Admin;
use crate::supervisor::status::{PluginState, Status, Trouble};

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Whether it serves, and why not.
    Short,
    /// And every check and plugin.
    Verbose,
}

impl Detail {
    /// What a query asks for: `?verbose`.
    pub(super) fn of(query: &str) -> Self {
        let asked = query.split('&').any(|part| part.split('=').next() == Some("verbose"));
        if asked { Self::Verbose } else { Self::Short }
    }
}

/// What a line says, and its mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// It is well.
    Good,
    /// Somebody should look; what serves goes on serving.
    Look,
    /// The operator has to do something, or what was written won't hold: it is told even where little is asked for.
    Act,
    /// The gateway should get no requests.
    Unready,
}

impl Mark {
    fn sign(self) -> &'static str {
        match self {
            Self::Good => "[+]",
            Self::Look | Self::Act => "[!]",
            Self::Unready => "[-]",
        }
    }
}

/// What was found, a line each.
#[derive(Debug)]
pub(super) struct Readiness(Vec<(Mark, String)>);

impl Readiness {
    /// Looks at everything; none: the gateway is starting.
    pub(super) fn of(admin: Option<&Admin>) -> Self {
        let Some(admin) = admin else {
            return Self(vec![(Mark::Unready, "load: the plugins are being loaded".to_owned())]);
        };
        let status = Arc::clone(&admin.status.borrow());
        let mut lines = vec![(Mark::Good, "load: done".to_owned())];
        lines.push(if admin.draining.is_cancelled() {
            (Mark::Unready, "requests: not taken any more, the gateway is stopping".to_owned())
        } else {
            (Mark::Good, "requests: taken".to_owned())
        });
        lines.push(configuration(&status));
        lines.extend(status.plugins.iter().map(|plugin| {
            let (mark, state) = state(&plugin.state);
            (mark, format!("plugin {}: {state}", plugin.id))
        }));
        Self(lines)
    }

    /// May clients be sent here?
    pub(super) fn is_ready(&self) -> bool {
        self.0.iter().all(|(mark, _)| *mark != Mark::Unready)
    }

    /// One line for each finding that is asked for, and the sum at the end.
    pub(super) fn text(&self, detail: Detail) -> String {
        let told = self
            .0
            .iter()
            .filter(|(mark, _)| matches!(mark, Mark::Unready | Mark::Act) || detail == Detail::Verbose);
        let mut text = String::new();
        for (mark, line) in told {
            // What plugins said is cleaned where it comes in; a line stays a line whatever else finds its way here.
            let line: String = line.chars().map(|c| if is_hidden(c) { ' ' } else { c }).collect();
            let _ = writeln!(text, "{} {line}", mark.sign());
        }
        text.push_str(if self.is_ready() { "ready\n" } else { "not ready\n" });
        text
    }
}

fn configuration(status: &Status) -> (Mark, String) {
    match &status.config.rejected {
        Some(reason) => (Mark::Look, format!("configuration: the file isn't in use: {reason}")),
        None if !status.config.needs_restart.is_empty() => {
            let keys = status.config.needs_restart.join("`, `");
            (Mark::Act, format!("configuration: needs a restart: `{keys}`"))
        }
        None if !status.config.waiting.is_empty() => {
            let keys = status.config.waiting.join(", ");
            (Mark::Look, format!("configuration: `moongate reload` is needed for {keys}"))
        }
        None => (Mark::Good, "configuration: in use".to_owned()),
    }
}

fn state(state: &PluginState) -> (Mark, String) {
    match state {
        PluginState::Loading => (Mark::Look, "loading".to_owned()),
        PluginState::Serving => (Mark::Good, "serving".to_owned()),
        PluginState::Degraded(Trouble { reason, ends_calls: true, .. }) => {
            (Mark::Look, format!("degraded, its calls fail: {reason}"))
        }
        PluginState::Degraded(Trouble { reason, .. }) => {
            (Mark::Look, format!("degraded, an earlier version serves: {reason}"))
        }
        PluginState::Failed(Trouble { reason, .. }) => (Mark::Look, format!("failed: {reason}")),
    }
}
