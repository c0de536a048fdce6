//! A web server for plugins to send requests to, over plain HTTP or TLS, that can also misbehave.
//!
//! The path selects the response: content [put](TestServer::put) there; `/hello`, `/echo` (the request as received),
//! `/bytes/N`, `/redirect?URL`, `/trailers` (12 KiB of headers after the body); and `/hang`, `/stall`, `/drip` (one
//! byte at a time, forever), `/flood`, `/heads` (an endless head), `/announce` (endless interim responses), `/hints`
//! (a few interim responses), `/many-headers`, `/short`, `/cut`, `/cut-chunk`, `/until-close` (a body that ends with the
//! connection; over TLS, nothing ends that), `/upgrade`, `/early` (responds before it reads the body),
//! `/leave` (closes the connection after the response without `Connection: close`), `/poison` (followed by an
//! unsolicited response), `/bare` (no head at all), `/folded` (a header on two lines), `/both` (two lengths), `/split`
//! (a header with a line break in it).

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::wait_until;

/// The server. Dropping it stops the server.
#[derive(Debug)]
pub struct TestServer {
    address: SocketAddr,
    state: Arc<State>,
    /// The CA certificate, if the server uses TLS.
    ca_certificate: Option<String>,
}

/// A received request.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// The number of its connection, starting at 1.
    pub connection: usize,
    /// The request line and headers.
    pub head: String,
    /// The decoded body.
    pub body: String,
}

impl ReceivedRequest {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The request line.
    #[must_use]
    pub fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }
}

#[derive(Debug, Default)]
struct State {
    connections: AtomicUsize,
    open: AtomicUsize,
    requests: Mutex<Vec<ReceivedRequest>>,
    /// Headers and bodies, by path.
    pages: Mutex<BTreeMap<String, (String, Vec<u8>)>>,
    handlers: Mutex<BTreeMap<String, PageHandler>>,
    ended: AtomicBool,
}

/// The status and the body of a response.
type PageAnswer = (&'static str, String);

/// Computes the response to a request.
#[derive(Clone)]
struct PageHandler(Arc<dyn Fn(&ReceivedRequest) -> PageAnswer + Send + Sync>);

impl std::fmt::Debug for PageHandler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PageHandler")
    }
}

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

impl TestServer {
    /// Starts a plain HTTP server.
    ///
    /// # Panics
    /// If no port is free.
    #[must_use]
    pub fn start() -> Self {
        Self::serve("127.0.0.1:0", None, None)
    }

    /// Starts a plain HTTP server at an address such as `[::1]:0`.
    ///
    /// # Panics
    /// If the address isn't available.
    #[must_use]
    pub fn start_at(address: &str) -> Self {
        Self::serve(address, None, None)
    }

    /// Starts a TLS server for these names, with a certificate from its own CA.
    ///
    /// # Panics
    /// If no port is free.
    #[must_use]
    pub fn start_tls(names: &[&str]) -> Self {
        Self::start_tls_with_chain(names, 0)
    }

    /// The same with this many intermediate certificates.
    ///
    /// # Panics
    /// As [`Self::start_tls`].
    #[must_use]
    pub fn start_tls_with_chain(names: &[&str], intermediates: usize) -> Self {
        let mut authority = CertificateParams::new([]).expect("no names");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().expect("a key");
        let certificate = authority.self_signed(&key).expect("a certificate");
        let issuer = Issuer::new(authority, key);
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let own_key = KeyPair::generate().expect("a key");
        let own = CertificateParams::new(names).expect("names").signed_by(&own_key, &issuer);
        let mut chain = vec![own.expect("a certificate").der().clone()];
        chain.resize(1 + intermediates, certificate.der().clone());
        Self::serve_tls(chain, &own_key, certificate.pem())
    }

    /// The same with a self-signed certificate of an authority, as `openssl req -x509` creates by default.
    ///
    /// # Panics
    /// As [`Self::start_tls`].
    #[must_use]
    pub fn start_tls_as_ca(names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut own = CertificateParams::new(names).expect("names");
        own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = own.self_signed(&key).expect("a certificate");
        Self::serve_tls(vec![certificate.der().clone()], &key, certificate.pem())
    }

    fn serve_tls(chain: Vec<CertificateDer<'static>>, key: &KeyPair, ca_certificate: String) -> Self {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("a key for the certificate");
        Self::serve("127.0.0.1:0", Some(Arc::new(config)), Some(ca_certificate))
    }

    fn serve(address: &str, tls: Option<Arc<ServerConfig>>, ca_certificate: Option<String>) -> Self {
        let listener = TcpListener::bind(address).expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let state = Arc::<State>::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.ended.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let _ = stream.set_nodelay(true);
                let state = Arc::clone(&shared);
                let tls = tls.clone();
                let number = state.connections.fetch_add(1, Ordering::SeqCst) + 1;
                state.open.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || {
                    let _ = serve_connection(&state, number, wrap_tls(stream, tls));
                    state.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, state, ca_certificate }
    }

    /// The server's address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path on the server.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin())
    }

    /// The scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> String {
        let scheme = if self.ca_certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The CA certificate in PEM.
    ///
    /// # Panics
    /// If the server doesn't use TLS.
    #[must_use]
    pub fn ca_certificate(&self) -> &str {
        self.ca_certificate.as_deref().expect("the server uses TLS")
    }

    /// Serves a body at a path, with headers such as `Content-Type: text/html`.
    ///
    /// # Panics
    /// If a connection thread panicked.
    pub fn put(&self, path: &str, headers: &[&str], body: impl Into<Vec<u8>>) {
        let headers = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let mut pages = self.state.pages.lock().expect("no connection panics while it holds this");
        pages.insert(path.to_owned(), (headers, body.into()));
    }

    /// Answers requests to a path with what `handler` returns: a status such as `200 OK`, and a body.
    ///
    /// # Panics
    /// If a connection thread panicked.
    pub fn handle(
        &self,
        path: &str,
        handler: impl Fn(&ReceivedRequest) -> (&'static str, String) + Send + Sync + 'static,
    ) {
        let mut handlers = self.state.handlers.lock().expect("no connection panics while it holds this");
        handlers.insert(path.to_owned(), PageHandler(Arc::new(handler)));
    }

    /// The number of connections so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Waits until exactly this many connections are open.
    ///
    /// # Panics
    /// If that doesn't happen in time.
    #[track_caller]
    pub fn wait_for_open_connections(&self, count: usize) {
        wait_until(&format!("{count} connections are open"), || {
            self.state.open.load(Ordering::SeqCst) == count
        });
    }

    /// The requests received so far.
    ///
    /// # Panics
    /// If a connection thread panicked.
    #[must_use]
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.state.requests.lock().expect("no connection panics while it holds this").clone()
    }

    /// The last request received.
    ///
    /// # Panics
    /// If there was none.
    #[must_use]
    #[track_caller]
    pub fn last(&self) -> ReceivedRequest {
        self.requests().pop().expect("a request was received")
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

fn wrap_tls(stream: TcpStream, tls: Option<Arc<ServerConfig>>) -> Box<dyn Stream> {
    match tls {
        None => Box::new(stream),
        Some(config) => {
            let connection = ServerConnection::new(config).expect("a TLS connection");
            Box::new(StreamOwned::new(connection, stream))
        }
    }
}

/// Answers the requests of a connection one after the other.
fn serve_connection(state: &State, connection: usize, stream: Box<dyn Stream>) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let Some(head) = head(&mut stream)? else { return Ok(()) };
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let is_read = path != "/early";
        let body = if is_read { body(&mut stream, &head)? } else { Vec::new() };
        let request = ReceivedRequest { connection, head, body: String::from_utf8_lossy(&body).into_owned() };
        state.requests.lock().expect("no connection panics while it holds this").push(request.clone());
        let page = state.pages.lock().expect("no connection panics while it holds this").get(&path).cloned();
        let handler =
            state.handlers.lock().expect("no connection panics while it holds this").get(&path).cloned();
        let keep_open = match page {
            None if let Some(PageHandler(handler)) = handler => {
                let (status, body) = handler(&request);
                respond(&mut stream, &request, status, "", body.as_bytes())?
            }
            Some((headers, body)) => respond(&mut stream, &request, "200 OK", &headers, &body)?,
            None => respond_to_path(&mut stream, &path, &request)?,
        };
        if !keep_open {
            return Ok(());
        }
    }
}

fn head(stream: &mut BufReader<Box<dyn Stream>>) -> io::Result<Option<String>> {
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line == "\r\n" {
            return Ok(Some(head));
        }
        head.push_str(&line);
    }
}

fn body(stream: &mut BufReader<Box<dyn Stream>>, head: &str) -> io::Result<Vec<u8>> {
    let head = head.to_ascii_lowercase();
    let mut body = Vec::new();
    if head.contains("transfer-encoding: chunked") {
        loop {
            let mut line = String::new();
            stream.read_line(&mut line)?;
            let size = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
            let mut piece = vec![0; size + 2];
            stream.read_exact(&mut piece)?;
            body.extend_from_slice(&piece[..size]);
            if size == 0 {
                return Ok(body);
            }
        }
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    body.resize(length.unwrap_or(0), 0);
    stream.read_exact(&mut body)?;
    Ok(body)
}

/// Sends a well-formed response.
fn respond(
    stream: &mut BufReader<Box<dyn Stream>>,
    request: &ReceivedRequest,
    status: &str,
    headers: &str,
    body: &[u8],
) -> io::Result<bool> {
    let out = stream.get_mut();
    write!(out, "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len())?;
    if !request.line().starts_with("HEAD ") {
        out.write_all(body)?;
    }
    out.flush().map(|()| true)
}

/// Answers a request. Returns whether to keep the connection open.
fn respond_to_path(
    stream: &mut BufReader<Box<dyn Stream>>,
    path: &str,
    request: &ReceivedRequest,
) -> io::Result<bool> {
    let (name, rest) = path.split_once('?').unwrap_or((path, ""));
    let mut respond =
        |status: &str, headers: &str, body: &[u8]| respond(stream, request, status, headers, body);
    match name {
        "/echo" => respond("200 OK", "", format!("{}\r\n{}", request.head, request.body).as_bytes()),
        "/redirect" => respond("302 Found", &format!("Location: {rest}\r\n"), b""),
        "/early" => respond("413 Content Too Large", "", b"too much"),
        "/leave" => respond("200 OK", "", b"hello").map(|_| false),
        "/many-headers" => {
            let headers: String = (0..1_000).map(|at| format!("X-{at}: x\r\n")).collect();
            respond("200 OK", &headers, b"hello")
        }
        "/trailers" => {
            let trailers: String = (0..12).map(|at| format!("X-{at}: {}\r\n", "x".repeat(900))).collect();
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            let out = stream.get_mut();
            write!(out, "{head}5\r\nhello\r\n0\r\n{trailers}\r\n")?;
            out.flush().map(|()| true)
        }
        "/hang" | "/stall" | "/short" | "/cut" | "/cut-chunk" | "/until-close" | "/upgrade" | "/flood"
        | "/drip" | "/heads" | "/announce" | "/hints" | "/poison" | "/bare" | "/folded" | "/both"
        | "/split" => misbehave(stream, name),
        name => match name.strip_prefix("/bytes/").and_then(|count| count.parse().ok()) {
            Some(count) => respond("200 OK", "", &vec![b'x'; count]),
            None => respond("200 OK", "X-Remote: yes\r\n", b"hello"),
        },
    }
}

/// Sends a malformed or endless response. Returns whether to keep the connection open.
fn misbehave(stream: &mut BufReader<Box<dyn Stream>>, name: &str) -> io::Result<bool> {
    let mut send = |text: &str| stream.get_mut().write_all(text.as_bytes());
    match name {
        "/stall" | "/short" => send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx")?,
        "/cut" => send("HTTP/1.1 200 OK\r\nContent-Le")?,
        "/cut-chunk" => send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")?,
        "/until-close" => send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello")?,
        "/upgrade" => {
            send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n")?;
        }
        "/flood" | "/drip" => send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?,
        "/heads" => send("HTTP/1.1 200 OK\r\n")?,
        "/hints" => {
            send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")?;
            send("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")?;
        }
        "/poison" => {
            send("HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")?;
        }
        "/bare" => send("hello")?,
        "/folded" => send("HTTP/1.1 200 OK\r\nX-Two: one\r\n two\r\nContent-Length: 5\r\n\r\nhello")?,
        "/both" => {
            send("HTTP/1.1 200 OK\r\nContent-Length: 30\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            send("5\r\nhello\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")?;
        }
        "/split" => send("HTTP/1.1 200 OK\r\nX-One: a\rX-Two: b\r\nContent-Length: 5\r\n\r\nhello")?,
        _ => {}
    }
    stream.get_mut().flush()?;
    match name {
        "/flood" => send_forever(stream, &format!("4000\r\n{}\r\n", "x".repeat(0x4000))),
        "/heads" => send_forever(stream, &format!("X-More: {}\r\n", "x".repeat(1_000))),
        "/announce" => send_forever(stream, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
        "/drip" => loop {
            stream.get_mut().write_all(b"1\r\nx\r\n")?;
            stream.get_mut().flush()?;
            thread::sleep(Duration::from_millis(10));
        },
        "/short" | "/cut" | "/cut-chunk" | "/until-close" | "/bare" => Ok(false),
        "/hints" | "/poison" | "/folded" | "/both" | "/split" => Ok(true),
        _ => hang(stream),
    }
}

/// Sends nothing until the client disconnects.
fn hang(stream: &mut BufReader<Box<dyn Stream>>) -> io::Result<bool> {
    io::copy(stream, &mut io::sink()).map(|_| false)
}

fn send_forever(stream: &mut BufReader<Box<dyn Stream>>, piece: &str) -> io::Result<bool> {
    loop {
        stream.get_mut().write_all(piece.as_bytes())?;
    }
}
