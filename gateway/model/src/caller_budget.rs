//! A budget that several callers share: no caller can use it up while others need it.
//!
//! While others hold or wait for a part of it, a caller may hold at most half. A caller that is alone may hold all but
//! a reserve, so that the next caller doesn't have to wait. Callers that wait take turns, and the requests of one
//! caller get their parts in order of arrival. A caller that starts to wait comes before those that hold more.
//!
//! If too little is free for the next reservation, no other caller takes what is free: small reservations would
//! otherwise overtake a large one for ever. A reservation that waits only because its caller holds as much as it may
//! doesn't hold up others. Shares grow out of turn, because their users can't wait.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::futures::Notified;
use tokio::sync::{Notify, oneshot};

use crate::caller::Caller;

/// The divisor that gives the part of a budget that a caller leaves to others even if it is alone. Smaller budgets have
/// no reserve.
pub const RESERVE_DIVISOR: u64 = 8;

/// A budget, in units that its owner chooses, such as calls or bytes.
#[derive(Debug)]
pub struct CallerBudget {
    state: Mutex<BudgetState>,
    /// Notified when a part was returned and too little is free for the next reservation.
    shortage: Arc<Notify>,
}

/// A part of a budget, returned on drop.
#[derive(Debug)]
#[must_use = "the share is returned when it is dropped"]
pub struct BudgetShare {
    budget: Arc<CallerBudget>,
    caller: Caller,
    amount: u64,
}

#[derive(Debug, Default)]
struct BudgetState {
    total: u64,
    used: u64,
    /// The amounts that callers hold. There are no zeros.
    held: HashMap<Caller, u64>,
    /// The callers that wait. The first one is next.
    queues: VecDeque<CallerQueue>,
    /// The number of reservations that ever waited.
    count: u64,
    /// The one of the budget.
    shortage: Arc<Notify>,
}

/// The reservations of one caller that wait, at least one.
#[derive(Debug)]
struct CallerQueue {
    caller: Caller,
    reservations: VecDeque<WaitingReservation>,
}

#[derive(Debug)]
struct WaitingReservation {
    number: u64,
    amount: u64,
    /// The most that its caller may hold with it.
    most: u64,
    granted: oneshot::Sender<()>,
}

/// Removes a reservation from its queue, or returns its part, unless it is completed.
struct PendingReservation<'a> {
    budget: &'a Arc<CallerBudget>,
    caller: &'a Caller,
    amount: u64,
    number: u64,
}

impl CallerBudget {
    /// A budget of `total` units.
    #[must_use]
    pub fn new(total: u64) -> Arc<Self> {
        let state = BudgetState { total, ..BudgetState::default() };
        let shortage = Arc::clone(&state.shortage);
        Arc::new(Self { state: Mutex::new(state), shortage })
    }

    /// Takes a part at once. `None` if the caller holds as much as it may, too little is free, or it isn't its turn.
    ///
    /// An amount above half of the budget counts as half.
    #[must_use]
    pub fn try_reserve(self: &Arc<Self>, caller: &Caller, amount: u64) -> Option<BudgetShare> {
        self.try_reserve_within(caller, amount, u64::MAX)
    }

    /// The same for a caller that may hold at most `most` units.
    #[must_use]
    pub fn try_reserve_within(
        self: &Arc<Self>,
        caller: &Caller,
        amount: u64,
        most: u64,
    ) -> Option<BudgetShare> {
        let mut state = self.lock();
        let amount = state.clamp(amount);
        state.try_take_in_turn(caller, amount, most).then(|| self.share(caller, amount))
    }

    /// Takes a part of any size at once. `None` as for [`CallerBudget::try_reserve`].
    #[must_use]
    pub fn try_reserve_exact(self: &Arc<Self>, caller: &Caller, amount: u64) -> Option<BudgetShare> {
        self.lock().try_take_in_turn(caller, amount, u64::MAX).then(|| self.share(caller, amount))
    }

    /// Waits for a part. Cancel-safe: a reservation that is dropped loses its place.
    ///
    /// An amount above half of the budget counts as half.
    pub async fn reserve(self: &Arc<Self>, caller: &Caller, amount: u64) -> BudgetShare {
        self.reserve_within(caller, amount, u64::MAX).await
    }

    /// The same for a caller that may hold at most `most` units.
    pub async fn reserve_within(self: &Arc<Self>, caller: &Caller, amount: u64, most: u64) -> BudgetShare {
        let (amount, number, granted) = {
            let mut state = self.lock();
            let amount = state.clamp(amount);
            if state.try_take_in_turn(caller, amount, most) {
                return self.share(caller, amount);
            }
            let (number, granted) = state.enqueue(caller, amount, most);
            (amount, number, granted)
        };
        let pending = PendingReservation { budget: self, caller, amount, number };
        granted.await.expect("a waiting reservation stays in its queue until it is granted");
        std::mem::forget(pending);
        self.share(caller, amount)
    }

    /// Takes a part that is already in use, whatever the caller may hold: the budget may be overdrawn. Check
    /// [`CallerBudget::held_by`] and [`CallerBudget::used`] before the next use.
    pub fn charge(self: &Arc<Self>, caller: &Caller, amount: u64) -> BudgetShare {
        self.lock().take(caller, amount);
        self.share(caller, amount)
    }

    /// Changes the size. Parts that are held stay; a budget may be overdrawn until enough of them are returned.
    pub fn set_total(&self, total: u64) {
        let mut state = self.lock();
        if state.total != total {
            state.total = total;
            state.grant();
        }
    }

    /// The size.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.lock().total
    }

    /// The amount that all callers hold.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.lock().used
    }

    /// The amount that a caller holds.
    #[must_use]
    pub fn held_by(&self, caller: &Caller) -> u64 {
        self.lock().held_by(caller)
    }

    /// True if a reservation waits because too little is free, and not because its caller holds as much as it may.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.lock().next().is_some()
    }

    /// Waits until a part is returned that is too small for the next reservation. The future is notified from its
    /// creation on.
    pub fn shortage(&self) -> Notified<'_> {
        self.shortage.notified()
    }

    /// True if reservations of the caller wait.
    #[must_use]
    pub fn is_waiting(&self, caller: &Caller) -> bool {
        self.lock().queue(caller).is_some()
    }

    /// True if the caller may hold what its next reservation takes: the first that waits, or one of this amount.
    #[must_use]
    pub fn may_reserve(&self, caller: &Caller, amount: u64) -> bool {
        let state = self.lock();
        let waiting = state.queue(caller).and_then(|queue| queue.reservations.front());
        state.may_hold(caller, waiting.map_or_else(|| state.clamp(amount), |first| first.amount))
    }

    fn share(self: &Arc<Self>, caller: &Caller, amount: u64) -> BudgetShare {
        BudgetShare { budget: Arc::clone(self), caller: caller.clone(), amount }
    }

    fn lock(&self) -> MutexGuard<'_, BudgetState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BudgetState {
    fn clamp(&self, amount: u64) -> u64 {
        amount.min(self.half())
    }

    fn half(&self) -> u64 {
        self.total.div_ceil(2)
    }

    fn held_by(&self, caller: &Caller) -> u64 {
        self.held.get(caller).copied().unwrap_or(0)
    }

    fn queue(&self, caller: &Caller) -> Option<&CallerQueue> {
        self.queues.iter().find(|queue| queue.caller == *caller)
    }

    /// The position of the first caller that may hold what it waits for.
    fn next(&self) -> Option<usize> {
        self.queues.iter().position(|queue| {
            queue
                .reservations
                .front()
                .is_some_and(|first| self.may_hold_within(&queue.caller, first.amount, first.most))
        })
    }

    /// The most that a caller may hold now.
    fn allowance(&self, caller: &Caller) -> u64 {
        let is_shared = self.held.keys().any(|other| other != caller)
            || self.queues.iter().any(|queue| queue.caller != *caller);
        match caller {
            _ if is_shared => self.half(),
            // The process that started the gateway over stdio usually stays its only caller.
            Caller::Local => self.total,
            Caller::Named(_)
            | Caller::Subject(_)
            | Caller::Certificate(_)
            | Caller::User(_)
            | Caller::Operator(_)
            | Caller::Address(_) => self.total - self.total / RESERVE_DIVISOR,
        }
    }

    fn may_hold(&self, caller: &Caller, more: u64) -> bool {
        self.may_hold_within(caller, more, u64::MAX)
    }

    fn may_hold_within(&self, caller: &Caller, more: u64, most: u64) -> bool {
        self.held_by(caller).saturating_add(more) <= self.allowance(caller).min(most)
    }

    fn is_free(&self, amount: u64) -> bool {
        self.used.saturating_add(amount) <= self.total
    }

    /// Takes a part unless another reservation is next.
    fn try_take_in_turn(&mut self, caller: &Caller, amount: u64, most: u64) -> bool {
        self.queue(caller).is_none() && self.next().is_none() && self.try_take(caller, amount, most)
    }

    fn try_take(&mut self, caller: &Caller, amount: u64, most: u64) -> bool {
        let fits = self.may_hold_within(caller, amount, most) && self.is_free(amount);
        if fits {
            self.take(caller, amount);
        }
        fits
    }

    fn take(&mut self, caller: &Caller, amount: u64) {
        if amount > 0 {
            self.used += amount;
            *self.held.entry(caller.clone()).or_default() += amount;
        }
    }

    fn give_back(&mut self, caller: &Caller, amount: u64) {
        self.used -= amount;
        if let Some(held) = self.held.get_mut(caller) {
            *held -= amount;
            if *held == 0 {
                self.held.remove(caller);
            }
        }
        self.grant();
    }

    fn enqueue(&mut self, caller: &Caller, amount: u64, most: u64) -> (u64, oneshot::Receiver<()>) {
        self.count += 1;
        let number = self.count;
        let (granted, receiver) = oneshot::channel();
        let reservation = WaitingReservation { number, amount, most, granted };
        match self.queues.iter_mut().find(|queue| queue.caller == *caller) {
            Some(queue) => queue.reservations.push_back(reservation),
            None => {
                // Callers that hold more have had their turn.
                let held = self.held_by(caller);
                let at = self.queues.iter().position(|queue| self.held_by(&queue.caller) > held);
                let queue = CallerQueue { caller: caller.clone(), reservations: [reservation].into() };
                self.queues.insert(at.unwrap_or(self.queues.len()), queue);
            }
        }
        (number, receiver)
    }

    /// Grants what is free: one reservation of each caller by turns.
    fn grant(&mut self) {
        while let Some(at) = self.next() {
            self.queues.rotate_left(at);
            let free = self.total.saturating_sub(self.used);
            let Some(mut queue) = self.queues.pop_front() else { return };
            let Some(first) = queue.reservations.pop_front_if(|first| first.amount <= free) else {
                self.queues.push_front(queue);
                self.queues.rotate_right(at);
                self.shortage.notify_waiters();
                return;
            };
            self.take(&queue.caller, first.amount);
            if !queue.reservations.is_empty() {
                self.queues.push_back(queue);
            }
            // If the receiver is gone, its guard returns the part.
            let _ = first.granted.send(());
        }
    }

    /// Removes a reservation that still waits. False if it was granted.
    fn remove(&mut self, caller: &Caller, number: u64) -> bool {
        let Some(at) = self.queues.iter().position(|queue| queue.caller == *caller) else { return false };
        let Some(queue) = self.queues.get_mut(at) else { return false };
        let before = queue.reservations.len();
        queue.reservations.retain(|reservation| reservation.number != number);
        let is_removed = queue.reservations.len() < before;
        if queue.reservations.is_empty() {
            self.queues.remove(at);
        }
        if is_removed {
            self.grant(); // the others may hold more again
        }
        is_removed
    }
}

impl BudgetShare {
    /// The amount of this share.
    #[must_use]
    pub fn amount(&self) -> u64 {
        self.amount
    }

    /// The caller that holds this share.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// True if the caller may hold `more` units in addition.
    #[must_use]
    pub fn may_grow(&self, more: u64) -> bool {
        self.budget.lock().may_hold(&self.caller, more)
    }

    /// Takes `more` units at once, in addition. False if the caller holds as much as it may, or too little is free.
    #[must_use]
    pub fn try_grow(&mut self, more: u64) -> bool {
        let is_taken = self.budget.lock().try_take(&self.caller, more, u64::MAX);
        if is_taken {
            self.amount += more;
        }
        is_taken
    }

    /// Returns `less` units, at most all.
    pub fn shrink(&mut self, less: u64) {
        let less = less.min(self.amount);
        self.amount -= less;
        if less > 0 {
            self.budget.lock().give_back(&self.caller, less);
        }
    }
}

impl Drop for BudgetShare {
    fn drop(&mut self) {
        self.shrink(self.amount);
    }
}

impl Drop for PendingReservation<'_> {
    fn drop(&mut self) {
        let mut state = self.budget.lock();
        if !state.remove(self.caller, self.number) {
            state.give_back(self.caller, self.amount);
        }
    }
}

#[cfg(test)]
mod tests;
