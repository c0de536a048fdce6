//! The operations on a real server.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use moongate_config::{RatesWhenDown, StoreAddress, StoreConfig};
use moongate_model::json::Json;
use moongate_model::names::Digest;
use moongate_protocol::session::shared::{MailContent, NotificationClaim};
use tempfile::TempDir;
use tokio::net::UnixStream;

use super::*;

/// A server with an empty store, and two replicas.
struct Fixture {
    store: Arc<StoredSessions>,
    server: Child,
    _directory: TempDir,
    ann: ReplicaId,
    bob: ReplicaId,
}

impl Fixture {
    /// `None` means that there is no `redis-server`, which is a failure with `CI=true`.
    async fn start() -> Option<Self> {
        let directory = TempDir::new().unwrap();
        let socket = directory.path().join("s");
        let Some(server) = spawn(&socket) else {
            assert!(std::env::var("CI").is_err(), "redis-server is missing");
            eprintln!("skipped: redis-server is missing");
            return None;
        };
        let accepts = async {
            while UnixStream::connect(&socket).await.is_err() {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(60), accepts).await.expect("redis-server accepts connections");
        let config = StoreConfig {
            address: StoreAddress::Unix(socket),
            database: 0,
            user: None,
            password: None,
            prefix: "test:".to_owned(),
            connect_timeout: Duration::from_secs(20),
            response_timeout: Duration::from_secs(20),
            rates_when_down: RatesWhenDown::Local,
        };
        let store = StoredSessions::new(SharedStore::open(&config, None).await);
        let replica = |digit: &str| ReplicaId::parse(&digit.repeat(16)).unwrap();
        let (ann, bob) = (replica("a"), replica("b"));
        for replica in [&ann, &bob] {
            store.renew_lease(replica).await.unwrap();
        }
        Some(Self { store, server, _directory: directory, ann, bob })
    }

    async fn create(&self, id: &str, caller: &str, max_sessions: usize) {
        let session = NewSession {
            id: id.to_owned(),
            content: format!("content of {id}"),
            caller: Digest::of(caller.as_bytes()),
            replica: self.ann.clone(),
            known: vec![(ListKind::Tools, Digest::of(b"tools"))],
            max_sessions,
            idle: Duration::from_secs(60),
        };
        self.store.create(&session).await.unwrap();
    }

    async fn exists(&self, id: &str) -> bool {
        self.store.load(id, &self.bob).await.unwrap().is_some()
    }

    fn takeover(&self, stream: &str, resumes: Option<(&str, u64)>, rival: Rival) -> NotificationTakeover {
        NotificationTakeover {
            id: "x".to_owned(),
            stream: name(stream),
            number: 0,
            replica: self.ann.clone(),
            resumes: resumes.map(|(stream, after)| (name(stream), after)),
            rival,
        }
    }

    async fn claim(&self, stream: &str, number: u64, told: ToldChange) -> ClaimOutcome {
        let claim = NotificationClaim {
            id: "x".to_owned(),
            stream: name(stream),
            replica: self.ann.clone(),
            number,
            message: Bytes::from(vec![b'\n', 0, 0xff, u8::try_from(number).unwrap()]),
            told,
        };
        self.store.claim(&claim).await.unwrap()
    }

    fn events(&self, numbers: &[u64], end: StreamEnd) -> NewEvents {
        NewEvents {
            id: "x".to_owned(),
            stream: name("p1"),
            replica: self.ann.clone(),
            request: Id::from(7),
            events: numbers.iter().map(|number| (*number, number.to_string().into())).collect(),
            end,
        }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn spawn(socket: &Path) -> Option<Child> {
    let mut command = Command::new("redis-server");
    command.args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"]).arg(socket);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
}

/// The next wake-up.
async fn next_wake(wake_ups: &mut WakeUps) -> Option<WakeUp> {
    timeout(Duration::from_secs(60), wake_ups.next()).await.expect("a wake-up in time")
}

fn name(stream: &str) -> StreamName {
    StreamName(stream.to_owned())
}

fn resource() -> ResourceUri {
    ResourceUri::new("test://a").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_stored_changed_and_ended() {
    let Some(fixture) = Fixture::start().await else { return };
    let Fixture { store, ann, bob, .. } = &fixture;
    fixture.create("x", "ann", 10).await;
    let stored = store.load("x", bob).await.unwrap().unwrap();
    let expected = StoredSession { content: "content of x".to_owned(), level: None, version: 0 };
    assert_eq!(stored, expected);
    let update = SessionUpdate::Level(LogLevel::Error);
    assert_eq!(store.update("x", &update).await.unwrap(), SessionUpdateOutcome::Done);
    let stored = store.load("x", ann).await.unwrap().unwrap();
    assert_eq!((stored.level, stored.version), (Some(LogLevel::Error), 1));
    let busy = |id: &str| BusySession { id: id.to_owned(), streams: vec![name("p1"), name("p2")] };
    assert_eq!(store.touch(&[busy("y"), busy("x")], ann).await.unwrap(), [None, Some(1)]);
    store.end("x").await.unwrap();
    assert!(!fixture.exists("x").await);
    assert_eq!(store.update("x", &update).await.unwrap(), SessionUpdateOutcome::Ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_caller_with_the_most_sessions_makes_room() {
    let Some(fixture) = Fixture::start().await else { return };
    for id in ["1", "2", "3"] {
        fixture.create(id, "ann", 3).await;
        tokio::time::sleep(Duration::from_millis(2)).await; // so that their times differ
    }
    assert!(fixture.exists("1").await, "it is used");
    tokio::time::sleep(Duration::from_millis(2)).await;
    fixture.create("4", "bob", 3).await;
    assert!(!fixture.exists("2").await);
    for id in ["1", "3", "4"] {
        assert!(fixture.exists(id).await, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn notifications_are_claimed_by_one_stream() {
    let Some(fixture) = Fixture::start().await else { return };
    let Fixture { store, .. } = &fixture;
    fixture.create("x", "ann", 10).await;
    let subscribe = |max_count| SessionUpdate::Subscribe { uri: resource(), max_count, max_bytes: 100 };
    assert_eq!(store.update("x", &subscribe(0)).await.unwrap(), SessionUpdateOutcome::TooMany);
    assert_eq!(store.update("x", &subscribe(1)).await.unwrap(), SessionUpdateOutcome::Done);
    let taken = store.take_notifications(&fixture.takeover("g1", None, Rival::Replaced)).await.unwrap();
    let TakeoverOutcome::Taken(state) = taken else { panic!("{taken:?}") };
    assert_eq!(state.known, [(ListKind::Tools, Digest::of(b"tools"))]);
    assert_eq!(state.subscriptions, [(resource(), JournalPosition(0, 0))]);
    let list = || ToldChange::List(ListKind::Tools, Digest::of(b"more tools"));
    assert_eq!(fixture.claim("g1", 1, list()).await, ClaimOutcome::Claimed);
    assert_eq!(fixture.claim("g1", 1, list()).await, ClaimOutcome::Claimed, "it is repeated");
    let update = ToldChange::Update(resource(), JournalPosition(5, 6));
    assert_eq!(fixture.claim("g1", 2, update).await, ClaimOutcome::Claimed);
    let kept = store.take_notifications(&fixture.takeover("g2", None, Rival::Kept)).await.unwrap();
    assert_eq!(kept, TakeoverOutcome::Refused);
    let resumed = fixture.takeover("g2", Some(("g1", 0)), Rival::Replaced);
    let taken = store.take_notifications(&resumed).await.unwrap();
    let TakeoverOutcome::Taken(state) = taken else { panic!("{taken:?}") };
    assert_eq!(state.known, [(ListKind::Tools, Digest::of(b"more tools"))]);
    assert_eq!(state.subscriptions, [(resource(), JournalPosition(5, 6))]);
    let numbers: Vec<_> = state.events.iter().map(|(_, number, message)| (*number, message[3])).collect();
    assert_eq!(numbers, [(1, 1), (2, 2)]);
    assert_eq!(fixture.claim("g1", 3, list()).await, ClaimOutcome::Lost);
    store.release_notifications("x", &name("g2")).await.unwrap();
    let kept = store.take_notifications(&fixture.takeover("g1", None, Rival::Kept)).await.unwrap();
    assert!(matches!(kept, TakeoverOutcome::Taken(_)), "{kept:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_resumed_twice_brings_what_the_first_attempt_missed() {
    let Some(fixture) = Fixture::start().await else { return };
    let Fixture { store, .. } = &fixture;
    fixture.create("x", "ann", 10).await;
    let take = async |stream: &str, resumes| {
        let takeover = fixture.takeover(stream, resumes, Rival::Replaced);
        let taken = store.take_notifications(&takeover).await.unwrap();
        let TakeoverOutcome::Taken(state) = taken else { panic!("{taken:?}") };
        let events = state.events.into_iter().map(|(StreamName(stream), number, _)| (stream, number));
        events.collect::<Vec<_>>()
    };
    let event = |stream: &str, number| (stream.to_owned(), number);
    let list = || ToldChange::List(ListKind::Tools, Digest::of(b"more tools"));
    assert_eq!(take("g1", None).await, []);
    fixture.claim("g1", 1, list()).await;
    assert_eq!(take("g2", Some(("g1", 1))).await, []);
    fixture.claim("g2", 1, list()).await;
    store.release_notifications("x", &name("g2")).await.unwrap();
    assert_eq!(take("g3", Some(("g1", 1))).await, [event("g2", 1)]);
    fixture.claim("g3", 1, list()).await;
    assert_eq!(take("g4", Some(("g1", 0))).await, [event("g1", 1), event("g2", 1), event("g3", 1)]);
    fixture.claim("g4", 1, list()).await;
    // From the middle: it has everything of the streams before.
    assert_eq!(take("g5", Some(("g3", 0))).await, [event("g3", 1), event("g4", 1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_stream_brings_what_an_abandoned_one_took() {
    let Some(fixture) = Fixture::start().await else { return };
    let Fixture { store, .. } = &fixture;
    fixture.create("x", "ann", 10).await;
    let take = async |takeover| {
        let taken = store.take_notifications(&takeover).await.unwrap();
        let TakeoverOutcome::Taken(state) = taken else { panic!("{taken:?}") };
        let events =
            state.events.into_iter().map(|(StreamName(stream), number, _)| format!("{stream}-{number}"));
        events.collect::<Vec<_>>()
    };
    let replacing = |stream, resumes| fixture.takeover(stream, resumes, Rival::Replaced);
    let list = || ToldChange::List(ListKind::Tools, Digest::of(b"more tools"));
    for (stream, resumes) in [("g1", None), ("g2", Some(("g1", 0))), ("g3", Some(("g2", 0)))] {
        assert_eq!(take(replacing(stream, resumes)).await, Vec::<String>::new());
    }
    fixture.claim("g3", 1, list()).await;
    // Gateways that were stopped serve earlier requests, whose client is at `g3` now.
    assert_eq!(take(replacing("late1", Some(("g1", 0)))).await, ["g3-1"]);
    assert_eq!(fixture.claim("late1", 1, list()).await, ClaimOutcome::Claimed);
    assert_eq!(take(replacing("late2", None)).await, Vec::<String>::new());
    assert_eq!(fixture.claim("late2", 1, list()).await, ClaimOutcome::Claimed);
    assert_eq!(fixture.claim("g3", 2, list()).await, ClaimOutcome::Lost);
    store.release_notifications("x", &name("late2")).await.unwrap();
    let again = |last| NotificationTakeover { number: 1, ..fixture.takeover("g3", Some(last), Rival::Kept) };
    assert_eq!(take(again(("g3", 1))).await, ["late1-1", "late2-1"]);
    assert_eq!(take(again(("late2", 1))).await, Vec::<String>::new(), "it has them now");
    assert_eq!(fixture.claim("g3", 2, list()).await, ClaimOutcome::Claimed);
    // The client goes on from any event that it can have received last.
    assert_eq!(take(replacing("g4", Some(("g3", 1)))).await, ["late1-1", "late2-1", "g3-2"]);
    assert_eq!(take(replacing("g5", Some(("late1", 1)))).await, ["late2-1", "g3-2"]);
    assert_eq!(take(replacing("g6", Some(("g3", 2)))).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_logged_once() {
    let Some(fixture) = Fixture::start().await else { return };
    let Fixture { store, ann, bob, .. } = &fixture;
    fixture.create("x", "ann", 10).await;
    assert_eq!(store.read("x", &name("p1"), 0, bob).await.unwrap(), None);
    store.append(&fixture.events(&[], StreamEnd::Open)).await.unwrap();
    let log = store.read("x", &name("p1"), 0, bob).await.unwrap().unwrap();
    let expected = StreamLog {
        replica: ann.clone(),
        request: Some(Id::from(7)),
        events: Vec::new(),
        has_more: false,
        end: StreamEnd::Open,
    };
    assert_eq!(log, expected);
    let mut wake_ups = store.wake_ups(bob).await.unwrap();
    store.append(&fixture.events(&[1, 2], StreamEnd::Open)).await.unwrap();
    assert_eq!(next_wake(&mut wake_ups).await, Some(WakeUp::Stream("x".to_owned(), name("p1"))));
    store.append(&fixture.events(&[2, 4], StreamEnd::Ended)).await.unwrap();
    store.append(&fixture.events(&[5], StreamEnd::Ended)).await.unwrap();
    let log = store.read("x", &name("p1"), 1, bob).await.unwrap().unwrap();
    assert_eq!(log.events, [(2, "2".into()), (4, "4".into())]);
    assert_eq!(log.end, StreamEnd::Ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_replica_ends_its_stream_itself() {
    let Some(fixture) = Fixture::start().await else { return };
    let Fixture { store, bob, .. } = &fixture;
    fixture.create("x", "ann", 10).await;
    store.append(&fixture.events(&[1, 2], StreamEnd::Open)).await.unwrap();
    let by_bob = |number| NewEvents { replica: bob.clone(), ..fixture.events(&[number], StreamEnd::Ended) };
    store.append(&by_bob(2)).await.unwrap();
    let log = store.read("x", &name("p1"), 0, bob).await.unwrap().unwrap();
    assert_eq!((log.events.len(), log.end), (2, StreamEnd::Open), "bob has read only the first event");
    store.append(&fixture.events(&[2], StreamEnd::Ended)).await.unwrap();
    let log = store.read("x", &name("p1"), 2, bob).await.unwrap().unwrap();
    assert_eq!(log.end, StreamEnd::Ended, "ann repeats an operation without an answer");
    let lost = |events| NewEvents { stream: name("p2"), ..events };
    store.append(&lost(fixture.events(&[1], StreamEnd::Open))).await.unwrap();
    store.append(&lost(by_bob(2))).await.unwrap();
    let log = store.read("x", &name("p2"), 0, bob).await.unwrap().unwrap();
    assert_eq!((log.events.len(), log.end), (2, StreamEnd::Ended));
}

#[tokio::test(flavor = "multi_thread")]
async fn long_logs_are_read_in_parts() {
    let Some(fixture) = Fixture::start().await else { return };
    let Fixture { store, bob, .. } = &fixture;
    fixture.create("x", "ann", 10).await;
    for number in 1..=5 {
        let events = vec![(number, Bytes::from(vec![b'a'; 400_000]))];
        let end = if number == 5 { StreamEnd::Ended } else { StreamEnd::Open };
        store.append(&NewEvents { events, ..fixture.events(&[], end) }).await.unwrap();
    }
    for (after, numbers, has_more) in [(0, &[1, 2][..], true), (2, &[3, 4], true), (4, &[5], false)] {
        let log = store.read("x", &name("p1"), after, bob).await.unwrap().unwrap();
        let read: Vec<_> = log.events.iter().map(|(number, _)| *number).collect();
        assert_eq!((&read[..], log.has_more), (numbers, has_more));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_and_updates_arrive_with_wake_ups() {
    let Some(fixture) = Fixture::start().await else { return };
    let Fixture { store, ann, bob, .. } = &fixture;
    fixture.create("x", "ann", 10).await;
    let mut wake_ups = store.wake_ups(ann).await.unwrap();
    let mail = Mail { session: "x".to_owned(), content: MailContent::Cancel(Id::from(3)) };
    store.send(MailRecipient::OtherMembers(bob), &mail).await.unwrap();
    assert_eq!(next_wake(&mut wake_ups).await, Some(WakeUp::Mail));
    store.send(MailRecipient::Replica(ann), &mail).await.unwrap();
    let two = [Some(mail.clone()), Some(mail.clone())];
    assert_eq!(store.take_mail(ann, 0).await.unwrap(), two);
    assert_eq!(store.take_mail(ann, 0).await.unwrap(), two, "it stays until it was handled");
    assert_eq!(store.take_mail(ann, 2).await.unwrap(), []);
    store.release_lease(bob).await.unwrap();
    assert!(!store.is_alive(bob).await.unwrap() && store.is_alive(ann).await.unwrap());
    assert_eq!(store.send(MailRecipient::Replica(bob), &mail).await.unwrap(), MailOutcome::Undelivered);
    assert_eq!(store.take_mail(bob, 0).await.unwrap(), []);
    assert_eq!(next_wake(&mut wake_ups).await, Some(WakeUp::Mail));
    let start = store.updates_after(None).await.unwrap();
    assert_eq!(start, JournalPart::default());
    store.report_updates(&[resource()]).await.unwrap();
    assert_eq!(next_wake(&mut wake_ups).await, Some(WakeUp::Journal));
    let part = store.updates_after(Some(start.position)).await.unwrap();
    assert_eq!(part.entries, [(part.position, resource())]);
    assert_eq!(store.updates_after(Some(part.position)).await.unwrap().entries, []);
    store.end("x").await.unwrap();
    assert_eq!(next_wake(&mut wake_ups).await, Some(WakeUp::Session("x".to_owned())));
}

#[tokio::test]
async fn wake_ups_end_with_their_connection() {
    let Some(fixture) = Fixture::start().await else { return };
    let Fixture { store, ann, .. } = &fixture;
    let mut wake_ups = store.wake_ups(ann).await.unwrap();
    let mut kill = cmd("CLIENT");
    kill.arg("KILL").arg("TYPE").arg("pubsub");
    assert_eq!(store.command::<i64>(&kill).await.unwrap(), 1);
    assert_eq!(next_wake(&mut wake_ups).await, None, "copies of sessions aren't fresh without them");
}

#[tokio::test]
async fn logs_of_ended_streams_have_a_limit() {
    let Some(fixture) = Fixture::start().await else { return };
    let (store, ann) = (&fixture.store, &fixture.ann);
    fixture.create("x", "one", 10).await;
    let logged = async |count: usize, bytes: usize| {
        for number in 0..count {
            let stream = name(&format!("p{number}"));
            let events = vec![(1, Bytes::from(vec![b'a'; bytes]))];
            let end = if number == 0 { StreamEnd::Open } else { StreamEnd::Ended };
            store.append(&NewEvents { stream, events, ..fixture.events(&[], end) }).await.unwrap();
        }
        let mut kept = Vec::new();
        for number in 0..count {
            let log = store.read("x", &name(&format!("p{number}")), 0, ann).await.unwrap();
            kept.extend(log.map(|_| number));
        }
        kept
    };
    let kept = logged(40, 100_000).await;
    assert!(kept.len() * 100_000 <= MAX_LOGGED_BYTES, "{kept:?}");
    assert!(kept.contains(&0) && kept.contains(&39), "the open one and the newest: {kept:?}");
    store.end("x").await.unwrap();
    fixture.create("x", "one", 10).await;
    let kept = logged(60, 1).await;
    assert!(kept.len() <= MAX_LOGGED_STREAMS && kept.contains(&0) && kept.contains(&59), "{kept:?}");
}

#[tokio::test]
async fn everything_expires() {
    let Some(fixture) = Fixture::start().await else { return };
    let store = &fixture.store;
    fixture.create("x", "one", 10).await;
    store.append(&fixture.events(&[1], StreamEnd::Open)).await.unwrap();
    let subscribe = SessionUpdate::Subscribe { uri: resource(), max_count: 1, max_bytes: 100 };
    store.update("x", &subscribe).await.unwrap();
    store.take_notifications(&fixture.takeover("g1", None, Rival::Replaced)).await.unwrap();
    let list = ToldChange::List(ListKind::Tools, Digest::of(b"more tools"));
    fixture.claim("g1", 1, list).await;
    store.report_updates(&[resource()]).await.unwrap();
    let mail = Mail { session: "x".to_owned(), content: MailContent::Cancel(Id::from(3)) };
    store.send(MailRecipient::Replica(&fixture.ann), &mail).await.unwrap();
    let keys: Vec<String> = store.command(cmd("KEYS").arg(store.key("*"))).await.unwrap();
    assert!(keys.len() > 10, "{keys:?}");
    for key in keys {
        let ttl: i64 = store.command(cmd("PTTL").arg(&key)).await.unwrap();
        assert!(ttl > 0, "{key} has no end");
    }
}

#[tokio::test]
async fn sessions_are_counted_once() {
    let Some(fixture) = Fixture::start().await else { return };
    let store = &fixture.store;
    fixture.create("x", "one", 10).await;
    let member = format!("x {}", Digest::of(b"one"));
    let caller = store.key(&format!("caller:{}", Digest::of(b"one")));
    // As if it had been forgotten just before it was extended.
    store.command::<i64>(cmd("ZREM").arg(store.key("index")).arg(member)).await.unwrap();
    store.command::<i64>(cmd("ZREM").arg(&caller).arg("x")).await.unwrap();
    store.command::<i64>(cmd("DEL").arg(store.key("callers"))).await.unwrap();
    for _ in 0..2 {
        assert!(fixture.exists("x").await);
    }
    let mut count = cmd("ZSCORE");
    count.arg(store.key("callers")).arg(Digest::of(b"one").to_string());
    assert_eq!(store.command::<f64>(&count).await.unwrap(), 1.0);
}

#[tokio::test]
async fn expired_sessions_of_a_caller_are_not_counted() {
    let Some(fixture) = Fixture::start().await else { return };
    let store = &fixture.store;
    fixture.create("x", "idle", 3).await;
    // As if it had expired: its record, and the list of its caller's sessions.
    let idle = store.key(&format!("caller:{}", Digest::of(b"idle")));
    for key in [store.key("{x}:record"), idle] {
        store.command::<i64>(cmd("DEL").arg(key)).await.unwrap();
    }
    fixture.create("y", "idle", 3).await;
    for id in ["1", "2"] {
        fixture.create(id, "busy", 3).await;
        tokio::time::sleep(Duration::from_millis(2)).await; // so that their times differ
    }
    fixture.create("3", "busy", 3).await;
    assert!(fixture.exists("y").await, "its caller has only this one");
    assert!(!fixture.exists("1").await);
}

#[tokio::test]
async fn members_that_are_gone_are_removed() {
    let Some(fixture) = Fixture::start().await else { return };
    let Fixture { store, ann, bob, .. } = &fixture;
    fixture.create("x", "one", 10).await;
    store.load("x", bob).await.unwrap();
    let members = async || -> Vec<String> {
        let mut members = cmd("SMEMBERS");
        store.command(members.arg(store.key("{x}:members"))).await.unwrap()
    };
    assert_eq!(members().await.len(), 2);
    store.release_lease(bob).await.unwrap();
    store.update("x", &SessionUpdate::Level(LogLevel::Error)).await.unwrap();
    assert_eq!(members().await, [ann.as_str()]);
    let busy = BusySession { id: "x".to_owned(), streams: Vec::new() };
    store.touch(&[busy], bob).await.unwrap();
    assert_eq!(members().await.len(), 2, "it was alive nevertheless");
}

#[tokio::test]
async fn entries_of_other_versions_are_skipped() {
    let Some(fixture) = Fixture::start().await else { return };
    let store = &fixture.store;
    fixture.create("x", "one", 10).await;
    let subscribe = SessionUpdate::Subscribe { uri: resource(), max_count: 1, max_bytes: 100 };
    store.update("x", &subscribe).await.unwrap();
    let mut set = cmd("HSET");
    set.arg(store.key("{x}:subscriptions")).arg("test://b").arg("newer").arg("not a URI").arg("0-0");
    store.command::<i64>(&set).await.unwrap();
    let mut set = cmd("HSET");
    set.arg(store.key("{x}:record")).arg("known:tools").arg("newer");
    store.command::<i64>(&set).await.unwrap();
    let taken = store.take_notifications(&fixture.takeover("g1", None, Rival::Replaced)).await.unwrap();
    let TakeoverOutcome::Taken(state) = taken else { panic!("{taken:?}") };
    assert_eq!((state.known, state.subscriptions), (vec![], vec![(resource(), JournalPosition(0, 0))]));
}

#[tokio::test]
async fn an_inbox_has_a_limit_and_takes_mail_about_own_sessions_only() {
    let Some(fixture) = Fixture::start().await else { return };
    let (store, ann, bob) = (&fixture.store, &fixture.ann, &fixture.bob);
    fixture.create("x", "one", 10).await;
    let mail = Mail { session: "x".to_owned(), content: MailContent::Cancel(Id::from(3)) };
    let to_bob = store.send(MailRecipient::Replica(bob), &mail).await.unwrap();
    assert_eq!(to_bob, MailOutcome::Undelivered, "it has no copy of the session");
    assert_eq!(store.take_mail(bob, 0).await.unwrap(), []);
    for number in 0..2 * MAX_INBOX_MAIL {
        let outcome = if number < MAX_INBOX_MAIL { MailOutcome::Sent } else { MailOutcome::Undelivered };
        assert_eq!(store.send(MailRecipient::Replica(ann), &mail).await.unwrap(), outcome);
    }
    assert_eq!(store.take_mail(ann, 0).await.unwrap().len(), MAX_INBOX_MAIL);
}

#[tokio::test]
async fn mail_is_taken_in_parts_of_limited_size() {
    let Some(fixture) = Fixture::start().await else { return };
    let (store, ann) = (&fixture.store, &fixture.ann);
    fixture.create("x", "one", 10).await;
    let long = Json::string(&"a".repeat(400_000));
    for _ in 0..3 {
        let content = MailContent::Answer(Id::from(1), Ok(long.clone()));
        let mail = Mail { session: "x".to_owned(), content };
        store.send(MailRecipient::Replica(ann), &mail).await.unwrap();
    }
    for (handled, count) in [(0, 2), (2, 1), (1, 0)] {
        assert_eq!(store.take_mail(ann, handled).await.unwrap().len(), count, "{handled}");
    }
}
