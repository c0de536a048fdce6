//! Decompression of bodies, by their `content-encoding` (RFC 9110, section 8.4.1).

use std::io::{self, Cursor, Read};

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use super::body::{Body, RawBody};
use super::{Headers, HttpError};

/// The value of `accept-encoding`.
const ACCEPTED: &str = "gzip, deflate, br";

/// The buffer size of a decoder, in bytes.
const BUFFER_BYTES: usize = 16 * 1024;

/// The maximum number of encodings of a body. More than one is unusual.
const MAX_ENCODINGS: usize = 4;

#[derive(Debug, Clone, Copy)]
enum Encoding {
    Gzip,
    Deflate,
    Brotli,
}

impl Encoding {
    fn named(name: &str) -> Option<Self> {
        match name {
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "deflate" => Some(Self::Deflate),
            "br" => Some(Self::Brotli),
            _ => None,
        }
    }
}

/// Adds `accept-encoding`, unless the plugin sets it or requests a part, which is a part of the compressed body.
pub(super) fn accepting(mut headers: Headers) -> Headers {
    if !headers.iter().any(|(name, _)| matches!(name, "accept-encoding" | "range")) {
        headers.add("accept-encoding", ACCEPTED.as_bytes().to_vec());
    }
    headers
}

/// Returns the headers and body of a response. If the body is decompressed, the headers that describe the compressed body
/// are removed.
pub(super) fn body(raw: RawBody, mut headers: Headers) -> (Headers, Body) {
    let values = headers.iter().filter(|(name, _)| *name == "content-encoding");
    let values: Vec<String> =
        values.map(|(_, value)| String::from_utf8_lossy(value).to_ascii_lowercase()).collect();
    let names = values.iter().flat_map(|value| value.split(',')).map(str::trim);
    let names: Vec<&str> = names.filter(|name| !matches!(*name, "" | "identity")).collect();
    if names.is_empty() {
        return (headers, Body::Raw(raw));
    }
    let known: Option<Vec<Encoding>> = names.iter().map(|name| Encoding::named(name)).collect();
    let Some(encodings) = known.filter(|encodings| encodings.len() <= MAX_ENCODINGS) else {
        let unsupported = names.join(", ");
        return (headers, Body::Unsupported(unsupported));
    };
    headers.remove(&["content-encoding", "content-length"]);
    // The last encoding was applied last.
    let source: Box<dyn Read> = Box::new(RawReader { raw, piece: Cursor::default() });
    let decoder =
        encodings.into_iter().rev().fold(source, |source, encoding| Box::new(Decoder::new(encoding, source)));
    let encodings = names.join(", ");
    (headers, Body::Decompressed(Decompressor { decoder, encodings }))
}

/// A body that is being decompressed.
pub(super) struct Decompressor {
    decoder: Box<dyn Read>,
    /// The names of the encodings, for errors.
    encodings: String,
}

impl Decompressor {
    /// Returns the next chunk of at most `most` bytes. Empty at the end.
    pub(super) fn next(&mut self, most: usize, origin: &str) -> Result<Vec<u8>, HttpError> {
        let mut piece = vec![0; most];
        let count = self.decoder.read(&mut piece).map_err(|error| {
            error.downcast::<HttpError>().unwrap_or_else(|error| HttpError::Protocol {
                origin: origin.to_owned(),
                reason: format!("can't decompress its body (`{}`): {error}", self.encodings),
            })
        })?;
        piece.truncate(count);
        Ok(piece)
    }
}

/// The decoder of one encoding. It starts with the first read, because an empty body is valid in every encoding, and
/// because `deflate` is a zlib stream or, from some servers, a bare deflate stream.
struct Decoder {
    waiting: Option<(Encoding, Box<dyn Read>)>,
    running: Box<dyn Read>,
}

impl Decoder {
    fn new(encoding: Encoding, source: Box<dyn Read>) -> Self {
        Self { waiting: Some((encoding, source)), running: Box::new(io::empty()) }
    }
}

impl Read for Decoder {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some((encoding, mut source)) = self.waiting.take() {
            let mut start = Vec::new();
            source.by_ref().take(2).read_to_end(&mut start)?;
            if start.is_empty() {
                return Ok(0);
            }
            let is_zlib = is_zlib_header(&start);
            let all = Cursor::new(start).chain(source);
            self.running = match encoding {
                Encoding::Gzip => Box::new(MultiGzDecoder::new(all)),
                Encoding::Deflate if is_zlib => Box::new(ZlibDecoder::new(all)),
                Encoding::Deflate => Box::new(DeflateDecoder::new(all)),
                Encoding::Brotli => Box::new(brotli_decompressor::Decompressor::new(all, BUFFER_BYTES)),
            };
        }
        self.running.read(into)
    }
}

/// Returns `true` for the header of a zlib stream with the method deflate (RFC 1950, section 2.2).
fn is_zlib_header(start: &[u8]) -> bool {
    match start {
        [method, flags] => method & 0x0f == 8 && u16::from_be_bytes([*method, *flags]) % 31 == 0,
        _ => false,
    }
}

/// The compressed body as a reader. Its errors contain an [`HttpError`].
struct RawReader {
    raw: RawBody,
    piece: Cursor<Vec<u8>>,
}

impl Read for RawReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.piece.read(into)?;
        if count > 0 || into.is_empty() {
            return Ok(count);
        }
        self.piece = Cursor::new(self.raw.next(BUFFER_BYTES)?);
        self.piece.read(into)
    }
}
