//! Differences between hints on the effects of a tool (2026-07-28, `ToolAnnotations`).
//!
//! Hosts use these hints to decide whether to ask the user before a call. They are the plugin's own claims, so a new
//! version that promises more deserves a review.

use crate::manifest::ToolHints;

/// A hint that promises more safety than before, with MCP's defaults for absent hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WeakerHint {
    /// It wasn't read-only, and now it is.
    ReadOnly,
    /// It was destructive, and now it isn't.
    NotDestructive,
    /// It wasn't idempotent, and now it is.
    Idempotent,
    /// It had an open world, and now a closed one.
    ClosedWorld,
}

impl WeakerHint {
    /// The hints of `now` that promise more than those of `before`.
    pub(super) fn between(before: &ToolHints, now: &ToolHints) -> Vec<Self> {
        let before = HintValues::from_hints(before);
        let now = HintValues::from_hints(now);
        let all = [
            (Self::ReadOnly, !before.read_only && now.read_only),
            (Self::NotDestructive, before.destructive && !now.destructive),
            (Self::Idempotent, !before.idempotent && now.idempotent),
            (Self::ClosedWorld, before.open_world && !now.open_world),
        ];
        all.into_iter().filter(|(_, weaker)| *weaker).map(|(hint, _)| hint).collect()
    }

    /// The old and the new value.
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

/// Hints with MCP's defaults filled in.
struct HintValues {
    read_only: bool,
    destructive: bool,
    idempotent: bool,
    open_world: bool,
}

impl HintValues {
    fn from_hints(hints: &ToolHints) -> Self {
        let ToolHints { title: _, read_only, destructive, idempotent, open_world, extra: _ } = hints;
        Self {
            read_only: read_only.unwrap_or(false),
            destructive: destructive.unwrap_or(true),
            idempotent: idempotent.unwrap_or(false),
            open_world: open_world.unwrap_or(true),
        }
    }
}
