//! Requests of plugins: `wasi:http/outgoing-handler` with a sender of our own.
//!
//! Each request is [checked](check) against the grants as a whole, its host is resolved once, addresses that aren't
//! public are dropped unless a grant holds them, and it goes to exactly what was checked. Redirects come back to the
//! guest, whose next request is checked anew. There are no proxies, no cookies and no decompression. Connections are
//! kept for later calls of the same plugin under the same table, and for nobody else.
//!
//! [`Outlet`] is what all plugins share, [`Sender`] belongs to one plugin under one table, [`Outgoing`] to one call.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use http::{HeaderName, Request, Response};
use moongate_core::config::{HttpOrigin, PluginConfig, Reserved};
use moongate_core::names::PluginId;
use tokio::sync::Semaphore;
use tokio_rustls::rustls::ClientConfig;
use wasmtime::component::ResourceTable;
use wasmtime_wasi_http::{Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpHooks};

use crate::host::diagnostics::log_once::Once;
use crate::host::wasi::grant_audit::Uses;

mod body;
mod budget;
mod check;
mod connect;
mod failure;
mod buffered;
pub(in crate::host) mod linker;
mod self_addresses;
mod pool;
mod informational;
mod resolve;
mod send;
mod counters;
mod secret_in_path;
mod tls;
mod undelivered;

use budget::Budget;
use buffered::Held;
use counters::{Tallies, Tally};
use pool::Pool;
use resolve::{Resolver, System};
use self_addresses::Own;
use tls::Roots;

pub use counters::Requests;
pub use tls::CaError;

/// The most that the headers of one request may take: names, values, and what keeping them costs, in bytes.
pub(in crate::host) const FIELDS: usize = 32 << 10;

/// How much a guest may write at once to a request's body, in bytes. Two such pieces wait for the network.
const CHUNK: usize = 16 << 10;

/// How plugins' requests leave the gateway.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where the gateway itself listens: no request of a plugin goes there, whatever is granted.
    pub own: Vec<SocketAddr>,
    /// A file with certificates of authorities to trust beside those of the machine, in PEM.
    pub ca_file: Option<PathBuf>,
}

/// What all plugins' requests share.
pub(in crate::host) struct Outlet {
    resolver: Arc<dyn Resolver>,
    own: Own,
    roots: Roots,
    tallies: Tallies,
}

impl Outlet {
    /// # Errors
    /// The file of authorities can't be used.
    pub(in crate::host) fn new(options: Options) -> Result<Arc<Self>, CaError> {
        Self::resolving(options, Arc::new(System))
    }

    /// What became of the requests of each plugin.
    pub(in crate::host) fn requests(&self) -> BTreeMap<PluginId, Requests> {
        self.tallies.all()
    }

    fn resolving(options: Options, resolver: Arc<dyn Resolver>) -> Result<Arc<Self>, CaError> {
        let Options { own, ca_file } = options;
        let roots = Roots::new(ca_file.as_deref())?;
        Ok(Arc::new(Self { resolver, own: Own::new(own), roots, tallies: Tallies::default() }))
    }
}

/// Sends the requests of one plugin under one table, and keeps its connections.
pub(in crate::host) struct Sender {
    outlet: Arc<Outlet>,
    config: Arc<PluginConfig>,
    pool: Arc<Pool>,
    lookups: Arc<Semaphore>,
    tls: OnceLock<Arc<ClientConfig>>,
    /// Whose certificates the operator was told of.
    told: Once<HttpOrigin>,
    tally: Arc<Tally>,
}

impl Sender {
    pub(in crate::host) fn new(outlet: Arc<Outlet>, config: Arc<PluginConfig>) -> Arc<Self> {
        let (pool, tls, told) = (Arc::default(), OnceLock::new(), Once::default());
        let lookups = Arc::new(Semaphore::new(resolve::AT_ONCE));
        let tally = outlet.tallies.of(&config.id);
        Arc::new(Self { outlet, config, pool, lookups, tls, told, tally })
    }

    /// The same under another table: no connection goes with it.
    pub(in crate::host) fn under(&self, config: Arc<PluginConfig>) -> Arc<Self> {
        Self::new(Arc::clone(&self.outlet), config)
    }
}

/// One call's requests.
pub(in crate::host) struct Outgoing {
    sender: Arc<Sender>,
    budget: Arc<Budget>,
    held: Held,
    uses: Uses,
}

impl Outgoing {
    pub(in crate::host) fn new(sender: Arc<Sender>, uses: Uses) -> Self {
        let budget = Budget::new(&sender.config.limits, uses.clone());
        Self { sender, budget, held: Held::default(), uses }
    }

    /// Something of a request or an answer is about to be kept in the table.
    ///
    /// # Errors
    /// With all that is kept there already it is too much.
    pub(in crate::host) fn holds(&mut self, table: &mut ResourceTable, bytes: usize) -> wasmtime::Result<()> {
        self.held.more(table, bytes, self.budget.unfetched().bytes())
    }

    /// So much that followed the bodies of answers was fetched.
    pub(in crate::host) fn fetched_trailers(&self, bytes: usize) {
        self.budget.unfetched().fetched(bytes);
    }

    /// Lets go of the call that made them. None runs any more.
    pub(in crate::host) fn rest(&mut self) {
        self.uses = self.uses.of_nobody();
        self.budget = Budget::new(&self.sender.config.limits, self.uses.clone());
    }
}

/// How a request fares, as the bindings want it: the answer, and what is left to do beside it, which is nothing.
type Answering = Box<dyn Future<Output = Result<(Response<WasiBody>, Beside), Error>> + Send>;
type Beside = Box<dyn Future<Output = Result<(), Error>> + Send>;

impl WasiHttpHooks for Outgoing {
    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(is_hidden)
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Beside,
    ) -> Answering {
        // Counted here and not in the task, so that a guest can't have more begun than it may.
        let (begun, fate) = (self.budget.begin(), self.sender.tally.begin());
        let (sender, uses) = (Arc::clone(&self.sender), self.uses.clone());
        Box::new(async move {
            let answer = match begun {
                Ok(ticket) => sender.send(request, options.unwrap_or_default(), ticket, &uses).await,
                Err(refused) => Err(refused),
            };
            fate.ends(&answer);
            Ok((answer?, Box::new(async { Ok(()) }) as Beside))
        })
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        CHUNK
    }
}

/// Headers of answers that no plugin sees: those that hold for the connection alone, which isn't the plugin's.
fn is_hidden(name: &HeaderName) -> bool {
    Reserved::of(name.as_str()) == Some(Reserved::Framing)
}

#[cfg(test)]
mod tests;
