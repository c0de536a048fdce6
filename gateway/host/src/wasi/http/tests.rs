//! The sender with a fake resolver, and servers on loopback addresses.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use moongate_config::{PluginConfig, parse_config};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::task::AbortOnDropHandle;
use wasmtime_wasi_http::Error;

use super::connect::Lookup;
use super::*;

/// The fixed limits.
mod fixed;

/// Returns the given answers in order, then repeats the last one.
#[derive(Default)]
struct Fake {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    asked: AtomicUsize,
}

impl Fake {
    fn answering<'a>(answers: impl IntoIterator<Item = &'a [&'a str]>) -> Arc<Self> {
        let read = |answer: &[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        let answers = Mutex::new(answers.into_iter().map(read).collect());
        Arc::new(Self { answers, asked: AtomicUsize::new(0) })
    }
}

impl Resolver for Fake {
    fn resolve<'a>(&'a self, _: &'a str, _: OwnedSemaphorePermit) -> Lookup<'a> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Box::pin(async move { answer.ok_or_else(|| io::Error::other("nothing is known")) })
    }
}

fn table(allow: &str) -> Arc<PluginConfig> {
    let text = format!("version = 1\n[plugins.x]\nsource = 'x.wasm'\n[plugins.x.allow]\n{allow}\n");
    let variables = BTreeMap::from([("HOME".to_owned(), "/nowhere".to_owned())]);
    let loaded = parse_config(Path::new("/nowhere/gateway.toml"), text, &variables);
    Arc::clone(&loaded.config.unwrap_or_else(|| panic!("{allow}: {:?}", loaded.problems)).plugins[0])
}

fn sender(allow: &str, own: &[SocketAddr], resolver: Arc<Fake>) -> Arc<RequestSender> {
    let options = OutgoingOptions { own_listeners: own.to_vec(), ..OutgoingOptions::default() };
    RequestSender::new(OutboundHttp::with_resolver(options, resolver).unwrap(), table(allow))
}

/// Sends one request without a body and reads its answer.
async fn get(sender: &RequestSender, url: &str) -> Result<String, Error> {
    get_with(sender, url, None).await
}

/// The same with an `Authorization` header.
async fn get_with(sender: &RequestSender, url: &str, authorization: Option<&str>) -> Result<String, Error> {
    let nothing = Empty::<Bytes>::new().map_err(|never| match never {}).boxed_unsync();
    let mut request = Request::get(url);
    if let Some(said) = authorization {
        request = request.header("authorization", said);
    }
    let request = request.body(nothing).unwrap();
    let audit = GrantAudit::new(sender.config.id.clone(), None, Arc::default());
    let permit = HttpQuota::new(&sender.config.limits, audit.clone()).start_request()?;
    let answer = sender.send(request, RequestOptions::default(), permit, &audit, None).await?;
    let body = answer.into_body().collect().await?.to_bytes();
    Ok(String::from_utf8(body.to_vec()).unwrap())
}

/// Responds `hello` to every request; closes each connection after a number of requests.
struct Server {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    _task: AbortOnDropHandle<()>,
}

impl Server {
    async fn start(address: &str, closes_after: usize) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&connections);
        let task = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    for _ in 0..closes_after {
                        head.clear();
                        while !head.ends_with(b"\r\n\r\n") {
                            if stream.read_buf(&mut head).await.unwrap_or(0) == 0 {
                                return;
                            }
                        }
                        let said = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
                        stream.write_all(said).await.unwrap();
                    }
                });
            }
        });
        Self { address, connections, _task: AbortOnDropHandle::new(task) }
    }

    fn port(&self) -> u16 {
        self.address.port()
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn refuses_names_with_only_non_public_addresses() {
    for address in [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2001:0:7f00:1::",
        "fe80::1",
        "fec0::1",
        "fd00:ec2::254",
        "ff02::1",
    ] {
        let sender = sender("http = ['http://*']", &[], Fake::answering([&[address][..]]));
        let refused = get(&sender, "http://innocent.example/").await;
        assert!(matches!(refused, Err(Error::DestinationIpProhibited)), "{address}: {refused:?}");
    }
}

// Only Linux accepts connections to all of 127.0.0.0/8 without configuration.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn connects_to_the_checked_address_without_resolving_again() {
    let server = Server::start("127.0.0.1:0", 1).await;
    let other = Server::start(&format!("127.0.0.2:{}", server.port()), 1).await;
    let resolver = Fake::answering([&["127.0.0.1"][..], &["127.0.0.2"]]);
    let grant = format!("http = [{{ url = 'http://*:{}', networks = ['127.0.0.1/32'] }}]", server.port());
    let sender = sender(&grant, &[], Arc::clone(&resolver));
    let url = format!("http://rebinding.example:{}/", server.port());
    assert_eq!(get(&sender, &url).await.unwrap(), "hello");
    assert_eq!(resolver.asked.load(Ordering::Relaxed), 1);
    assert!(matches!(get(&sender, &url).await, Err(Error::DestinationIpProhibited)));
    assert_eq!((server.connections(), other.connections()), (1, 0));
}

#[tokio::test]
async fn uses_only_allowed_addresses_of_a_name() {
    let server = Server::start("127.0.0.1:0", 1).await;
    let grant = format!("http = [{{ url = 'http://*:{}', networks = ['127.0.0.0/30'] }}]", server.port());
    // Nothing listens at the second address.
    let resolver = Fake::answering([&["10.0.0.1", "127.0.0.3", "127.0.0.1"][..]]);
    let sender = sender(&grant, &[], resolver);
    assert_eq!(get(&sender, &format!("http://several.example:{}/", server.port())).await.unwrap(), "hello");
}

#[tokio::test]
async fn never_connects_to_the_gateway_itself() {
    let server = Server::start("127.0.0.1:0", 1).await;
    let port = server.port();
    let grants = format!(
        "http = [{{ url = 'http://*:{port}', networks = ['127.0.0.0/8', '0.0.0.0/8', '::/8'] }}, \
         {{ url = 'http://127.0.0.1:{port}', networks = ['127.0.0.0/8'] }}]"
    );
    let everywhere = SocketAddr::from(([0, 0, 0, 0], port));
    for own in [server.address, everywhere] {
        for address in ["127.0.0.1", "::ffff:127.0.0.1", "0.0.0.0", "::"] {
            let sender = sender(&grants, &[own], Fake::answering([&[address][..]]));
            let refused = get(&sender, &format!("http://gateway.example:{port}/")).await;
            assert!(matches!(refused, Err(Error::LoopDetected)), "{own} {address}: {refused:?}");
        }
        let sender = sender(&grants, &[own], Fake::answering([]));
        let refused = get(&sender, &format!("http://127.0.0.1:{port}/")).await;
        assert!(matches!(refused, Err(Error::LoopDetected)), "{own}: {refused:?}");
        // Without a grant, the refusal is the same.
        let sender = self::sender("", &[own], Fake::answering([]));
        for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0x7f.1"] {
            let refused = get(&sender, &format!("http://{host}:{port}/")).await;
            assert!(matches!(refused, Err(Error::LoopDetected)), "{own} {host}: {refused:?}");
        }
    }
    assert_eq!(server.connections(), 0);
    // Another listener on the same machine can be reached.
    let other = SocketAddr::from(([0, 0, 0, 0], port ^ 1));
    let sender = sender(&grants, &[other], Fake::answering([]));
    assert_eq!(get(&sender, &format!("http://127.0.0.1:{port}/")).await.unwrap(), "hello");
}

#[tokio::test]
async fn reuses_idle_connections_only_for_allowed_addresses() {
    let server = Server::start("127.0.0.1:0", 9).await;
    let port = server.port();
    let grants = format!(
        "http = [{{ url = 'http://a.example:{port}/in', networks = ['127.0.0.0/8'] }}, 'http://a.example:{port}/out']"
    );
    let sender = sender(&grants, &[], Fake::answering([&["127.0.0.1"][..]]));
    let url = |path: &str| format!("http://a.example:{port}{path}");
    assert_eq!(get(&sender, &url("/in")).await.unwrap(), "hello");
    assert_eq!(get(&sender, &url("/in/side")).await.unwrap(), "hello");
    assert!(matches!(get(&sender, &url("/out")).await, Err(Error::DestinationIpProhibited)));
    assert!(matches!(get(&sender, &url("/inside")).await, Err(Error::HttpRequestDenied)));
    assert_eq!(server.connections(), 1);
    // Another configuration shares nothing, even if it is equal.
    assert_eq!(get(&sender.with_config(table(&grants)), &url("/in")).await.unwrap(), "hello");
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn never_reuses_authenticated_connections() {
    let server = Server::start("127.0.0.1:0", 9).await;
    let url = format!("http://127.0.0.1:{}", server.port());
    let grant = format!("http = [{{ url = '{url}', networks = ['127.0.0.1/32'] }}]");
    let sender = sender(&grant, &[], Fake::answering([]));
    for said in ["NTLM TlRMTVNTUAAB", "negotiate YII=", "Basic YTpi, Negotiate YII="] {
        let before = server.connections();
        assert_eq!(get_with(&sender, &url, Some(said)).await.unwrap(), "hello");
        assert_eq!(sender.pool.idle(), 0, "{said}");
        assert_eq!(server.connections(), before + 1);
    }
    for said in [None, Some("Basic YTpi"), Some("Bearer ntlm")] {
        assert_eq!(get_with(&sender, &url, said).await.unwrap(), "hello");
        assert_eq!(sender.pool.idle(), 1, "{said:?}");
    }
    assert_eq!(server.connections(), 4);
}

#[tokio::test]
async fn replaces_connections_that_the_server_closed() {
    let server = Server::start("127.0.0.1:0", 2).await;
    let url = format!("http://127.0.0.1:{}", server.port());
    let sender = sender(
        &format!("http = [{{ url = '{url}', networks = ['127.0.0.1/32'] }}]"),
        &[],
        Fake::answering([]),
    );
    for _ in 0..6 {
        assert_eq!(get(&sender, &url).await.unwrap(), "hello");
    }
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn closes_idle_connections() {
    let server = Server::start("127.0.0.1:0", 9).await;
    let url = format!("http://127.0.0.1:{}", server.port());
    let sender = sender(
        &format!("http = [{{ url = '{url}', networks = ['127.0.0.1/32'] }}]"),
        &[],
        Fake::answering([]),
    );
    assert_eq!(get(&sender, &url).await.unwrap(), "hello");
    assert_eq!(sender.pool.idle(), 1);
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(31)).await;
    while sender.pool.idle() > 0 {
        tokio::task::yield_now().await;
    }
    tokio::time::resume();
    assert_eq!(get(&sender, &url).await.unwrap(), "hello");
    assert_eq!(server.connections(), 2);
}
