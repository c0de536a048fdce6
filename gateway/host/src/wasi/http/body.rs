//! Bodies in transit, counted: a request's [`RequestBody`] and its response's [`ResponseBody`].

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use moongate_config::HttpOrigin;
use tokio::time::{Sleep, sleep};
use wasmtime_wasi_http::{Error, WasiBody};

use super::pool::{Connection, ConnectionPool};
use super::quota::{HttpQuota, RequestPermit};
use super::{buffered, failure};

/// The progress of a request's body, for the task that waits for the response.
#[derive(Debug, Default)]
pub(super) struct UploadProgress {
    /// The body was completely sent or dropped.
    ended: AtomicBool,
    /// The body was larger than the call's quota.
    over_quota: AtomicBool,
}

impl UploadProgress {
    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    pub(super) fn is_over_quota(&self) -> bool {
        self.over_quota.load(Ordering::Acquire)
    }
}

/// The body of a request.
pub(super) struct RequestBody {
    body: WasiBody,
    quota: Arc<HttpQuota>,
    progress: Arc<UploadProgress>,
}

impl RequestBody {
    pub(super) fn new(body: WasiBody, quota: Arc<HttpQuota>) -> Self {
        Self { body, quota, progress: Arc::default() }
    }

    pub(super) fn progress(&self) -> Arc<UploadProgress> {
        Arc::clone(&self.progress)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.progress.ended.store(true, Ordering::Release);
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
            && let Err(error) = self.quota.send(data.len())
        {
            self.progress.over_quota.store(true, Ordering::Release);
            return Poll::Ready(Some(Err(error)));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The end of a response's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyEnd {
    /// A length, or a last chunk.
    Marked,
    /// The end of the connection.
    Close,
}

impl BodyEnd {
    /// The end of the body of a response with these headers (RFC 9112, 6.3).
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let is_marked = headers.contains_key(CONTENT_LENGTH) || headers.contains_key(TRANSFER_ENCODING);
        if is_marked { Self::Marked } else { Self::Close }
    }
}

/// The body of a response, with its connection. Dropping it before its end closes the connection.
pub(super) struct ResponseBody {
    body: Incoming,
    end: BodyEnd,
    permit: RequestPermit,
    /// The maximum time without data from the server.
    read_timeout: Duration,
    /// Runs while the guest waits.
    timer: Option<Pin<Box<Sleep>>>,
    source: Option<ResponseSource>,
}

/// The connection of a response.
pub(super) struct ResponseSource {
    pub(super) connection: Connection,
    pub(super) origin: HttpOrigin,
    /// The pool that keeps the connection when both bodies have ended. `None` closes it.
    pub(super) pool: Option<Arc<ConnectionPool>>,
    pub(super) upload: Arc<UploadProgress>,
}

impl ResponseBody {
    pub(super) fn new(
        body: Incoming,
        end: BodyEnd,
        permit: RequestPermit,
        read_timeout: Duration,
        source: ResponseSource,
    ) -> Self {
        let mut response = Self { body, end, permit, read_timeout, timer: None, source: Some(source) };
        if response.body.is_end_stream() {
            response.keep_connection();
        }
        response
    }

    /// The response has ended. If the request has ended too, its connection can be reused.
    fn keep_connection(&mut self) {
        if let Some(ResponseSource { connection, origin, pool: Some(pool), upload }) = self.source.take()
            && upload.has_ended()
        {
            pool.put(&origin, connection);
        }
    }

    fn fail(&mut self, error: Error) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        self.source = None;
        Poll::Ready(Some(Err(error)))
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        // A guest that knows the length doesn't read the end.
        if self.body.is_end_stream() {
            self.keep_connection();
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                self.timer = None;
                let quota = self.permit.quota();
                let fits = |trailers| buffered::undelivered_trailers(quota.undelivered(), trailers);
                if !frame.trailers_ref().is_none_or(fits) {
                    return self.fail(Error::HttpResponseTrailerSectionSize(None));
                }
                let length = frame.data_ref().map_or(0, Bytes::len);
                match quota.receive(length) {
                    Ok(()) => Poll::Ready(Some(Ok(frame))),
                    Err(error) => self.fail(error),
                }
            }
            // Many servers close the connection without ending TLS. Like browsers, accept that as the end of a body
            // that nothing else ends.
            Poll::Ready(Some(Err(error))) if self.end == BodyEnd::Close && failure::is_eof(&error) => {
                self.source = None;
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(error))) => {
                let error = failure::of_response(&error);
                self.fail(error)
            }
            Poll::Ready(None) => {
                self.keep_connection();
                Poll::Ready(None)
            }
            Poll::Pending => {
                let read_timeout = self.read_timeout;
                let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(read_timeout)));
                match timer.as_mut().poll(context) {
                    Poll::Ready(()) => self.fail(Error::ConnectionReadTimeout),
                    Poll::Pending => Poll::Pending,
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
