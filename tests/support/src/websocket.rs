//! A WebSocket client that writes frames byte by byte, so that tests can send what no library would send.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::{Http, WAIT_TIMEOUT};

/// The headers of a correct handshake, except `Host`.
const HANDSHAKE: [(&str, &str); 5] = [
    ("connection", "keep-alive, Upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ("sec-websocket-protocol", "mcp"),
];

/// The answer to the key in [`HANDSHAKE`], as RFC 6455 has it (1.3).
const ACCEPTED: &str = "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// A connected WebSocket.
#[derive(Debug)]
pub struct WebSocket<S = TcpStream>(BufReader<S>);

impl WebSocket {
    /// Connects with these headers instead of the correct ones. An empty header is left out.
    ///
    /// # Errors
    /// The handshake was refused, with this status.
    ///
    /// # Panics
    /// If the response isn't the one that the key requires.
    #[track_caller]
    pub fn connect(http: &Http, headers: &[(&str, &str)]) -> Result<Self, u16> {
        let stream = TcpStream::connect(http.address()).expect("the gateway listens");
        stream.set_read_timeout(Some(WAIT_TIMEOUT)).expect("a time limit");
        let host = http.address().to_string();
        Self::connect_over(stream, "/mcp", &[&[("host", &*host)], headers].concat())
    }
}

impl<S: Read + Write> WebSocket<S> {
    /// Connects over a stream to this path. The headers contain the host, and can replace those of a correct handshake.
    ///
    /// # Errors
    /// The handshake was refused, with this status.
    ///
    /// # Panics
    /// If the response isn't the one that the key requires.
    #[track_caller]
    pub fn connect_over(mut stream: S, path: &str, headers: &[(&str, &str)]) -> Result<Self, u16> {
        let mut all = HANDSHAKE.to_vec();
        for (name, value) in headers {
            all.retain(|(other, _)| other != name);
            if !value.is_empty() {
                all.push((name, value));
            }
        }
        let lines: String = all.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        write!(stream, "GET {path} HTTP/1.1\r\n{lines}\r\n").expect("the gateway reads");
        let mut socket = Self(BufReader::new(stream));
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.extend(socket.read::<1>());
        }
        let head = String::from_utf8(head).expect("text");
        match head.split(' ').nth(1).and_then(|status| status.parse().ok()) {
            Some(101) => {}
            Some(status) => return Err(status),
            None => panic!("{head}"),
        }
        // Proxies write the names in other cases.
        let head = head.to_ascii_lowercase();
        let is_accepted = head.contains(&ACCEPTED.to_ascii_lowercase());
        assert!(is_accepted && head.contains("sec-websocket-protocol: mcp"), "{head}");
        assert!(!head.contains("sec-websocket-extensions"), "no compression: {head}");
        Ok(socket)
    }

    /// Sends one message.
    #[track_caller]
    pub fn send(&mut self, message: &Value) {
        self.send_frame(0x81, message.to_string().as_bytes());
    }

    /// Sends a masked frame with this first byte.
    #[track_caller]
    pub fn send_frame(&mut self, first: u8, payload: &[u8]) {
        let mut bytes = vec![first, 0x80 | 127];
        bytes.extend_from_slice(&(payload.len() as u64).to_be_bytes());
        if let Ok(short @ ..126) = u8::try_from(payload.len()) {
            bytes.splice(1.., [0x80 | short]);
        }
        let mask = [7, 0, 255, 1];
        bytes.extend_from_slice(&mask);
        bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, key)| byte ^ key));
        let _ = self.0.get_mut().write_all(&bytes); // the gateway may have closed the connection already
    }

    /// The next message.
    ///
    /// # Panics
    /// If the gateway closes the connection.
    #[track_caller]
    pub fn receive(&mut self) -> Value {
        let mut message = Vec::new();
        loop {
            let (first, payload) = self.frame();
            match first {
                0x01 | 0x00 => message.extend(payload),
                0x81 | 0x80 => {
                    message.extend(payload);
                    return serde_json::from_slice(&message).expect("JSON");
                }
                0x89 => self.send_frame(0x8a, &payload),
                other => panic!("{other:x}: {}", String::from_utf8_lossy(&payload)),
            }
        }
    }

    /// The code and the reason with which the gateway closes the connection. Earlier messages are ignored.
    ///
    /// # Panics
    /// If the gateway doesn't close the connection.
    #[track_caller]
    pub fn closed(&mut self) -> (u16, String) {
        loop {
            let (first, payload) = self.frame();
            match first {
                0x88 => {
                    assert_eq!(self.0.read_to_end(&mut Vec::new()).expect("an end"), 0, "nothing follows");
                    let code = u16::from_be_bytes([payload[0], payload[1]]);
                    return (code, String::from_utf8(payload[2..].to_vec()).expect("text"));
                }
                0x89 => self.send_frame(0x8a, &payload),
                _ => {}
            }
        }
    }

    /// The first byte and the payload of the next frame.
    ///
    /// # Panics
    /// If the gateway closes the connection.
    #[track_caller]
    pub fn frame(&mut self) -> (u8, Vec<u8>) {
        let [first, length] = self.read();
        let length = match length {
            126 => u16::from_be_bytes(self.read()).into(),
            127 => u64::from_be_bytes(self.read()),
            short => u64::from(short),
        };
        let mut payload = vec![0; usize::try_from(length).expect("a length")];
        self.0.read_exact(&mut payload).expect("a whole frame");
        (first, payload)
    }

    #[track_caller]
    fn read<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0
            .read_exact(&mut bytes)
            .unwrap_or_else(|error| panic!("the gateway closed the connection: {error}"));
        bytes
    }
}
