//! Plugins' state in the store: the same rules as for the other backends, in scripts.
//!
//! An owner has three keys: a hash with the values, a sorted set with the keys in the order of their bytes, and the total
//! size. They have the plugin's hash tag, so that a server can keep them together.

use std::pin::Pin;
use std::sync::LazyLock;

use moongate_model::state::{
    ENTRY_OVERHEAD_BYTES, KeyPage, MAX_PAGE_KEYS, StateBackend, StateDiagnostic, StateError, StateFuture,
    StateOwner, StoredValue, SwapConflict,
};
use redis::{Script, ScriptInvocation, cmd};

use crate::connection::{SharedStore, StoreUse, script};
use crate::error::StoreError;

/// The family of the keys.
const FAMILY: &str = "state:";

/// The end of the key of an owner's size.
const SIZE_SUFFIX: &str = ":size";

/// The keys of one step of a scan.
const SCAN_STEP: usize = 1_000;

/// The functions of all scripts. `put` returns false if the store would exceed its limit.
const COMMON: &str = "
local values, keys, size_key = KEYS[1], KEYS[2], KEYS[3]
local key = ARGV[1]
local function size()
  return tonumber(redis.call('GET', size_key) or '0')
end
local function entry(length)
  return OVERHEAD + #key + length
end
local function set_size(new)
  redis.call('SET', size_key, string.format('%.0f', new))
end
local function put(value, limit)
  local before = 0
  if redis.call('HEXISTS', values, key) == 1 then
    before = entry(redis.call('HSTRLEN', values, key))
  end
  local now = size()
  local new = math.max(now - before, 0) + entry(#value)
  if new > tonumber(limit) and new > now then
    return false
  end
  redis.call('HSET', values, key, value)
  redis.call('ZADD', keys, 0, key)
  set_size(new)
  return true
end
";

/// Arguments: key, value, limit. Returns 1, or 0 if the store is full.
const SET: &str = "return put(ARGV[2], ARGV[3]) and 1 or 0";

/// Arguments: key.
const DELETE: &str = "
if redis.call('HEXISTS', values, key) == 0 then
  return 0
end
local new = size() - entry(redis.call('HSTRLEN', values, key))
redis.call('HDEL', values, key)
redis.call('ZREM', keys, key)
if redis.call('HLEN', values) == 0 then
  redis.call('DEL', size_key)
else
  set_size(math.max(new, 0))
end
return 1
";

/// Arguments: key, value, limit, whether a value was seen, that value. Returns the result and, with 2 (the value was
/// changed), the current value if there is one.
const SWAP: &str = "
local current = redis.call('HGET', values, key)
if ARGV[4] == '0' then
  if current then return {'2', current} end
elseif not current then
  return {'2'}
elseif current ~= ARGV[5] then
  return {'2', current}
end
return {put(ARGV[2], ARGV[3]) and '1' or '0'}
";

/// Arguments: key, delta, limit. Returns the result and, with 1, the sum as text. Numbers of Lua have only 53 bits, so the
/// server adds, and the old value is restored if the sum can't be kept.
const INCREMENT: &str = "
local before = redis.call('HGET', values, key)
local sign, digits = string.match(before or '0', '^([+-]?)0*(%d+)$')
if not digits then
  return {2}
end
local function restore()
  if before then
    redis.call('HSET', values, key, before)
  else
    redis.call('HDEL', values, key)
  end
end
redis.call('HSET', values, key, ((sign == '-' and digits ~= '0') and '-' or '') .. digits)
local added = redis.pcall('HINCRBY', values, key, ARGV[2])
if type(added) == 'table' and added.err then
  restore()
  return {string.find(added.err, 'overflow') and 3 or 2}
end
local sum = redis.call('HGET', values, key)
restore()
if not put(sum, ARGV[3]) then
  return {0}
end
return {1, sum}
";

static SET_SCRIPT: LazyLock<Script> = LazyLock::new(|| state_script(SET));
static DELETE_SCRIPT: LazyLock<Script> = LazyLock::new(|| state_script(DELETE));
static SWAP_SCRIPT: LazyLock<Script> = LazyLock::new(|| state_script(SWAP));
static INCREMENT_SCRIPT: LazyLock<Script> = LazyLock::new(|| state_script(INCREMENT));

fn state_script(text: &str) -> Script {
    script(&format!("local OVERHEAD = {ENTRY_OVERHEAD_BYTES}\n{COMMON}{text}"))
}

/// The start of an owner's keys.
fn owner_key(store: &SharedStore, owner: &StateOwner) -> String {
    let (name, caller) = owner.parts();
    store.key(&format!("{FAMILY}{{{name}}}{caller}"))
}

/// The owner whose size has this key.
fn owner_of_size_key(store: &SharedStore, key: &str) -> Option<StateOwner> {
    let text = key.strip_prefix(&store.key(FAMILY))?.strip_prefix('{')?.strip_suffix(SIZE_SUFFIX)?;
    let (name, caller) = text.split_once('}')?;
    format!("{name}{caller}").parse().ok()
}

fn values_key(store: &SharedStore, owner: &StateOwner) -> String {
    format!("{}:values", owner_key(store, owner))
}

fn invocation<'s>(
    script: &'s LazyLock<Script>,
    store: &SharedStore,
    owner: &StateOwner,
    key: &str,
) -> ScriptInvocation<'s> {
    let owner = owner_key(store, owner);
    let mut call = script.key(format!("{owner}:values"));
    call.key(format!("{owner}:keys")).key(format!("{owner}{SIZE_SUFFIX}")).arg(key);
    call
}

/// The error of an operation that changes nothing.
fn read_error(error: StoreError) -> StateError {
    match error {
        StoreError::Lost(_) | StoreError::Timeout => StateError::Unreachable,
        other => write_error(other),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn write_error(error: StoreError) -> StateError {
    match error {
        StoreError::Unreachable | StoreError::Connect(_) | StoreError::Tls(_) | StoreError::Loading => {
            StateError::Unreachable
        }
        StoreError::Lost(_) | StoreError::Timeout => StateError::Uncertain,
        StoreError::OutOfMemory => StateError::NoMemory,
        StoreError::ReadOnly | StoreError::CannotSave(_) => StateError::ReadOnly,
        StoreError::PasswordRequired
        | StoreError::PasswordRefused
        | StoreError::PasswordUnknown
        | StoreError::NoPermission(_)
        | StoreError::OldServer(_)
        | StoreError::Cluster
        | StoreError::Foreign(_)
        | StoreError::Newer(_)
        | StoreError::Server(_) => StateError::Unavailable,
    }
}

/// The text of a key. Plugins' keys are text.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

impl StateBackend for SharedStore {
    fn get<'a>(&'a self, owner: &'a StateOwner, key: String) -> StateFuture<'a, Option<StoredValue>> {
        Box::pin(async move {
            let mut get = cmd("HGET");
            get.arg(values_key(self, owner)).arg(key);
            let value: Option<Vec<u8>> = self.run(StoreUse::State, &get).await.map_err(read_error)?;
            Ok(value.map(StoredValue::from))
        })
    }

    fn exists<'a>(&'a self, owner: &'a StateOwner, key: String) -> StateFuture<'a, bool> {
        Box::pin(async move {
            let mut exists = cmd("HEXISTS");
            exists.arg(values_key(self, owner)).arg(key);
            self.run(StoreUse::State, &exists).await.map_err(read_error)
        })
    }

    fn set<'a>(
        &'a self,
        owner: &'a StateOwner,
        key: String,
        value: StoredValue,
        limit: u64,
    ) -> StateFuture<'a, ()> {
        Box::pin(async move {
            let mut call = invocation(&SET_SCRIPT, self, owner, &key);
            call.arg(&*value).arg(limit);
            match self.run_script(StoreUse::State, &call).await.map_err(write_error)? {
                1_u8 => Ok(()),
                _ => Err(StateError::Full(limit)),
            }
        })
    }

    fn delete<'a>(&'a self, owner: &'a StateOwner, key: String) -> StateFuture<'a, ()> {
        Box::pin(async move {
            let call = invocation(&DELETE_SCRIPT, self, owner, &key);
            self.run_script::<u8>(StoreUse::State, &call).await.map_err(write_error).map(drop)
        })
    }

    fn page<'a>(&'a self, owner: &'a StateOwner, cursor: Option<String>) -> StateFuture<'a, KeyPage> {
        Box::pin(async move {
            let start = cursor.map_or_else(|| "-".to_owned(), |cursor| format!("({cursor}"));
            let mut range = cmd("ZRANGEBYLEX");
            range.arg(format!("{}:keys", owner_key(self, owner))).arg(start).arg("+");
            range.arg("LIMIT").arg(0).arg(MAX_PAGE_KEYS + 1);
            let keys: Vec<Vec<u8>> = self.run(StoreUse::State, &range).await.map_err(read_error)?;
            Ok(KeyPage::first_of(keys.into_iter().map(text).collect()))
        })
    }

    fn increment<'a>(
        &'a self,
        owner: &'a StateOwner,
        key: String,
        delta: i64,
        limit: u64,
    ) -> StateFuture<'a, i64> {
        Box::pin(async move {
            let mut call = invocation(&INCREMENT_SCRIPT, self, owner, &key);
            call.arg(delta).arg(limit);
            let (result, sum): (u8, Option<i64>) = {
                let reply: Vec<String> =
                    self.run_script(StoreUse::State, &call).await.map_err(write_error)?;
                let mut reply = reply.iter();
                let result = reply.next().and_then(|result| result.parse().ok()).unwrap_or(u8::MAX);
                (result, reply.next().and_then(|sum| sum.parse().ok()))
            };
            match (result, sum) {
                (1, Some(sum)) => Ok(sum),
                (0, _) => Err(StateError::Full(limit)),
                (2, _) => Err(StateError::NotANumber),
                (3, _) => Err(StateError::Overflow),
                _ => Err(StateError::Unavailable),
            }
        })
    }

    fn swap<'a>(
        &'a self,
        owner: &'a StateOwner,
        key: String,
        seen: Option<StoredValue>,
        value: StoredValue,
        limit: u64,
    ) -> StateFuture<'a, Result<(), SwapConflict>> {
        Box::pin(async move {
            let mut call = invocation(&SWAP_SCRIPT, self, owner, &key);
            call.arg(&*value)
                .arg(limit)
                .arg(u8::from(seen.is_some()))
                .arg(seen.as_deref().unwrap_or_default());
            let reply: Vec<Vec<u8>> = self.run_script(StoreUse::State, &call).await.map_err(write_error)?;
            let mut reply = reply.into_iter();
            match reply.next().as_deref() {
                Some(b"1") => Ok(Ok(())),
                Some(b"0") => Err(StateError::Full(limit)),
                Some(b"2") => Ok(Err(SwapConflict(reply.next().map(StoredValue::from)))),
                _ => Err(StateError::Unavailable),
            }
        })
    }

    fn owners(&self) -> StateFuture<'_, Vec<(StateOwner, u64)>> {
        Box::pin(async move {
            let mut found = Vec::new();
            let mut cursor = 0_u64;
            loop {
                let mut scan = cmd("SCAN");
                let pattern = self.key(&format!("{FAMILY}{{*{SIZE_SUFFIX}"));
                scan.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(SCAN_STEP);
                let (next, keys): (u64, Vec<Vec<u8>>) =
                    self.run(StoreUse::State, &scan).await.map_err(read_error)?;
                for key in keys.into_iter().map(text) {
                    let Some(owner) = owner_of_size_key(self, &key) else { continue };
                    let size: Option<u64> =
                        self.run(StoreUse::State, cmd("GET").arg(key)).await.map_err(read_error)?;
                    found.extend(size.map(|size| (owner, size)));
                }
                if next == 0 {
                    break;
                }
                cursor = next;
            }
            found.sort(); // a scan can return a key twice
            found.dedup_by(|next, first| next.0 == first.0);
            Ok(found)
        })
    }

    fn problem(&self) -> Pin<Box<dyn Future<Output = Option<StateDiagnostic>> + Send + '_>> {
        Box::pin(SharedStore::problem(self))
    }
}

#[cfg(test)]
mod tests;
