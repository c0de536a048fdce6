//! `wasi:http/outgoing-handler`: plugins' requests, sent by our own client.
//!
//! Each request is [checked](check) against the grants as a whole, and its host is resolved once. Non-public addresses
//! are dropped unless a grant contains them, and the request is sent to exactly the addresses that were checked.
//! Redirects are returned to the guest, whose next request is checked again. There are no proxies, no cookies and no
//! decompression. Connections are kept only for later calls of the same plugin under the same configuration.
//!
//! All plugins share [`OutboundHttp`], a [`RequestSender`] belongs to one plugin under one configuration, and an
//! [`HttpState`] to one call.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use http::{HeaderName, Request, Response};
use moongate_config::{HttpOrigin, PluginConfig, ReservedHeader};
use moongate_model::names::PluginId;
use moongate_model::trace_context::{OutgoingRequestObserver, Span};
use tokio::sync::Semaphore;
use tokio_rustls::rustls::ClientConfig;
use wasmtime::component::ResourceTable;
use wasmtime_wasi_http::{
    Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks,
};

use crate::diagnostics::log_once::LogOnce;
use crate::wasi::grant_audit::GrantAudit;

mod body;
mod buffered;
mod check;
mod connect;
mod counters;
mod failure;
mod head_limit;
pub(crate) mod linker;
mod observed_request;
mod pool;
mod quota;
mod self_addresses;
mod send;
mod tls;

use buffered::BufferedBytes;
use connect::{Resolver, SystemResolver};
use counters::{PluginCounters, RequestCounters};
use pool::ConnectionPool;
use quota::HttpQuota;
use self_addresses::SelfAddresses;
use tls::TrustRoots;

pub use counters::RequestCounts;
pub use tls::CaError;

/// The maximum size of one request's headers, in bytes, with names, values and overhead.
const MAX_FIELDS_BYTES: usize = 32 << 10;

/// The number of bytes that a guest can write at once to a request's body. Two such chunks wait for the network.
const BODY_CHUNK_BYTES: usize = 16 << 10;

/// Options of plugins' HTTP requests.
#[derive(Debug, Clone, Default)]
pub struct OutgoingOptions {
    /// The gateway's own listeners. A plugin's request never goes there, regardless of its grants.
    pub own_listeners: Vec<SocketAddr>,
    /// A PEM file with CA certificates to trust in addition to the system's.
    pub ca_file: Option<PathBuf>,
    /// Receives every request that counts towards a plugin's limit. `None` means that requests aren't traced.
    pub observer: Option<Arc<dyn OutgoingRequestObserver>>,
}

/// The parts that all plugins' requests share.
pub(crate) struct OutboundHttp {
    resolver: Arc<dyn Resolver>,
    self_addresses: SelfAddresses,
    trust_roots: TrustRoots,
    counters: PluginCounters,
    observer: Option<Arc<dyn OutgoingRequestObserver>>,
}

impl OutboundHttp {
    /// # Errors
    /// The CA file can't be used.
    pub(crate) fn new(options: OutgoingOptions) -> Result<Arc<Self>, CaError> {
        Self::with_resolver(options, Arc::new(SystemResolver))
    }

    /// The number of requests that each plugin sent.
    pub(crate) fn requests(&self) -> BTreeMap<PluginId, RequestCounts> {
        self.counters.all()
    }

    fn with_resolver(options: OutgoingOptions, resolver: Arc<dyn Resolver>) -> Result<Arc<Self>, CaError> {
        let OutgoingOptions { own_listeners: own, ca_file, observer } = options;
        Ok(Arc::new(Self {
            resolver,
            self_addresses: SelfAddresses::new(own),
            trust_roots: TrustRoots::new(ca_file.as_deref())?,
            counters: PluginCounters::default(),
            observer,
        }))
    }
}

/// Sends one plugin's requests under one configuration, and keeps its connections.
pub(crate) struct RequestSender {
    outbound: Arc<OutboundHttp>,
    config: Arc<PluginConfig>,
    pool: Arc<ConnectionPool>,
    lookups: Arc<Semaphore>,
    tls: OnceLock<Arc<ClientConfig>>,
    /// The servers whose certificates were logged as untrusted.
    logged_untrusted: LogOnce<HttpOrigin>,
    counters: Arc<RequestCounters>,
}

impl RequestSender {
    pub(crate) fn new(outbound: Arc<OutboundHttp>, config: Arc<PluginConfig>) -> Arc<Self> {
        Arc::new(Self {
            pool: Arc::default(),
            lookups: Arc::new(Semaphore::new(connect::MAX_CONCURRENT_LOOKUPS)),
            tls: OnceLock::new(),
            logged_untrusted: LogOnce::default(),
            counters: outbound.counters.of(&config.id),
            outbound,
            config,
        })
    }

    /// A sender for another configuration. It starts without connections.
    pub(crate) fn with_config(&self, config: Arc<PluginConfig>) -> Arc<Self> {
        Self::new(Arc::clone(&self.outbound), config)
    }
}

/// A store's part for requests.
pub(crate) struct HttpState {
    ctx: WasiHttpCtx,
    hooks: CallRequests,
}

/// The requests of one call.
struct CallRequests {
    sender: Arc<RequestSender>,
    quota: Arc<HttpQuota>,
    buffered: BufferedBytes,
    audit: GrantAudit,
    /// The span of the plugin's run.
    run: Option<Span>,
}

impl HttpState {
    pub(crate) fn new(sender: Arc<RequestSender>, audit: GrantAudit, run: Option<Span>) -> Self {
        let mut ctx = WasiHttpCtx::new();
        ctx.set_field_size_limit(MAX_FIELDS_BYTES);
        let quota = HttpQuota::new(&sender.config.limits, audit.clone());
        let buffered = BufferedBytes::new(Arc::clone(quota.undelivered()));
        Self { ctx, hooks: CallRequests { sender, quota, buffered, audit, run } }
    }

    /// The state of an idle instance, whose requests have all ended.
    pub(crate) fn without_call(&self) -> Self {
        Self::new(Arc::clone(&self.hooks.sender), self.hooks.audit.without_call(), None)
    }

    /// The view that `wasi:http` works with.
    pub(crate) fn view<'a>(&'a mut self, table: &'a mut ResourceTable) -> WasiHttpCtxView<'a> {
        WasiHttpCtxView { hooks: &mut self.hooks, table, ctx: &mut self.ctx }
    }
}

/// The future of a response, in the form that the bindings need. Nothing is left to do after it.
type ResponseFuture = Box<dyn Future<Output = Result<(Response<WasiBody>, AfterResponse), Error>> + Send>;
type AfterResponse = Box<dyn Future<Output = Result<(), Error>> + Send>;

impl WasiHttpHooks for CallRequests {
    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(is_hidden)
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: AfterResponse,
    ) -> ResponseFuture {
        // Counted here and not in the task, so that a guest can't exceed its limit on requests.
        let permit = self.quota.start_request();
        let counter = self.sender.counters.start();
        let sender = Arc::clone(&self.sender);
        let audit = self.audit.clone();
        let span = self.run.map(Span::child);
        Box::new(async move {
            let response = match permit {
                Ok(permit) => {
                    sender.send_observed(request, options.unwrap_or_default(), permit, &audit, span).await
                }
                Err(refused) => Err(refused),
            };
            counter.finish(&response);
            Ok((response?, Box::new(async { Ok(()) }) as AfterResponse))
        })
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        BODY_CHUNK_BYTES
    }
}

/// Headers that aren't passed to plugins: those of the connection, which doesn't belong to the plugin.
fn is_hidden(name: &HeaderName) -> bool {
    ReservedHeader::of(name.as_str()) == Some(ReservedHeader::Framing)
}

#[cfg(test)]
mod tests;
