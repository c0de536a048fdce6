//! Positions in traces, as W3C Trace Context defines them, and plugins' requests as parts of a trace.
//!
//! The ids are plain numbers: nothing here depends on how spans are exported.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use crate::names::PluginId;

/// The id of a trace: 16 bytes, not all zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

/// The id of a span: 8 bytes, not all zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

/// The decision to record a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// It is recorded and exported.
    Sampled,
    /// Only its ids are passed on.
    NotSampled,
}

/// A span of a trace: the value of `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanContext {
    /// The trace.
    pub trace_id: TraceId,
    /// The span.
    pub span_id: SpanId,
    /// True if the span is recorded.
    pub sampling: Sampling,
}

/// A span of the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its trace, id and sampling.
    pub context: SpanContext,
    /// The span that caused it. `None` if the trace starts with this one.
    pub parent: Option<SpanId>,
}

/// The trace that a call belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallTrace {
    /// The id, for logs.
    pub trace_id: TraceId,
    /// The span of the plugin's run. `None` if the gateway adds no spans to the trace.
    pub span: Option<Span>,
}

/// Receives plugins' requests to other servers. It is called on the path of every request, so it must return at once.
pub trait OutgoingRequestObserver: fmt::Debug + Send + Sync {
    /// A request got its response, failed, or wasn't sent.
    fn outgoing_request_ended(&self, request: &OutgoingRequestEnd<'_>);
}

/// An ended request of a plugin to another server.
#[derive(Debug, Clone, Copy)]
pub struct OutgoingRequestEnd<'a> {
    /// The plugin.
    pub plugin: &'a PluginId,
    /// Its span. `None` if the call belongs to no trace.
    pub span: Option<Span>,
    /// The method, as the plugin wrote it.
    pub method: &'a str,
    /// The scheme, as the plugin wrote it.
    pub scheme: &'a str,
    /// The host, as the plugin wrote it.
    pub host: &'a str,
    /// The port.
    pub port: Option<u16>,
    /// The status of the response. `None` without a response.
    pub status: Option<u16>,
    /// The reason why there is no response, as a stable word.
    pub error: Option<&'static str>,
    /// The time until the head of the response.
    pub took: Duration,
}

/// 8 random bytes. Each `RandomState` has a key of its own, which outsiders can't guess.
fn random_bytes() -> [u8; 8] {
    RandomState::new().hash_one(()).to_be_bytes()
}

impl TraceId {
    /// A new id.
    #[must_use]
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&random_bytes());
        bytes[8..].copy_from_slice(&random_bytes());
        bytes[15] |= u8::from(bytes == [0; 16]);
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

impl SpanId {
    /// A new id.
    #[must_use]
    pub fn random() -> Self {
        let mut bytes = random_bytes();
        bytes[7] |= u8::from(bytes == [0; 8]);
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 8] {
        self.0
    }
}

impl SpanContext {
    /// Parses a `traceparent`. `None` if it is malformed.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim_ascii().split('-');
        let [version] = hex(parts.next()?)?;
        let trace_id = hex(parts.next()?)?;
        let span_id = hex(parts.next()?)?;
        let [flags] = hex::<1>(parts.next()?)?;
        // Later versions can have more parts.
        let is_valid = match version {
            0 => parts.next().is_none(),
            255 => false,
            _ => true,
        };
        let sampling = if flags & 1 == 1 { Sampling::Sampled } else { Sampling::NotSampled };
        let is_valid = is_valid && trace_id != [0; 16] && span_id != [0; 8];
        is_valid.then_some(Self { trace_id: TraceId(trace_id), span_id: SpanId(span_id), sampling })
    }
}

impl Span {
    /// The first span of this process in a trace: below `parent`, or the start of a new trace.
    #[must_use]
    pub fn below(parent: Option<SpanContext>, sampling: Sampling) -> Self {
        let trace_id = parent.map_or_else(TraceId::random, |parent| parent.trace_id);
        let context = SpanContext { trace_id, span_id: SpanId::random(), sampling };
        Self { context, parent: parent.map(|parent| parent.span_id) }
    }

    /// A new span that this one causes.
    #[must_use]
    pub fn child(self) -> Self {
        Self::below(Some(self.context), self.context.sampling)
    }

    /// Reports whether the span is recorded.
    #[must_use]
    pub fn is_sampled(self) -> bool {
        self.context.sampling == Sampling::Sampled
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

impl fmt::Display for SpanContext {
    /// The `traceparent`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.sampling == Sampling::Sampled);
        write!(f, "00-{}-{}-{flags:02x}", self.trace_id, self.span_id)
    }
}

/// Parses exactly `N` bytes as lower-case hexadecimal digits.
fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let digit = |digit: u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
