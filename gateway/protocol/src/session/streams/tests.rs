//! Streams of a client whose connections break.

use std::collections::VecDeque;

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::unconstrained;

use super::store::{
    DELIVERED_STREAM_TTL, EVENT_OVERHEAD_BYTES, MAX_SESSION_BYTES, MAX_STREAM_EVENTS, MAX_UNREAD_STREAMS,
    SESSION_SHARE_BYTES, UNREAD_STREAM_TTL,
};
use super::*;
use crate::caller::Caller;
use crate::catalog::Catalog;
use crate::changes::{ChangeListener, ResourceUpdates};
use crate::mcp::{InitializeParams, Params};
use crate::names::{Principal, ResourceUri};
use crate::session::SessionStore;

/// The memory of the streams of all sessions.
const MAX_TOTAL_BYTES: usize = 64 << 20;

/// A session with a ready client, and its catalog.
struct Client {
    sessions: SessionStore,
    session: Arc<Session>,
    updates: Arc<ResourceUpdates>,
    stop: CancellationToken,
}

fn client(revision: &str) -> Client {
    let initialize = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    let raw = serde_json::value::to_raw_value(&initialize).unwrap();
    let greeting = InitializeParams::read(&Params::read(Some((&*raw).into())).unwrap()).unwrap();
    let (_, catalog) = watch::channel(Arc::new(Catalog::empty()));
    let updates: Arc<ResourceUpdates> = Arc::default();
    let listener = ChangeListener::new(catalog, &updates, Principal::Anonymous, []);
    let stop = CancellationToken::new();
    let sessions = SessionStore::new(10, Duration::from_secs(60), MAX_TOTAL_BYTES as u64, stop.clone());
    let session = sessions.open(Caller::LOOPBACK, greeting, listener).unwrap();
    session.set_ready();
    Client { sessions, session, updates, stop }
}

impl Client {
    /// Publishes a change that the client wants to know.
    fn change(&self, number: u64) {
        let uri = ResourceUri::new(&format!("test://{number}")).unwrap();
        self.session.listener().subscribe(&Caller::LOOPBACK, &uri).unwrap();
        self.updates.report(&uri);
    }

    fn resume(&self, last: &str) -> Result<EventReader, ResumeError> {
        self.session.resume(last, None, &UnreadResponses::unlimited())
    }

    fn usage(&self) -> (usize, usize) {
        self.session.streams.store().usage()
    }
}

/// The next event, the end, or nothing yet.
fn now(reader: &mut EventReader) -> Option<Option<SseEvent>> {
    unconstrained(reader.next()).now_or_never()
}

/// The event's id, and its message as a number, if it has one.
fn read(event: SseEvent) -> (String, Option<u64>) {
    match event {
        SseEvent::Priming { id, .. } => (id, None),
        SseEvent::Message { id, message } => {
            let text = std::str::from_utf8(&message).unwrap();
            let number = text.parse().unwrap_or_else(|_| {
                let notification: Value = serde_json::from_str(text).unwrap();
                notification["params"]["uri"].as_str().unwrap()["test://".len()..].parse().unwrap()
            });
            (id.unwrap(), Some(number))
        }
    }
}

/// All available events as numbers, and whether the stream has ended.
fn all(reader: &mut EventReader) -> (Vec<u64>, bool) {
    let mut numbers = Vec::new();
    loop {
        match now(reader) {
            Some(Some(event)) => numbers.extend(read(event).1),
            Some(None) => return (numbers, true),
            None => return (numbers, false),
        }
    }
}

fn send(writer: &EventWriter, number: u64) {
    writer.send(number.to_string().into_bytes().into());
}

/// A deterministic sequence of random numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, max: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % max
    }
}

#[test]
fn event_ids_round_trip() {
    let id = EventId { tag: 0x00ab_cdef, kind: StreamKind::Response, stream: 12, event: 7 };
    assert_eq!(id.to_string(), "00abcdefp12-7");
    assert_eq!(EventId::parse("00abcdefp12-7"), Some(id));
    for other in [
        "",
        "7",
        "12-7",
        "00abcdef",
        "00abcdefp",
        "00abcdefp12",
        "00abcdefx12-7",
        "00abcdefp12-07",
        "00ABCDEFp12-7",
        "00abcdefp+12-7",
        "00abcdefp12-7 ",
        "00abcdefp12--7",
        "00abcdefé12-7",
        "0é0abcdefp12-7",
        "00abcdefp12-99999999999999999999",
    ] {
        assert_eq!(EventId::parse(other), None, "{other}");
    }
}

#[tokio::test(start_paused = true)]
async fn resumes_exactly_after_the_last_event() {
    for seed in 1..200 {
        let mut dice = Dice(seed);
        let client = client(["2025-03-26", "2025-11-25"][usize::from(dice.below(2) == 0)]);
        let (writer, reader) = client.session.open_stream(None);
        let (mut writer, mut reader) = (Some(writer), Some(reader));
        let (mut sent, mut got): (u64, Vec<u64>) = (0, Vec::new());
        let mut last: Option<String> = None;
        // Events that the gateway wrote on this connection and the client hasn't received.
        let mut under_way: VecDeque<(String, Option<u64>)> = VecDeque::new();
        loop {
            match dice.below(8) {
                0 | 1 if sent < 60 => {
                    sent += 1;
                    send(writer.as_ref().unwrap(), sent);
                }
                2 if sent == 60 => writer = None,
                3 => {
                    // The connection breaks, before or after the client has reconnected.
                    let Some(last) = &last else { continue };
                    under_way.clear();
                    let old = if dice.below(2) == 0 { reader.take() } else { None };
                    drop(old);
                    match client.resume(last) {
                        Ok(new) => {
                            if let Some(mut old) = reader.replace(new) {
                                assert_eq!(all(&mut old), (vec![], true), "the newer one has replaced it");
                            }
                        }
                        Err(why) => {
                            assert_eq!((why, writer.is_none(), got.len()), (ResumeError::Ended, true, 60));
                            break;
                        }
                    }
                }
                4 => {
                    let seen = dice.below(4);
                    for (id, number) in (0..seen).map_while(|_| under_way.pop_front()) {
                        assert!(last.as_ref().is_none_or(|last| event(last) <= event(&id)), "{last:?} {id}");
                        last = Some(id);
                        got.extend(number);
                    }
                }
                _ => {
                    if let Some(Some(Some(event))) = reader.as_mut().map(now) {
                        under_way.push_back(read(event));
                    }
                }
            }
        }
        assert_eq!(got, (1..=60).collect::<Vec<_>>(), "seed {seed}");
        drop(reader);
        client.usage();
    }
}

fn event(id: &str) -> u64 {
    EventId::parse(id).unwrap().event
}

#[tokio::test(start_paused = true)]
async fn sends_each_notification_once_on_the_newest_stream() {
    for seed in 1..100 {
        let mut dice = Dice(seed);
        let client = client("2025-06-18");
        let mut readers: Vec<EventReader> = Vec::new();
        // Streams that the client lost, with the last event that it received of each.
        let mut lost: Vec<String> = Vec::new();
        let (mut changes, mut got): (u64, Vec<u64>) = (0, Vec::new());
        for _ in 0..300 {
            match dice.below(6) {
                0 if changes < 100 => {
                    changes += 1;
                    client.change(changes);
                }
                1 if readers.len() < 4 => readers.push(client.session.open_notification_stream(None)),
                2 if !readers.is_empty() => {
                    let which = usize::try_from(dice.below(readers.len() as u64)).unwrap();
                    let reader = readers.remove(which);
                    lost.push(reader.id(reader.after));
                }
                3 if !lost.is_empty() => {
                    let which = usize::try_from(dice.below(lost.len() as u64)).unwrap();
                    readers.push(client.resume(&lost.remove(which)).unwrap());
                }
                _ => {
                    let newest = readers.len().saturating_sub(1);
                    for (place, reader) in readers.iter_mut().enumerate() {
                        let (numbers, ended) = all(reader);
                        assert!(!ended && (place == newest || numbers.is_empty()), "seed {seed}");
                        got.extend(numbers);
                    }
                }
            }
        }
        let mut reader = client.session.open_notification_stream(None);
        got.extend(all(&mut reader).0);
        got.sort_unstable();
        assert_eq!(got, (1..=changes).collect::<Vec<_>>(), "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn resends_lost_notifications() {
    let client = client("2025-11-25");
    let mut reader = client.session.open_notification_stream(None);
    let Some(Some(SseEvent::Priming { id: place, .. })) = now(&mut reader) else {
        panic!("the place comes first")
    };
    client.change(1);
    assert_eq!(all(&mut reader), (vec![1], false));
    drop(reader);
    client.change(2);
    let mut reader = client.resume(&place).unwrap();
    assert_eq!(all(&mut reader), (vec![1, 2], false));
    let mut second = client.session.open_notification_stream(None);
    client.change(3);
    assert_eq!(all(&mut reader), (vec![], false), "an older stream stays open");
    assert_eq!(all(&mut second), (vec![3], false));
    drop(second);
    client.change(4);
    assert_eq!(all(&mut reader), (vec![4], false), "and is the newest stream again");
}

#[tokio::test(start_paused = true)]
async fn sends_priming_events_to_supporting_clients_only() {
    for (revision, is_primed) in [("2024-11-05", false), ("2025-06-18", false), ("2025-11-25", true)] {
        let client = client(revision);
        let (writer, mut reader) = client.session.open_stream(None);
        send(&writer, 1);
        let first = now(&mut reader).unwrap().unwrap();
        assert_eq!(matches!(first, SseEvent::Priming { .. }), is_primed, "{revision}");
        let mut listening = client.session.open_notification_stream(None);
        assert_eq!(
            matches!(now(&mut listening), Some(Some(SseEvent::Priming { .. }))),
            is_primed,
            "{revision}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn unknown_events_resume_only_notification_streams() {
    let ann = client("2025-06-18");
    let bob = client("2025-06-18");
    let (writer, mut reader) = ann.session.open_stream(None);
    let _others = bob.session.open_stream(None);
    send(&writer, 1);
    let (id, _) = read(now(&mut reader).unwrap().unwrap());
    assert!(ann.resume(&id).is_ok());
    for unknown in [&id.replace("p1-1", "p1-2"), &id.replace("p1-1", "p9-1"), "1", "_GET_stream_1"] {
        assert_eq!(ann.resume(unknown).unwrap_err(), ResumeError::Unknown, "{unknown}");
    }
    assert_eq!(bob.resume(&id).unwrap_err(), ResumeError::Unknown, "it belongs to another session");
    ann.change(1);
    let mut listening = ann.session.open_notification_stream(None);
    let (id, _) = read(now(&mut listening).unwrap().unwrap());
    let mut others = bob.resume(&id).unwrap();
    assert_eq!(all(&mut others), (vec![], false), "no events of another session are sent");
    drop(listening);
    tokio::time::advance(UNREAD_STREAM_TTL).await;
    ann.change(2);
    let mut listening = ann.resume(&id).unwrap();
    assert_eq!(all(&mut listening), (vec![2], false), "removed, and started again");
}

#[tokio::test(start_paused = true)]
async fn ended_streams_expire() {
    let client = client("2025-06-18");
    for (reads, kept) in [(true, DELIVERED_STREAM_TTL), (false, UNREAD_STREAM_TTL)] {
        let (writer, mut reader) = client.session.open_stream(None);
        let start = reader.id(0);
        send(&writer, 1);
        drop(writer);
        if reads {
            assert_eq!(all(&mut reader), (vec![1], true));
            assert_eq!(client.resume(&reader.id(1)).unwrap_err(), ResumeError::Ended);
        }
        drop(reader);
        tokio::time::advance(kept - Duration::from_secs(1)).await;
        client.session.streams.store().evict();
        let mut again = client.resume(&start).unwrap();
        if reads {
            assert_eq!(all(&mut again), (vec![1], true));
        }
        drop(again);
        tokio::time::advance(kept).await;
        client.session.streams.store().evict();
        assert_eq!(client.resume(&start).unwrap_err(), ResumeError::Unknown);
        assert_eq!(client.usage(), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn evicts_the_oldest_ended_streams_only() {
    let client = client("2025-06-18");
    let (running, _) = client.session.open_stream(None);
    for number in 0..100 {
        let (writer, _) = client.session.open_stream(None);
        send(&writer, number);
    }
    assert_eq!(client.usage().0, MAX_UNREAD_STREAMS + 1);
    running.send(vec![b' '; MAX_SESSION_BYTES].into());
    assert_eq!(client.usage(), (2, MAX_SESSION_BYTES + 2), "the last one that ended stays");
    let (writer, _) = client.session.open_stream(None);
    writer.send(vec![b' '; MAX_SESSION_BYTES].into());
    drop(writer);
    assert_eq!(client.usage(), (2, 2 * MAX_SESSION_BYTES), "however large it is");
}

#[tokio::test(start_paused = true)]
async fn drops_notifications_but_never_responses_for_slow_clients() {
    let client = client("2025-06-18");
    let (writer, mut reader) = client.session.open_stream(None);
    for number in 0..10_000 {
        writer.send_droppable(number.to_string().into_bytes().into());
    }
    for number in 10_000..10_010 {
        send(&writer, number);
    }
    drop(writer);
    let (numbers, ended) = all(&mut reader);
    let expected: Vec<u64> = (0..MAX_STREAM_EVENTS as u64).chain(10_000..10_010).collect();
    assert_eq!((numbers, ended), (expected, true));
}

#[tokio::test(start_paused = true)]
async fn a_reading_client_gets_every_notification() {
    let client = client("2025-06-18");
    let (writer, mut reader) = client.session.open_stream(None);
    send(&writer, 0);
    let start = reader.id(0);
    for number in 1..10_000 {
        writer.send_droppable(number.to_string().into_bytes().into());
        let (numbers, _) = all(&mut reader);
        assert_eq!(numbers.last(), Some(&number));
    }
    let mut again = client.resume(&start).unwrap();
    let (numbers, _) = all(&mut again);
    assert_eq!(
        (numbers.len(), numbers[0], numbers[MAX_STREAM_EVENTS - 1]),
        (MAX_STREAM_EVENTS, 0, 9_999),
        "a question is kept"
    );
}

#[tokio::test(start_paused = true)]
async fn delivered_notifications_are_evicted() {
    let client = client("2025-06-18");
    let mut reader = client.session.open_notification_stream(None);
    client.change(0);
    let (first, _) = read(now(&mut reader).unwrap().unwrap());
    for number in 1..10_000 {
        client.change(number % 100);
        assert_eq!(all(&mut reader), (vec![number % 100], false));
    }
    assert!(client.usage().1 < MAX_STREAM_EVENTS * 200, "{:?}", client.usage());
    drop(reader);
    client.change(1);
    let (numbers, ended) = all(&mut client.resume(&first).unwrap());
    assert_eq!(
        (numbers.len(), numbers.last(), ended),
        (MAX_STREAM_EVENTS + 1, Some(&1), false),
        "the newest are kept"
    );
}

#[tokio::test(start_paused = true)]
async fn limits_stream_memory_of_all_sessions() {
    let client = client("2025-06-18");
    let leave = |session: &Arc<Session>, bytes: usize| {
        let (writer, reader) = session.open_stream(None);
        let start = reader.id(0);
        writer.send(vec![b' '; bytes - EVENT_OVERHEAD_BYTES].into());
        start
    };
    let (_, catalog) = watch::channel(Arc::new(Catalog::empty()));
    let listener = ChangeListener::new(catalog, &client.updates, Principal::Anonymous, []);
    let greeting = client.session.initialize_params().clone();
    let large = client.sessions.open(Caller::Named("ann".into()), greeting, listener).unwrap();
    let first = leave(&large, MAX_TOTAL_BYTES);
    assert!(large.resume(&first, None, &UnreadResponses::unlimited()).is_ok(), "one more fits");
    let kept = leave(&client.session, 10 * SESSION_SHARE_BYTES);
    assert_eq!(
        large.resume(&first, None, &UnreadResponses::unlimited()).unwrap_err(),
        ResumeError::Unknown,
        "the total is exceeded, so the caller with the larger part loses it"
    );
    assert_eq!(client.sessions.stream_memory.bytes(), 10 * SESSION_SHARE_BYTES);
    let second = leave(&large, MAX_TOTAL_BYTES);
    assert_eq!(large.resume(&second, None, &UnreadResponses::unlimited()).unwrap_err(), ResumeError::Unknown);
    assert!(client.resume(&kept).is_ok(), "the other caller's streams stay");
    let third = leave(&large, SESSION_SHARE_BYTES);
    assert!(
        large.resume(&third, None, &UnreadResponses::unlimited()).is_ok(),
        "and each session keeps its share"
    );
    assert!(client.sessions.end(large.id(), &Principal::Named("ann".into())));
    drop(large);
    assert_eq!(client.sessions.stream_memory.bytes(), 10 * SESSION_SHARE_BYTES);
}

#[tokio::test(start_paused = true)]
async fn streams_of_unused_sessions_expire() {
    let client = client("2025-06-18");
    let (writer, reader) = client.session.open_stream(None);
    let start = reader.id(0);
    writer.send(vec![b' '; 1000].into());
    drop((writer, reader));
    for (after, kept) in [(Duration::from_secs(59), 1000 + EVENT_OVERHEAD_BYTES), (UNREAD_STREAM_TTL, 0)] {
        let listening = client.session.open_notification_stream(None); // the session doesn't expire
        tokio::time::advance(after).await;
        assert_eq!(client.sessions.count(), 1);
        assert_eq!(client.sessions.stream_memory.bytes(), kept);
        drop(listening);
    }
    assert_eq!(client.resume(&start).unwrap_err(), ResumeError::Unknown);
}

#[tokio::test(start_paused = true)]
async fn a_stream_closed_early_can_be_resumed() {
    let client = client("2025-11-25");
    let soon = || Some(Instant::now() + Duration::from_secs(1));
    let (writer, mut reader) = client.session.open_stream(soon());
    send(&writer, 1);
    let (first, _) = read(reader.next().await.unwrap());
    assert_eq!(reader.next().await.map(read).unwrap().1, Some(1));
    assert_eq!(reader.next().await, None, "after a second");
    send(&writer, 2);
    let mut again = client.session.resume(&first, soon(), &UnreadResponses::unlimited()).unwrap();
    assert_eq!(all(&mut again), (vec![1, 2], false));
    tokio::time::advance(Duration::from_secs(2)).await;
    send(&writer, 3);
    assert_eq!(now(&mut again), Some(None), "too late for anything but the end");
    drop(writer);
    assert_eq!(all(&mut again), (vec![3], true), "but the end is reported");
}

#[tokio::test(start_paused = true)]
async fn ending_a_session_ends_its_streams() {
    let client = client("2025-06-18");
    let (writer, mut reader) = client.session.open_stream(None);
    let mut listening = client.session.open_notification_stream(None);
    assert_eq!((now(&mut reader), now(&mut listening)), (None, None));
    client.stop.cancel();
    assert_eq!((now(&mut reader), now(&mut listening)), (None, Some(None)));
    assert!(client.sessions.end(client.session.id(), &Principal::Anonymous));
    assert_eq!(now(&mut reader), Some(None));
    drop(writer);
}

#[tokio::test(start_paused = true)]
async fn an_open_stream_keeps_its_session() {
    let client = client("2025-06-18");
    let id = client.session.id();
    let listening = client.session.open_notification_stream(None);
    tokio::time::advance(Duration::from_secs(3600)).await;
    assert_eq!(client.sessions.count(), 1);
    drop(listening);
    tokio::time::advance(Duration::from_secs(59)).await;
    assert!(client.sessions.find(id, &Principal::Anonymous).is_some(), "idle from the end of the stream on");
    tokio::time::advance(Duration::from_secs(60)).await;
    assert!(client.sessions.find(id, &Principal::Anonymous).is_none());
}

#[tokio::test(start_paused = true)]
async fn events_that_are_delivered_again_count_until_they_are_sent() {
    const LARGE: usize = 100_000;
    let client = client("2025-11-25");
    let unread = UnreadResponses::new(8 * LARGE as u64);
    let resume = |last: &str| client.session.resume(last, None, &unread).unwrap();
    let (writer, mut first) = client.session.open_stream(None);
    let Some(Some(SseEvent::Priming { id, .. })) = now(&mut first) else { panic!("the place comes first") };
    writer.send(vec![b' '; LARGE].into());
    drop(writer);
    let mut unsent = Vec::new();
    // Each connection takes the stream over, and its client doesn't read. While nobody else uses the budget, the caller
    // can use up to seven eighths of it.
    for _ in 0..7 {
        let mut reader = resume(&id);
        assert!(matches!(now(&mut reader), Some(Some(SseEvent::Priming { .. }))));
        unsent.push(now(&mut reader));
    }
    let delivered = |event: &Option<Option<SseEvent>>| matches!(event, Some(Some(SseEvent::Message { .. })));
    assert!(unsent.iter().all(delivered), "{unsent:?}");
    assert_eq!(unread.used(), 7 * LARGE as u64);
    let mut reader = resume(&id);
    assert!(matches!(now(&mut reader), Some(Some(SseEvent::Priming { .. }))));
    assert_eq!(now(&mut reader), Some(None), "the connection is closed");
    unsent.clear();
    assert_eq!(unread.used(), 0);
    let mut reader = resume(&id);
    assert!(matches!(now(&mut reader), Some(Some(SseEvent::Priming { .. }))));
    assert!(delivered(&now(&mut reader)), "nothing is lost");
}
