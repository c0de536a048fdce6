//! A local web site with fixed and generated pages and a `robots.txt`.

use std::io::{BufRead as _, BufReader, Result, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A response from a site.
#[derive(Debug, Clone)]
pub(super) struct Page {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

/// A running site, stopped when dropped.
#[derive(Debug)]
pub(super) struct Site {
    address: SocketAddr,
    ends: Arc<AtomicBool>,
}

/// The function from a path to its page.
type Pages = fn(&str) -> Page;

impl Page {
    /// A page with this content type.
    pub(super) fn of(kind: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = if kind.is_empty() { Vec::new() } else { vec![("content-type", kind.to_owned())] };
        Self { status: 200, headers, body: body.into() }
    }

    /// An HTML page in UTF-8.
    pub(super) fn html(body: impl Into<Vec<u8>>) -> Self {
        Self::of("text/html; charset=utf-8", body)
    }

    /// An empty response with this status.
    pub(super) fn status(status: u16) -> Self {
        Self { status, ..Self::of("text/plain", "x") }
    }

    /// A redirect.
    pub(super) fn lead(status: u16, to: &str) -> Self {
        Self { headers: vec![("location", to.to_owned())], ..Self::status(status) }
    }
}

impl Site {
    /// Starts a site.
    ///
    /// # Errors
    /// No port is free.
    pub(super) fn start(robots: Page, pages: Pages) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let ends = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ends);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if end.load(Ordering::Relaxed) {
                    return;
                }
                let robots = robots.clone();
                if let Ok(stream) = stream {
                    thread::spawn(move || answer(&stream, &robots, pages));
                }
            }
        });
        Ok(Self { address, ends })
    }

    /// The origin of the site's URLs.
    pub(super) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The URL of a page.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _wakes = TcpStream::connect(self.address);
    }
}

/// Answers one request and closes the connection.
fn answer(mut stream: &TcpStream, robots: &Page, pages: Pages) -> Result<()> {
    let mut head = BufReader::new(stream);
    let mut line = String::new();
    head.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or("/").to_owned();
    while line.trim() != "" {
        line.clear();
        head.read_line(&mut line)?;
    }
    let Page { status, headers, body } = if path == "/robots.txt" { robots.clone() } else { pages(&path) };
    let mut text = format!("HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    stream.write_all(text.as_bytes())?;
    stream.write_all(&body)
}
