//! Bodies on their way, counted: a request's [`Upload`] and the answer's [`Download`].

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use moongate_core::config::HttpOrigin;
use tokio::time::{Sleep, sleep};
use wasmtime_wasi_http::{Error, WasiBody};

use super::budget::{Budget, Ticket};
use super::failure;
use super::pool::{Connection, Pool};

/// How a request's body fares, for whoever waits for the answer.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// It was sent, or nobody wants it any more.
    over: AtomicBool,
    /// It was more than the call may send.
    too_much: AtomicBool,
}

impl Progress {
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    pub(super) fn was_too_much(&self) -> bool {
        self.too_much.load(Ordering::Acquire)
    }
}

/// The body of a request.
pub(super) struct Upload {
    body: WasiBody,
    budget: Arc<Budget>,
    progress: Arc<Progress>,
}

impl Upload {
    pub(super) fn new(body: WasiBody, budget: Arc<Budget>) -> Self {
        Self { body, budget, progress: Arc::default() }
    }

    pub(super) fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.progress.over.store(true, Ordering::Release);
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
            && let Err(error) = self.budget.sends(data.len())
        {
            self.progress.too_much.store(true, Ordering::Release);
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

/// The body of an answer, with the connection that it comes from. Dropping it before its end closes the connection.
pub(super) struct Download {
    body: Incoming,
    ticket: Ticket,
    /// How long it may take until something comes.
    patience: Duration,
    /// Runs while the guest waits.
    waiting: Option<Pin<Box<Sleep>>>,
    source: Option<Source>,
}

/// Where an answer comes from.
pub(super) struct Source {
    pub(super) connection: Connection,
    pub(super) origin: HttpOrigin,
    /// Where the connection goes when all has ended; none: nowhere.
    pub(super) pool: Option<Arc<Pool>>,
    /// How the request's body fares.
    pub(super) sent: Arc<Progress>,
}

impl Download {
    pub(super) fn new(body: Incoming, ticket: Ticket, patience: Duration, source: Source) -> Self {
        let mut download = Self { body, ticket, patience, waiting: None, source: Some(source) };
        if download.body.is_end_stream() {
            download.keep_connection();
        }
        download
    }

    /// The answer has ended; if the request has too, its connection may be used again.
    fn keep_connection(&mut self) {
        if let Some(Source { connection, origin, pool: Some(pool), sent }) = self.source.take()
            && sent.is_over()
        {
            pool.put(&origin, connection);
        }
    }

    fn fail(&mut self, error: Error) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        self.source = None;
        Poll::Ready(Some(Err(error)))
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        // A guest that knows the length needn't read on to find that there is no more.
        if self.body.is_end_stream() {
            self.keep_connection();
        }
    }
}

impl Body for Download {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                self.waiting = None;
                let budget = self.ticket.budget();
                if frame.trailers_ref().is_some_and(|trailers| !budget.unfetched().trailers(trailers)) {
                    return self.fail(Error::HttpResponseTrailerSectionSize(None));
                }
                let length = frame.data_ref().map_or(0, Bytes::len);
                match budget.receives(length) {
                    Ok(()) => Poll::Ready(Some(Ok(frame))),
                    Err(error) => self.fail(error),
                }
            }
            Poll::Ready(Some(Err(error))) => {
                let error = failure::of_answer(&error);
                self.fail(error)
            }
            Poll::Ready(None) => {
                self.keep_connection();
                Poll::Ready(None)
            }
            Poll::Pending => {
                let patience = self.patience;
                let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(patience)));
                match waiting.as_mut().poll(context) {
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
