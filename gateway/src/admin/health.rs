//! Readiness: as a status for load balancers and containers, and as lines of text for people.

use std::fmt::Write as _;

use moongate_model::text::is_hidden;

use crate::admin::AdminContext;
use crate::supervisor::status::{PluginActivity, PluginIssue, PluginState, PluginStatus, SupervisorStatus};

/// The level of detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadinessDetail {
    /// Readiness alone.
    None,
    /// Readiness, and the reasons against it.
    Short,
    /// Also every check and plugin.
    Verbose,
}

impl ReadinessDetail {
    /// The level that a query requests: `?verbose`.
    pub(super) fn of(query: &str) -> Self {
        let is_verbose = query.split('&').any(|part| part.split('=').next() == Some("verbose"));
        if is_verbose { Self::Verbose } else { Self::Short }
    }
}

/// The severity of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckSeverity {
    /// No problem.
    Ok,
    /// A problem that doesn't affect the served version.
    Warning,
    /// A problem that needs action from the operator. It is also shown without `?verbose`.
    Action,
    /// The gateway must not receive requests.
    NotReady,
}

impl CheckSeverity {
    fn symbol(self) -> &'static str {
        match self {
            Self::Ok => "[+]",
            Self::Warning | Self::Action => "[!]",
            Self::NotReady => "[-]",
        }
    }
}

/// The results of the checks, one per line.
#[derive(Debug)]
pub(super) struct Readiness(Vec<(CheckSeverity, String)>);

impl Readiness {
    /// Runs all checks. `None` means that the gateway is starting.
    pub(super) fn of(admin: Option<&AdminContext>) -> Self {
        let Some(admin) = admin else {
            return Self(vec![(CheckSeverity::NotReady, "load: in progress".to_owned())]);
        };
        let status = (admin.status)();
        let mut lines = vec![match admin.loaded.is_cancelled() {
            true => (CheckSeverity::Ok, "load: done".to_owned()),
            false => (CheckSeverity::NotReady, "load: in progress".to_owned()),
        }];
        lines.push(if admin.draining.is_cancelled() {
            (CheckSeverity::NotReady, "requests: rejected, the gateway is stopping".to_owned())
        } else {
            (CheckSeverity::Ok, "requests: accepted".to_owned())
        });
        lines.push(configuration(&status));
        lines.extend(status.plugins.iter().map(|plugin| {
            let (severity, state) = state(plugin);
            (severity, format!("plugin {}: {state}", plugin.id))
        }));
        Self(lines)
    }

    /// True if load balancers can send requests here.
    pub(super) fn is_ready(&self) -> bool {
        self.0.iter().all(|(severity, _)| *severity != CheckSeverity::NotReady)
    }

    /// The lines of this level of detail, and the result.
    pub(super) fn text(&self, detail: ReadinessDetail) -> String {
        let shown = self.0.iter().filter(|(severity, _)| match detail {
            ReadinessDetail::None => false,
            ReadinessDetail::Short => matches!(severity, CheckSeverity::NotReady | CheckSeverity::Action),
            ReadinessDetail::Verbose => true,
        });
        let mut text = String::new();
        for (severity, line) in shown {
            // Text from plugins is already sanitized. Each result stays on one line in any case.
            let line = line.replace(is_hidden, " ");
            let _ = writeln!(text, "{} {line}", severity.symbol());
        }
        text.push_str(if self.is_ready() { "ready\n" } else { "not ready\n" });
        text
    }
}

fn configuration(status: &SupervisorStatus) -> (CheckSeverity, String) {
    match &status.config.rejected {
        Some(reason) => (CheckSeverity::Warning, format!("configuration: rejected: {reason}")),
        None if !status.config.needs_restart.is_empty() => {
            let keys = status.config.needs_restart.join("`, `");
            (CheckSeverity::Action, format!("configuration: needs a restart: `{keys}`"))
        }
        None if !status.config.pending_keys.is_empty() => {
            let keys = status.config.pending_keys.join(", ");
            (CheckSeverity::Warning, format!("configuration: run `moongate reload` to apply {keys}"))
        }
        None => (CheckSeverity::Ok, "configuration: in use".to_owned()),
    }
}

fn state(plugin: &PluginStatus) -> (CheckSeverity, String) {
    match &plugin.state {
        PluginState::Loading => match plugin.activity {
            PluginActivity::Compiling => (CheckSeverity::Warning, "compiling".to_owned()),
            PluginActivity::Idle | PluginActivity::Checking => (CheckSeverity::Warning, "loading".to_owned()),
        },
        PluginState::Serving if plugin.activity == PluginActivity::Compiling => {
            (CheckSeverity::Ok, "serving, and compiling new code".to_owned())
        }
        PluginState::Serving => match &plugin.unavailable_directories[..] {
            [] => (CheckSeverity::Ok, "serving".to_owned()),
            missing => {
                let names: Vec<_> = missing.iter().map(|path| format!("`{}`", path.display())).collect();
                let line =
                    format!("serving, but these granted directories can't be opened: {}", names.join(", "));
                (CheckSeverity::Warning, line)
            }
        },
        PluginState::Degraded(PluginIssue { reason, ends_calls: true, .. }) => {
            (CheckSeverity::Warning, format!("degraded, calls fail: {reason}"))
        }
        PluginState::Degraded(PluginIssue { reason, .. }) => {
            (CheckSeverity::Warning, format!("degraded, an earlier version is serving: {reason}"))
        }
        PluginState::Failed(PluginIssue { reason, .. }) => {
            (CheckSeverity::Warning, format!("failed: {reason}"))
        }
    }
}
