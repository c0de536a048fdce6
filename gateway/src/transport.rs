//! How bytes come in and go out: lines over stdio, requests over HTTP.
//!
//! A transport frames, limits and (over HTTP) finds out who calls; what the messages mean it leaves to a
//! [`Protocol`]. The gateway's is [`Server`], tests bring their own of a few lines. `app` starts the
//! transports and ends them.

use std::fmt;
use std::sync::Arc;

use moongate_model::names::Principal;
use moongate_protocol::server::{
    Get, Headers, HttpAnswer, HttpReply, LineReply, Post, Server, StdioConnection, Visitor,
};
use tokio_util::sync::CancellationToken;

pub mod http;
pub mod stdio;
pub mod trace;

/// How a transport comes to its end. Whoever starts it holds the clock.
#[derive(Debug, Clone, Default)]
pub struct Ending {
    /// Set when nothing new is to be taken any more; what runs goes on.
    pub stop: CancellationToken,
    /// Set when time is up: what still runs is dropped.
    pub over: CancellationToken,
    /// Set by the transport whose only peer has gone; what runs goes on until time is up.
    pub gone: CancellationToken,
}

/// What answers the messages that a transport brings.
pub trait Protocol: Send + Sync + 'static {
    /// What is known of one peer over stdio for as long as it stays.
    type Connection: fmt::Debug + Send + Sync + 'static;

    /// A peer has come over stdio.
    fn connect(&self) -> Arc<Self::Connection>;

    /// The next message to a peer over stdio that it didn't ask for. Called again once the last one was written, and
    /// dropped without harm while it waits.
    fn news(&self, connection: &Arc<Self::Connection>) -> impl Future<Output = Vec<u8>> + Send;

    /// The peer sends no more, or the gateway stops: what doesn't end by itself ends now.
    fn wind_up(&self, connection: &Self::Connection);

    /// The peer has gone: nothing that still runs for it is wanted any more.
    fn disconnect(&self, connection: &Self::Connection);

    /// A peer over stdio sent a line. Called in the order of arrival, and never waits.
    fn line(&self, connection: &Arc<Self::Connection>, line: &[u8]) -> LineReply;

    /// The answer to a line of more than `most` bytes, which was thrown away.
    fn line_too_long(&self, connection: &Arc<Self::Connection>, most: usize) -> Vec<u8>;

    /// Somebody posted a message. Dropping the future tells that they have gone.
    fn post(self: &Arc<Self>, post: Post<'_>) -> impl Future<Output = HttpAnswer> + Send;

    /// Somebody asked for a stream of a session.
    fn get(self: &Arc<Self>, get: Get<'_>) -> HttpAnswer;

    /// A client of 2024-11-05 has come. Dropping its events tells that it has gone.
    fn visit(self: &Arc<Self>, principal: &Principal) -> Result<Visitor, HttpReply>;

    /// A client of 2024-11-05 has posted a message; it is answered among its events.
    fn visited(self: &Arc<Self>, principal: &Principal, id: &str, body: &[u8]) -> HttpReply;

    /// Somebody ends a session.
    fn delete(&self, principal: &Principal, headers: &dyn Headers) -> HttpReply;
}

impl Protocol for Server {
    type Connection = StdioConnection;

    fn connect(&self) -> Arc<StdioConnection> {
        StdioConnection::new()
    }

    async fn news(&self, connection: &Arc<StdioConnection>) -> Vec<u8> {
        connection.next_news().await
    }

    fn wind_up(&self, connection: &StdioConnection) {
        connection.wind_up();
    }

    fn disconnect(&self, connection: &StdioConnection) {
        connection.close();
    }

    fn line(&self, connection: &Arc<StdioConnection>, line: &[u8]) -> LineReply {
        self.stdio_line(connection, line)
    }

    fn line_too_long(&self, connection: &Arc<StdioConnection>, most: usize) -> Vec<u8> {
        Self::line_too_long(self, connection, most)
    }

    fn post(self: &Arc<Self>, post: Post<'_>) -> impl Future<Output = HttpAnswer> + Send {
        Self::post(self, post)
    }

    fn get(self: &Arc<Self>, get: Get<'_>) -> HttpAnswer {
        Self::get(self, get)
    }

    fn visit(self: &Arc<Self>, principal: &Principal) -> Result<Visitor, HttpReply> {
        Self::visit(self, principal)
    }

    fn visited(self: &Arc<Self>, principal: &Principal, id: &str, body: &[u8]) -> HttpReply {
        Self::visited(self, principal, id, body)
    }

    fn delete(&self, principal: &Principal, headers: &dyn Headers) -> HttpReply {
        Self::delete(self, principal, headers)
    }
}
