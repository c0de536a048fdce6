//! The scripts over sessions in the shared store.
//!
//! The first argument of each is the prefix of all keys. Names of keys depend on what a script reads, so they aren't
//! passed as keys; clusters aren't supported. Time is the server's.

use std::sync::LazyLock;

use moongate_store::{FromRedisValue, Script, SharedStore, StoreError, StoreUse};

/// A script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionScript {
    Create,
    Load,
    Touch,
    Update,
    End,
    Send,
    TakeMail,
    TakeNotifications,
    Claim,
    ReleaseNotifications,
    Append,
    Read,
    ReportUpdates,
    UpdatesAfter,
}

/// A script with its arguments.
pub(super) struct ScriptCall {
    script: SessionScript,
    arguments: Vec<Vec<u8>>,
}

impl ScriptCall {
    pub(super) fn new(script: SessionScript, prefix: &str) -> Self {
        Self { script, arguments: vec![prefix.as_bytes().to_vec()] }
    }

    pub(super) fn arg(&mut self, argument: impl AsRef<[u8]>) -> &mut Self {
        self.arguments.push(argument.as_ref().to_vec());
        self
    }

    pub(super) async fn run<T: FromRedisValue>(self, store: &SharedStore) -> Result<T, StoreError> {
        let Self { script, arguments } = self;
        let mut call = SCRIPTS[script as usize].prepare_invoke();
        for argument in &arguments {
            call.arg(argument.as_slice());
        }
        store.run_script(StoreUse::Sessions, &call).await
    }
}

static SCRIPTS: LazyLock<Vec<Script>> = LazyLock::new(|| {
    let bodies = [
        CREATE,
        LOAD,
        TOUCH,
        UPDATE,
        END,
        SEND,
        TAKE_MAIL,
        TAKE_NOTIFICATIONS,
        CLAIM,
        RELEASE_NOTIFICATIONS,
        APPEND,
        READ,
        REPORT_UPDATES,
        UPDATES_AFTER,
    ];
    bodies.into_iter().map(|body| Script::new(&format!("{COMMON}{body}"))).collect()
});

/// Functions of all scripts.
const COMMON: &str = "
local prefix = ARGV[1]
local id = ARGV[2]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function part(id, name)
  return prefix .. '{' .. id .. '}:' .. name
end

local function exists(id)
  return redis.call('HEXISTS', part(id, 'record'), 'content') == 1
end

local function is_alive(replica)
  return redis.call('EXISTS', prefix .. 'replica:' .. replica) == 1
end

local function wake(replica, message)
  redis.call('PUBLISH', prefix .. 'wake:' .. replica, message)
end

-- Members that are gone are removed. After an outage, those that are alive join again with their next heartbeat.
local function wake_members(id)
  for _, member in ipairs(redis.call('SMEMBERS', part(id, 'members'))) do
    if is_alive(member) then
      wake(member, 'session ' .. id)
    else
      redis.call('SREM', part(id, 'members'), member)
    end
  end
end

-- The sessions of a caller are counted again each time, because they can expire together.
local function recount(caller)
  local sessions = redis.call('ZCARD', prefix .. 'caller:' .. caller)
  if sessions == 0 then
    redis.call('ZREM', prefix .. 'callers', caller)
  else
    redis.call('ZADD', prefix .. 'callers', sessions, caller)
  end
end

local function extend(id)
  local facts = redis.call('HMGET', part(id, 'record'), 'idle', 'caller')
  local idle, caller = facts[1], facts[2]
  if not idle or not caller then
    return false
  end
  for _, name in ipairs({'record', 'members', 'subscriptions', 'streams', 'sizes'}) do
    redis.call('PEXPIRE', part(id, name), idle)
  end
  redis.call('ZADD', prefix .. 'index', now + idle, id .. ' ' .. caller)
  redis.call('ZADD', prefix .. 'caller:' .. caller, now + idle, id)
  recount(caller)
  for _, name in ipairs({'index', 'callers', 'caller:' .. caller}) do
    redis.call('PEXPIRE', prefix .. name, idle)
  end
  return true
end

local function forget(id, caller)
  redis.call('ZREM', prefix .. 'index', id .. ' ' .. caller)
  redis.call('ZREM', prefix .. 'caller:' .. caller, id)
  recount(caller)
end

local function remove(id)
  local caller = redis.call('HGET', part(id, 'record'), 'caller')
  wake_members(id)
  for _, stream in ipairs(redis.call('LRANGE', part(id, 'streams'), 0, -1)) do
    redis.call('DEL', part(id, 'stream:' .. stream), part(id, 'log:' .. stream))
  end
  for _, name in ipairs({'record', 'members', 'subscriptions', 'streams', 'sizes'}) do
    redis.call('DEL', part(id, name))
  end
  if caller then
    forget(id, caller)
  end
end

local function drop_streams(id, newest, total, most_bytes, most_streams)
  local sizes, streams = part(id, 'sizes'), part(id, 'streams')
  for _, old in ipairs(redis.call('LRANGE', streams, 0, -1)) do
    local facts = part(id, 'stream:' .. old)
    local is_gone = redis.call('EXISTS', facts) == 0
    local is_excess = total > tonumber(most_bytes) or redis.call('LLEN', streams) > tonumber(most_streams)
    if old ~= newest and (is_gone or (is_excess and redis.call('HEXISTS', facts, 'ended') == 1)) then
      total = redis.call('HINCRBY', sizes, 'total', -tonumber(redis.call('HGET', sizes, old) or '0'))
      redis.call('HDEL', sizes, old)
      redis.call('LREM', streams, 1, old)
      redis.call('DEL', facts, part(id, 'log:' .. old))
    end
  end
end

local function last_update()
  local last = redis.call('XREVRANGE', prefix .. 'journal', '+', '-', 'COUNT', 1)
  return last[1] and last[1][1] or '0-0'
end

-- Returns false if the log has this event already, or a later one.
local function add_event(id, stream, number, message, most, ttl)
  local log = part(id, 'log:' .. stream)
  local added = redis.pcall('XADD', log, 'MAXLEN', '~', most, number .. '-0', 'm', message)
  redis.call('PEXPIRE', log, ttl)
  return type(added) == 'string'
end

-- The events after one, to another one or to the end. Returns 1 as well if there are more than fit into so many bytes.
local function events_after(id, stream, after, last, most_bytes)
  local events, bytes = {}, 0
  local log, entry = part(id, 'log:' .. stream), {after .. '-0'}
  while true do
    entry = redis.call('XRANGE', log, '(' .. entry[1], last or '+', 'COUNT', 1)[1]
    if not entry then
      return events, 0
    end
    bytes = bytes + #entry[2][2]
    if most_bytes and bytes > tonumber(most_bytes) and #events > 0 then
      return events, 1
    end
    events[#events + 1] = string.match(entry[1], '^%d+')
    events[#events + 1] = entry[2][2]
  end
end
";

const CREATE: &str = "
local content, caller, replica, most, idle = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6]), ARGV[7]
for _, expired in ipairs(redis.call('ZRANGEBYSCORE', prefix .. 'index', '-inf', now, 'LIMIT', 0, 64)) do
  local old, owner = string.match(expired, '^(%S+) (%S+)$')
  if old then
    forget(old, owner)
  end
end
for _ = 1, 64 do
  if redis.call('ZCARD', prefix .. 'index') < most then
    break
  end
  local largest = redis.call('ZREVRANGE', prefix .. 'callers', 0, 0)[1]
  local oldest = largest and redis.call('ZRANGE', prefix .. 'caller:' .. largest, 0, 0)[1]
  if not oldest then
    break
  end
  remove(oldest)
  forget(oldest, largest)
end
local record = part(id, 'record')
redis.call('HSET', record, 'content', content, 'caller', caller, 'idle', idle, 'version', 0)
for i = 8, #ARGV, 2 do
  redis.call('HSET', record, 'known:' .. ARGV[i], ARGV[i + 1])
end
redis.call('SADD', part(id, 'members'), replica)
extend(id)
";

const LOAD: &str = "
if not exists(id) then
  return {}
end
redis.call('SADD', part(id, 'members'), ARGV[3])
extend(id)
local fields = redis.call('HMGET', part(id, 'record'), 'content', 'level', 'version')
return {fields[1], fields[2] or '', fields[3] or '0'}
";

const TOUCH: &str = "
local ttl, replica = ARGV[2], ARGV[3]
local versions = {}
local i = 4
while i < #ARGV do
  local session, streams = ARGV[i], tonumber(ARGV[i + 1])
  if exists(session) and extend(session) then
    redis.call('SADD', part(session, 'members'), replica)
    versions[#versions + 1] = redis.call('HGET', part(session, 'record'), 'version') or '0'
    for j = i + 2, i + 1 + streams do
      redis.call('PEXPIRE', part(session, 'log:' .. ARGV[j]), ttl)
      redis.call('PEXPIRE', part(session, 'stream:' .. ARGV[j]), ttl)
    end
  else
    versions[#versions + 1] = ''
  end
  i = i + 2 + streams
end
return versions
";

const UPDATE: &str = "
if not exists(id) then
  return 'ended'
end
local change, value = ARGV[3], ARGV[4]
local record, subscriptions = part(id, 'record'), part(id, 'subscriptions')
if change == 'level' then
  redis.call('HSET', record, 'level', value)
elseif change == 'subscribe' then
  if redis.call('HEXISTS', subscriptions, value) == 0 then
    local bytes = tonumber(redis.call('HGET', record, 'bytes') or '0') + #value
    if redis.call('HLEN', subscriptions) >= tonumber(ARGV[5]) or bytes > tonumber(ARGV[6]) then
      return 'many'
    end
    redis.call('HSET', subscriptions, value, last_update())
    redis.call('HSET', record, 'bytes', bytes)
  end
elseif redis.call('HDEL', subscriptions, value) == 1 then
  redis.call('HINCRBY', record, 'bytes', -#value)
end
redis.call('HINCRBY', record, 'version', 1)
extend(id)
wake_members(id)
return 'done'
";

const END: &str = "
remove(id)
";

const SEND: &str = "
local mail, ttl, recipient = ARGV[2], ARGV[3], ARGV[4]
local replicas = {ARGV[5]}
if recipient == 'members' then
  replicas = redis.call('SMEMBERS', part(ARGV[6], 'members'))
end
local members = part(ARGV[6], 'members')
local outcome = 'sent'
for _, replica in ipairs(replicas) do
  local inbox = prefix .. 'inbox:' .. replica
  local is_sender = recipient == 'members' and replica == ARGV[5]
  if not is_alive(replica) or redis.call('LLEN', inbox) >= tonumber(ARGV[7]) then
    outcome = 'undelivered'
  elseif redis.call('SISMEMBER', members, replica) == 0 then
    outcome = 'undelivered'
  elseif not is_sender then
    redis.call('RPUSH', inbox, mail)
    redis.call('PEXPIRE', inbox, ttl)
    wake(replica, 'mail')
  end
end
return outcome
";

const TAKE_MAIL: &str = "
local inbox = prefix .. 'inbox:' .. ARGV[2]
redis.call('LTRIM', inbox, ARGV[3], -1)
local mail, bytes = {}, 0
while true do
  local next = redis.call('LINDEX', inbox, #mail)
  bytes = bytes + #(next or '')
  if not next or (bytes > tonumber(ARGV[4]) and #mail > 0) then
    return mail
  end
  mail[#mail + 1] = next
end
";

const TAKE_NOTIFICATIONS: &str = "
if not exists(id) then
  return {'ended', {}, {}, {}}
end
local stream, replica, rival, number, resumed, after = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], tonumber(ARGV[8])
local record = part(id, 'record')
local notifier = redis.call('HMGET', record, 'notifier', 'notifier_replica')
if rival == 'keep' and notifier[1] and notifier[1] ~= stream and is_alive(notifier[2]) then
  return {'refused', {}, {}, {}}
end
redis.call('HSET', record, 'notifier', stream, 'notifier_replica', replica)
extend(id)
local known = {}
for _, kind in ipairs({'tools', 'prompts', 'resources'}) do
  local digest = redis.call('HGET', record, 'known:' .. kind)
  if digest then
    known[#known + 1] = kind
    known[#known + 1] = digest
  end
end
-- The streams that had the notifications in turn, oldest first, each with the number of its last event before its turn.
local turns = {}
for name, start in string.gmatch(redis.call('HGET', record, 'turns') or '', '(%S+):(%d+)') do
  turns[#turns + 1] = {name, tonumber(start)}
end
local function last_event(turn)
  for i = turn + 1, #turns do
    if turns[i][1] == turns[turn][1] then
      return turns[i][2]
    end
  end
end
local logs = {}
if resumed then
  local first
  for i, turn in ipairs(turns) do
    if not first and turn[1] == resumed and turn[2] <= after and after <= (last_event(i) or after) then
      first = i
    end
  end
  if not first then
    -- A turn that isn't there any more is older than all others.
    table.insert(turns, 1, {resumed, 0})
    first = 1
  end
  for i = first, #turns do
    local start = i == first and after or turns[i][2]
    logs[#logs + 1] = {turns[i][1], (events_after(id, turns[i][1], start, last_event(i)))}
  end
  -- A client that resumes has everything of the turns before. One whose stream only gets its turn back might not.
  if rival == 'replace' then
    for _ = 2, first do
      table.remove(turns, 1)
    end
  end
end
if #turns == 0 or turns[#turns][1] ~= stream then
  local newest = redis.call('XREVRANGE', part(id, 'log:' .. stream), '+', '-', 'COUNT', 1)[1]
  local logged = newest and string.match(newest[1], '^%d+') or 0
  turns[#turns + 1] = {stream, math.max(number, logged)}
end
local texts = {}
for i = math.max(1, #turns - 15), #turns do
  texts[#texts + 1] = turns[i][1] .. ':' .. turns[i][2]
end
redis.call('HSET', record, 'turns', table.concat(texts, ' '))
return {'taken', known, redis.call('HGETALL', part(id, 'subscriptions')), logs}
";

const CLAIM: &str = "
if not exists(id) then
  return 'ended'
end
local stream, replica, number, message, ttl, most = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local record = part(id, 'record')
if redis.call('HGET', record, 'notifier') ~= stream then
  return 'lost'
end
if ARGV[9] == 'list' then
  redis.call('HSET', record, 'known:' .. ARGV[10], ARGV[11])
elseif redis.call('HEXISTS', part(id, 'subscriptions'), ARGV[10]) == 1 then
  redis.call('HSET', part(id, 'subscriptions'), ARGV[10], ARGV[11])
end
add_event(id, stream, number, message, most, ttl)
return 'claimed'
";

const RELEASE_NOTIFICATIONS: &str = "
local record = part(id, 'record')
if redis.call('HGET', record, 'notifier') == ARGV[3] then
  redis.call('HDEL', record, 'notifier', 'notifier_replica')
end
";

const APPEND: &str = "
if not exists(id) then
  return
end
local stream, replica, request, open, ttl, most = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local most_bytes, most_streams = ARGV[9], ARGV[10]
local facts = part(id, 'stream:' .. stream)
if redis.call('HEXISTS', facts, 'ended') == 1 then
  return
end
if redis.call('HSETNX', facts, 'replica', replica) == 1 then
  redis.call('RPUSH', part(id, 'streams'), stream)
end
redis.call('HSETNX', facts, 'request', request)
local added, is_last_added = 0, false
for i = 11, #ARGV, 2 do
  is_last_added = add_event(id, stream, ARGV[i], ARGV[i + 1], most, ttl)
  if is_last_added then
    added = added + #ARGV[i + 1]
  end
end
redis.call('HINCRBY', part(id, 'sizes'), stream, added)
local total = redis.call('HINCRBY', part(id, 'sizes'), 'total', added)
drop_streams(id, stream, total, most_bytes, most_streams)
for _, name in ipairs({'sizes', 'streams'}) do
  redis.call('PEXPIRE', part(id, name), redis.call('HGET', part(id, 'record'), 'idle'))
end
-- Another replica ends a stream only if it has read all of it.
if open == 'ended' and (is_last_added or redis.call('HGET', facts, 'replica') == replica) then
  redis.call('HSET', facts, 'ended', 1)
end
redis.call('PEXPIRE', facts, ttl)
redis.call('PEXPIRE', part(id, 'log:' .. stream), ttl)
local watcher = redis.call('HGET', facts, 'watcher')
if watcher then
  wake(watcher, 'stream ' .. id .. ' ' .. stream)
end
";

const READ: &str = "
local stream, after, watcher = ARGV[3], ARGV[4], ARGV[5]
local facts = part(id, 'stream:' .. stream)
local found = redis.call('HMGET', facts, 'replica', 'request', 'ended')
if not found[1] or not exists(id) then
  return {{}, {}, 0}
end
redis.call('HSET', facts, 'watcher', watcher)
local events, more = events_after(id, stream, after, nil, ARGV[6])
return {{found[1], found[2] or '', found[3] or ''}, events, more}
";

const REPORT_UPDATES: &str = "
local channel, most, ttl = ARGV[2], ARGV[3], ARGV[4]
for i = 5, #ARGV do
  redis.call('XADD', prefix .. 'journal', 'MAXLEN', '~', most, '*', 'u', ARGV[i])
end
redis.call('PEXPIRE', prefix .. 'journal', ttl)
redis.call('PUBLISH', channel, '')
";

const UPDATES_AFTER: &str = "
local after = ARGV[2]
local entries = {}
if after ~= '' then
  for _, entry in ipairs(redis.call('XRANGE', prefix .. 'journal', '(' .. after, '+')) do
    entries[#entries + 1] = entry[1]
    entries[#entries + 1] = entry[2][2]
  end
end
return {last_update(), entries}
";
