//! The order of one plugin's checks.

use tokio::time::Instant;

use crate::supervisor::check::CheckRequest;

/// The running check and the next one. At most one runs at a time.
#[derive(Debug, Clone, Copy)]
pub(super) enum CheckQueue {
    Idle,
    Queued(CheckRequest),
    Running(CheckRequest),
    RunningAndQueued { running: CheckRequest, queued: CheckRequest },
}

impl CheckQueue {
    pub(super) fn running(&self) -> Option<CheckRequest> {
        match self {
            Self::Running(running) | Self::RunningAndQueued { running, .. } => Some(*running),
            Self::Idle | Self::Queued(_) => None,
        }
    }

    pub(super) fn queued(&self) -> Option<CheckRequest> {
        match self {
            Self::Queued(queued) | Self::RunningAndQueued { queued, .. } => Some(*queued),
            Self::Idle | Self::Running(_) => None,
        }
    }

    pub(super) fn add(&mut self, request: CheckRequest) {
        *self = match *self {
            Self::Idle => Self::Queued(request),
            Self::Queued(queued) => Self::Queued(queued.and(request)),
            Self::Running(running) => Self::RunningAndQueued { running, queued: request },
            Self::RunningAndQueued { running, queued } => {
                Self::RunningAndQueued { running, queued: queued.and(request) }
            }
        };
    }

    /// Starts the queued check if it is due and none is running.
    pub(super) fn start(&mut self, now: Instant) -> Option<CheckRequest> {
        match *self {
            Self::Queued(request) if request.not_before.is_none_or(|time| time <= now) => {
                *self = Self::Running(request);
                Some(request)
            }
            Self::Idle | Self::Queued(_) | Self::Running(_) | Self::RunningAndQueued { .. } => None,
        }
    }

    /// Ends the running check.
    pub(super) fn finish(&mut self) -> Option<CheckRequest> {
        let (next, finished) = match *self {
            Self::Running(running) => (Self::Idle, running),
            Self::RunningAndQueued { running, queued } => (Self::Queued(queued), running),
            Self::Idle | Self::Queued(_) => return None,
        };
        *self = next;
        Some(finished)
    }
}
