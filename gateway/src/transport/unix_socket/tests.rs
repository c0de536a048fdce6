//! Clients over real sockets, of a server with a fake plugin.

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::task::JoinHandle;

use super::*;
use crate::transport::fake::{FakeServer, call, initialize};

/// The cancellation grace of the plugin.
const CANCEL_GRACE: Duration = Duration::from_secs(1);

struct Gateway {
    fake: FakeServer,
    path: PathBuf,
    ending: TransportShutdown,
    served: JoinHandle<usize>,
    _directory: TempDir,
}

struct Client(BufReader<UnixStream>);

async fn start(limits: UnixSocketLimits) -> Gateway {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mcp.sock");
    let fake = FakeServer::new(CANCEL_GRACE);
    let ending = TransportShutdown::default();
    let bound = BoundUnixSocket::bind(&path).await.unwrap();
    let served = tokio::spawn(bound.serve(Arc::clone(&fake.server), limits, None, ending.clone()));
    Gateway { fake, path, ending, served, _directory: directory }
}

impl Gateway {
    async fn client(&self) -> Client {
        Client(BufReader::new(UnixStream::connect(&self.path).await.unwrap()))
    }
}

impl Client {
    async fn send(&mut self, line: &str) {
        self.0.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// The next message. `None` once the connection is closed.
    async fn message(&mut self) -> Option<Value> {
        let mut line = String::new();
        let length = self.0.read_line(&mut line).await.unwrap_or(0);
        (length > 0).then(|| serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    async fn answer(&mut self, line: &str) -> Value {
        self.send(line).await;
        self.message().await.expect("the connection is open")
    }
}

fn whoami(id: &str) -> String {
    call(id, "whoami", &json!({}))
}

#[tokio::test]
async fn the_user_at_the_other_end_is_the_caller() {
    let gateway = start(UnixSocketLimits::default()).await;
    let own = format!("uid:{}", rustix::process::geteuid().as_raw());
    let answer = gateway.client().await.answer(&whoami("a")).await;
    assert_eq!(answer["result"]["content"][0]["text"], own);
}

#[tokio::test]
async fn each_connection_is_a_session_of_its_own() {
    let gateway = start(UnixSocketLimits::default()).await;
    let (mut first, mut second) = (gateway.client().await, gateway.client().await);
    for client in [&mut first, &mut second] {
        assert_eq!(client.answer(&initialize()).await["result"]["protocolVersion"], "2025-11-25");
    }
    // The same id runs on both.
    let wait = call("same", "wait", &json!({}));
    for client in [&mut first, &mut second] {
        client.send(&wait).await;
        gateway.fake.signals.waiting.notified().await;
        let ping = json!({ "jsonrpc": "2.0", "id": "ping", "method": "ping" }).to_string();
        assert_eq!(client.answer(&ping).await["id"], "ping");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_end_with_their_connection() {
    let gateway = start(UnixSocketLimits::default()).await;
    let mut client = gateway.client().await;
    client.send(&call("a", "wait", &json!({}))).await;
    gateway.fake.signals.waiting.notified().await;
    drop(client);
    gateway.fake.signals.dropped.notified().await;
}

#[tokio::test(start_paused = true)]
async fn calls_are_answered_after_the_client_has_closed_its_side() {
    let gateway = start(UnixSocketLimits::default()).await;
    let mut client = gateway.client().await;
    client.send(&call("a", "clean_up", &json!({}))).await;
    client.send(&whoami("b")).await;
    client.0.get_mut().shutdown().await.unwrap();
    assert_eq!(client.message().await.unwrap()["id"], "b");
    assert_eq!(client.message().await, None, "the other call is cancelled after the grace period");
    assert!(gateway.fake.signals.cleaned_up.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn idle_connections_are_closed_but_not_busy_ones() {
    let limits = UnixSocketLimits { idle_timeout: Duration::from_secs(60), ..UnixSocketLimits::default() };
    let gateway = start(limits).await;
    let (mut idle, mut busy) = (gateway.client().await, gateway.client().await);
    idle.answer(&whoami("a")).await;
    busy.send(&call("a", "wait", &json!({}))).await;
    gateway.fake.signals.waiting.notified().await;
    assert_eq!(idle.message().await, None);
    assert_eq!(busy.answer(&whoami("b")).await["id"], "b");
}

#[tokio::test]
async fn at_its_limit_a_user_loses_its_quietest_connection() {
    let limits = UnixSocketLimits { max_connections: 8, ..UnixSocketLimits::default() };
    let gateway = start(limits).await;
    let mut clients = Vec::new();
    // One eighth is left for other users.
    for _ in 0..7 {
        let mut client = gateway.client().await;
        client.answer(&whoami("a")).await;
        clients.push(client);
    }
    let mut quietest = clients.remove(0);
    let mut next = gateway.client().await;
    assert_eq!(next.answer(&whoami("a")).await["id"], "a");
    assert_eq!(quietest.message().await, None);
    clients.push(next);
    for client in &mut clients {
        client.send(&call("wait", "wait", &json!({}))).await;
        gateway.fake.signals.waiting.notified().await;
    }
    let mut refused = gateway.client().await;
    let error = refused.message().await.unwrap();
    assert!(error["error"]["message"].as_str().unwrap().contains("too many connections"), "{error}");
    assert_eq!(refused.message().await, None);
}

#[tokio::test]
async fn evicted_clients_that_do_not_read_are_disconnected_at_once() {
    const CLIENTS: usize = 40;
    /// Connections that one user can have.
    const OPEN: usize = 7;
    let limits = UnixSocketLimits { max_connections: 8, ..UnixSocketLimits::default() };
    let gateway = start(limits).await;
    // More small answers than the buffer of a socket holds.
    let ping = json!({ "jsonrpc": "2.0", "id": "x".repeat(960), "method": "ping" });
    let pings = format!("{ping}\n").repeat(1000);
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let mut stream = UnixStream::connect(&gateway.path).await.unwrap();
        let pings = pings.clone();
        clients.spawn(async move {
            // Writing fails once the gateway has closed the connection.
            while stream.write_all(pings.as_bytes()).await.is_ok() {}
        });
    }
    let closed = async {
        for _ in 0..CLIENTS - OPEN {
            clients.join_next().await.unwrap().unwrap();
        }
    };
    timeout(Duration::from_secs(15), closed).await.expect("evicted clients are disconnected");
    assert_eq!(clients.len(), OPEN);
    let counted = async {
        while gateway.fake.server.gauges().unread_bytes == 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(15), counted).await.expect("small answers count, too");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_disconnected() {
    let gateway = start(UnixSocketLimits::default()).await;
    let mut client = gateway.client().await;
    for id in 0..64 {
        client.send(&call(&id.to_string(), "text", &json!({ "size": 100_000 }))).await;
    }
    let mut rest = Vec::new();
    sleep(Duration::from_secs(600)).await;
    let _ = client.0.read_to_end(&mut rest).await;
    assert!(rest.len() < 64 * 100_000, "{} bytes", rest.len());
    assert_eq!(gateway.fake.server.gauges().unread_bytes, 0);
}

#[tokio::test(start_paused = true)]
async fn the_gateway_stops_with_clients_connected() {
    let gateway = start(UnixSocketLimits::default()).await;
    let (mut idle, mut busy) = (gateway.client().await, gateway.client().await);
    idle.answer(&whoami("a")).await;
    busy.send(&call("a", "wait", &json!({}))).await;
    gateway.fake.signals.waiting.notified().await;
    gateway.ending.stop_accepting.cancel();
    assert_eq!(idle.message().await, None);
    assert!(!gateway.path.exists(), "the next gateway can start");
    gateway.ending.time_up.cancel();
    assert_eq!(gateway.served.await.unwrap(), 1);
}
