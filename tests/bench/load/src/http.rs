//! Load over HTTP: persistent connections with one call at a time on each.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::LocalSet;
use tokio::time::timeout;

use crate::Plan;
use crate::figures::Figures;
use crate::message::{INITIALIZED, Spec, Template, push_number, shown};
use crate::process;

mod chunks;

use chunks::ChunkedBody;

/// Runs the plan against a running server.
///
/// # Errors
/// The server can't be reached, or an answer is wrong. A single wrong answer ends the run.
pub(crate) async fn run(url: &str, pid: Option<u32>, spec: &Spec, plan: &Plan) -> anyhow::Result<Value> {
    let template = Rc::new(Template::new(spec)?);
    let idle = pid.and_then(process::resident_kib);
    let mut clients = Vec::new();
    for _ in 0..plan.width {
        clients.push(Client::open(url, spec, plan.patience).await?);
    }
    let next = Rc::new(Cell::new(1));
    let warm_up = Rc::new(RefCell::new(Figures::begin(None, None)));
    let clients = together(clients, &template, &next, &warm_up, Instant::now() + plan.warm_up).await?;
    let figures = Rc::new(RefCell::new(Figures::begin(pid, idle)));
    let clients = together(clients, &template, &next, &figures, Instant::now() + plan.time).await?;
    drop(clients);
    Rc::into_inner(figures).context("a connection is still at work")?.into_inner().finish()
}

/// Runs all connections concurrently until the time is over.
async fn together(
    clients: Vec<Client>,
    template: &Rc<Template>,
    next: &Rc<Cell<u64>>,
    figures: &Rc<RefCell<Figures>>,
    end: Instant,
) -> anyhow::Result<Vec<Client>> {
    let local = LocalSet::new();
    let jobs: Vec<_> = clients
        .into_iter()
        .map(|mut client| {
            let (template, next, figures) = (Rc::clone(template), Rc::clone(next), Rc::clone(figures));
            local.spawn_local(async move {
                while Instant::now() < end {
                    let id = next.replace(next.get() + 1);
                    let latency = client.call(&template, id).await?;
                    figures.borrow_mut().record(latency);
                }
                anyhow::Ok(client)
            })
        })
        .collect();
    local
        .run_until(async move {
            let mut back = Vec::new();
            for job in jobs {
                back.push(job.await.context("a connection's task ended early")??);
            }
            Ok(back)
        })
        .await
}

/// One connection, with a session if the server supports it.
pub(crate) struct Client {
    stream: TcpStream,
    head: Vec<u8>,
    request: Vec<u8>,
    body: Vec<u8>,
    buffer: Vec<u8>,
    patience: Duration,
}

/// The parsed head of an answer.
pub(crate) struct Head {
    pub(crate) status: u16,
    length: BodyLength,
    session: Option<String>,
    has_message: bool,
}

/// The end of an answer's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyLength {
    Bytes(usize),
    Chunked,
}

/// The authority and the path of an endpoint.
pub(crate) fn endpoint(url: &str) -> anyhow::Result<(&str, &str)> {
    let rest = url.strip_prefix("http://").context("only `http://` is supported")?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    Ok((authority, if path.is_empty() { "/" } else { path }))
}

impl Client {
    pub(crate) async fn open(url: &str, spec: &Spec, patience: Duration) -> anyhow::Result<Self> {
        let (authority, path) = endpoint(url)?;
        let stream =
            TcpStream::connect(authority).await.with_context(|| format!("connecting to {authority}"))?;
        stream.set_nodelay(true)?;
        let (request, body, buffer) = (Vec::new(), Vec::new(), Vec::with_capacity(256 * 1024));
        let mut client = Self { stream, head: Vec::new(), request, body, buffer, patience };
        let mut session = None;
        if spec.handshake() {
            client.head = spec.head(authority, path, "initialize", None);
            let (head, body) = client.post(spec.initialize().as_bytes()).await?;
            ensure!(head.status == 200, "initialize: {} {}", head.status, shown(&body));
            session = head.session;
            client.head = spec.head(authority, path, "notifications/initialized", session.as_deref());
            let (head, body) = client.post(INITIALIZED.as_bytes()).await?;
            ensure!(head.status < 300, "initialized: {} {}", head.status, shown(&body));
        }
        client.head = spec.head(authority, path, "tools/call", session.as_deref());
        Ok(client)
    }

    /// A request outside the measured path.
    async fn post(&mut self, body: &[u8]) -> anyhow::Result<(Head, Vec<u8>)> {
        self.body.clear();
        self.body.extend_from_slice(body);
        let (head, from) = timeout(self.patience, self.exchange()).await.context("no answer")??;
        Ok((head, self.buffer[from..].to_vec()))
    }

    /// Sends a request with another head, and returns the head of the answer and its body.
    pub(crate) async fn send(&mut self, head: &[u8], body: &[u8]) -> anyhow::Result<(Head, &[u8])> {
        let own = std::mem::replace(&mut self.head, head.to_vec());
        self.body.clear();
        self.body.extend_from_slice(body);
        let answered = timeout(self.patience, self.exchange()).await;
        self.head = own;
        let (head, from) = answered.context("no answer")??;
        Ok((head, &self.buffer[from..]))
    }

    /// Sends a request with another head and closes the connection without waiting for the answer.
    pub(crate) async fn abandon(mut self, head: &[u8], body: &[u8]) -> anyhow::Result<()> {
        self.head = head.to_vec();
        self.body = body.to_vec();
        self.write().await
    }

    /// Makes one call. Returns the time from the first sent byte to the last received byte.
    pub(crate) async fn call(&mut self, template: &Template, id: u64) -> anyhow::Result<Duration> {
        self.body.clear();
        template.write(id, &mut self.body);
        let start = Instant::now();
        let (head, from) =
            timeout(self.patience, self.exchange()).await.with_context(|| format!("no answer to {id}"))??;
        let latency = start.elapsed();
        let answer = &self.buffer[from..];
        ensure!(head.status == 200 && head.has_message, "call {id}: {} {}", head.status, shown(answer));
        template.check(id, answer)?;
        Ok(latency)
    }

    /// Sends the body and reads a complete answer. Returns the offset of the answer's body in the buffer.
    async fn exchange(&mut self) -> anyhow::Result<(Head, usize)> {
        self.write().await?;
        self.buffer.clear();
        let from = loop {
            let seen = self.buffer.len().saturating_sub(3);
            self.fill().await?;
            if let Some(at) = memchr::memmem::find(&self.buffer[seen..], b"\r\n\r\n") {
                break seen + at + 4;
            }
        };
        let head = read_head(&self.buffer[..from])?;
        match head.length {
            BodyLength::Bytes(length) => {
                while self.buffer.len() < from + length {
                    self.fill().await?;
                }
                ensure!(self.buffer.len() == from + length, "bytes after an answer: {}", shown(&self.buffer));
            }
            BodyLength::Chunked => {
                let mut body = ChunkedBody::after(from);
                while !body.decode(&self.buffer)? {
                    self.fill().await?;
                }
                self.buffer.truncate(from);
                self.buffer.extend_from_slice(&body.into_decoded());
            }
        }
        Ok((head, from))
    }

    /// Sends the head and the body.
    async fn write(&mut self) -> anyhow::Result<()> {
        self.request.clear();
        self.request.extend_from_slice(&self.head);
        push_number(&mut self.request, self.body.len() as u64);
        self.request.extend_from_slice(b"\r\n\r\n");
        self.request.extend_from_slice(&self.body);
        self.stream.write_all(&self.request).await.context("sending")
    }

    async fn fill(&mut self) -> anyhow::Result<()> {
        let read = self.stream.read_buf(&mut self.buffer).await.context("receiving")?;
        ensure!(read > 0, "the server closed the connection");
        Ok(())
    }
}

fn read_head(bytes: &[u8]) -> anyhow::Result<Head> {
    let text = std::str::from_utf8(bytes).context("a head that isn't text")?;
    let mut lines = text.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).context("no status")?;
    let (mut length, mut session, mut has_message) = (None, None, false);
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(BodyLength::Bytes(value.parse().context("a length that isn't a number")?));
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            length = Some(BodyLength::Chunked);
        } else if name.eq_ignore_ascii_case("mcp-session-id") {
            session = Some(value.to_owned());
        } else if name.eq_ignore_ascii_case("content-type") {
            // An event stream ends with the answer, which is one of its `data` lines.
            has_message =
                ["application/json", "text/event-stream"].iter().any(|kind| value.starts_with(kind));
        }
    }
    let length = match length {
        Some(length) => length,
        None if matches!(status, 202 | 204) => BodyLength::Bytes(0),
        None => bail!("an answer without a length: {text}"),
    };
    Ok(Head { status, length, session, has_message })
}
