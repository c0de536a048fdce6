//! Sessions in the shared store: the operations of `moongate_protocol::session::shared` as scripts.
//!
//! A session has a hash with its record, a set with its members, a hash with its subscriptions, and for each stream a log
//! and a hash with facts about it. All of them expire. Indexes of the sessions, by caller, limit their number.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use moongate_model::call::LogLevel;
use moongate_model::names::{Digest, ResourceUri};
use moongate_protocol::catalog::ListKind;
use moongate_protocol::jsonrpc::Id;
use moongate_protocol::session::shared::{
    BusySession, ClaimOutcome, JournalPart, JournalPosition, KnownLists, MAX_JOURNAL_ENTRIES,
    MAX_LOGGED_BYTES, MAX_LOGGED_EVENTS, MAX_LOGGED_MESSAGE_BYTES, MAX_LOGGED_STREAMS, Mail, MailOutcome,
    MailRecipient, NewEvents, NewSession, NotificationClaim, NotificationState, NotificationTakeover,
    REPLICA_LEASE, ReplicaId, Rival, STREAM_LOG_TTL, SessionUpdate, SessionUpdateOutcome, SharedSessionStore,
    SharedStoreError, StoreOperation, StoredSession, StreamEnd, StreamLog, StreamName, TakeoverOutcome,
    ToldChange, WakeUp, WakeUps,
};
use moongate_store::{Cmd, FromRedisValue, SharedStore, StoreError, StoreEvent, StoreUse, cmd};
use tokio::time::timeout;

mod scripts;

use scripts::{ScriptCall, SessionScript};

/// The time for which mail is kept for a replica that doesn't read it.
const MAIL_TTL: Duration = Duration::from_secs(60);

/// The number of messages in a replica's inbox above which more are refused.
const MAX_INBOX_MAIL: usize = 64;

/// The time for which the journal of resource updates is kept after its last entry.
const JOURNAL_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// The time within which a subscription to wake-ups must be open.
const SUBSCRIBE_TIMEOUT: Duration = Duration::from_secs(10);

/// The channel of wake-ups for all replicas.
const JOURNAL_CHANNEL: &str = "session:journal";

/// The sessions in a shared store.
#[derive(Debug)]
pub(crate) struct StoredSessions(SharedStore);

impl StoredSessions {
    pub(crate) fn new(store: SharedStore) -> Arc<Self> {
        Arc::new(Self(store))
    }

    fn call(&self, script: SessionScript) -> ScriptCall {
        ScriptCall::new(script, &self.0.key("session:"))
    }

    async fn run<T: FromRedisValue>(&self, call: ScriptCall) -> Result<T, SharedStoreError> {
        call.run(&self.0).await.map_err(|error| failure(&error))
    }

    fn key(&self, key: &str) -> String {
        self.0.key(&format!("session:{key}"))
    }

    async fn command<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, SharedStoreError> {
        self.0.run(StoreUse::Sessions, command).await.map_err(|error| failure(&error))
    }

    fn lease(&self, replica: &ReplicaId) -> String {
        self.key(&format!("replica:{}", replica.as_str()))
    }

    fn inbox(&self, replica: &ReplicaId) -> String {
        self.key(&format!("inbox:{}", replica.as_str()))
    }
}

fn failure(error: &StoreError) -> SharedStoreError {
    SharedStoreError { reason: error.to_string(), is_uncertain: error.is_uncertain() }
}

fn malformed(what: &str) -> SharedStoreError {
    SharedStoreError { reason: format!("{what} is malformed"), is_uncertain: true }
}

impl SharedSessionStore for StoredSessions {
    fn create<'a>(&'a self, session: &'a NewSession) -> StoreOperation<'a, ()> {
        Box::pin(async move {
            let NewSession { id, content, caller, replica, known, max_sessions, idle } = session;
            let mut call = self.call(SessionScript::Create);
            call.arg(id).arg(content).arg(caller.to_string()).arg(replica.as_str());
            call.arg(max_sessions.to_string()).arg(millis(*idle));
            for (kind, digest) in known {
                call.arg(list_name(*kind)).arg(digest.to_string());
            }
            self.run(call).await
        })
    }

    fn load<'a>(&'a self, id: &'a str, replica: &'a ReplicaId) -> StoreOperation<'a, Option<StoredSession>> {
        Box::pin(async move {
            let mut call = self.call(SessionScript::Load);
            call.arg(id).arg(replica.as_str());
            let fields: Vec<String> = self.run(call).await?;
            let [content, level, version] = &fields[..] else { return Ok(None) };
            Ok(Some(StoredSession {
                content: content.clone(),
                level: LogLevel::from_name(level),
                version: version.parse().unwrap_or_default(),
            }))
        })
    }

    fn touch<'a>(
        &'a self,
        sessions: &'a [BusySession],
        replica: &'a ReplicaId,
    ) -> StoreOperation<'a, Vec<Option<u64>>> {
        Box::pin(async move {
            let mut call = self.call(SessionScript::Touch);
            call.arg(millis(STREAM_LOG_TTL)).arg(replica.as_str());
            for BusySession { id, streams } in sessions {
                call.arg(id).arg(streams.len().to_string());
                streams.iter().for_each(|StreamName(name)| {
                    call.arg(name);
                });
            }
            let versions: Vec<String> = self.run(call).await?;
            if versions.len() != sessions.len() {
                return Err(malformed("the answer about sessions"));
            }
            Ok(versions.iter().map(|version| version.parse().ok()).collect())
        })
    }

    fn update<'a>(
        &'a self,
        id: &'a str,
        update: &'a SessionUpdate,
    ) -> StoreOperation<'a, SessionUpdateOutcome> {
        Box::pin(async move {
            let mut call = self.call(SessionScript::Update);
            call.arg(id);
            match update {
                SessionUpdate::Level(level) => call.arg("level").arg(level.as_str()),
                SessionUpdate::Subscribe { uri, max_count, max_bytes } => {
                    call.arg("subscribe").arg(uri.as_str());
                    call.arg(max_count.to_string()).arg(max_bytes.to_string())
                }
                SessionUpdate::Unsubscribe(uri) => call.arg("unsubscribe").arg(uri.as_str()),
            };
            Ok(match self.run::<String>(call).await?.as_str() {
                "done" => SessionUpdateOutcome::Done,
                "many" => SessionUpdateOutcome::TooMany,
                _ => SessionUpdateOutcome::Ended,
            })
        })
    }

    fn end<'a>(&'a self, id: &'a str) -> StoreOperation<'a, ()> {
        Box::pin(async move {
            let mut call = self.call(SessionScript::End);
            call.arg(id);
            self.run(call).await
        })
    }

    fn send<'a>(&'a self, recipient: MailRecipient<'a>, mail: &'a Mail) -> StoreOperation<'a, MailOutcome> {
        Box::pin(async move {
            let mut call = self.call(SessionScript::Send);
            call.arg(mail.to_text()).arg(millis(MAIL_TTL));
            match recipient {
                MailRecipient::Replica(replica) => call.arg("replica").arg(replica.as_str()),
                MailRecipient::OtherMembers(own) => call.arg("members").arg(own.as_str()),
            };
            call.arg(&mail.session).arg(MAX_INBOX_MAIL.to_string());
            Ok(match self.run::<String>(call).await?.as_str() {
                "sent" => MailOutcome::Sent,
                _ => MailOutcome::Undelivered,
            })
        })
    }

    fn take_mail<'a>(
        &'a self,
        replica: &'a ReplicaId,
        handled: usize,
    ) -> StoreOperation<'a, Vec<Option<Mail>>> {
        Box::pin(async move {
            let mut call = self.call(SessionScript::TakeMail);
            call.arg(replica.as_str()).arg(handled.to_string()).arg(MAX_LOGGED_MESSAGE_BYTES.to_string());
            let texts: Vec<String> = self.run(call).await?;
            Ok(texts.iter().map(|text| Mail::from_text(text)).collect())
        })
    }

    fn renew_lease<'a>(&'a self, replica: &'a ReplicaId) -> StoreOperation<'a, ()> {
        Box::pin(async move {
            let mut set = cmd("SET");
            set.arg(self.lease(replica)).arg("1").arg("PX").arg(millis(REPLICA_LEASE));
            self.command(&set).await
        })
    }

    fn release_lease<'a>(&'a self, replica: &'a ReplicaId) -> StoreOperation<'a, ()> {
        Box::pin(async move {
            let mut delete = cmd("DEL");
            delete.arg(self.lease(replica)).arg(self.inbox(replica));
            self.command::<i64>(&delete).await.map(drop)
        })
    }

    fn is_alive<'a>(&'a self, replica: &'a ReplicaId) -> StoreOperation<'a, bool> {
        Box::pin(async move {
            let mut exists = cmd("EXISTS");
            exists.arg(self.lease(replica));
            self.command(&exists).await
        })
    }

    fn take_notifications<'a>(
        &'a self,
        takeover: &'a NotificationTakeover,
    ) -> StoreOperation<'a, TakeoverOutcome> {
        Box::pin(async move {
            let NotificationTakeover { id, stream, number, replica, resumes, rival } = takeover;
            let mut call = self.call(SessionScript::TakeNotifications);
            call.arg(id).arg(&stream.0).arg(replica.as_str());
            call.arg(match rival {
                Rival::Replaced => "replace",
                Rival::Kept => "keep",
            });
            call.arg(number.to_string());
            if let Some((StreamName(name), after)) = resumes {
                call.arg(name).arg(after.to_string());
            }
            type Taken = (String, Vec<String>, Vec<String>, Vec<(String, Vec<Vec<u8>>)>);
            let (outcome, known, subscriptions, logs): Taken = self.run(call).await?;
            let mut events = Vec::new();
            for (stream, log) in logs {
                let log = logged_events(log)?.into_iter();
                events.extend(log.map(|(number, message)| (StreamName(stream.clone()), number, message)));
            }
            Ok(match outcome.as_str() {
                "taken" => TakeoverOutcome::Taken(NotificationState {
                    known: known_lists(&known),
                    subscriptions: stored_subscriptions(&subscriptions),
                    events,
                }),
                "refused" => TakeoverOutcome::Refused,
                _ => TakeoverOutcome::Ended,
            })
        })
    }

    fn claim<'a>(&'a self, claim: &'a NotificationClaim) -> StoreOperation<'a, ClaimOutcome> {
        Box::pin(async move {
            let NotificationClaim { id, stream, replica, number, message, told } = claim;
            let mut call = self.call(SessionScript::Claim);
            call.arg(id).arg(&stream.0).arg(replica.as_str()).arg(number.to_string()).arg(&message[..]);
            call.arg(millis(STREAM_LOG_TTL)).arg(MAX_LOGGED_EVENTS.to_string());
            match told {
                ToldChange::List(kind, digest) => {
                    call.arg("list").arg(list_name(*kind)).arg(digest.to_string())
                }
                ToldChange::Update(uri, position) => {
                    call.arg("update").arg(uri.as_str()).arg(position_text(*position))
                }
            };
            Ok(match self.run::<String>(call).await?.as_str() {
                "claimed" => ClaimOutcome::Claimed,
                "lost" => ClaimOutcome::Lost,
                _ => ClaimOutcome::Ended,
            })
        })
    }

    fn release_notifications<'a>(&'a self, id: &'a str, stream: &'a StreamName) -> StoreOperation<'a, ()> {
        Box::pin(async move {
            let mut call = self.call(SessionScript::ReleaseNotifications);
            call.arg(id).arg(&stream.0);
            self.run(call).await
        })
    }

    fn append<'a>(&'a self, events: &'a NewEvents) -> StoreOperation<'a, ()> {
        Box::pin(async move {
            let NewEvents { id, stream, replica, request, events, end } = events;
            let mut call = self.call(SessionScript::Append);
            call.arg(id).arg(&stream.0).arg(replica.as_str()).arg(request.as_json());
            call.arg(match end {
                StreamEnd::Open => "open",
                StreamEnd::Ended => "ended",
            });
            call.arg(millis(STREAM_LOG_TTL)).arg(MAX_LOGGED_EVENTS.to_string());
            call.arg(MAX_LOGGED_BYTES.to_string()).arg(MAX_LOGGED_STREAMS.to_string());
            for (number, message) in events {
                call.arg(number.to_string()).arg(&message[..]);
            }
            self.run(call).await
        })
    }

    fn read<'a>(
        &'a self,
        id: &'a str,
        stream: &'a StreamName,
        after: u64,
        watcher: &'a ReplicaId,
    ) -> StoreOperation<'a, Option<StreamLog>> {
        Box::pin(async move {
            let mut call = self.call(SessionScript::Read);
            call.arg(id).arg(&stream.0).arg(after.to_string()).arg(watcher.as_str());
            call.arg(MAX_LOGGED_MESSAGE_BYTES.to_string());
            let (facts, events, more): (Vec<String>, Vec<Vec<u8>>, u8) = self.run(call).await?;
            let [replica, request, ended] = &facts[..] else { return Ok(None) };
            Ok(Some(StreamLog {
                replica: ReplicaId::parse(replica).ok_or_else(|| malformed("a replica's id"))?,
                request: Id::from_token(request).ok(),
                events: logged_events(events)?,
                has_more: more == 1,
                end: if ended.is_empty() { StreamEnd::Open } else { StreamEnd::Ended },
            }))
        })
    }

    fn report_updates<'a>(&'a self, uris: &'a [ResourceUri]) -> StoreOperation<'a, ()> {
        Box::pin(async move {
            let mut call = self.call(SessionScript::ReportUpdates);
            call.arg(self.0.key(JOURNAL_CHANNEL)).arg(MAX_JOURNAL_ENTRIES.to_string());
            call.arg(millis(JOURNAL_TTL));
            uris.iter().for_each(|uri| {
                call.arg(uri.as_str());
            });
            self.run(call).await
        })
    }

    fn updates_after(&self, position: Option<JournalPosition>) -> StoreOperation<'_, JournalPart> {
        Box::pin(async move {
            let mut call = self.call(SessionScript::UpdatesAfter);
            call.arg(position.map(position_text).unwrap_or_default());
            let (last, entries): (String, Vec<String>) = self.run(call).await?;
            let entries = entries.chunks_exact(2).filter_map(|entry| {
                // A URI that this version refuses belongs to no subscription.
                Some((parse_position(&entry[0])?, ResourceUri::new(&entry[1]).ok()?))
            });
            let last = parse_position(&last).ok_or_else(|| malformed("a position"))?;
            Ok(JournalPart { entries: entries.collect(), position: last })
        })
    }

    fn wake_ups<'a>(&'a self, replica: &'a ReplicaId) -> StoreOperation<'a, WakeUps> {
        Box::pin(async move {
            let own_channel = format!("session:wake:{}", replica.as_str());
            let mut subscription = self.0.subscribe(&[JOURNAL_CHANNEL, &own_channel]);
            match timeout(SUBSCRIBE_TIMEOUT, subscription.next()).await {
                Ok(Some(StoreEvent::Connected)) => {}
                Ok(Some(StoreEvent::Disconnected | StoreEvent::Message { .. }) | None) | Err(_) => {
                    return Err(SharedStoreError::without_effect("no subscription to messages"));
                }
            }
            let events = stream::unfold(subscription, async |mut subscription| {
                let event = subscription.next().await.filter(|event| *event != StoreEvent::Disconnected)?;
                Some((wake_up(&event), subscription))
            });
            Ok(events.filter_map(std::future::ready).boxed() as WakeUps)
        })
    }
}

fn wake_up(event: &StoreEvent) -> Option<WakeUp> {
    let (channel, payload) = match event {
        StoreEvent::Connected => return Some(WakeUp::Everything),
        StoreEvent::Disconnected => return None,
        StoreEvent::Message { channel, payload } => (channel, payload),
    };
    if channel == JOURNAL_CHANNEL {
        return Some(WakeUp::Journal);
    }
    let mut words = std::str::from_utf8(payload).ok()?.split(' ').map(str::to_owned);
    match (words.next()?.as_str(), words.next(), words.next()) {
        ("mail", None, None) => Some(WakeUp::Mail),
        ("session", Some(id), None) => Some(WakeUp::Session(id)),
        ("stream", Some(id), Some(stream)) => Some(WakeUp::Stream(id, StreamName(stream))),
        _ => None, // of a newer version
    }
}

fn millis(time: Duration) -> String {
    time.as_millis().to_string()
}

fn list_name(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Tools => "tools",
        ListKind::Prompts => "prompts",
        ListKind::Resources => "resources",
    }
}

/// Reads pairs of a list's name and the digest. Those that only another version knows are skipped.
fn known_lists(fields: &[String]) -> KnownLists {
    let known = fields.chunks_exact(2).filter_map(|pair| {
        let kind = ListKind::ALL.into_iter().find(|kind| list_name(*kind) == pair[0])?;
        Some((kind, pair[1].parse::<Digest>().ok()?))
    });
    known.collect()
}

/// Reads pairs of a subscription's URI and a position. Those that only another version knows are skipped.
fn stored_subscriptions(fields: &[String]) -> Vec<(ResourceUri, JournalPosition)> {
    let subscriptions = fields
        .chunks_exact(2)
        .filter_map(|pair| Some((ResourceUri::new(&pair[0]).ok()?, parse_position(&pair[1])?)));
    subscriptions.collect()
}

/// Reads pairs of an event's number and its message.
fn logged_events(fields: Vec<Vec<u8>>) -> Result<Vec<(u64, Bytes)>, SharedStoreError> {
    let mut fields = fields.into_iter();
    let mut events = Vec::new();
    while let (Some(number), Some(message)) = (fields.next(), fields.next()) {
        let number = std::str::from_utf8(&number).ok().and_then(|number| number.parse().ok());
        events.push((number.ok_or_else(|| malformed("the number of an event"))?, message.into()));
    }
    Ok(events)
}

fn position_text(JournalPosition(time, number): JournalPosition) -> String {
    format!("{time}-{number}")
}

fn parse_position(text: &str) -> Option<JournalPosition> {
    let (time, number) = text.split_once('-')?;
    Some(JournalPosition(time.parse().ok()?, number.parse().ok()?))
}

#[cfg(test)]
mod tests;
