//! Notifications during a call: progress and log messages, as requested by the client (2025-11-25,
//! basic/utilities/progress and server/utilities/logging; 2026-07-28, basic/patterns/progress).

use std::sync::{Arc, Mutex, PoisonError};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Number;
use tokio::sync::mpsc;

use crate::call::{CallSink, LogLevel};
use crate::caller::Caller;
use crate::json::Json;
use crate::jsonrpc;
use crate::unread_responses::{CountedMessage, UnreadResponses};

use super::params::Params;
use super::render::render;
use super::revision::{Feature, Revision};

/// The maximum number of notifications of one call that wait to be written. Any more are dropped, so that a guest can't
/// fill the gateway's memory if the client reads too slowly.
const MAX_PENDING_NOTIFICATIONS: usize = 64;

/// The size from which a notification is large, in bytes. A log line can have 64 KiB.
const LARGE_NOTIFICATION_BYTES: usize = 8 * 1024;

/// A large notification is dropped if this many of any size wait. So those of one call never take more than 1 MiB.
const MAX_PENDING_BEFORE_LARGE: usize = 8;

/// The longest progress token, in bytes. Each progress report repeats it.
const MAX_PROGRESS_TOKEN_BYTES: usize = 1024;

/// The member of a request's `_meta` that asks for progress reports.
pub(super) const PROGRESS_TOKEN_KEY: &str = "progressToken";

/// The notifications that a client wants while its request runs.
#[derive(Debug, Clone, Default)]
pub struct NotificationPrefs {
    token: Option<Json>,
    level: Option<LogLevel>,
}

impl NotificationPrefs {
    /// Reads them: progress if the client sent a token, a short string or an integer, and log messages from `level` on.
    #[must_use]
    pub fn read(params: &Params, level: Option<LogLevel>) -> Self {
        let is_integer = |text: &str| {
            serde_json::from_str::<Number>(text).is_ok_and(|number| number.is_i64() || number.is_u64())
        };
        let fits = |text: &&str| {
            text.len() <= MAX_PROGRESS_TOKEN_BYTES && (text.starts_with('"') || is_integer(text))
        };
        let token = params.meta(PROGRESS_TOKEN_KEY).filter(fits);
        Self { token: token.and_then(|token| Json::parse(token).ok()), level }
    }

    /// Reports whether the client wants no notifications.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.token.is_none() && self.level.is_none()
    }
}

/// A message to the client in addition to the response to its request.
#[derive(Debug, PartialEq, Eq)]
pub enum SideMessage {
    /// A notification.
    Notification(CountedMessage),
    /// A question. Its answer is a message of its own.
    Request(Vec<u8>),
    /// The withdrawal of a question, sent even if the request that asked was cancelled.
    Withdrawal(Vec<u8>),
}

/// The channel for messages in addition to the response.
#[must_use]
pub fn side_message_channel() -> (mpsc::Sender<SideMessage>, mpsc::Receiver<SideMessage>) {
    mpsc::channel(MAX_PENDING_NOTIFICATIONS)
}

/// Turns a plugin's log messages and progress into notifications of a revision.
#[derive(Debug)]
pub struct Notifier {
    revision: Revision,
    prefs: NotificationPrefs,
    last_progress: Mutex<f64>,
    out: mpsc::Sender<SideMessage>,
    unread_responses: Arc<UnreadResponses>,
    caller: Caller,
}

impl Notifier {
    /// A notifier that sends to `out`. Large notifications count as unread responses of `caller`.
    #[must_use]
    pub fn new(
        revision: Revision,
        wishes: NotificationPrefs,
        out: mpsc::Sender<SideMessage>,
        unread_responses: &Arc<UnreadResponses>,
        caller: &Caller,
    ) -> Self {
        Self {
            revision,
            prefs: wishes,
            last_progress: Mutex::new(f64::NEG_INFINITY),
            out,
            unread_responses: Arc::clone(unread_responses),
            caller: caller.clone(),
        }
    }

    fn send(&self, method: &str, params: &impl Serialize) {
        let mut message = Vec::with_capacity(128);
        jsonrpc::write_notification(&mut message, method, Some(&render(params)));
        let pending = self.out.max_capacity() - self.out.capacity();
        let is_too_large = message.len() >= LARGE_NOTIFICATION_BYTES && pending >= MAX_PENDING_BEFORE_LARGE;
        let message = if is_too_large {
            None
        } else {
            CountedMessage::from(message).reserved(&self.unread_responses, &self.caller).ok()
        };
        if message.is_none_or(|message| self.out.try_send(SideMessage::Notification(message)).is_err()) {
            tracing::debug!(method, "notification dropped: the client reads too slowly");
        }
    }
}

impl CallSink for Notifier {
    fn log_enabled(&self, level: LogLevel) -> bool {
        self.prefs.level.is_some_and(|least| level >= least)
    }

    fn log(&self, level: LogLevel, logger: Option<&str>, data: &Json) {
        if self.log_enabled(level) {
            self.send("notifications/message", &LogMessageParams { level, logger, data });
        }
    }

    fn progress(&self, current: f64, total: Option<f64>, message: Option<&str>) {
        let Some(token) = &self.prefs.token else { return };
        {
            let mut last = self.last_progress.lock().unwrap_or_else(PoisonError::into_inner);
            // "The progress value MUST increase with each notification" (basic/utilities/progress).
            if !current.is_finite() || current <= *last {
                return;
            }
            *last = current;
        }
        let message = message.filter(|_| self.revision.has(Feature::ProgressMessages));
        self.send("notifications/progress", &ProgressParams { token, current, total, message });
    }
}

struct LogMessageParams<'a> {
    level: LogLevel,
    logger: Option<&'a str>,
    data: &'a Json,
}

impl Serialize for LogMessageParams<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { level, logger, data } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("level", level.as_str())?;
        if let Some(logger) = logger {
            map.serialize_entry("logger", logger)?;
        }
        map.serialize_entry("data", data)?;
        map.end()
    }
}

struct ProgressParams<'a> {
    token: &'a Json,
    current: f64,
    total: Option<f64>,
    message: Option<&'a str>,
}

impl Serialize for ProgressParams<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { token, current, total, message } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("progressToken", token)?;
        map.serialize_entry("progress", &ReportedNumber(*current))?;
        if let Some(total) = total.filter(|total| total.is_finite()) {
            map.serialize_entry("total", &ReportedNumber(total))?;
        }
        if let Some(message) = message {
            map.serialize_entry("message", message)?;
        }
        map.end()
    }
}

/// A number that is written without `.0` if it is whole, as most clients print it.
struct ReportedNumber(f64);

impl Serialize for ReportedNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0; // 2^53: whole numbers up to here are exact
        if self.0.fract() == 0.0 && self.0.abs() < MAX_EXACT_INTEGER {
            #[expect(clippy::cast_possible_truncation, reason = "it is whole and below 2^53")]
            return serializer.serialize_i64(self.0 as i64);
        }
        serializer.serialize_f64(self.0)
    }
}
