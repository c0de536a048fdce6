//! A host over in-memory streams, and a server with a fake plugin.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::task::JoinHandle;

use super::*;
use crate::transport::fake::{CALLER_UNREAD_BYTES, CLEAN_UP_TIME, FakeServer, call, initialize, request};

/// The cancellation grace of the plugin.
const CANCEL_GRACE: Duration = Duration::from_secs(1);

/// The time limit for calls after the host has disconnected.
const GRACE: Duration = Duration::from_secs(7);

/// The host's side.
struct Host {
    fake: FakeServer,
    to: DuplexStream,
    from: BufReader<DuplexStream>,
    ending: TransportShutdown,
    served: JoinHandle<StdioOutcome>,
}

fn start(pipe: usize) -> Host {
    let fake = FakeServer::new(CANCEL_GRACE);
    let (to, input) = tokio::io::duplex(pipe);
    let (output, from) = tokio::io::duplex(pipe);
    let ending = TransportShutdown::default();
    let served = serve(Arc::clone(&fake.server), input, output, Tap::default(), ending.clone());
    Host { fake, to, from: BufReader::new(from), ending, served: tokio::spawn(served) }
}

fn ping(id: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string()
}

fn wait() -> String {
    call("wait", "wait", &json!({}))
}

fn text(id: usize) -> String {
    call(&id.to_string(), "text", &json!({ "size": 300 }))
}

/// More calls than can be unanswered, with 300 bytes of text each.
fn flood() -> Vec<String> {
    (0..2 * MAX_UNWRITTEN_ANSWERS).map(text).collect()
}

impl Host {
    async fn send(&mut self, lines: &[String]) {
        for line in lines {
            self.to.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }
    }

    async fn message(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// The id of the next response.
    async fn id(&mut self) -> String {
        self.message().await["id"].as_str().unwrap().to_owned()
    }

    /// Closes stdin, lets calls run for `grace`, and returns the remaining messages.
    async fn close_after(self, grace: Duration) -> (Vec<Value>, StdioOutcome) {
        let TransportShutdown { peer_gone: gone, time_up: over, .. } = self.ending.clone();
        tokio::spawn(async move {
            gone.cancelled().await;
            sleep(grace).await;
            over.cancel();
        });
        self.close().await
    }

    /// Closes stdin and returns the remaining messages.
    async fn close(mut self) -> (Vec<Value>, StdioOutcome) {
        drop(self.to);
        let mut rest = String::new();
        self.from.read_to_string(&mut rest).await.unwrap();
        (rest.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), self.served.await.unwrap())
    }
}

#[tokio::test]
async fn each_request_gets_a_line_and_notifications_get_none() {
    let mut host = start(64);
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/unknown"}"#;
    let lines = format!("{}\n{notification}\n\r\n\n{}\r\n", ping("one"), ping("two"));
    host.to.write_all(lines.as_bytes()).await.unwrap();
    assert_eq!(host.message().await, json!({ "jsonrpc": "2.0", "id": "one", "result": {} }));
    assert_eq!(host.id().await, "two");
    host.send(&[call("three", "whoami", &json!({}))]).await;
    let answer = host.message().await;
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!("three"), &json!("local")));
    let (rest, served) = host.close().await;
    assert_eq!((rest, served.end, served.abandoned_calls), (vec![], StdioEnd::Eof, 0));
}

#[tokio::test]
async fn answers_running_calls_and_an_unterminated_last_line_at_eof() {
    let mut host = start(1024);
    let one = call("one", "whoami", &json!({}));
    let two = call("two", "whoami", &json!({}));
    host.to.write_all(format!("{one}\n{two}").as_bytes()).await.unwrap();
    let (rest, served) = host.close().await;
    let ids: BTreeSet<_> = rest.iter().map(|message| message["id"].as_str().unwrap()).collect();
    assert_eq!(ids, BTreeSet::from(["one", "two"]));
    assert_eq!(served.abandoned_calls, 0);
}

#[tokio::test(start_paused = true)]
async fn an_endless_call_is_dropped_after_the_grace() {
    let mut host = start(1024);
    let signals = Arc::clone(&host.fake.signals);
    host.send(&[wait(), ping("still here")]).await;
    assert_eq!(host.id().await, "still here");
    let before = tokio::time::Instant::now();
    let (_, served) = host.close_after(GRACE).await;
    assert_eq!((served.end, served.abandoned_calls), (StdioEnd::Eof, 1));
    assert_eq!(before.elapsed().as_secs(), GRACE.as_secs());
    signals.dropped.notified().await;
}

#[tokio::test(start_paused = true)]
async fn running_calls_are_cancelled_before_they_are_dropped() {
    const { assert!(CLEAN_UP_TIME.as_millis() < CLEANUP_TIMEOUT.as_millis()) };
    let mut host = start(1024);
    let signals = Arc::clone(&host.fake.signals);
    host.send(&[call("clean up", "clean_up", &json!({})), wait()]).await;
    let (_, served) = host.close_after(GRACE).await;
    assert_eq!((served.end, served.abandoned_calls), (StdioEnd::Eof, 2));
    assert!(signals.cleaned_up.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn stops_while_the_host_is_still_connected() {
    let mut host = start(1024);
    host.send(&[ping("here"), wait()]).await;
    assert_eq!(host.id().await, "here");
    host.fake.signals.waiting.notified().await;
    host.ending.stop_accepting.cancel();
    assert!(timeout(Duration::from_secs(60), &mut host.served).await.is_err(), "its call still has time");
    host.ending.time_up.cancel();
    let served = host.served.await.unwrap();
    assert_eq!((served.end, served.abandoned_calls), (StdioEnd::Stopped, 1));
    assert!(!host.ending.peer_gone.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn ends_when_the_host_no_longer_reads() {
    let mut host = start(1024);
    drop(std::mem::replace(&mut host.from, BufReader::new(tokio::io::duplex(1).0)));
    host.send(&[ping("unread"), wait()]).await;
    let served = host.served.await.unwrap();
    assert_eq!(served.end, StdioEnd::Closed);
    assert!(host.ending.peer_gone.is_cancelled());
}

#[tokio::test]
async fn answers_many_large_concurrent_calls_through_small_pipes() {
    const CALLS: usize = 32;
    const SIZE: usize = 64 * 1024;
    let mut host = start(4096);
    // Written before anything is read: the gateway must continue reading while it can't write.
    for id in 0..CALLS {
        let padding = "y".repeat(SIZE);
        host.send(&[call(&id.to_string(), "text", &json!({ "size": SIZE, "padding": padding }))]).await;
    }
    for _ in 0..CALLS {
        let answer = host.message().await;
        assert_eq!(answer["result"]["content"][0]["text"].as_str().unwrap().len(), SIZE);
    }
}

#[tokio::test(start_paused = true)]
async fn stops_reading_from_a_host_that_never_reads() {
    let mut host = start(256);
    let line = text(0);
    // Lines that fit into the buffer of the reader.
    let ahead = (1024 + 64) * 1024 / line.len();
    let mut sent = 0;
    // Paused time advances only when nothing else can run, so the gateway has stopped reading.
    while timeout(Duration::from_secs(60), host.send(&[text(sent)])).await.is_ok() {
        sent += 1;
        assert!(sent < 2 * MAX_UNWRITTEN_ANSWERS + ahead, "{sent} lines were read");
    }
    assert!(sent >= MAX_UNWRITTEN_ANSWERS, "{sent} lines were read");
}

#[tokio::test(start_paused = true)]
async fn large_unread_responses_delay_calls_but_not_cancellations() {
    const SIZE: usize = 100_000;
    const CALLS: usize = 300;
    /// Calls that run when the limit is reached.
    const RUNNING: usize = 20;
    let most = usize::try_from(CALLER_UNREAD_BYTES).unwrap() + RUNNING * SIZE;
    let mut host = start(256);
    for id in 0..CALLS {
        host.send(&[call(&id.to_string(), "text", &json!({ "size": SIZE }))]).await;
    }
    // Paused time advances only when nothing else can run. The time limit of the calls isn't over yet.
    sleep(Duration::from_secs(1)).await;
    let unread = host.fake.server.gauges().unread_bytes;
    assert!(unread < most as u64, "{unread} bytes of answers");
    let cancelled = json!({ "requestId": (CALLS - 1).to_string() });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled });
    host.send(&[cancel.to_string()]).await;
    sleep(Duration::from_secs(1)).await;
    for _ in 0..CALLS - 1 {
        assert_ne!(host.id().await, (CALLS - 1).to_string(), "it was cancelled");
    }
    let (rest, served) = host.close().await;
    assert_eq!((rest.len(), served.end, served.abandoned_calls), (0, StdioEnd::Eof, 0));
}

#[tokio::test(start_paused = true)]
async fn notices_a_host_that_never_reads_and_closes_its_side() {
    let mut host = start(256);
    let lines = flood();
    host.send(&lines).await;
    let before = tokio::time::Instant::now();
    drop(host.to);
    host.ending.peer_gone.cancelled().await;
    assert_eq!(before.elapsed().as_secs(), STALL_TIMEOUT.as_secs());
    host.ending.time_up.cancel();
    assert_eq!(host.served.await.unwrap().end, StdioEnd::Eof);
}

#[tokio::test(start_paused = true)]
async fn a_slow_host_that_closes_its_side_gets_every_answer() {
    let mut host = start(256);
    let lines = flood();
    host.send(&lines).await;
    drop(host.to);
    for _ in &lines {
        let mut line = String::new();
        host.from.read_line(&mut line).await.unwrap();
        assert!(line.ends_with("}\n") && line.contains(&"x".repeat(300)), "{line}");
        sleep(STALL_TIMEOUT / 4).await;
    }
    assert_eq!(host.served.await.unwrap().end, StdioEnd::Eof);
}

#[tokio::test]
async fn a_line_over_the_limit_gets_an_error_and_the_next_one_its_answer() {
    let mut host = start(1 << 20);
    host.to.write_all(&vec![b'z'; MAX_LINE_BYTES + 10]).await.unwrap();
    host.to.write_all(format!("\n{}\n", ping("next")).as_bytes()).await.unwrap();
    let error = host.message().await;
    assert_eq!(error["error"]["message"], "the line is longer than 10485760 bytes");
    assert_eq!(host.id().await, "next");
}

#[tokio::test(start_paused = true)]
async fn notification_streams_end_with_the_input_and_not_after_the_grace() {
    let mut host = start(1024);
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    host.send(&[request("stream", "subscriptions/listen", filter)]).await;
    assert!(host.message().await["method"].is_string(), "the acknowledgement");
    let (rest, served) = host.close().await;
    assert_eq!((rest.len(), &rest[0]["id"], served.abandoned_calls), (1, &json!("stream"), 0), "{rest:?}");
    assert!(rest[0]["result"].is_object(), "{rest:?}");
}

#[tokio::test(start_paused = true)]
async fn unread_notifications_do_not_pile_up() {
    let mut host = start(64);
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned();
    host.send(&[initialize()]).await;
    assert_eq!(host.id().await, "initialize");
    host.send(&[initialized]).await;
    for generation in 2..200 {
        let tools: &[&str] = if generation % 2 == 0 { &["more"] } else { &[] };
        host.fake.publish(generation, tools);
        sleep(Duration::from_millis(10)).await;
    }
    host.send(&[ping("end")]).await;
    let mut notifications = 0;
    loop {
        let message = host.message().await;
        if message["id"] == "end" {
            break;
        }
        assert_eq!(message["method"], "notifications/tools/list_changed");
        notifications += 1;
    }
    assert!((1..=4).contains(&notifications), "{notifications} were sent");
}
