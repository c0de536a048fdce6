//! Streams of changes (`subscriptions/listen`), on any transport.
//!
//! A stream is a request that isn't answered until the gateway ends it; what it says goes the way of notifications
//! during a call. It asks no plugin anything and takes no permit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::jsonrpc::Id;
use crate::mcp::envelope::Envelope;
use crate::mcp::{Answer, Aside, Begun, Params, ProtocolError};
use crate::names::Principal;

use super::Server;
use super::talk::Work;

/// How many streams one principal may have open.
const MOST: usize = 64;

/// How a stream ends before the gateway stops.
#[derive(Debug)]
pub(super) struct Ends {
    /// The client has cancelled it: nothing more is said.
    pub(super) gone: CancellationToken,
    /// It is to end with its result.
    pub(super) over: CancellationToken,
}

/// How many streams are open, for each principal.
#[derive(Debug, Default)]
pub(super) struct Listens(Arc<Mutex<HashMap<Principal, usize>>>);

/// One open stream; it counts until this is dropped.
#[derive(Debug)]
struct Open {
    all: Arc<Mutex<HashMap<Principal, usize>>>,
    principal: Principal,
}

impl Listens {
    /// Counts one more, unless there are too many.
    fn open(&self, principal: &Principal) -> Option<Open> {
        let mut all = lock(&self.0);
        let count = all.get(principal).copied().unwrap_or(0);
        if count >= MOST {
            return None;
        }
        all.insert(principal.clone(), count + 1);
        Some(Open { all: Arc::clone(&self.0), principal: principal.clone() })
    }

    /// How many are open in all.
    pub(super) fn count(&self) -> usize {
        lock(&self.0).values().sum()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut all = lock(&self.all);
        if let Some(count) = all.get_mut(&self.principal) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.principal);
            }
        }
    }
}

fn lock(all: &Mutex<HashMap<Principal, usize>>) -> MutexGuard<'_, HashMap<Principal, usize>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// Opens a stream. Its first message is there at once.
    pub(super) fn listen(
        &self,
        envelope: &Envelope,
        id: &Id,
        params: &Params,
        principal: &Principal,
        ends: Ends,
    ) -> Result<Work, ProtocolError> {
        let open = self.listens.open(principal).ok_or_else(|| {
            ProtocolError::internal(format!("{MOST} streams of changes are open already: end one first"))
        })?;
        let listening = self.protocol.listen(&self.updates, envelope.revision, principal, id, params)?;
        // Room for one message: what the client hasn't read yet stays unsaid, and is said as it is then.
        let (says, asides) = mpsc::channel(1);
        let stop = self.stop.clone();
        let answer = async move {
            let _open = open;
            let Ends { gone, over } = ends;
            let mut message = listening.acknowledgement.clone();
            loop {
                if says.send(Aside::Notification(message)).await.is_err() {
                    break; // nobody is there any more
                }
                message = tokio::select! {
                    biased;
                    () = gone.cancelled() => break,
                    () = over.cancelled() => break,
                    () = stop.cancelled() => break,
                    message = listening.next() => message,
                };
            }
            Answer::Result(listening.result)
        };
        Ok(Work { begun: Begun::Later(Box::pin(answer)), asides: Some(asides) })
    }
}
