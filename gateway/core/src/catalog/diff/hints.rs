//! Hints on what a tool may do, compared (2026-07-28, `ToolAnnotations`).
//!
//! Hosts ask people before a call, or don't, by these hints. They are the plugin's own word, so a new version that says
//! less deserves a look.

use crate::manifest::ToolHints;

/// A hint that says less than before of what a call may do, with MCP's defaults where nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weaker {
    /// It changed something, and now it says that it doesn't.
    ReadOnly,
    /// It might destroy something, and now it says that it doesn't.
    NotDestructive,
    /// A second call changed more, and now it says that it doesn't.
    Idempotent,
    /// It reached beyond a closed set of things, and now it says that it doesn't.
    ClosedWorld,
}

impl Weaker {
    /// What `now` says less than `before`.
    pub(super) fn between(before: &ToolHints, now: &ToolHints) -> Vec<Self> {
        let (before, now) = (Said::by(before), Said::by(now));
        let all = [
            (Self::ReadOnly, !before.read_only && now.read_only),
            (Self::NotDestructive, before.destructive && !now.destructive),
            (Self::Idempotent, !before.idempotent && now.idempotent),
            (Self::ClosedWorld, before.open_world && !now.open_world),
        ];
        all.into_iter().filter(|(_, weaker)| *weaker).map(|(hint, _)| hint).collect()
    }

    /// From what to what.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "not read-only → read-only",
            Self::NotDestructive => "destructive → not destructive",
            Self::Idempotent => "not idempotent → idempotent",
            Self::ClosedWorld => "open world → closed world",
        }
    }
}

/// Hints with their defaults filled in.
struct Said {
    read_only: bool,
    destructive: bool,
    idempotent: bool,
    open_world: bool,
}

impl Said {
    fn by(hints: &ToolHints) -> Self {
        let ToolHints { title: _, read_only, destructive, idempotent, open_world, extra: _ } = hints;
        Self {
            read_only: read_only.unwrap_or(false),
            destructive: destructive.unwrap_or(true),
            idempotent: idempotent.unwrap_or(false),
            open_world: open_world.unwrap_or(true),
        }
    }
}
