//! Limits on concurrent calls, per plugin, per caller and in total, shared between callers; and on the rates of calls.
//!
//! A call first takes one of its plugin's slots and then one of the gateway's, so a call that waits for a slow plugin
//! holds nothing that another plugin needs. Slots, and the places of calls that wait for them, are [`CallerBudget`]s:
//! calls of one caller get them in order, and callers get them by turns. The limiter knows plugins by id only: it
//! outlives their versions, so a plugin that is replaced under load can't run twice as many calls. Dispatch needs a
//! [`CallPermit`] to call a plugin.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tokio::sync::Notify;
use tokio::time::sleep_until;

use crate::call::{BusyReason, CallContext, CallError};
use crate::call_rate::CallerLimits;
use crate::caller::Caller;
use crate::caller_budget::{BudgetShare, CallerBudget};
use crate::names::PluginId;
use crate::policy::PluginPolicy;
use crate::roles::AccessRoles;
use crate::shared_store::{RatesWhenDown, SharedRates};

mod rates;

pub use rates::CountedAs;

use rates::CallRates;

/// The maximum number of waiting calls to all plugins, for each concurrent call. A waiting call keeps its request in
/// memory.
const WAITING_CALLS_PER_PERMIT: u32 = 16;

/// The minimum of that number: one plugin's default queue several times over.
const MIN_WAITING_CALLS: u32 = 1_024;

/// The limits of each caller, and the roles that can set others.
#[derive(Debug, Default)]
struct LimitsByCaller {
    each: CallerLimits,
    roles: Option<Arc<AccessRoles>>,
}

/// Hands out permits, and counts calls.
#[derive(Debug)]
pub struct ConcurrencyLimiter {
    total: u32,
    caller_limits: RwLock<LimitsByCaller>,
    rates: CallRates,
    /// The calls of each caller. Only their own limit applies.
    callers: Arc<CallerBudget>,
    slots: Arc<CallerBudget>,
    /// The places of waiting calls to all plugins.
    places: Arc<CallerBudget>,
    plugins: Mutex<HashMap<PluginId, Arc<PluginCalls>>>,
    /// Notified whenever a call ends or stops waiting.
    call_ended: Arc<Notify>,
}

/// The right to run one call, returned on drop.
#[must_use = "the permit is released when it is dropped"]
pub struct CallPermit {
    call: CountedCall,
    _caller_slot: BudgetShare,
    _plugin_slot: BudgetShare,
    _gateway_slot: BudgetShare,
}

/// The calls to one plugin, or to all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallLoad {
    /// Running calls.
    pub running: u32,
    /// Waiting calls.
    pub waiting: u32,
}

/// The calls to one plugin, and what they share.
#[derive(Debug)]
struct PluginCalls {
    slots: Arc<CallerBudget>,
    /// The places of calls that wait for a slot.
    places: Arc<CallerBudget>,
    state: Mutex<PluginState>,
    ended: Arc<Notify>,
}

/// The sizes of a plugin's budgets, and the number of its calls.
#[derive(Debug, Default)]
struct PluginState {
    concurrency: u32,
    queue: u32,
    load: CallLoad,
}

/// The part of [`CallLoad`] that a call counts for.
#[derive(Debug, Clone, Copy)]
enum CallStage {
    Waiting,
    Running,
}

/// A call that is counted until this is dropped.
#[derive(Debug)]
struct CountedCall {
    calls: Arc<PluginCalls>,
    stage: CallStage,
}

impl ConcurrencyLimiter {
    /// Allows `total` concurrent calls, at least one. Plugins that describe themselves need no permit: a pool of
    /// instances needs room for these in addition.
    #[must_use]
    pub fn new(total: u32) -> Self {
        let total = total.max(1);
        let most_waiting = total.saturating_mul(WAITING_CALLS_PER_PERMIT).max(MIN_WAITING_CALLS);
        Self {
            total,
            caller_limits: RwLock::default(),
            rates: CallRates::default(),
            callers: CallerBudget::new(u32::MAX.into()),
            slots: CallerBudget::new(total.into()),
            places: CallerBudget::new(most_waiting.into()),
            plugins: Mutex::default(),
            call_ended: Arc::default(),
        }
    }

    /// Sets the limits of each caller, and the roles that can set others, for the next calls.
    pub fn set_caller_limits(&self, each: CallerLimits, roles: Option<Arc<AccessRoles>>) {
        *self.caller_limits.write().unwrap_or_else(PoisonError::into_inner) = LimitsByCaller { each, roles };
    }

    /// The limits of a caller. Everything that depends on them asks here.
    fn limits_of(&self, caller: &Caller) -> CallerLimits {
        let limits = self.caller_limits.read().unwrap_or_else(PoisonError::into_inner);
        match &limits.roles {
            Some(roles) => roles.limits_of(&caller.principal(), limits.each),
            None => limits.each,
        }
    }

    /// Counts calls in a store that several gateways share from now on. Only the first call has an effect.
    pub fn share_rates(&self, store: Arc<dyn SharedRates>, when_down: RatesWhenDown) {
        self.rates.share(store, when_down);
    }

    /// Counts a call for the rates of its caller and its tool, in the shared store if there is one. The later rounds of a
    /// call aren't counted.
    ///
    /// # Errors
    /// [`CallError::RateLimited`]: too many calls came in a short time. This one isn't counted. [`CallError::Busy`]: the
    /// store is unreachable, and calls with rates are refused then.
    pub async fn count(
        &self,
        policy: &PluginPolicy,
        context: &CallContext,
        call: CountedAs<'_>,
    ) -> Result<(), CallError> {
        if context.is_later_round() {
            return Ok(());
        }
        self.rates.count(&context.caller, &self.limits_of(&context.caller), policy, call).await
    }

    /// Waits until one more call of the plugin may run.
    ///
    /// At most `concurrency` of its calls run at the same time and `queue` wait. A single plugin never gets the last of
    /// the gateway's slots (if there are at least two), however slow it is, and a caller leaves some to the others. A
    /// call that waits because its caller has too many holds nothing that another caller needs.
    ///
    /// # Errors
    /// [`CallError::Busy`]: too many calls are waiting. [`CallError::Cancelled`]: the call was cancelled first.
    /// [`CallError::TimeoutBeforeStart`]: its time was over first.
    pub async fn admit(&self, policy: &PluginPolicy, context: &CallContext) -> Result<CallPermit, CallError> {
        let CallContext { caller, cancel, arrived_at, .. } = context;
        if cancel.is_cancelled() {
            return Err(CallError::Cancelled);
        }
        if arrived_at.elapsed() >= policy.timeout {
            return Err(CallError::TimeoutBeforeStart(policy.timeout));
        }
        let calls = self.plugin_calls(&policy.id);
        calls.resize(policy.concurrency.clamp(1, (self.total - 1).max(1)), policy.queue);
        let most = self.limits_of(caller).concurrency.map_or(u64::MAX, |most| most.get().into());
        let caller_slot = self.callers.try_reserve_within(caller, 1, most);
        let plugin_slot = caller_slot.as_ref().and_then(|_| calls.slots.try_reserve(caller, 1));
        let gateway_slot = plugin_slot.as_ref().and_then(|_| self.slots.try_reserve(caller, 1));
        let (caller_slot, plugin_slot) = match (caller_slot, plugin_slot, gateway_slot) {
            (Some(caller_slot), Some(plugin_slot), Some(gateway_slot)) => {
                let call = CountedCall::new(calls, CallStage::Running);
                return Ok(CallPermit {
                    call,
                    _caller_slot: caller_slot,
                    _plugin_slot: plugin_slot,
                    _gateway_slot: gateway_slot,
                });
            }
            (caller_slot, plugin_slot, _) => (caller_slot, plugin_slot),
        };
        // A call that has its plugin's slot, or can't use one yet, takes no place in the plugin's queue.
        let place = match (&caller_slot, &plugin_slot) {
            (Some(_), None) => Some(calls.reserve_place(caller, policy.queue)?),
            _ => None,
        };
        let gateway_place = self.places.try_reserve(caller, 1).ok_or_else(|| self.busy(caller))?;
        let mut call = CountedCall::new(Arc::clone(&calls), CallStage::Waiting);
        let slots = async {
            let (caller_slot, plugin_slot) = match (caller_slot, plugin_slot) {
                (Some(caller_slot), Some(plugin_slot)) => (caller_slot, plugin_slot),
                (Some(caller_slot), None) => (caller_slot, calls.slots.reserve(caller, 1).await),
                (None, _) => {
                    let caller_slot = self.callers.reserve_within(caller, 1, most).await;
                    (caller_slot, calls.reserve_slot(caller, policy.queue).await?)
                }
            };
            drop(place);
            Ok((caller_slot, plugin_slot, self.slots.reserve(caller, 1).await))
        };
        let (caller_slot, plugin_slot, gateway_slot) = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(CallError::Cancelled),
            slots = slots => slots?,
            () = sleep_until(*arrived_at + policy.timeout) => {
                return Err(CallError::TimeoutBeforeStart(policy.timeout));
            }
        };
        drop(gateway_place);
        call.start();
        Ok(CallPermit {
            call,
            _caller_slot: caller_slot,
            _plugin_slot: plugin_slot,
            _gateway_slot: gateway_slot,
        })
    }

    /// The calls to one plugin.
    #[must_use]
    pub fn load(&self, plugin: &PluginId) -> CallLoad {
        self.plugins().get(plugin).map(|calls| calls.state().load).unwrap_or_default()
    }

    /// The calls to each plugin that was called since it was last removed, in no particular order.
    #[must_use]
    pub fn loads(&self) -> Vec<(PluginId, CallLoad)> {
        self.plugins().iter().map(|(id, calls)| (id.clone(), calls.state().load)).collect()
    }

    /// Waits until no call to any plugin runs or waits.
    pub async fn idle(&self) {
        loop {
            let mut ended = std::pin::pin!(self.call_ended.notified());
            ended.as_mut().enable(); // before the check, so that a call that ends meanwhile isn't missed
            if self.loads().iter().all(|(_, load)| *load == CallLoad::default()) {
                return;
            }
            ended.await;
        }
    }

    /// Removes plugins without calls that `keep` rejects.
    pub fn retain(&self, keep: impl Fn(&PluginId) -> bool) {
        self.plugins().retain(|id, calls| keep(id) || Arc::strong_count(calls) > 1);
    }

    fn plugins(&self) -> MutexGuard<'_, HashMap<PluginId, Arc<PluginCalls>>> {
        self.plugins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plugin_calls(&self, plugin: &PluginId) -> Arc<PluginCalls> {
        let mut plugins = self.plugins();
        match plugins.get(plugin) {
            Some(calls) => Arc::clone(calls),
            None => {
                let calls = Arc::new(PluginCalls::new(Arc::clone(&self.call_ended)));
                plugins.insert(plugin.clone(), Arc::clone(&calls));
                calls
            }
        }
    }

    /// The reason that a call finds no place among the waiting calls to all plugins.
    fn busy(&self, caller: &Caller) -> CallError {
        CallError::Busy(if self.places.used() < self.places.total() {
            BusyReason::GatewayShare {
                running: self.slots.held_by(caller),
                waiting: self.places.held_by(caller),
            }
        } else {
            BusyReason::Gateway
        })
    }
}

impl fmt::Debug for CallPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallPermit").field("load", &self.call.calls.state().load).finish()
    }
}

impl PluginCalls {
    fn new(ended: Arc<Notify>) -> Self {
        Self { slots: CallerBudget::new(0), places: CallerBudget::new(0), state: Mutex::default(), ended }
    }

    fn state(&self) -> MutexGuard<'_, PluginState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies the configuration. Slots and places in use are removed when they are returned.
    fn resize(&self, concurrency: u32, queue: u32) {
        let mut state = self.state();
        if (state.concurrency, state.queue) != (concurrency, queue) {
            state.concurrency = concurrency;
            state.queue = queue;
            self.slots.set_total(concurrency.into());
            self.places.set_total(queue.into());
        }
    }

    /// Takes a slot at once, or waits for one in the queue.
    async fn reserve_slot(&self, caller: &Caller, queue: u32) -> Result<BudgetShare, CallError> {
        if let Some(slot) = self.slots.try_reserve(caller, 1) {
            return Ok(slot);
        }
        let _place = self.reserve_place(caller, queue)?;
        Ok(self.slots.reserve(caller, 1).await)
    }

    /// A place in the queue. An amount of a budget without units counts as nothing, so a queue of 0 is checked here.
    fn reserve_place(&self, caller: &Caller, queue: u32) -> Result<BudgetShare, CallError> {
        let place = if queue == 0 { None } else { self.places.try_reserve(caller, 1) };
        place.ok_or_else(|| {
            CallError::Busy(if self.places.used() < queue.into() {
                BusyReason::PluginShare {
                    running: self.slots.held_by(caller),
                    waiting: self.places.held_by(caller),
                }
            } else {
                let CallLoad { running, waiting } = self.state().load;
                BusyReason::Plugin { running, waiting }
            })
        })
    }
}

impl CallStage {
    fn counter(self, load: &mut CallLoad) -> &mut u32 {
        match self {
            Self::Waiting => &mut load.waiting,
            Self::Running => &mut load.running,
        }
    }
}

impl CountedCall {
    fn new(calls: Arc<PluginCalls>, stage: CallStage) -> Self {
        *stage.counter(&mut calls.state().load) += 1;
        Self { calls, stage }
    }

    /// Counts a waiting call as running. It is counted at every moment.
    fn start(&mut self) {
        let mut state = self.calls.state();
        *self.stage.counter(&mut state.load) -= 1;
        self.stage = CallStage::Running;
        *self.stage.counter(&mut state.load) += 1;
    }
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        *self.stage.counter(&mut self.calls.state().load) -= 1;
        self.calls.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
