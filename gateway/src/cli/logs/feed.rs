//! The new events in each answer of the gateway.

use std::collections::HashMap;
use std::time::Duration;

use moongate_model::text::{escape_hidden, escaped_line};
use serde::Serialize;
use serde_json::Value;

use crate::admin::activity::{Activity, CallRecord, RefusalRow, ReloadRow};
use crate::call_line::{CallLine, LineStyle};

/// The longest outcome of a reload, in characters.
const MAX_OUTCOME_CHARS: usize = 400;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum ActivityEvent {
    /// A call ended.
    Call(CallRecord),
    /// Calls ended, and the gateway doesn't remember them any more.
    Missed {
        /// The time of the next call.
        at: String,
        /// Their number.
        calls: u64,
    },
    /// A reload completed.
    Reload(ReloadRow),
    /// A plugin was refused an access, or a client's request was refused.
    Refused(RefusalRow),
}

impl ActivityEvent {
    fn at(&self) -> &str {
        match self {
            Self::Call(call) => &call.at,
            Self::Missed { at, .. } => at,
            Self::Reload(reload) => &reload.at,
            Self::Refused(refusal) => &refusal.last,
        }
    }

    /// The event as a JSON object in one line.
    pub(super) fn document(&self) -> Value {
        serde_json::to_value(self).expect("strings and numbers can be serialised")
    }

    /// The event as a line for people.
    pub(super) fn line(&self, style: LineStyle) -> String {
        let mut line = String::new();
        let written = match self {
            Self::Call(call) => call_line(call).write(&mut line, style),
            Self::Missed { calls, .. } => {
                return format!("… missed {calls} calls: the gateway no longer remembers them\n");
            }
            Self::Reload(ReloadRow { plugin, ok, outcome, .. }) => {
                let word = if *ok { "reloaded" } else { "failed" };
                let whose = plugin.as_deref().unwrap_or("configuration");
                return self.other_line(style, *ok, word, whose, outcome);
            }
            Self::Refused(RefusalRow { plugin, access, fix, .. }) => {
                let access = match fix {
                    Some(fix) => format!("{access}; to allow it, {fix}"),
                    None => access.clone(),
                };
                let whose = plugin.as_deref().unwrap_or("request");
                return self.other_line(style, false, "refused", whose, &access);
            }
        };
        written.expect("writing to a string can't fail");
        line + "\n"
    }

    fn other_line(&self, style: LineStyle, is_good: bool, word: &str, whose: &str, text: &str) -> String {
        let paint = |colour: &'static str| if style == LineStyle::Colour { colour } else { "" };
        let (dim, end) = (paint("\x1b[2m"), paint("\x1b[0m"));
        let colour = paint(if is_good { "\x1b[36m" } else { "\x1b[31m" });
        let (time, text) = (time_of_day(self.at()), escaped_line(text, MAX_OUTCOME_CHARS));
        format!("{dim}{time}{end} {colour}{word:10}{end}          {}  {text}\n", escape_hidden(whose))
    }
}

/// The time of day of an RFC 3339 time.
fn time_of_day(at: &str) -> String {
    escape_hidden(at.get(11..19).unwrap_or(at)).into_owned()
}

fn call_line(call: &CallRecord) -> CallLine {
    let CallRecord { at, plugin, kind, name, caller, outcome, error, duration_ms, .. } = call;
    CallLine {
        time: time_of_day(at),
        outcome: outcome.clone(),
        took: Duration::try_from_secs_f64(duration_ms / 1e3).ok(),
        name: name.clone().unwrap_or_else(|| plugin.clone()),
        kind: kind.clone(),
        caller: caller.clone(),
        reason: error.clone(),
        refused: None,
    }
}

/// The activity of a gateway that was already seen.
#[derive(Debug, Default)]
pub(super) struct ActivityFeed {
    /// The start of the process that numbers the calls.
    started: String,
    /// The number of the last call.
    last_call: u64,
    /// The time of the last reload.
    last_reload: String,
    /// How often each access was refused.
    refused: HashMap<(Option<String>, String), u64>,
}

impl ActivityFeed {
    /// The query for new events.
    pub(super) fn query(&self) -> String {
        format!("?after={}", self.last_call)
    }

    /// The events that weren't seen yet, in their order.
    pub(super) fn new_events(&mut self, activity: Activity) -> Vec<ActivityEvent> {
        if activity.started != self.started {
            // The numbers of another process mean nothing for this one.
            let is_first = self.started.is_empty();
            *self = Self { started: activity.started.clone(), ..Self::default() };
            if !is_first {
                return Vec::new();
            }
        }
        let mut events = Vec::new();
        if let Some(first) = activity.calls.first()
            && self.last_call > 0
            && first.number > self.last_call + 1
        {
            let calls = first.number - self.last_call - 1;
            events.push(ActivityEvent::Missed { at: first.at.clone(), calls });
        }
        self.last_call = activity.calls.last().map_or(self.last_call, |call| call.number);
        events.extend(activity.calls.into_iter().map(ActivityEvent::Call));
        let mut reloads = activity.reloads;
        reloads.retain(|reload| reload.at > self.last_reload);
        if let Some(newest) = reloads.first() {
            self.last_reload.clone_from(&newest.at);
        }
        events.extend(reloads.into_iter().rev().map(ActivityEvent::Reload));
        for refusal in activity.refused {
            let key = (refusal.plugin.clone(), refusal.access.clone());
            if self.refused.insert(key, refusal.count) != Some(refusal.count) {
                events.push(ActivityEvent::Refused(refusal));
            }
        }
        events.sort_by(|first, second| first.at().cmp(second.at()));
        events
    }
}

#[cfg(test)]
mod tests;
