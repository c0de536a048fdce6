//! The words that transports and protocol share, until `core::mcp` brings them.

use std::future::Future;
use std::pin::Pin;

use moongate_core::names::Principal;

/// What comes back for a line.
pub enum LineReply {
    /// Nothing.
    None,
    /// An answer, without the line end.
    Ready(Vec<u8>),
    /// Perhaps an answer, later.
    Pending(Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send>>),
}

impl std::fmt::Debug for LineReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LineReply")
    }
}

/// A posted message.
pub struct Post<'a> {
    /// Who calls.
    pub principal: &'a Principal,
    /// The request's headers.
    pub headers: &'a dyn Headers,
    /// Its body.
    pub body: &'a [u8],
}

impl std::fmt::Debug for Post<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Post")
    }
}

/// A request's headers.
pub trait Headers: Sync {
    /// The header of that name.
    fn get(&self, lower_case_name: &str) -> Header<'_>;
    /// All headers whose names start so.
    fn starting_with(&self, prefix: &str) -> Vec<(String, Header<'_>)>;
}

/// One header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header<'a> {
    /// It isn't there.
    Absent,
    /// Its value.
    Text(&'a str),
    /// Not visible ASCII, or given twice.
    Invalid,
}

/// What comes back for a request.
#[derive(Debug)]
pub struct HttpReply {
    /// The status.
    pub status: u16,
    /// Headers beside those of the body.
    pub headers: Vec<(&'static str, String)>,
    /// JSON; empty: no body.
    pub body: Vec<u8>,
}
