//! Instances that wait for their next call, where a plugin's table asks for that.
//!
//! An instance waits for calls of the same caller only, because whatever it has in its memory may show in its next
//! answer. Those that wait take places in the pool: all of them and the calls that run are never more than the gate
//! lets in, so that nobody is turned away for their sake; whoever needs a place takes that of the one that has waited
//! longest.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use moongate_core::names::{PluginId, Principal};
use tokio::sync::Notify;
use tokio::time::Instant;

/// All that wait, of all plugins; `W` is an instance with its store.
pub(in crate::host) struct Waiting<W> {
    /// How many calls the gate lets in at once.
    capacity: u32,
    room: Mutex<Room<W>>,
    /// How many there are, to be read without the lock.
    count: AtomicU32,
    /// Somebody came whose time is up before that of all others.
    sooner: Arc<Notify>,
}

struct Room<W> {
    /// The one that has waited longest stands first.
    seats: Vec<Seat<W>>,
    /// When the task that ends those whose time is up looks next; none: there is no such task.
    next: Option<Instant>,
}

struct Seat<W> {
    owner: u64,
    plugin: PluginId,
    principal: Principal,
    until: Instant,
    instance: W,
}

/// Those of one plugin under one table.
pub(in crate::host) struct Own<W> {
    id: u64,
    plugin: PluginId,
    /// Nobody waits here any more. Set and read under the lock.
    ended: AtomicBool,
    all: Arc<Waiting<W>>,
}

/// How long it may wait, and with how many others of its plugin.
#[derive(Debug, Clone, Copy)]
pub(in crate::host) struct Stay {
    pub(in crate::host) until: Instant,
    pub(in crate::host) most: u32,
}

/// Whose calls may share instances: callers that can be told from all others. Without a token anybody may have sent
/// the request before.
pub(in crate::host) fn shares(principal: &Principal) -> bool {
    match principal {
        Principal::Local | Principal::Named(_) => true,
        Principal::Anonymous => false,
    }
}

impl<W> fmt::Debug for Waiting<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("count", &self.total()).finish_non_exhaustive()
    }
}

impl<W> Waiting<W> {
    pub(in crate::host) fn new(capacity: u32) -> Arc<Self> {
        let room = Mutex::new(Room { seats: Vec::new(), next: None });
        Arc::new(Self { capacity, room, count: AtomicU32::new(0), sooner: Arc::default() })
    }

    /// How many wait.
    pub(in crate::host) fn total(&self) -> u32 {
        self.count.load(Ordering::SeqCst)
    }

    /// How many of each plugin wait; plugins that have none aren't there.
    pub(in crate::host) fn counts(&self) -> BTreeMap<PluginId, u32> {
        let mut counts = BTreeMap::new();
        for seat in &self.lock().seats {
            *counts.entry(seat.plugin.clone()).or_default() += 1;
        }
        counts
    }

    /// Makes room for a call that is about to make an instance: `running` counts it already. Read anew after each
    /// one that goes, because others come and go meanwhile.
    pub(in crate::host) fn make_room(&self, running: impl Fn() -> u32) {
        while self.total() > 0 && running().saturating_add(self.total()) > self.capacity {
            let longest = {
                let mut room = self.lock();
                (!room.seats.is_empty()).then(|| self.leave(&mut room, 0))
            };
            drop(longest); // takes a while; the lock is free
        }
    }

    /// Ends all.
    pub(in crate::host) fn clear(&self) {
        let gone = self.leave_all(&mut self.lock(), |_| true);
        drop(gone);
    }

    /// Takes one out.
    fn leave(&self, room: &mut Room<W>, at: usize) -> W {
        let seat = room.seats.remove(at);
        self.count.fetch_sub(1, Ordering::SeqCst);
        seat.instance
    }

    /// Takes out all for which `goes` holds.
    fn leave_all(&self, room: &mut Room<W>, goes: impl Fn(&Seat<W>) -> bool) -> Vec<W> {
        let mut gone = Vec::new();
        while let Some(at) = room.seats.iter().position(&goes) {
            gone.push(self.leave(room, at));
        }
        gone
    }

    fn lock(&self) -> MutexGuard<'_, Room<W>> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Send + 'static> Waiting<W> {
    pub(in crate::host) fn own(self: &Arc<Self>, plugin: PluginId) -> Own<W> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Own { id, plugin, ended: AtomicBool::new(false), all: Arc::clone(self) }
    }

    /// Ends those whose time is up, as long as there are any.
    async fn sweep(this: Weak<Self>) {
        loop {
            let (gone, next, sooner) = {
                let Some(this) = this.upgrade() else { return };
                let mut room = this.lock();
                let now = Instant::now();
                let gone = this.leave_all(&mut room, |seat| seat.until <= now);
                room.next = room.seats.iter().map(|seat| seat.until).min();
                let next = room.next;
                drop(room);
                (gone, next, Arc::clone(&this.sooner))
            };
            drop(gone);
            let Some(next) = next else { return };
            tokio::select! {
                () = tokio::time::sleep_until(next) => {}
                () = sooner.notified() => {}
            }
        }
    }
}

impl<W: Send + 'static> Own<W> {
    /// The instance that served this caller last, if one waits.
    pub(in crate::host) fn take(&self, principal: &Principal) -> Option<W> {
        if self.all.total() == 0 {
            return None;
        }
        let mut room = self.all.lock();
        let is_its = |seat: &Seat<W>| seat.owner == self.id && seat.principal == *principal;
        let at = room.seats.iter().rposition(is_its)?;
        Some(self.all.leave(&mut room, at))
    }

    /// Lets an instance wait, unless it is in somebody's way. `running` counts the call that it served.
    pub(in crate::host) fn park(
        &self,
        principal: Principal,
        instance: W,
        stay: Stay,
        running: impl Fn() -> u32,
    ) {
        let Stay { until, most } = stay;
        let mut gone = Vec::new();
        {
            let mut room = self.all.lock();
            if self.ended.load(Ordering::Relaxed) || most == 0 {
                gone.push(instance);
            } else {
                let (owner, plugin) = (self.id, self.plugin.clone());
                room.seats.push(Seat { owner, plugin, principal, until, instance });
                self.all.count.fetch_add(1, Ordering::SeqCst);
            }
            let own = |room: &Room<W>| room.seats.iter().filter(|seat| seat.owner == self.id).count();
            while own(&room) > most as usize
                && let Some(at) = room.seats.iter().position(|seat| seat.owner == self.id)
            {
                gone.push(self.all.leave(&mut room, at));
            }
            // Its own call gives its place to it.
            let others = || running().saturating_sub(1);
            while others().saturating_add(self.all.total()) > self.all.capacity && !room.seats.is_empty() {
                gone.push(self.all.leave(&mut room, 0));
            }
            if !room.seats.is_empty() {
                self.watch(&mut room, until);
            }
        }
        drop(gone); // takes a while; the lock is free
    }

    /// Sees to it that somebody looks when this one's time is up.
    fn watch(&self, room: &mut Room<W>, until: Instant) {
        match room.next {
            Some(next) if next <= until => {}
            Some(_) => {
                room.next = Some(until);
                self.all.sooner.notify_one();
            }
            None => {
                room.next = Some(until);
                tokio::spawn(Waiting::sweep(Arc::downgrade(&self.all)));
            }
        }
    }
}

impl<W> Own<W> {
    /// Lets none wait any more, and ends those that do.
    pub(in crate::host) fn end(&self) {
        let gone = {
            let mut room = self.all.lock();
            self.ended.store(true, Ordering::Relaxed);
            self.all.leave_all(&mut room, |seat| seat.owner == self.id)
        };
        drop(gone);
    }
}

impl<W> Drop for Own<W> {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests;
