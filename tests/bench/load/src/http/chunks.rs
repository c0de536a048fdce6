//! Bodies in chunks (RFC 9112, section 7.1).

use anyhow::Context as _;

use crate::message::shown;

/// A body that arrives in chunks.
pub(super) struct ChunkedBody {
    /// The offset of the next chunk in the buffer.
    at: usize,
    decoded: Vec<u8>,
}

impl ChunkedBody {
    /// A body that starts at this offset of the buffer.
    pub(super) fn after(from: usize) -> Self {
        Self { at: from, decoded: Vec::new() }
    }

    /// Decodes the chunks that have arrived completely. Returns true after the last one.
    ///
    /// # Errors
    /// A chunk has no valid length.
    pub(super) fn decode(&mut self, buffer: &[u8]) -> anyhow::Result<bool> {
        loop {
            let rest = &buffer[self.at..];
            let Some(end) = memchr::memmem::find(rest, b"\r\n") else { return Ok(false) };
            let line = std::str::from_utf8(&rest[..end]).unwrap_or_default();
            let size = line.split(';').next().map(|size| usize::from_str_radix(size.trim(), 16));
            let size = size.and_then(Result::ok).with_context(|| format!("a bad chunk: {}", shown(rest)))?;
            let data = end + 2;
            if rest.len() < data + size + 2 {
                return Ok(false);
            }
            self.at += data + size + 2;
            if size == 0 {
                return Ok(true);
            }
            self.decoded.extend_from_slice(&rest[data..data + size]);
        }
    }

    /// The whole body.
    pub(super) fn into_decoded(self) -> Vec<u8> {
        self.decoded
    }
}

#[cfg(test)]
mod tests {
    use super::ChunkedBody;

    #[test]
    fn decodes_chunks_that_arrive_in_parts() {
        let whole = b"head5\r\nhello\r\n7;x=y\r\n, world\r\n0\r\n\r\n";
        for cut in 4..whole.len() {
            let mut body = ChunkedBody::after(4);
            assert!(!body.decode(&whole[..cut]).expect("chunks"));
            assert!(body.decode(whole).expect("chunks"));
            assert_eq!(body.into_decoded(), b"hello, world");
        }
        assert!(ChunkedBody::after(0).decode(b"zz\r\n").is_err());
    }
}
