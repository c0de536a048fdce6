//! The body of a response, read as it arrives.

use std::time::Instant;

use super::HttpError;
use crate::host::http as host;

/// The maximum size of a chunk of a body, in bytes.
const MAX_CHUNK_BYTES: u64 = 64 * 1024;

/// The body of a response.
pub(super) enum Body {
    /// As it arrives.
    Raw(RawBody),
    /// Decompressed.
    #[cfg(feature = "decompression")]
    Decompressed(super::decompression::Decompressor),
    /// In an encoding that can't be decompressed.
    #[cfg(feature = "decompression")]
    Unsupported(String),
}

/// A body as it arrives.
pub(super) struct RawBody {
    body: host::HttpBody,
    deadline: Option<Instant>,
}

impl Body {
    /// Returns the next chunk of at most `most` bytes. Empty at the end.
    #[cfg_attr(
        not(feature = "decompression"),
        expect(unused_variables, reason = "for errors of decompression")
    )]
    pub(super) fn next(&mut self, most: u64, origin: &str) -> Result<Vec<u8>, HttpError> {
        let most = usize::try_from(most.min(MAX_CHUNK_BYTES)).unwrap_or(usize::MAX);
        match self {
            Self::Raw(raw) => raw.next(most),
            #[cfg(feature = "decompression")]
            Self::Decompressed(body) => body.next(most, origin),
            #[cfg(feature = "decompression")]
            Self::Unsupported(encoding) => {
                Err(HttpError::UnsupportedEncoding { origin: origin.to_owned(), encoding: encoding.clone() })
            }
        }
    }
}

impl RawBody {
    pub(super) fn new(body: host::HttpBody, deadline: Option<Instant>) -> Self {
        Self { body, deadline }
    }

    /// Returns the next chunk of at most `most` bytes. Empty at the end.
    pub(super) fn next(&mut self, most: usize) -> Result<Vec<u8>, HttpError> {
        self.body.read(most, self.deadline)
    }
}
