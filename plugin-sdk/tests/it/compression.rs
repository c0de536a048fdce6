//! Compressed bodies of responses. Other crates of the workspace enable the feature for all native tests.
#![cfg(feature = "decompression")]

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use moongate_sdk::http::{HttpError, Request};
use moongate_sdk::prelude::plugin;
use moongate_sdk::testing::{Client, HttpAnswer};
use serde_json::json;

/// `brötli words`, compressed.
const BROTLI: &[u8] = b"\x0b\x06\x80br\xc3\xb6tli words\x03";

#[derive(Default)]
struct Reads;

/// Reads bodies.
#[plugin]
impl Reads {
    /// Returns the body, read whole and in chunks.
    #[tool]
    fn read(&self, most: Option<u64>) -> Result<String, HttpError> {
        let request = || Request::get("https://a.example/").max_body(most.unwrap_or(1 << 20));
        let whole = request().send()?.text();
        let mut chunks = String::new();
        let read = request().send()?.read_to_string(&mut chunks);
        let read =
            read.map(|_| chunks).map_err(|error| error.downcast::<HttpError>().expect("an error of HTTP"));
        assert_eq!(whole, read);
        whole
    }

    /// Returns the headers that describe the body.
    #[tool]
    fn headers(&self) -> Result<String, HttpError> {
        let response = Request::get("https://a.example/").send()?;
        Ok(format!("{:?} {:?}", response.header("content-encoding"), response.header("content-length")))
    }

    /// Sends its own headers.
    #[tool]
    fn own(&self, name: &str, value: &str) -> Result<String, HttpError> {
        Request::get("https://a.example/").header(name, value).send()?.text()
    }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zlib(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn deflate(text: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// A server that returns this body.
fn server(encoding: &str, body: impl Into<Vec<u8>>) -> Client<Reads> {
    let (encoding, body) = (encoding.to_owned(), body.into());
    Client::new().http(move |_| {
        let answer = HttpAnswer::status(200).header("content-length", body.len().to_string());
        Ok(answer.header("content-encoding", encoding.clone()).body(body.clone()))
    })
}

#[test]
fn decompresses_every_accepted_encoding() {
    let long = "Words, and more of them. ".repeat(5000);
    for (encoding, body) in [
        ("gzip", gzip(long.as_bytes())),
        ("X-GZIP", gzip(long.as_bytes())),
        ("gzip", [gzip(&long.as_bytes()[..100]), gzip(&long.as_bytes()[100..])].concat()),
        ("deflate", zlib(long.as_bytes())),
        ("deflate", deflate(long.as_bytes())),
        ("deflate, gzip", gzip(&zlib(long.as_bytes()))),
        ("identity", long.clone().into_bytes()),
    ] {
        let text = server(encoding, body).call("read", json!({})).unwrap().all_text();
        assert!(text == long, "{encoding}: {} bytes", text.len());
    }
    assert_eq!(server("br", BROTLI).call("read", json!({})).unwrap().all_text(), "brötli words");
    for encoding in ["gzip", "deflate", "br"] {
        let empty = server(encoding, "").call("read", json!({})).unwrap();
        assert!(!empty.failed() && empty.all_text().is_empty(), "{encoding}");
    }
}

#[test]
fn removes_headers_of_the_compressed_body() {
    let client = server("gzip", gzip(b"text"));
    assert_eq!(client.call("headers", json!({})).unwrap().all_text(), "None None");
    let plain = server("identity", "text");
    assert_eq!(plain.call("headers", json!({})).unwrap().all_text(), "Some(\"identity\") Some(\"4\")");
}

#[test]
fn limits_the_decompressed_size() {
    let bomb = gzip(&vec![b'a'; 50_000_000]);
    assert!(bomb.len() < 100_000);
    let failed = server("gzip", bomb).call("read", json!({ "most": 1_000_000 })).unwrap();
    assert!(failed.failed());
    assert!(failed.all_text().contains("larger than 1000000 bytes"), "{}", failed.all_text());
    let exact = server("gzip", gzip(&[b'a'; 1000])).call("read", json!({ "most": 1000 })).unwrap();
    assert_eq!(exact.all_text().len(), 1000);
}

#[test]
fn names_unsupported_encodings_and_damaged_bodies() {
    for (encoding, body, message) in [
        ("zstd", b"x".to_vec(), "the response from `https://a.example` has the unsupported encoding `zstd`"),
        ("compress, gzip", gzip(b"x"), "unsupported encoding `compress, gzip`"),
        ("gzip, gzip, gzip, gzip, gzip", gzip(b"x"), "unsupported encoding `gzip, gzip"),
        ("gzip", b"plain text".to_vec(), "can't decompress its body (`gzip`)"),
        ("br", b"plain text".to_vec(), "can't decompress its body (`br`)"),
        ("deflate", b"\xff\xff\xff".to_vec(), "can't decompress its body (`deflate`)"),
        ("gzip", gzip(&[b'a'; 1000])[..20].to_vec(), "can't decompress its body (`gzip`)"),
    ] {
        let failed = server(encoding, body).call("read", json!({})).unwrap();
        assert!(failed.failed() && failed.all_text().contains(message), "{encoding}: {}", failed.all_text());
    }
}

#[test]
fn accepts_encodings_unless_the_plugin_decides() {
    let echo = Client::<Reads>::new().http(|request| {
        Ok(HttpAnswer::text(request.headers.get("accept-encoding").unwrap_or("nothing").to_owned()))
    });
    assert_eq!(echo.call("read", json!({})).unwrap().all_text(), "gzip, deflate, br");
    for (name, value, seen) in [
        ("Accept-Encoding", "identity", "identity"),
        ("range", "bytes=0-9", "nothing"),
        ("x-other", "1", "gzip, deflate, br"),
    ] {
        let text = echo.call("own", json!({ "name": name, "value": value })).unwrap().all_text();
        assert_eq!(text, seen, "{name}");
    }
}
