//! The calls of the last hour, for people who look at the status page.
//!
//! [`CallHistory`] observes calls as they begin and end. Everything is bounded: counts are kept for names in the catalog
//! only, and lists have a maximum length.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use moongate_model::call::CallError;
use moongate_model::caller::Caller;
use moongate_model::names::{PluginId, PublicName};
use moongate_model::text::{blanked_line, quotable};
use moongate_protocol::catalog::Catalog;
use moongate_protocol::dispatch::{
    AdmittedCall, CallEnd, CallKind, CallOutcome, Observer, RefusedName, RefusedRequest, RequestEnd,
};
use tokio::sync::watch;
use tokio::time::Instant;

mod item_history;

pub use item_history::{ItemCounts, MINUTES, MinuteCounts, sum_of_hours};

use item_history::ItemHistory;

/// The maximum number of remembered calls: about a second of a busy gateway, so that programs which ask for new calls
/// more often than that miss none.
pub const MAX_RECENT_CALLS: usize = 2000;

/// The number of calls on the status page.
const MAX_LISTED_CALLS: usize = 40;

/// The maximum number of remembered callers. Above it, the one that was seen least recently is forgotten.
const MAX_CALLERS: usize = 100;

/// The maximum number of pairs of a caller and an item that no role allows. Above it, the oldest is dropped.
const MAX_DENIED: usize = 32;

/// The longest remembered error message, in characters.
const MAX_ERROR_CHARS: usize = 300;

/// Remembers calls.
#[derive(Debug)]
pub struct CallHistory {
    catalog: watch::Receiver<Arc<Catalog>>,
    items: RwLock<HashMap<CalledName, Arc<ItemHistory>>>,
    lists: Mutex<CallLists>,
    started: Instant,
    /// The generation of the catalog that the items were last compared with.
    compared_generation: AtomicU64,
}

/// What a call used: a tool or a prompt, or any resource or completion of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CalledName {
    /// The plugin.
    pub plugin: PluginId,
    /// The kind of call.
    pub kind: CallKind,
    /// The public name. `None` for resources and completions.
    pub name: Option<PublicName>,
}

/// The lists that each call changes.
#[derive(Debug, Default)]
struct CallLists {
    /// Newest first.
    recent: VecDeque<RecentCall>,
    /// The number of calls that ended.
    ended: u64,
    callers: HashMap<Caller, CallerUse>,
    /// The last failure of each plugin.
    failures: BTreeMap<PluginId, CallFailure>,
    /// By plugin and a stable word. Calls that are refused for a reason that no plugin has belong to the plugin that they
    /// named.
    limits: BTreeMap<(PluginId, &'static str), Occurrences>,
    /// Requests that were refused before they named a plugin, by a stable word.
    refusals: BTreeMap<&'static str, Occurrences>,
    /// By the tool or prompt, and the caller whose roles don't allow it.
    denied: BTreeMap<(CalledName, Caller), Occurrences>,
}

/// A call that ended.
#[derive(Debug, Clone)]
pub struct RecentCall {
    /// The number of calls that ended until then, with this one.
    pub number: u64,
    /// The time when it ended.
    pub at: SystemTime,
    /// What was called.
    pub called: CalledName,
    /// The caller.
    pub caller: Caller,
    /// A stable word for the outcome.
    pub outcome: &'static str,
    /// True if it has a result, or asked the client.
    pub is_success: bool,
    /// The time since it arrived.
    pub took: Duration,
    /// The time from its arrival until it ran. `None` if it didn't run.
    pub waited: Option<Duration>,
    /// The CPU time that it used.
    pub cpu_time: Duration,
    /// The error, as in [`CallFailure::message`].
    pub error: Option<String>,
}

/// The calls of a caller.
#[derive(Debug, Clone, Copy)]
pub struct CallerUse {
    /// All calls.
    pub calls: u64,
    /// Those without a result.
    pub errors: u64,
    /// The time of the last one.
    pub last: SystemTime,
}

/// A call without a result.
#[derive(Debug, Clone)]
pub struct CallFailure {
    /// The time when it ended.
    pub at: SystemTime,
    /// What was called.
    pub called: CalledName,
    /// The error, in one line. A plugin's own text isn't part of it, because that can be content.
    pub message: String,
}

/// The number of events of one kind.
#[derive(Debug, Clone, Copy)]
pub struct Occurrences {
    /// The number.
    pub count: u64,
    /// The last time.
    pub last: SystemTime,
}

/// All that is remembered, at one moment.
#[derive(Debug, Clone, Default)]
pub struct RememberedCalls {
    /// Each called item, in the order of names.
    pub items: Vec<(CalledName, ItemCounts)>,
    /// The last calls, newest first.
    pub recent: Vec<RecentCall>,
    /// The callers, by their last call, newest first.
    pub callers: Vec<(Caller, CallerUse)>,
    /// The last failure of each plugin.
    pub failures: BTreeMap<PluginId, CallFailure>,
    /// The limits that ended or refused calls, by plugin and a stable word.
    pub limits: Vec<(PluginId, &'static str, Occurrences)>,
    /// Requests that were refused before they reached a plugin, by a stable word.
    pub refusals: Vec<(&'static str, Occurrences)>,
    /// Calls that the caller's roles don't allow.
    pub denied: Vec<DeniedCalls>,
}

/// The calls of a caller to a tool or prompt that its roles don't allow.
#[derive(Debug, Clone)]
pub struct DeniedCalls {
    /// The tool or prompt.
    pub called: CalledName,
    /// The caller.
    pub caller: Caller,
    /// The number of calls, and the time of the last one.
    pub seen: Occurrences,
}

impl DeniedCalls {
    /// The calls in words, with names in backticks.
    #[must_use]
    pub fn access(&self) -> String {
        let name = self.called.name.as_ref().map_or("", PublicName::as_str);
        format!("a call to `{name}` by `{}`", quotable(&self.caller.to_string()))
    }

    /// The change that allows the calls, as an imperative.
    #[must_use]
    pub fn fix(&self) -> String {
        format!("change the roles of `{}` in `[roles]`", quotable(&self.caller.to_string()))
    }
}

impl Occurrences {
    /// Counts an event.
    fn record<K: Ord>(all: &mut BTreeMap<K, Self>, key: K) {
        let now = SystemTime::now();
        let occurrences = all.entry(key).or_insert(Self { count: 0, last: now });
        occurrences.count += 1;
        occurrences.last = now;
    }
}

impl CallHistory {
    /// Remembers calls to the plugins of `catalog`.
    #[must_use]
    pub fn new(catalog: watch::Receiver<Arc<Catalog>>) -> Arc<Self> {
        Arc::new(Self {
            catalog,
            items: RwLock::default(),
            lists: Mutex::default(),
            started: Instant::now(),
            compared_generation: AtomicU64::new(u64::MAX),
        })
    }

    /// All that is remembered.
    #[must_use]
    pub fn read(&self) -> RememberedCalls {
        self.remove_stale();
        let minute = self.minute();
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        let counts = items.iter().map(|(called, item)| (called.clone(), item.counts(minute)));
        let mut items_now: Vec<_> = counts.collect();
        drop(items);
        items_now.sort_by(|(a, _), (b, _)| a.cmp(b));
        let lists = self.lists();
        let mut callers: Vec<_> =
            lists.callers.iter().map(|(caller, used)| (caller.clone(), *used)).collect();
        callers.sort_by(|(a, first), (b, second)| second.last.cmp(&first.last).then_with(|| a.cmp(b)));
        RememberedCalls {
            items: items_now,
            recent: lists.recent.iter().take(MAX_LISTED_CALLS).cloned().collect(),
            callers,
            failures: lists.failures.clone(),
            limits: lists
                .limits
                .iter()
                .map(|((plugin, word), seen)| (plugin.clone(), *word, *seen))
                .collect(),
            refusals: lists.refusals.iter().map(|(word, seen)| (*word, *seen)).collect(),
            denied: lists
                .denied
                .iter()
                .map(|((called, caller), seen)| DeniedCalls {
                    called: called.clone(),
                    caller: caller.clone(),
                    seen: *seen,
                })
                .collect(),
        }
    }

    /// The remembered calls that ended after the one with this number, oldest first.
    #[must_use]
    pub fn calls_after(&self, number: u64) -> Vec<RecentCall> {
        let lists = self.lists();
        let mut newer: Vec<_> =
            lists.recent.iter().take_while(|call| call.number > number).cloned().collect();
        newer.reverse();
        newer
    }

    fn minute(&self) -> u64 {
        self.started.elapsed().as_secs() / 60
    }

    fn lists(&self) -> std::sync::MutexGuard<'_, CallLists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn item(&self, called: &CalledName) -> Arc<ItemHistory> {
        if let Some(item) = self.items.read().unwrap_or_else(PoisonError::into_inner).get(called) {
            return Arc::clone(item);
        }
        // A catalog has a bounded number of names, and those of earlier ones are removed when the first new one comes.
        self.remove_stale();
        let mut items = self.items.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(items.entry(called.clone()).or_default())
    }

    /// Forgets what isn't in the catalog any more.
    fn remove_stale(&self) {
        let catalog = Arc::clone(&self.catalog.borrow());
        if self.compared_generation.swap(catalog.generation(), Ordering::Relaxed) == catalog.generation() {
            return;
        }
        let is_offered = |called: &CalledName| match (&called.kind, &called.name) {
            (CallKind::Tool, Some(name)) => {
                catalog.tool(name.as_str()).is_some_and(|tool| tool.plugin().id() == &called.plugin)
            }
            (CallKind::Prompt, Some(name)) => {
                catalog.prompt(name.as_str()).is_some_and(|prompt| prompt.plugin().id() == &called.plugin)
            }
            (CallKind::Tool | CallKind::Prompt | CallKind::Resource | CallKind::Completion, _) => {
                catalog.plugin(&called.plugin).is_some()
            }
        };
        self.items.write().unwrap_or_else(PoisonError::into_inner).retain(|called, _| is_offered(called));
        let mut lists = self.lists();
        lists.failures.retain(|plugin, _| catalog.plugin(plugin).is_some());
        lists.limits.retain(|(plugin, _), _| catalog.plugin(plugin).is_some());
        lists.denied.retain(|(called, _), _| is_offered(called));
    }
}

impl CallHistory {
    /// The tool or prompt that a refused request named, if only roles hide it from the caller. The URIs of resources can
    /// be private, so they aren't remembered.
    fn hidden_item(&self, refused: &RefusedName<'_>) -> Option<CalledName> {
        let &RefusedName { context: _, kind, name } = refused;
        let catalog = Arc::clone(&self.catalog.borrow());
        let (plugin, name) = match kind {
            CallKind::Tool => catalog.tool(name).map(|tool| (tool.plugin().id(), tool.public_name()))?,
            CallKind::Prompt => {
                catalog.prompt(name).map(|prompt| (prompt.plugin().id(), prompt.public_name()))?
            }
            CallKind::Resource | CallKind::Completion => return None,
        };
        Some(CalledName { plugin: plugin.clone(), kind, name: Some(name.clone()) })
    }
}

/// The limit that ended or refused a call: its key, or a stable word.
fn reached_limit(error: &CallError) -> Option<&'static str> {
    error.refusal_reason().or_else(|| error.config_key())
}

/// The error in one line, without text that the plugin returned.
fn message(outcome: CallOutcome<'_>) -> Option<String> {
    match outcome {
        CallOutcome::Done | CallOutcome::NeedInput | CallOutcome::Failed(CallError::Cancelled) => None,
        CallOutcome::ToolError => Some("the tool returned an error".to_owned()),
        CallOutcome::InvalidArguments => Some("the arguments don't match the schema".to_owned()),
        CallOutcome::Failed(CallError::Refused(_)) => Some("the plugin returned an error".to_owned()),
        CallOutcome::Failed(error) => Some(blanked_line(&error.to_string(), MAX_ERROR_CHARS)),
    }
}

impl Observer for CallHistory {
    fn call_admitted(&self, call: &AdmittedCall<'_>) {
        let &AdmittedCall { catalog_plugin, kind, name } = call;
        self.item(&CalledName { plugin: catalog_plugin.id().clone(), kind, name: name.cloned() }).begin();
    }

    fn call_ended(&self, call: &CallEnd<'_>) {
        let &CallEnd { context, catalog_plugin, kind, name, outcome, took, was_admitted, .. } = call;
        let called = CalledName { plugin: catalog_plugin.id().clone(), kind, name: name.cloned() };
        let failure = message(outcome);
        let is_success = failure.is_none();
        let item = self.item(&called);
        if was_admitted {
            item.end();
        }
        item.record(self.minute(), is_success, took);
        let at = SystemTime::now();
        let caller = context.caller.without_facts();
        let total = context.arrived_at.elapsed();
        let mut lists = self.lists();
        if !lists.callers.contains_key(&caller) && lists.callers.len() >= MAX_CALLERS {
            let oldest = lists.callers.iter().min_by_key(|(_, used)| used.last);
            let oldest = oldest.map(|(caller, _)| caller.clone());
            oldest.map(|caller| lists.callers.remove(&caller));
        }
        let used = lists.callers.entry(caller.clone()).or_insert(CallerUse { calls: 0, errors: 0, last: at });
        used.calls += 1;
        used.errors += u64::from(!is_success);
        used.last = at;
        if let CallOutcome::Failed(error) = outcome
            && let Some(limit) = reached_limit(error)
        {
            Occurrences::record(&mut lists.limits, (called.plugin.clone(), limit));
        }
        if let Some(message) = failure.clone() {
            lists.failures.insert(called.plugin.clone(), CallFailure { at, called: called.clone(), message });
        }
        lists.recent.truncate(MAX_RECENT_CALLS - 1);
        lists.ended += 1;
        let number = lists.ended;
        lists.recent.push_front(RecentCall {
            number,
            at,
            called,
            caller,
            outcome: outcome.kind(),
            is_success,
            took: total,
            waited: took.map(|took| total.saturating_sub(took)),
            cpu_time: context.cpu_time.used(),
            error: failure,
        });
    }

    fn request_ended(&self, _request: &RequestEnd<'_>) {}

    fn name_refused(&self, refused: &RefusedName<'_>) {
        if let Some(called) = self.hidden_item(refused) {
            let mut lists = self.lists();
            let key = (called, refused.context.caller.without_facts());
            if !lists.denied.contains_key(&key) && lists.denied.len() >= MAX_DENIED {
                let oldest = lists.denied.iter().min_by_key(|(_, seen)| seen.last);
                let oldest = oldest.map(|(key, _)| key.clone());
                oldest.map(|key| lists.denied.remove(&key));
            }
            Occurrences::record(&mut lists.denied, key);
            return;
        }
        Occurrences::record(
            &mut self.lists().refusals,
            match refused.kind {
                CallKind::Tool => "unknown_tool",
                CallKind::Resource => "unknown_resource",
                CallKind::Prompt => "unknown_prompt",
                CallKind::Completion => "unknown_completion",
            },
        );
    }

    fn authentication_failed(&self, _address: std::net::IpAddr, reason: &'static str) {
        Occurrences::record(&mut self.lists().refusals, reason);
    }

    fn request_refused(&self, _caller: &Caller, why: RefusedRequest) {
        Occurrences::record(&mut self.lists().refusals, why.as_str());
    }
}

#[cfg(test)]
mod tests;
