//! The admin listener's lifetime: it responds from before anything is loaded until everything else has ended.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use moongate_config::AdminConfig;
use moongate_model::caller::Caller;
use moongate_otlp::OtlpExporter;
use moongate_protocol::dispatch::{NetworkTransport, Observer};
use moongate_protocol::limiter::ConcurrencyLimiter;
use moongate_protocol::server::{LineReply, RequestBodyMemory, Server, StdioConnection};
use moongate_protocol::unread_responses::CountedMessage;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::admin::{AdminContext, AdminError, GatewaySnapshot, StartupHandle};
use crate::audit::{Auditor, ObserverSet};
use crate::call_history::CallHistory;
use crate::metrics::{Metrics, MetricsFormat, MetricsSnapshot};
use crate::replicas::{Replica, Replicas};
use crate::supervisor::Supervisor;
use crate::supervisor::control::AdminCredentials;
use crate::supervisor::status::SupervisorStatus;
use crate::transport::http::listener::ListenerPurpose;
use moongate_host::WasmHost;
use moongate_store::SharedStore;

/// The time limit for answers in progress at shutdown.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_secs(2);

/// The running listener.
#[derive(Debug)]
pub(super) struct AdminListener {
    address: SocketAddr,
    opener: StartupHandle,
    stop: CancellationToken,
    task: AbortOnDropHandle<()>,
}

/// The sources of the metrics.
struct MetricsSources {
    host: Arc<WasmHost>,
    limiter: Arc<ConcurrencyLimiter>,
    status: watch::Receiver<Arc<SupervisorStatus>>,
    server: Arc<Server>,
    metrics: Arc<Metrics>,
    audit: Option<Arc<Auditor>>,
    otlp: Option<Arc<OtlpExporter>>,
    store: Option<SharedStore>,
}

/// The observers of calls and requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallObservers<'a> {
    pub(super) metrics: &'a Arc<Metrics>,
    pub(super) history: Option<&'a Arc<CallHistory>>,
    pub(super) audit: Option<&'a Arc<Auditor>>,
    pub(super) otlp: Option<&'a Arc<OtlpExporter>>,
}

/// The sources of the status page.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageSources<'a> {
    pub(super) supervisor: &'a Supervisor,
    pub(super) server: &'a Arc<Server>,
    pub(super) history: &'a Arc<CallHistory>,
    pub(super) replicas: Option<&'a Arc<Replicas>>,
}

impl CallObservers<'_> {
    /// All of them as one.
    pub(super) fn all(self) -> Arc<dyn Observer> {
        let Self { metrics, history, audit, otlp } = self;
        let audit = audit.map(|audit| Arc::<Auditor>::clone(audit) as Arc<dyn Observer>);
        let history = history.map(|history| Arc::<CallHistory>::clone(history) as Arc<dyn Observer>);
        let otlp = otlp.map(|otlp| Arc::<OtlpExporter>::clone(otlp) as Arc<dyn Observer>);
        let metrics = Arc::<Metrics>::clone(metrics) as Arc<dyn Observer>;
        ObserverSet::new(audit.into_iter().chain([metrics]).chain(history).chain(otlp).collect())
    }
}

impl AdminListener {
    /// Binds `address` and reports that the gateway is starting.
    ///
    /// # Errors
    /// The address can't be bound, or other machines could reach it without credentials.
    pub(super) async fn start(
        address: SocketAddr,
        config: &AdminConfig,
        credentials: &AdminCredentials,
    ) -> Result<Self, AdminError> {
        let bound = AdminContext::bind(address, config, credentials).await?;
        let address = bound.address();
        let opener = bound.startup_handle();
        let stop = CancellationToken::new();
        let task = AbortOnDropHandle::new(tokio::spawn(bound.serve(stop.clone())));
        Ok(Self { address, opener, stop, task })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Reports the status from now on. The gateway is ready when every plugin has been loaded or has failed, until
    /// `draining` is cancelled. `is_open` means that the HTTP endpoint needs no credentials.
    pub(super) fn open(
        &self,
        sources: PageSources<'_>,
        observers: CallObservers<'_>,
        is_open: bool,
        draining: &CancellationToken,
    ) {
        let CallObservers { metrics, history: _, audit, otlp } = observers;
        let PageSources { supervisor, server, history, replicas } = sources;
        let metrics_sources = MetricsSources {
            host: Arc::clone(supervisor.host()),
            limiter: Arc::clone(supervisor.limiter()),
            status: supervisor.status(),
            server: Arc::clone(server),
            metrics: Arc::clone(metrics),
            audit: audit.cloned(),
            otlp: otlp.cloned(),
            store: supervisor.shared_store().cloned(),
        };
        let store = supervisor.shared_store().cloned();
        let auditor = audit.cloned();
        let refusals = Arc::clone(metrics);
        let calls = Arc::clone(history);
        let (endpoint, memory_source) = (Arc::clone(server), Arc::clone(server));
        let (tokens, open_catalog) = (supervisor.tokens(), supervisor.catalog());
        self.opener.set_started(AdminContext {
            status: Box::new(supervisor.status_reader()),
            snapshot: Box::new(snapshot_reader(sources)),
            catalog: supervisor.catalog(),
            request_memory: Box::new(move |address| memory_source.body_memory(&Caller::Operator(address))),
            call: Box::new(move |address, request, memory| {
                Box::pin(operator_call(Arc::clone(&endpoint), address, request, memory))
            }),
            unread: Arc::clone(server.unread_responses()),
            is_endpoint_open: Box::new(move || {
                is_open && tokens.borrow().is_empty() && open_catalog.borrow().roles().is_none()
            }),
            calls_after: Box::new(move |number| calls.calls_after(number)),
            reloader: supervisor.reloader(),
            store: Box::new(move || store.as_ref().map(SharedStore::status)),
            replicas: Box::new(replicas_reader(replicas)),
            metrics: Box::new(move |format| metrics_sources.render(format)),
            refused: Box::new(move |reason| {
                refusals.request_refused(ListenerPurpose::Admin.as_str(), reason);
            }),
            peer_refused: Box::new(move |address, reason| {
                if let Some(auditor) = &auditor {
                    auditor.admin_refused(address, reason);
                }
            }),
            loaded: supervisor.startup_stages().loaded.clone(),
            draining: draining.clone(),
        });
    }

    /// Ends the listener once answers in progress are sent.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        if timeout(LAST_ANSWERS_TIMEOUT, self.task).await.is_err() {
            tracing::debug!("the admin listener was aborted, because it was still sending responses");
        }
    }
}

/// Sends a request of an operator. Its connection ends with it, which cancels the request if the client disconnects.
async fn operator_call(
    server: Arc<Server>,
    address: IpAddr,
    request: Vec<u8>,
    memory: RequestBodyMemory,
) -> Option<CountedMessage> {
    let connection = StdioConnection::with_transport(Caller::Operator(address), NetworkTransport::Http);
    let _cancels = OperatorConnection(Arc::clone(&connection));
    let reply = server.counted_line(&connection, &request, memory);
    drop(request);
    match reply {
        LineReply::None => None,
        LineReply::Ready(message) => Some(message),
        LineReply::Pending(pending) => pending.await,
        LineReply::Stream(mut messages) => {
            let mut last = None;
            while let Some(message) = messages.next().await {
                last = Some(message.into_message());
            }
            last
        }
    }
}

/// Cancels the requests of a connection when dropped.
struct OperatorConnection(Arc<StdioConnection>);

impl Drop for OperatorConnection {
    fn drop(&mut self) {
        self.0.cancel_all();
    }
}

/// Reads what the status page shows.
fn snapshot_reader(sources: PageSources<'_>) -> impl Fn() -> GatewaySnapshot + Send + Sync + 'static {
    let PageSources { supervisor, server, history, replicas } = sources;
    let replicas = replicas_reader(replicas);
    let (status, catalog) = (supervisor.status_reader(), supervisor.catalog());
    let (limiter, server) = (Arc::clone(supervisor.limiter()), Arc::clone(server));
    let history = Arc::clone(history);
    move || {
        let catalog = Arc::clone(&catalog.borrow());
        let access = catalog.plugins().iter();
        let access = access.map(|serving| (serving.id().clone(), serving.plugin().access_history()));
        GatewaySnapshot {
            status: status(),
            loads: limiter.loads().into_iter().collect(),
            clients: server.gauges(),
            calls: history.read(),
            access: access.collect(),
            replicas: replicas(),
        }
    }
}

/// Reads the gateways that share the store.
fn replicas_reader(
    replicas: Option<&Arc<Replicas>>,
) -> impl Fn() -> Option<Vec<Replica>> + Send + Sync + 'static {
    let replicas = replicas.cloned();
    move || replicas.as_ref().map(|replicas| replicas.known())
}

impl MetricsSources {
    fn render(&self, format: MetricsFormat) -> String {
        let status = Arc::clone(&self.status.borrow());
        let snapshot = MetricsSnapshot {
            status: &status,
            gauges: self.host.gauges(),
            generations: self.host.generations(),
            idle: self.host.idle_instances(),
            requests: self.host.http_requests(),
            loads: self.limiter.loads(),
            clients: self.server.gauges(),
            audit: self.audit.as_ref().map(|audit| audit.status()),
            exports: self.otlp.as_ref().map(|otlp| otlp.counts()),
            store: self.store.as_ref().map(SharedStore::status),
        };
        self.metrics.render(&snapshot, format)
    }
}
