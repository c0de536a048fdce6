//! Who is told of each request: what was asked, in which revision, what came of it, how long it took.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::jsonrpc::{Id, Request};
use crate::mcp::{Answer, Begun, Later, Method, Params, ProtocolError, Revision};
use crate::names::{Principal, PublicName};

use super::talk::Work;
use super::{Server, response};

/// Is told of each request once: when its answer is there, or when nobody waits for it any more.
///
/// It stands in the way of every answer, so it returns at once.
pub trait Observer: fmt::Debug + Send + Sync {
    /// A request was answered, or cancelled.
    fn answered(&self, request: &Answered<'_>);
}

/// One request.
#[derive(Debug, Clone, Copy)]
pub struct Answered<'a> {
    /// What was asked; none: no method of any revision.
    pub method: Option<Method>,
    /// The tool that was to be called; none where that isn't one of the catalog.
    pub tool: Option<&'a PublicName>,
    /// The revision spoken, where that was found out.
    pub revision: Option<Revision>,
    /// How it came.
    pub carrier: Carrier,
    /// What went wrong, as [`Answer::error_kind`] says it; none: nothing did.
    pub error: Option<&'static str>,
    /// How long it took from when it was read. The wait for a permit and for a person's answers is part of it.
    pub took: Duration,
}

/// How messages come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Carrier {
    /// Through a pair of pipes.
    Pipe,
    /// Through a TCP connection.
    Tcp,
}

impl Carrier {
    /// OpenTelemetry's word for it (`network.transport`).
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::Tcp => "tcp",
        }
    }
}

/// A request on its way. Where it is dropped before its answer is there, it was cancelled.
#[derive(Debug)]
pub(super) struct Watched {
    /// None once it was told, and where nobody wants to know.
    observer: Option<Arc<dyn Observer>>,
    method: Option<Method>,
    tool: Option<PublicName>,
    revision: Option<Revision>,
    carrier: Carrier,
    began: Instant,
}

impl Server {
    /// A request was read.
    pub(super) fn watch(&self, request: &Request<'_>, carrier: Carrier) -> Watched {
        let observer = self.observer.clone();
        let named = |method: &Method| method.as_str() == request.method;
        let method = observer.as_ref().and_then(|_| Method::ALL.into_iter().find(named));
        Watched { observer, method, tool: None, revision: None, carrier, began: Instant::now() }
    }

    /// Its parameters were read.
    pub(super) fn look(&self, watched: &mut Watched, principal: &Principal, params: &Params) {
        if watched.observer.is_some() && watched.method == Some(Method::CallTool) {
            watched.tool = self.protocol.named_tool(principal, params);
        }
    }
}

impl Watched {
    /// The revision is known.
    pub(super) fn speaks(&mut self, revision: Revision) {
        self.revision = Some(revision);
    }

    /// It was begun: watches it until its answer is there.
    pub(super) fn until(mut self, work: Result<Work, ProtocolError>) -> Result<Work, ProtocolError> {
        if self.observer.is_none() {
            return work;
        }
        let Work { begun, asides } = work.inspect_err(|error| self.refused(error))?;
        let begun = match begun {
            Begun::Now(answer) => {
                self.tell(answer.error_kind());
                Begun::Now(answer)
            }
            Begun::Later(later) => Begun::Later(self.later(later)),
        };
        Ok(Work { begun, asides })
    }

    fn later(mut self, later: Later) -> Later {
        Box::pin(async move {
            let answer = later.await;
            self.tell(answer.error_kind());
            answer
        })
    }

    /// Its response, which is there at once.
    pub(super) fn response(mut self, id: &Id, answer: &Answer) -> Vec<u8> {
        self.tell(answer.error_kind());
        response(id, answer)
    }

    fn refused(&mut self, error: &ProtocolError) {
        self.tell(Some(error.kind()));
    }

    fn tell(&mut self, error: Option<&'static str>) {
        let Some(observer) = self.observer.take() else { return };
        let &mut Self { observer: _, method, ref tool, revision, carrier, began } = self;
        let (tool, took) = (tool.as_ref(), began.elapsed());
        observer.answered(&Answered { method, tool, revision, carrier, error, took });
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let error = if std::thread::panicking() {
            ProtocolError::internal("a panic")
        } else if self.method == Some(Method::Listen) {
            return self.tell(None); // to go away is how a client ends a stream of changes
        } else {
            ProtocolError::cancelled()
        };
        self.refused(&error);
    }
}
