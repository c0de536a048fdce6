//! A peer over in-memory streams, and a protocol of a few lines.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use moongate_model::names::Principal;
use moongate_protocol::server::{Get, Headers, HttpAnswer, HttpReply, Post, Visitor};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio_util::sync::CancellationToken;

use super::*;

/// Answers `echo …` at once, `later …` from a task, `long N` with that many bytes; `never` isn't answered, `tidy` ends
/// a moment after the peer has gone, and `stream` is answered only when all is wound up. After `chat` there is always
/// news. Anything else is a notification.
#[derive(Debug, Default)]
struct Fake {
    disconnected: CancellationToken,
    tidied: CancellationToken,
    over: CancellationToken,
    chat: CancellationToken,
    told: AtomicUsize,
}

impl Protocol for Fake {
    type Connection = ();

    fn connect(&self) -> Arc<()> {
        Arc::new(())
    }

    async fn news(&self, _: &Arc<()>) -> Vec<u8> {
        self.chat.cancelled().await;
        format!("news {}", self.told.fetch_add(1, Ordering::SeqCst)).into_bytes()
    }

    fn wind_up(&self, (): &()) {
        self.over.cancel();
    }

    fn disconnect(&self, (): &()) {
        self.disconnected.cancel();
    }

    fn line(&self, _: &Arc<()>, line: &[u8]) -> LineReply {
        let line = String::from_utf8(line.to_vec()).unwrap();
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("echo", text) => LineReply::Ready(text.as_bytes().to_vec()),
            ("later", text) => {
                let text = text.as_bytes().to_vec();
                LineReply::Pending(Box::pin(async move {
                    tokio::task::yield_now().await;
                    Some(text)
                }))
            }
            ("long", size) => {
                let size = size.parse().unwrap();
                LineReply::Pending(Box::pin(async move { Some(vec![b'x'; size]) }))
            }
            ("stream", _) => {
                let over = self.over.clone();
                LineReply::Pending(Box::pin(async move {
                    over.cancelled().await;
                    Some(b"ended".to_vec())
                }))
            }
            ("chat", _) => {
                self.chat.cancel();
                LineReply::None
            }
            ("tidy", _) => {
                let (gone, tidied) = (self.disconnected.clone(), self.tidied.clone());
                LineReply::Pending(Box::pin(async move {
                    gone.cancelled().await;
                    tokio::time::sleep(TIDY / 2).await;
                    tidied.cancel();
                    None
                }))
            }
            ("never", _) => LineReply::Pending(Box::pin(std::future::pending())),
            _ => LineReply::None,
        }
    }

    fn line_too_long(&self, _: &Arc<()>, most: usize) -> Vec<u8> {
        format!("longer than {most}").into_bytes()
    }

    async fn post(self: &Arc<Self>, _: Post<'_>) -> HttpAnswer {
        unreachable!("nothing comes over HTTP here")
    }

    fn get(self: &Arc<Self>, _: Get<'_>) -> HttpAnswer {
        unreachable!("nothing comes over HTTP here")
    }

    fn visit(self: &Arc<Self>, _: &Principal) -> Result<Visitor, HttpReply> {
        unreachable!("no client is that old here")
    }

    fn visited(self: &Arc<Self>, _: &Principal, _: &str, _: &[u8]) -> HttpReply {
        unreachable!("no client is that old here")
    }

    fn delete(&self, _: &Principal, _: &dyn Headers) -> HttpReply {
        unreachable!("nothing comes over HTTP here")
    }
}

/// How long calls may go on once the host has gone.
const GRACE: Duration = Duration::from_secs(7);

/// The host's side.
struct Host {
    fake: Arc<Fake>,
    to: DuplexStream,
    from: BufReader<DuplexStream>,
    ending: Ending,
    served: JoinHandle<Served>,
}

fn start(pipe: usize) -> Host {
    let fake = Arc::new(Fake::default());
    let (to, input) = tokio::io::duplex(pipe);
    let (output, from) = tokio::io::duplex(pipe);
    let ending = Ending::default();
    let served = tokio::spawn(serve(Arc::clone(&fake), input, output, Tap::default(), ending.clone()));
    Host { fake, to, from: BufReader::new(from), ending, served }
}

impl Host {
    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).await.unwrap();
        line.trim_end().to_owned()
    }

    /// Closes stdin, gives what runs a moment, and gives all that still comes.
    async fn close_for(self, grace: Duration) -> (String, Served) {
        let Ending { gone, over, .. } = self.ending.clone();
        tokio::spawn(async move {
            gone.cancelled().await;
            sleep(grace).await;
            over.cancel();
        });
        self.close().await
    }

    /// Closes stdin and gives all that still comes.
    async fn close(mut self) -> (String, Served) {
        drop(self.to);
        let mut rest = String::new();
        self.from.read_to_string(&mut rest).await.unwrap();
        (rest, self.served.await.unwrap())
    }
}

#[tokio::test]
async fn answers_come_a_line_each_and_notifications_get_none() {
    let mut host = start(64);
    host.to.write_all(b"echo one\nnote\n\r\n\necho two\r\nlater three\n").await.unwrap();
    assert_eq!(host.line().await, "one");
    assert_eq!(host.line().await, "two");
    assert_eq!(host.line().await, "three");
    let (rest, served) = host.close().await;
    assert_eq!((rest.as_str(), served.ended, served.abandoned), ("", Ended::Eof, 0));
}

#[tokio::test]
async fn the_last_line_needs_no_end_and_calls_that_run_at_the_end_are_answered() {
    let mut host = start(1024);
    host.to.write_all(b"later one\nlater two").await.unwrap();
    let (rest, served) = host.close().await;
    assert_eq!(rest.lines().collect::<BTreeSet<_>>(), BTreeSet::from(["one", "two"]));
    assert_eq!(served.abandoned, 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_ends_does_not_outlive_its_host() {
    let mut host = start(1024);
    let fake = Arc::clone(&host.fake);
    host.to.write_all(b"never\necho still here\n").await.unwrap();
    assert_eq!(host.line().await, "still here");
    let before = tokio::time::Instant::now();
    let (_, served) = host.close_for(GRACE).await;
    assert_eq!((served.ended, served.abandoned), (Ended::Eof, 1));
    assert_eq!(before.elapsed().as_secs(), GRACE.as_secs());
    assert!(fake.disconnected.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_runs_when_the_host_has_gone_is_told_before_it_is_dropped() {
    let mut host = start(1024);
    let fake = Arc::clone(&host.fake);
    host.to.write_all(b"tidy\nnever\n").await.unwrap();
    let (_, served) = host.close_for(GRACE).await;
    assert_eq!((served.ended, served.abandoned), (Ended::Eof, 2));
    assert!(fake.tidied.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn stopping_ends_it_with_the_host_still_there() {
    let mut host = start(1024);
    host.to.write_all(b"echo here\nnever\n").await.unwrap();
    assert_eq!(host.line().await, "here");
    host.ending.stop.cancel();
    assert!(timeout(Duration::from_secs(60), &mut host.served).await.is_err(), "its call has time");
    host.ending.over.cancel();
    let served = host.served.await.unwrap();
    assert_eq!((served.ended, served.abandoned), (Ended::Stopped, 1));
    assert!(!host.ending.gone.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_host_that_reads_no_longer_ends_it() {
    let mut host = start(1024);
    drop(host.from);
    host.to.write_all(b"echo nobody\nnever\n").await.unwrap();
    let served = host.served.await.unwrap();
    assert_eq!(served.ended, Ended::Closed);
    assert!(host.ending.gone.is_cancelled());
}

#[tokio::test]
async fn many_large_calls_at_once_are_all_answered_though_the_pipes_are_small() {
    const CALLS: usize = 32;
    const SIZE: usize = 64 * 1024;
    let mut host = start(4096);
    // Written before anything is read: reading must go on while no answer can be written.
    for _ in 0..CALLS {
        let line = format!("later {}\n", "y".repeat(SIZE));
        host.to.write_all(line.as_bytes()).await.unwrap();
    }
    for _ in 0..CALLS {
        assert_eq!(host.line().await.len(), SIZE);
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_never_reads_is_read_no_further_than_it_may_have_calls() {
    let mut host = start(256);
    let flood = async {
        for sent in 0..2 * AHEAD_LINES {
            // Paused time goes on only when nothing else can: then the gateway has stopped reading.
            let sending = host.to.write_all(b"long 300\n");
            if timeout(Duration::from_secs(60), sending).await.is_err() {
                return sent;
            }
        }
        usize::MAX
    };
    let sent = flood.await;
    assert!((IN_FLIGHT..2 * IN_FLIGHT + AHEAD_LINES).contains(&sent), "{sent} lines were taken");
}

/// Lines that may be in the reader's buffer.
const AHEAD_LINES: usize = (1024 + 64) * 1024 / 9;

#[tokio::test(start_paused = true)]
async fn a_host_that_never_reads_and_closes_only_its_side_is_noticed() {
    let mut host = start(256);
    for _ in 0..4 * IN_FLIGHT {
        host.to.write_all(b"long 300\n").await.unwrap();
    }
    let before = tokio::time::Instant::now();
    drop(host.to);
    host.ending.gone.cancelled().await;
    assert_eq!(before.elapsed().as_secs(), STUCK.as_secs());
    host.ending.over.cancel();
    assert_eq!(host.served.await.unwrap().ended, Ended::Eof);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_closes_its_side_and_reads_at_its_leisure_gets_every_answer() {
    let mut host = start(256);
    let all = 4 * IN_FLIGHT;
    for _ in 0..all {
        host.to.write_all(b"long 300\n").await.unwrap();
    }
    drop(host.to);
    for _ in 0..all {
        let mut line = String::new();
        assert_eq!(host.from.read_line(&mut line).await.unwrap(), 301, "each answer and its end");
        sleep(STUCK / 4).await;
    }
    assert_eq!(host.served.await.unwrap().ended, Ended::Eof);
}

#[tokio::test]
async fn a_line_over_the_limit_gets_an_error_and_the_next_one_its_answer() {
    let mut host = start(1 << 20);
    host.to.write_all(&vec![b'z'; MAX_LINE + 10]).await.unwrap();
    host.to.write_all(b"\necho next\n").await.unwrap();
    assert_eq!(host.line().await, "longer than 10485760");
    assert_eq!(host.line().await, "next");
}

#[tokio::test(start_paused = true)]
async fn what_does_not_end_by_itself_ends_with_the_input_and_not_after_the_grace() {
    let mut host = start(1024);
    host.to.write_all(b"stream\necho here\n").await.unwrap();
    assert_eq!(host.line().await, "here");
    let (rest, served) = host.close().await;
    assert_eq!((rest.as_str(), served.abandoned), ("ended\n", 0));
}

#[tokio::test(start_paused = true)]
async fn news_that_nobody_reads_is_not_made() {
    const PIPE: usize = 64;
    let mut host = start(PIPE);
    host.to.write_all(b"chat\n").await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await; // paused time goes on when nothing else can
    let told = host.fake.told.load(Ordering::SeqCst);
    assert!((1..=PIPE / "news 0\n".len() + 2).contains(&told), "{told} were made");
    host.to.write_all(b"echo beside it\n").await.unwrap();
    let mut next = 0;
    loop {
        match host.line().await.as_str() {
            "beside it" => break,
            line => assert_eq!(line, format!("news {next}"), "in order, and nothing is lost"),
        }
        next += 1;
    }
}
