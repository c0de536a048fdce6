//! The sender's fixed limits, each at its boundary.

use std::fmt::Write as _;
use std::time::Duration;

use futures_util::future::join_all;
use http::Uri;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::check::{RequestRefusal, check};
use super::self_addresses::SelfAddresses;
use super::*;

/// Sends the same bytes in response to every request, and closes no connection.
async fn answering(said: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let said = said.clone();
            tokio::spawn(async move {
                let mut head = Vec::new();
                while stream.read_buf(&mut head).await.unwrap_or(0) > 0 {
                    if head.ends_with(b"\r\n\r\n") {
                        head.clear();
                        let _ = stream.write_all(said.as_bytes()).await;
                    }
                }
            });
        }
    });
    address
}

/// The result of a request to that server.
async fn got(said: String) -> Result<String, Error> {
    let url = format!("http://{}", answering(said).await);
    let grant = format!("http = [{{ url = '{url}', networks = ['127.0.0.1/32'] }}]");
    get(&sender(&grant, &[], Fake::answering([])), &url).await
}

/// A response with a head of this size, in this many headers in addition to its length.
fn head(bytes: usize, headers: usize) -> String {
    let mut head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n".to_owned();
    let each = (bytes - head.len() - 2) / headers;
    for at in 0..headers {
        let name = format!("X-{at}: ");
        let value = "x".repeat(each - name.len() - 2);
        let _ = write!(head, "{name}{value}\r\n");
    }
    head + "\r\nhello"
}

#[tokio::test]
async fn response_heads_have_limits() {
    assert_eq!(got(head(63 << 10, 60)).await.unwrap(), "hello");
    let large = got(head((64 << 10) + 60, 60)).await;
    assert!(matches!(large, Err(Error::HttpResponseHeaderSectionSize(_))), "{large:?}");
    assert_eq!(got(head(4 << 10, 127)).await.unwrap(), "hello");
    let many = got(head(4 << 10, 128)).await;
    assert!(matches!(many, Err(Error::HttpResponseHeaderSectionSize(_))), "{many:?}");
}

#[tokio::test]
async fn informational_responses_have_a_limit() {
    let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let fits = hint.repeat((120 << 10) / hint.len()) + answer;
    assert_eq!(got(fits).await.unwrap(), "hello");
    let too_much = hint.repeat((257 << 10) / hint.len()) + answer;
    let refused = got(too_much).await;
    let most = Some(256 << 10);
    assert!(
        matches!(refused, Err(Error::HttpResponseHeaderSectionSize(size)) if size == most),
        "{refused:?}"
    );
    // The limit doesn't include the body.
    let body = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", 1 << 20, "x".repeat(1 << 20));
    assert_eq!(got(body).await.unwrap().len(), 1 << 20);
}

#[test]
fn paths_have_a_maximum_length() {
    let config = table("http = ['https://a.example']");
    let asked = |length: usize| {
        let uri = format!("https://a.example/?{}", "x".repeat(length - 2)).parse::<Uri>().unwrap();
        check(&config, &SelfAddresses::new(Vec::new()), "GET", &uri)
            .map(|granted| granted.path_and_query.as_str().len())
    };
    assert_eq!(asked(16 << 10).unwrap(), 16 << 10);
    let longer = asked((16 << 10) + 1);
    assert!(matches!(longer, Err(RequestRefusal::Invalid(Error::HttpRequestUriTooLong))), "{longer:?}");
}

/// Responds on command, and counts the pending lookups.
#[derive(Default)]
struct Slow {
    asked: AtomicUsize,
    most: AtomicUsize,
    open: AtomicUsize,
    go: Notify,
}

/// Counts a lookup as ended when it is dropped.
struct Closed<'a>(&'a AtomicUsize);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Resolver for Slow {
    fn resolve<'a>(&'a self, _: &'a str, permit: OwnedSemaphorePermit) -> Lookup<'a> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(open, Ordering::SeqCst);
        let closed = Closed(&self.open);
        Box::pin(async move {
            let (_closed, _permit) = (closed, permit);
            self.go.notified().await;
            Err(io::Error::other("nothing is known"))
        })
    }
}

fn slow() -> (Arc<Slow>, Arc<RequestSender>) {
    let resolver = Arc::<Slow>::default();
    let outbound =
        OutboundHttp::with_resolver(OutgoingOptions::default(), Arc::clone(&resolver) as Arc<dyn Resolver>)
            .unwrap();
    (resolver, RequestSender::new(outbound, table("http = ['http://*', 'https://*']")))
}

#[tokio::test(start_paused = true)]
async fn connecting_times_out_after_five_seconds() {
    let (_resolver, sender) = slow();
    let began = Instant::now();
    let silent = get(&sender, "https://silent.example/").await;
    assert!(matches!(silent, Err(Error::DnsTimeout)), "{silent:?}");
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(5) && took < Duration::from_millis(5_100), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn concurrent_lookups_have_a_limit() {
    let (resolver, sender) = slow();
    let gets: Vec<_> = (0..20)
        .map(|at| {
            let sender = Arc::clone(&sender);
            tokio::spawn(async move { get(&sender, &format!("http://n{at}.example/")).await.is_err() })
        })
        .collect();
    for answered in 0..20 {
        while resolver.asked.load(Ordering::SeqCst) < (answered + connect::MAX_CONCURRENT_LOOKUPS).min(20) {
            tokio::task::yield_now().await;
        }
        resolver.go.notify_one();
        while resolver.asked.load(Ordering::SeqCst) - resolver.open.load(Ordering::SeqCst) <= answered {
            tokio::task::yield_now().await;
        }
    }
    assert!(join_all(gets).await.into_iter().all(Result::unwrap), "none has an address");
    assert_eq!((resolver.most.load(Ordering::SeqCst), connect::MAX_CONCURRENT_LOOKUPS), (8, 8));
}

// Only Linux accepts connections to all of 127.0.0.0/8 without configuration.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn tries_at_most_eight_addresses() {
    let server = Server::start("127.0.0.9:0", 1).await;
    let port = server.port();
    let grant = format!("http = [{{ url = 'http://*:{port}', networks = ['127.0.0.0/8'] }}]");
    let dead = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6", "127.0.0.7", "127.0.0.8"];
    let url = format!("http://many.example:{port}/");
    let eighth = [&dead[..], &["127.0.0.9"]].concat();
    let ninth = [&dead[..], &["127.0.0.10", "127.0.0.9"]].concat();
    assert_eq!(get(&sender(&grant, &[], Fake::answering([&eighth[..]])), &url).await.unwrap(), "hello");
    let refused = get(&sender(&grant, &[], Fake::answering([&ninth[..]])), &url).await;
    assert!(matches!(refused, Err(Error::ConnectionRefused)), "{refused:?}");
}

/// Headers of about a kilobyte each.
fn kilobytes(count: usize) -> String {
    (0..count).map(|at| format!("X-{at}: {}\r\n", "x".repeat(900))).collect()
}

#[tokio::test]
async fn undelivered_headers_and_trailers_have_a_limit() {
    let heavy = format!("HTTP/1.1 200 OK\r\n{}Content-Length: 5\r\n\r\nhello", kilobytes(60));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n";
    let trailing = format!("{chunked}{}\r\n", kilobytes(12));
    for (said, fits) in [(heavy, 16..18), (trailing, 80..90)] {
        let url = format!("http://{}", answering(said).await);
        let limits = "[plugins.x.limits]\nrequests = 1000\nrequests_at_once = 1000";
        let grant = format!("http = [{{ url = '{url}', networks = ['127.0.0.1/32'] }}]\n{limits}");
        let sender = sender(&grant, &[], Fake::answering([]));
        let audit = GrantAudit::new(sender.config.id.clone(), None, Arc::default());
        let quota = HttpQuota::new(&sender.config.limits, audit.clone());
        let mut kept = Vec::new();
        let refused = loop {
            let nothing = Empty::<Bytes>::new().map_err(|never| match never {}).boxed_unsync();
            let request = Request::get(&url).body(nothing).unwrap();
            let permit = quota.start_request().unwrap();
            let answer = sender.send(request, RequestOptions::default(), permit, &audit, None).await;
            let (head, body) = match answer {
                Ok(answer) => answer.into_parts(),
                Err(error) => break error,
            };
            match body.collect().await {
                Ok(body) => kept.push((head, body)),
                Err(error) => break error,
            }
        };
        assert!(fits.contains(&kept.len()), "{}, then {refused:?}", kept.len());
        assert!(
            matches!(
                refused,
                Error::HttpResponseHeaderSectionSize(_) | Error::HttpResponseTrailerSectionSize(_)
            ),
            "{refused:?}"
        );
        let trailers: usize =
            kept.iter().filter_map(|(_, body)| body.trailers()).map(buffered::headers_bytes).sum();
        drop(kept);
        assert_eq!(quota.undelivered().used(), trailers as u64, "headers count only while they exist");
        quota.undelivered().give_back(trailers as u64);
        assert_eq!(quota.undelivered().used(), 0);
    }
}

#[tokio::test]
async fn idle_connections_have_limits() {
    let server = Server::start("127.0.0.1:0", 99).await;
    let port = server.port();
    let grant = format!("http = [{{ url = 'http://*:{port}', networks = ['127.0.0.0/8'] }}]");
    let sender = sender(&grant, &[], Fake::answering([&["127.0.0.1"][..]]));
    let at_once = async |name: &str| {
        let urls: Vec<_> = (0..6).map(|_| format!("http://{name}.example:{port}/")).collect();
        // All requests start before the first response, so none finds an idle connection.
        for got in join_all(urls.iter().map(|url| get(&sender, url))).await {
            assert_eq!(got.unwrap(), "hello");
        }
    };
    at_once("a").await;
    assert_eq!(sender.pool.idle(), 4);
    for name in ["b", "c", "d", "e", "f", "g", "h", "i", "j"] {
        at_once(name).await;
    }
    assert_eq!(sender.pool.idle(), 32);
}
