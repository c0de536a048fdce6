//! What a client gets of a stream, however often its connection breaks.

use std::collections::VecDeque;

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::unconstrained;

use super::store::{ALL_BYTES, EVENTS, KEPT, KEPT_DELIVERED, SESSION_BYTES, SHARE, STREAMS};
use super::*;
use crate::catalog::Catalog;
use crate::changes::{Listener, Updates};
use crate::mcp::{Greeting, Params};
use crate::names::{Principal, ResourceUri};
use crate::session::Sessions;

/// A session whose client is ready, and what changes in it.
struct Client {
    sessions: Sessions,
    session: Arc<Session>,
    updates: Arc<Updates>,
    stop: CancellationToken,
}

fn client(revision: &str) -> Client {
    let hello = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    let raw = serde_json::value::to_raw_value(&hello).unwrap();
    let greeting = Greeting::read(&Params::read(Some(&raw)).unwrap()).unwrap();
    let (_, catalog) = watch::channel(Arc::new(Catalog::empty()));
    let updates: Arc<Updates> = Arc::default();
    let listener = Listener::new(catalog, &updates, []);
    let stop = CancellationToken::new();
    let sessions = Sessions::new(10, Duration::from_secs(60), stop.clone());
    let session = sessions.open(Principal::Anonymous, greeting, listener).unwrap();
    session.set_ready();
    Client { sessions, session, updates, stop }
}

impl Client {
    /// Something changed that the client wants to know.
    fn change(&self, number: u64) {
        let uri = ResourceUri::new(&format!("test://{number}")).unwrap();
        self.session.listener().subscribe(&uri).unwrap();
        self.updates.updated(&uri);
    }

    fn held(&self) -> (usize, usize) {
        self.session.streams.store().held()
    }
}

/// What is there at once: an event, the end, or nothing yet.
fn now(reader: &mut Reader) -> Option<Option<Event>> {
    unconstrained(reader.next()).now_or_never()
}

/// The event's id, and its message as a number, if it has one.
fn read(event: Event) -> (String, Option<u64>) {
    match event {
        Event::Place { id, .. } => (id, None),
        Event::Message { id, message } => {
            let text = std::str::from_utf8(&message).unwrap();
            let number = text.parse().unwrap_or_else(|_| {
                let news: Value = serde_json::from_str(text).unwrap();
                news["params"]["uri"].as_str().unwrap()["test://".len()..].parse().unwrap()
            });
            (id.unwrap(), Some(number))
        }
    }
}

/// All that is there at once, as numbers, and whether the stream has ended.
fn all(reader: &mut Reader) -> (Vec<u64>, bool) {
    let mut numbers = Vec::new();
    loop {
        match now(reader) {
            Some(Some(event)) => numbers.extend(read(event).1),
            Some(None) => return (numbers, true),
            None => return (numbers, false),
        }
    }
}

fn say(writer: &Writer, number: u64) {
    writer.say(number.to_string().into_bytes());
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

#[test]
fn ids_are_read_as_they_are_written() {
    let id = EventId { tag: 0x00ab_cdef, kind: Kind::Answer, stream: 12, event: 7 };
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
async fn a_client_that_comes_back_gets_exactly_what_followed_wherever_its_connection_broke() {
    for seed in 1..200 {
        let mut dice = Dice(seed);
        let client = client(["2025-03-26", "2025-11-25"][usize::from(dice.below(2) == 0)]);
        let (writer, reader) = client.session.lift(None);
        let (mut writer, mut reader) = (Some(writer), Some(reader));
        let (mut said, mut got): (u64, Vec<u64>) = (0, Vec::new());
        let mut last: Option<String> = None;
        // What the gateway wrote on this connection and the client hasn't seen yet.
        let mut under_way: VecDeque<(String, Option<u64>)> = VecDeque::new();
        loop {
            match dice.below(8) {
                0 | 1 if said < 60 => {
                    said += 1;
                    say(writer.as_ref().unwrap(), said);
                }
                2 if said == 60 => writer = None,
                3 => {
                    // The connection breaks, before or after the client has come back.
                    let Some(last) = &last else { continue };
                    under_way.clear();
                    let old = if dice.below(2) == 0 { reader.take() } else { None };
                    drop(old);
                    match client.session.resume(last, None) {
                        Ok(new) => {
                            if let Some(mut old) = reader.replace(new) {
                                assert_eq!(all(&mut old), (vec![], true), "the newer one has taken over");
                            }
                        }
                        Err(why) => {
                            assert_eq!((why, writer.is_none(), got.len()), (NoMore::Over, true, 60));
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
        client.held();
    }
}

fn event(id: &str) -> u64 {
    EventId::parse(id).unwrap().event
}

#[tokio::test(start_paused = true)]
async fn each_piece_of_news_is_told_once_on_whichever_stream_is_the_newest() {
    for seed in 1..100 {
        let mut dice = Dice(seed);
        let client = client("2025-06-18");
        let mut readers: Vec<Reader> = Vec::new();
        // Streams that the client has lost, and the last event that it saw of each.
        let mut lost: Vec<String> = Vec::new();
        let (mut changes, mut got): (u64, Vec<u64>) = (0, Vec::new());
        for _ in 0..300 {
            match dice.below(6) {
                0 if changes < 100 => {
                    changes += 1;
                    client.change(changes);
                }
                1 if readers.len() < 4 => readers.push(client.session.listen(None)),
                2 if !readers.is_empty() => {
                    let which = usize::try_from(dice.below(readers.len() as u64)).unwrap();
                    let reader = readers.remove(which);
                    lost.push(reader.id(reader.after));
                }
                3 if !lost.is_empty() => {
                    let which = usize::try_from(dice.below(lost.len() as u64)).unwrap();
                    readers.push(client.session.resume(&lost.remove(which), None).unwrap());
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
        let mut reader = client.session.listen(None);
        got.extend(all(&mut reader).0);
        got.sort_unstable();
        assert_eq!(got, (1..=changes).collect::<Vec<_>>(), "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn news_that_a_broken_connection_swallowed_is_told_again_and_news_meanwhile_too() {
    let client = client("2025-11-25");
    let mut reader = client.session.listen(None);
    let Some(Some(Event::Place { id: place, .. })) = now(&mut reader) else {
        panic!("the place comes first")
    };
    client.change(1);
    assert_eq!(all(&mut reader), (vec![1], false));
    drop(reader);
    client.change(2);
    let mut reader = client.session.resume(&place, None).unwrap();
    assert_eq!(all(&mut reader), (vec![1, 2], false));
    let mut second = client.session.listen(None);
    client.change(3);
    assert_eq!(all(&mut reader), (vec![], false), "an older stream stays open");
    assert_eq!(all(&mut second), (vec![3], false));
    drop(second);
    client.change(4);
    assert_eq!(all(&mut reader), (vec![4], false), "and is the newest again");
}

#[tokio::test(start_paused = true)]
async fn only_new_clients_are_told_the_place_before_anything_else() {
    for (revision, told) in [("2024-11-05", false), ("2025-06-18", false), ("2025-11-25", true)] {
        let client = client(revision);
        let (writer, mut reader) = client.session.lift(None);
        say(&writer, 1);
        let first = now(&mut reader).unwrap().unwrap();
        assert_eq!(matches!(first, Event::Place { .. }), told, "{revision}");
        let mut listening = client.session.listen(None);
        assert_eq!(matches!(now(&mut listening), Some(Some(Event::Place { .. }))), told, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_of_nowhere_is_unknown_but_news_can_always_be_gone_on_with() {
    let (ann, bob) = (client("2025-06-18"), client("2025-06-18"));
    let (writer, mut reader) = ann.session.lift(None);
    let _others = bob.session.lift(None);
    say(&writer, 1);
    let (id, _) = read(now(&mut reader).unwrap().unwrap());
    assert!(ann.session.resume(&id, None).is_ok());
    for unknown in [&id.replace("p1-1", "p1-2"), &id.replace("p1-1", "p9-1"), "1", "_GET_stream_1"] {
        assert_eq!(ann.session.resume(unknown, None).unwrap_err(), NoMore::Unknown, "{unknown}");
    }
    assert_eq!(bob.session.resume(&id, None).unwrap_err(), NoMore::Unknown, "it belongs to another session");
    ann.change(1);
    let mut listening = ann.session.listen(None);
    let (id, _) = read(now(&mut listening).unwrap().unwrap());
    let mut others = bob.session.resume(&id, None).unwrap();
    assert_eq!(all(&mut others), (vec![], false), "nothing of another session is told");
    drop(listening);
    tokio::time::advance(KEPT).await;
    ann.change(2);
    let mut listening = ann.session.resume(&id, None).unwrap();
    assert_eq!(all(&mut listening), (vec![2], false), "forgotten, and begun anew");
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_kept_for_a_while_after_its_end_and_less_long_once_it_was_delivered() {
    let client = client("2025-06-18");
    for (reads, kept) in [(true, KEPT_DELIVERED), (false, KEPT)] {
        let (writer, mut reader) = client.session.lift(None);
        let start = reader.id(0);
        say(&writer, 1);
        drop(writer);
        if reads {
            assert_eq!(all(&mut reader), (vec![1], true));
            assert_eq!(client.session.resume(&reader.id(1), None).unwrap_err(), NoMore::Over);
        }
        drop(reader);
        tokio::time::advance(kept - Duration::from_secs(1)).await;
        client.session.streams.tidy();
        let mut again = client.session.resume(&start, None).unwrap();
        if reads {
            assert_eq!(all(&mut again), (vec![1], true));
        }
        drop(again);
        tokio::time::advance(kept).await;
        client.session.streams.tidy();
        assert_eq!(client.session.resume(&start, None).unwrap_err(), NoMore::Unknown);
        assert_eq!(client.held(), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn the_oldest_streams_that_ended_make_room_and_those_that_run_never_do() {
    let client = client("2025-06-18");
    let (running, _) = client.session.lift(None);
    for number in 0..100 {
        let (writer, _) = client.session.lift(None);
        say(&writer, number);
    }
    assert_eq!(client.held().0, STREAMS + 1);
    running.say(vec![b' '; SESSION_BYTES]);
    assert_eq!(client.held(), (2, SESSION_BYTES + 2), "the last one that ended stays");
    let (writer, _) = client.session.lift(None);
    writer.say(vec![b' '; SESSION_BYTES]);
    drop(writer);
    assert_eq!(client.held(), (2, 2 * SESSION_BYTES), "however large it is");
}

#[tokio::test(start_paused = true)]
async fn reports_are_left_out_for_a_client_that_does_not_read_but_never_what_somebody_waits_for() {
    let client = client("2025-06-18");
    let (writer, mut reader) = client.session.lift(None);
    for number in 0..10_000 {
        writer.note(number.to_string().into_bytes());
    }
    for number in 10_000..10_010 {
        say(&writer, number);
    }
    drop(writer);
    let (numbers, ended) = all(&mut reader);
    let expected: Vec<u64> = (0..EVENTS as u64).chain(10_000..10_010).collect();
    assert_eq!((numbers, ended), (expected, true));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_gets_every_report_and_the_oldest_are_forgotten() {
    let client = client("2025-06-18");
    let (writer, mut reader) = client.session.lift(None);
    say(&writer, 0);
    let start = reader.id(0);
    for number in 1..10_000 {
        writer.note(number.to_string().into_bytes());
        let (numbers, _) = all(&mut reader);
        assert_eq!(numbers.last(), Some(&number));
    }
    let mut again = client.session.resume(&start, None).unwrap();
    let (numbers, _) = all(&mut again);
    assert_eq!((numbers.len(), numbers[0], numbers[EVENTS - 1]), (EVENTS, 0, 9_999), "a question is kept");
}

#[tokio::test(start_paused = true)]
async fn news_of_a_client_that_listens_for_months_does_not_pile_up() {
    let client = client("2025-06-18");
    let mut reader = client.session.listen(None);
    client.change(0);
    let (first, _) = read(now(&mut reader).unwrap().unwrap());
    for number in 1..10_000 {
        client.change(number % 100);
        assert_eq!(all(&mut reader), (vec![number % 100], false));
    }
    assert!(client.held().1 < EVENTS * 200, "{:?}", client.held());
    drop(reader);
    client.change(1);
    let (numbers, ended) = all(&mut client.session.resume(&first, None).unwrap());
    assert_eq!((numbers.len(), numbers.last(), ended), (EVENTS + 1, Some(&1), false), "the newest are kept");
}

#[tokio::test(start_paused = true)]
async fn many_sessions_keep_no_more_together_than_there_is_room_for() {
    let client = client("2025-06-18");
    let leave = |session: &Arc<Session>, bytes: usize| {
        let (writer, reader) = session.lift(None);
        let start = reader.id(0);
        writer.say(vec![b' '; bytes]);
        start
    };
    let open = || {
        let (_, catalog) = watch::channel(Arc::new(Catalog::empty()));
        let listener = Listener::new(catalog, &client.updates, []);
        client.sessions.open(Principal::Anonymous, client.session.greeting().clone(), listener).unwrap()
    };
    let large = open();
    let first = leave(&large, ALL_BYTES);
    assert!(large.resume(&first, None).is_ok(), "there is room");
    let second = leave(&client.session, SHARE);
    assert!(client.session.resume(&second, None).is_ok(), "its share is everybody's");
    let third = leave(&client.session, 1);
    assert_eq!(client.session.resume(&second, None).unwrap_err(), NoMore::Unknown, "the oldest makes room");
    assert!(client.session.resume(&third, None).is_ok());
    drop(open());
    assert_eq!(large.resume(&first, None).unwrap_err(), NoMore::Unknown, "so does that of silent sessions");
    assert!(client.sessions.end(large.id(), &Principal::Anonymous));
    assert_eq!(client.sessions.pool.bytes(), 1);
    let forth = leave(&client.session, SESSION_BYTES);
    assert!(client.session.resume(&forth, None).is_ok(), "there is room again");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_closed_early_comes_back_for_the_rest() {
    let client = client("2025-11-25");
    let soon = || Some(Instant::now() + Duration::from_secs(1));
    let (writer, mut reader) = client.session.lift(soon());
    say(&writer, 1);
    let (first, _) = read(reader.next().await.unwrap());
    assert_eq!(reader.next().await.map(read).unwrap().1, Some(1));
    assert_eq!(reader.next().await, None, "after a second");
    say(&writer, 2);
    let mut again = client.session.resume(&first, soon()).unwrap();
    assert_eq!(all(&mut again), (vec![1, 2], false));
    tokio::time::advance(Duration::from_secs(2)).await;
    say(&writer, 3);
    assert_eq!(now(&mut again), Some(None), "too late for what isn't the end");
    drop(writer);
    assert_eq!(all(&mut again), (vec![3], true), "but the end is told");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_session_ends_its_streams_and_the_end_of_the_gateway_those_of_news() {
    let client = client("2025-06-18");
    let (writer, mut reader) = client.session.lift(None);
    let mut listening = client.session.listen(None);
    assert_eq!((now(&mut reader), now(&mut listening)), (None, None));
    client.stop.cancel();
    assert_eq!((now(&mut reader), now(&mut listening)), (None, Some(None)));
    assert!(client.sessions.end(client.session.id(), &Principal::Anonymous));
    assert_eq!(now(&mut reader), Some(None));
    drop(writer);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_only_listens_keeps_its_session() {
    let client = client("2025-06-18");
    let id = client.session.id();
    let listening = client.session.listen(None);
    tokio::time::advance(Duration::from_secs(3600)).await;
    assert_eq!(client.sessions.count(), 1);
    drop(listening);
    tokio::time::advance(Duration::from_secs(59)).await;
    assert!(client.sessions.find(id, &Principal::Anonymous).is_some(), "idle from the end of the stream on");
    tokio::time::advance(Duration::from_secs(60)).await;
    assert!(client.sessions.find(id, &Principal::Anonymous).is_none());
}
