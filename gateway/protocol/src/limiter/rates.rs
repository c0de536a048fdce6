//! The rates of calls: per caller, per tool, and per caller and tool.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use moongate_system::log_interval::LogInterval;
use moongate_system::rate_table::RateTable;
use tokio::time::Instant;

use crate::call::{BusyReason, CallError, RateLimited, RateScope};
use crate::call_rate::{CallRate, CallerLimits, ToolRate};
use crate::caller::Caller;
use crate::names::{PluginId, ToolName};
use crate::policy::PluginPolicy;
use crate::shared_store::{RatesWhenDown, SharedRates};

/// The maximum number of callers whose calls are counted, and of pairs of a caller and a tool: a few megabytes each.
const MAX_COUNTED: usize = 32_768;

/// What a call is counted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedAs<'a> {
    /// A call of the tool with this name, the plugin's own.
    Tool(&'a ToolName),
    /// A resource read or a prompt request.
    Other,
    /// A completion of an argument.
    Completion,
}

/// Counts calls.
#[derive(Debug)]
pub(super) struct CallRates {
    state: Mutex<CallRatesState>,
    /// The store in which several gateways count together.
    shared: OnceLock<(Arc<dyn SharedRates>, RatesWhenDown)>,
}

/// Counted calls. Callers have tables of their own, because peers can make up callers, and a full table forgets keys.
#[derive(Debug)]
struct CallRatesState {
    callers: RateTable<RateKey>,
    completions: RateTable<RateKey>,
    tools: RateTable<RateKey>,
    tools_of_callers: RateTable<RateKey>,
    log_interval: LogInterval,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum RateKey {
    Caller(Caller),
    Completions(Caller),
    Tool(PluginId, ToolName),
    ToolAndCaller(PluginId, ToolName, Caller),
}

impl RateKey {
    fn scope(&self) -> RateScope {
        match self {
            Self::Caller(_) => RateScope::Caller,
            Self::Completions(_) => RateScope::Completions,
            Self::Tool(..) => RateScope::Tool,
            Self::ToolAndCaller(..) => RateScope::ToolAndCaller,
        }
    }
}

impl RateKey {
    /// A name that is the same in all gateways.
    fn name(&self) -> String {
        match self {
            Self::Caller(caller) => format!("caller {}", caller_name(caller)),
            Self::Completions(caller) => format!("completions {}", caller_name(caller)),
            Self::Tool(plugin, tool) => format!("tool {plugin} {tool}"),
            Self::ToolAndCaller(plugin, tool, caller) => {
                format!("tool {plugin} {tool} {}", caller_name(caller))
            }
        }
    }
}

/// A caller in a form that no other has. An issuer contains no space.
fn caller_name(caller: &Caller) -> String {
    match caller {
        Caller::Local => "local".to_owned(),
        Caller::Named(name) => format!("token {name}"),
        Caller::Subject(subject) => format!("subject {} {}", subject.issuer(), subject.subject()),
        Caller::Certificate(name) => format!("certificate {name}"),
        Caller::User(user) => format!("user {}", user.uid()),
        Caller::Operator(address) => format!("operator {address}"),
        Caller::Address(address) => format!("address {address}"),
    }
}

impl Default for CallRates {
    fn default() -> Self {
        let state = CallRatesState {
            callers: RateTable::new(MAX_COUNTED),
            completions: RateTable::new(MAX_COUNTED),
            tools: RateTable::new(MAX_COUNTED),
            tools_of_callers: RateTable::new(MAX_COUNTED),
            log_interval: LogInterval::default(),
        };
        Self { state: Mutex::new(state), shared: OnceLock::new() }
    }
}

impl CallRatesState {
    fn table(&mut self, key: &RateKey) -> &mut RateTable<RateKey> {
        match key {
            RateKey::Caller(_) => &mut self.callers,
            RateKey::Completions(_) => &mut self.completions,
            RateKey::Tool(..) => &mut self.tools,
            RateKey::ToolAndCaller(..) => &mut self.tools_of_callers,
        }
    }

    /// Counts a call for all of these rates, or for none if it exceeds one of them.
    fn count(&mut self, now: Instant, rates: &[(RateKey, CallRate)]) -> Result<(), RateLimited> {
        let exceeded = rates.iter().filter_map(|(key, rate)| {
            let retry_after = self.table(key).wait(now, key, *rate)?;
            Some(RateLimited { scope: key.scope(), rate: *rate, retry_after })
        });
        if let Some(longest) = exceeded.max_by_key(|limited| limited.retry_after) {
            return Err(longest);
        }
        for (key, rate) in rates {
            self.table(key).add(now, key, *rate);
        }
        Ok(())
    }
}

impl CallRates {
    /// Counts calls in a shared store from now on.
    pub(super) fn share(&self, store: Arc<dyn SharedRates>, when_down: RatesWhenDown) {
        let _ = self.shared.set((store, when_down)); // a gateway has one store
    }

    /// Counts a call for all of its rates, or for none, in the shared store if there is one.
    pub(super) async fn count(
        &self,
        caller: &Caller,
        limits: &CallerLimits,
        policy: &PluginPolicy,
        call: CountedAs<'_>,
    ) -> Result<(), CallError> {
        let rates = rates_of(caller, limits, policy, call);
        if rates.is_empty() {
            return Ok(());
        }
        let Some((store, when_down)) = self.shared.get() else {
            return self.count_locally(caller, policy, call, &rates);
        };
        let named: Vec<(String, CallRate)> = rates.iter().map(|(key, rate)| (key.name(), *rate)).collect();
        match (store.count(&named).await, when_down) {
            (Ok(None), _) => Ok(()),
            (Ok(Some(exceeded)), _) => {
                let Some((key, rate)) = rates.get(exceeded.index) else { return Ok(()) };
                let retry_after = exceeded.retry_after;
                let limited = RateLimited { scope: key.scope(), rate: *rate, retry_after };
                let logged = self
                    .state
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .log_interval
                    .record(Instant::now(), 1);
                Err(refuse(caller, policy, call, limited, logged))
            }
            (Err(_), RatesWhenDown::Local) => self.count_locally(caller, policy, call, &rates),
            (Err(_), RatesWhenDown::Refuse) => Err(CallError::Busy(BusyReason::SharedStore)),
        }
    }

    fn count_locally(
        &self,
        caller: &Caller,
        policy: &PluginPolicy,
        call: CountedAs<'_>,
        rates: &[(RateKey, CallRate)],
    ) -> Result<(), CallError> {
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Err(limited) = state.count(now, rates) else { return Ok(()) };
        let logged = state.log_interval.record(now, 1);
        drop(state);
        Err(refuse(caller, policy, call, limited, logged))
    }
}

/// The error of a call that exceeds a rate, which is logged if there is a number of refused calls.
fn refuse(
    caller: &Caller,
    policy: &PluginPolicy,
    call: CountedAs<'_>,
    limited: RateLimited,
    logged: Option<u64>,
) -> CallError {
    if let Some(refused) = logged {
        let (caller, plugin, reason) = (caller.to_string(), policy.id.as_str(), limited.scope.as_str());
        let tool = match call {
            CountedAs::Tool(tool) => Some(tool.as_str()),
            CountedAs::Other | CountedAs::Completion => None,
        };
        tracing::warn!(caller, plugin, tool, reason, refused, "refused a call: {limited}");
    }
    CallError::RateLimited(limited)
}

/// The rates that a call counts for.
fn rates_of(
    caller: &Caller,
    limits: &CallerLimits,
    policy: &PluginPolicy,
    call: CountedAs<'_>,
) -> Vec<(RateKey, CallRate)> {
    let of_caller = match call {
        CountedAs::Completion => {
            limits.completions.map(|rate| (RateKey::Completions(caller.without_facts()), rate))
        }
        CountedAs::Tool(_) | CountedAs::Other => {
            limits.calls.map(|rate| (RateKey::Caller(caller.without_facts()), rate))
        }
    };
    let mut rates: Vec<_> = of_caller.into_iter().collect();
    if let CountedAs::Tool(tool) = call {
        let ToolRate { calls, per_caller } = policy.rates.of(tool.as_str());
        let key = || (policy.id.clone(), tool.clone());
        rates.extend(calls.map(|rate| {
            let (plugin, tool) = key();
            (RateKey::Tool(plugin, tool), rate)
        }));
        rates.extend(per_caller.map(|rate| {
            let (plugin, tool) = key();
            (RateKey::ToolAndCaller(plugin, tool, caller.without_facts()), rate)
        }));
    }
    rates
}
