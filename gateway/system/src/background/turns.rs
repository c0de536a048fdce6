//! The order of work on the background pool: the owner that used the least CPU time recently goes next.
//!
//! Each plugin and each caller has an account. Use of the pool counts for a second or two, so none is penalised for
//! long, and none can save up.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use moongate_model::caller::Caller;
use moongate_model::names::PluginId;

/// The time after which half of the use of an account is forgotten.
const HALF_LIFE: Duration = Duration::from_secs(1);

/// Less use than this makes no difference. It bounds how long work can wait for work of owners without any use: ten
/// half-lives for a second of use.
const LEAST_USE: Duration = Duration::from_millis(1);

/// The number of accounts at which unused ones are removed.
const MAX_UNUSED_ACCOUNTS: usize = 64;

/// The owner of work on the background pool.
#[derive(Debug, Clone, Copy, Default)]
pub struct WorkOwner<'a> {
    /// The plugin that computes.
    pub plugin: Option<&'a PluginId>,
    /// The caller that waits.
    pub caller: Option<&'a Caller>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum AccountKey {
    Plugin(PluginId),
    Caller(Caller),
}

/// The processor time that one plugin or caller has used lately.
#[derive(Debug)]
struct Account(Mutex<RecentUse>);

#[derive(Debug, Clone, Copy)]
struct RecentUse {
    seconds: f64,
    at: Instant,
}

impl RecentUse {
    fn until(self, now: Instant) -> f64 {
        let half_lives = now.saturating_duration_since(self.at).as_secs_f64() / HALF_LIFE.as_secs_f64();
        self.seconds * 0.5_f64.powf(half_lives)
    }
}

impl Account {
    fn recent(&self, now: Instant) -> f64 {
        lock(&self.0).until(now)
    }

    fn add(&self, used: Duration, now: Instant) {
        let mut recent = lock(&self.0);
        *recent = RecentUse { seconds: recent.until(now) + used.as_secs_f64(), at: now };
    }
}

/// The accounts of the owner of some work.
#[derive(Debug, Default)]
pub(super) struct OwnerAccounts {
    plugin: Option<Arc<Account>>,
    caller: Option<Arc<Account>>,
}

impl OwnerAccounts {
    pub(super) fn of(owner: WorkOwner<'_>) -> Self {
        Self {
            plugin: owner.plugin.map(|plugin| account(AccountKey::Plugin(plugin.clone()))),
            caller: owner.caller.map(|caller| account(AccountKey::Caller(caller.clone()))),
        }
    }

    /// Adds the time of one poll.
    pub(super) fn add(&self, used: Duration) {
        let now = Instant::now();
        for account in [&self.plugin, &self.caller].into_iter().flatten() {
            account.add(used, now);
        }
    }

    /// The rank of the owner's work: lower is earlier. Of two plugins that a caller uses, and of two callers of a plugin,
    /// the one that used less is next.
    ///
    /// The use of an account halves with each half-life, so its logarithm falls by one. Adding the time in half-lives makes the
    /// ranks of work that waits comparable with those of work that comes later, and no work waits forever.
    pub(super) fn rank(&self) -> u64 {
        static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
        let now = Instant::now();
        let seconds: f64 =
            [&self.plugin, &self.caller].into_iter().flatten().map(|account| account.recent(now)).sum();
        let elapsed = now.saturating_duration_since(*FIRST).as_secs_f64() / HALF_LIFE.as_secs_f64();
        let half_lives = (seconds / LEAST_USE.as_secs_f64()).max(1.0).log2() + elapsed;
        u64::try_from(Duration::from_secs_f64(half_lives).as_micros()).unwrap_or(u64::MAX)
    }
}

/// The account with this key. It exists while work of its owner does, and its use is forgotten with it.
fn account(key: AccountKey) -> Arc<Account> {
    static ACCOUNTS: Mutex<BTreeMap<AccountKey, Weak<Account>>> = Mutex::new(BTreeMap::new());
    let mut accounts = lock(&ACCOUNTS);
    if let Some(account) = accounts.get(&key).and_then(Weak::upgrade) {
        return account;
    }
    if accounts.len() >= MAX_UNUSED_ACCOUNTS {
        accounts.retain(|_, account| account.strong_count() > 0);
    }
    let account = Arc::new(Account(Mutex::new(RecentUse { seconds: 0.0, at: Instant::now() })));
    accounts.insert(key, Arc::downgrade(&account));
    account
}

/// Ready work by rank, and among equals by arrival.
#[derive(Debug)]
pub(super) struct ReadyWork<W> {
    by_rank: BTreeMap<(u64, u64), W>,
    arrivals: u64,
}

impl<W> ReadyWork<W> {
    pub(super) const fn new() -> Self {
        Self { by_rank: BTreeMap::new(), arrivals: 0 }
    }

    pub(super) fn push(&mut self, rank: u64, work: W) {
        self.arrivals += 1;
        self.by_rank.insert((rank, self.arrivals), work);
    }

    pub(super) fn pop(&mut self) -> Option<W> {
        self.by_rank.pop_first().map(|(_, work)| work)
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
