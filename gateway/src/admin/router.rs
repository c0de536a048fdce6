//! Handles requests to the admin listener. The checks run in this order: host and origin, credentials, path, method,
//! content type and size.
//!
//! Health probes need no credentials, but without them the answers contain nothing but the state.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST, ORIGIN, VARY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, request};
use axum::response::Response;
use moongate_config::{AdminConfig, Secret, WebOrigin};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};

use crate::admin::AdminContext;
use crate::admin::authentication::{AdminAuthenticator, peer};
use crate::admin::health::{Readiness, ReadinessDetail};
use crate::admin::rejection::AdminRejection;
use crate::admin::report::{self, ProcessInfo};
use crate::metrics::MetricsFormat;
use crate::supervisor::control::{ReloadCause, ReloadResult, SupervisorStopped};
use crate::transport::http::accept::{MediaRange, media_ranges};
use crate::transport::http::body;
use crate::transport::http::connections::ConnectionHandle;
use crate::transport::http::origin::OriginPolicy;
use crate::transport::http::rejection::Rejection;

/// The maximum size of a body, in bytes.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// The maximum number of requests waiting for a reload: far below the number of connections.
pub(super) const MAX_WAITING_RELOADS: usize = 16;

const TEXT_MEDIA_TYPE: &str = "text/plain; charset=utf-8";
const JSON_MEDIA_TYPE: &str = "application/json";

/// A path of the admin listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdminRoute {
    /// Liveness of the process.
    Livez,
    /// Readiness of the gateway.
    Readyz,
    /// Metrics.
    Metrics,
    /// The status, as JSON.
    Status,
    /// Re-reads the configuration and all plugins.
    Reload,
}

impl AdminRoute {
    /// All paths, including aliases.
    const ALL: [(&'static str, Self); 6] = [
        ("/livez", Self::Livez),
        ("/healthz", Self::Livez),
        ("/readyz", Self::Readyz),
        ("/metrics", Self::Metrics),
        ("/status.json", Self::Status),
        ("/reload", Self::Reload),
    ];

    /// The list of paths, for error messages.
    pub(super) fn list() -> String {
        Self::ALL.map(|(path, route)| format!("{} {path}", route.method())).join(", ")
    }

    fn from_path(path: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == path).map(|(_, route)| *route)
    }

    /// The path.
    #[must_use]
    pub fn path(self) -> &'static str {
        Self::ALL.iter().find(|(_, route)| *route == self).expect("each route has a path").0
    }

    fn method(self) -> &'static str {
        match self {
            Self::Livez | Self::Readyz | Self::Metrics | Self::Status => "GET",
            Self::Reload => "POST",
        }
    }

    /// The supported methods, as in `Allow`.
    fn methods(self) -> &'static str {
        match self {
            Self::Livez | Self::Readyz | Self::Metrics | Self::Status => "GET, HEAD",
            Self::Reload => "POST",
        }
    }

    /// True if it needs no credentials.
    fn is_probe(self) -> bool {
        match self {
            Self::Livez | Self::Readyz => true,
            Self::Metrics | Self::Status | Self::Reload => false,
        }
    }

    fn supports(self, method: &Method) -> bool {
        self.methods().split(", ").any(|supported| supported == method.as_str())
    }
}

/// The state of the admin listener.
#[derive(Debug)]
pub(super) struct AdminRouter {
    origins: OriginPolicy,
    scheme: &'static str,
    authenticator: AdminAuthenticator,
    process: ProcessInfo,
    admin: OnceLock<AdminContext>,
    reloading: Semaphore,
}

impl AdminRouter {
    pub(super) fn new(address: SocketAddr, config: &AdminConfig) -> Self {
        Self {
            origins: OriginPolicy::new(address, &config.allowed_hosts, &[]),
            scheme: config.scheme(),
            authenticator: AdminAuthenticator::new(config),
            process: ProcessInfo::current(),
            admin: OnceLock::new(),
            reloading: Semaphore::new(MAX_WAITING_RELOADS),
        }
    }

    pub(super) fn open(&self, admin: AdminContext) {
        // A gateway starts only once.
        let _ = self.admin.set(admin);
    }

    /// Replaces the token whenever it changes.
    pub(super) async fn follow_token(&self, newest: watch::Receiver<Option<Secret>>) {
        self.authenticator.follow(newest).await;
    }

    /// Checks the credentials, and returns the details that the answer to a probe can have.
    async fn authenticate(
        &self,
        head: &request::Parts,
        route: Option<AdminRoute>,
    ) -> Result<ReadinessDetail, Rejection> {
        match self.authenticator.authenticate(head).await {
            Ok(caller) => {
                if let Some(handle) = head.extensions.get::<ConnectionHandle>() {
                    handle.authenticate(&caller)?;
                }
                Ok(ReadinessDetail::of(head.uri.query().unwrap_or_default()))
            }
            Err(Rejection::MissingToken | Rejection::MissingCertificate)
                if route.is_some_and(AdminRoute::is_probe) =>
            {
                Ok(ReadinessDetail::None)
            }
            Err(rejection) => {
                self.record_refusal(head, rejection);
                Err(rejection)
            }
        }
    }

    /// Records a request from a peer that may not send it.
    fn record_refusal(&self, head: &request::Parts, rejection: Rejection) {
        if let Some(admin) = self.admin.get() {
            (admin.peer_refused)(peer(head), rejection.reason());
        }
    }

    async fn answer(&self, head: &request::Parts, body: Body) -> Result<Response, AdminRejection> {
        let from_page = || !is_same_origin(self.scheme, &head.headers);
        let checked = self.origins.check(head);
        if let Err(rejection) =
            checked.and_then(|()| if from_page() { Err(Rejection::Origin) } else { Ok(()) })
        {
            self.record_refusal(head, rejection);
            return Err(rejection.into());
        }
        let route = AdminRoute::from_path(head.uri.path());
        let detail = self.authenticate(head, route).await?;
        let route = route.ok_or(Rejection::Path)?;
        if !route.supports(&head.method) {
            return Err(Rejection::Method(route.methods()).into());
        }
        match route {
            AdminRoute::Livez => Ok(respond(StatusCode::OK, TEXT_MEDIA_TYPE, "alive\n".to_owned())),
            AdminRoute::Readyz => Ok(self.ready(detail)),
            AdminRoute::Metrics => {
                let format = metrics_format(&head.headers);
                let metrics = (self.opened()?.metrics)(format);
                let mut response = respond(StatusCode::OK, format.content_type(), metrics);
                response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
                Ok(response)
            }
            AdminRoute::Status => {
                let admin = self.opened()?;
                let status = (admin.status)();
                let ready = Readiness::of(Some(admin)).is_ready();
                Ok(document(&report::document(&status, (admin.store)().as_ref(), &self.process, ready)))
            }
            AdminRoute::Reload => self.reload(head, body).await,
        }
    }

    fn opened(&self) -> Result<&AdminContext, AdminRejection> {
        self.admin.get().ok_or(AdminRejection::Starting)
    }

    fn ready(&self, detail: ReadinessDetail) -> Response {
        let readiness = Readiness::of(self.admin.get());
        let status = if readiness.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        respond(status, TEXT_MEDIA_TYPE, readiness.text(detail))
    }

    async fn reload(&self, head: &request::Parts, body: Body) -> Result<Response, AdminRejection> {
        body::check_type(&head.headers)?;
        let body = body::read(&head.headers, body, MAX_BODY_BYTES).await?;
        check_options(&body)?;
        let admin = self.opened()?;
        // A reload can take long, so its connection counts as busy.
        let _active = head.extensions.get::<ConnectionHandle>().map(ConnectionHandle::begin_request);
        // Each waiting request occupies a connection, and monitors need some too.
        let _permit = self.reloading.try_acquire().map_err(|_| AdminRejection::Busy)?;
        let reloaded = tokio::select! {
            biased;
            reloaded = admin.reloader.reload(ReloadCause::Admin) => reloaded,
            () = admin.draining.cancelled() => Err(SupervisorStopped),
        };
        let ReloadResult { changed, failed, needs_restart } =
            reloaded.map_err(|SupervisorStopped| AdminRejection::Stopping)?;
        Ok(document(&json!({ "changed": changed, "failed": failed, "needs_restart": needs_restart })))
    }
}

/// Handles a request.
pub(super) async fn answer(State(router): State<Arc<AdminRouter>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let mut response = router.answer(&head, body).await.unwrap_or_else(|rejection| {
        if let (Some(reason), Some(admin)) = (rejection.reason(), router.admin.get()) {
            (admin.refused)(reason);
        }
        rejection.respond()
    });
    let fields = response.headers_mut();
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    fields.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    );
    response
}

/// True if the request has no origin, or the origin of this listener. Pages from other servers on this machine are
/// blocked.
fn is_same_origin(scheme: &str, headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return true };
    let parse =
        |prefix: &str, value: &HeaderValue| WebOrigin::parse(&format!("{prefix}{}", value.to_str().ok()?));
    let own = headers.get(HOST).and_then(|host| parse(&format!("{scheme}://"), host));
    own.is_some() && parse("", origin) == own
}

/// The format that a scraper prefers, by the qualities in its `Accept` header. Without a preference it is the text
/// format, because a scraper that doesn't name OpenMetrics may not support it.
fn metrics_format(headers: &HeaderMap) -> MetricsFormat {
    let best = |types: &[&str], version: &str| {
        let is_offered = |range: &MediaRange<'_>| {
            range.is(types) && range.parameter("version").is_none_or(|asked| asked == version)
        };
        media_ranges(headers).filter(is_offered).map(|range| range.quality()).fold(0.0, f32::max)
    };
    let open_metrics = best(&["application/openmetrics-text"], "1.0.0");
    if open_metrics > 0.0 && open_metrics >= best(&["text/plain", "text/*", "*/*"], "0.0.4") {
        MetricsFormat::OpenMetrics
    } else {
        MetricsFormat::PrometheusText
    }
}

/// The body must be a JSON object. There are no options yet.
fn check_options(body: &[u8]) -> Result<(), AdminRejection> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(members)) => match members.keys().next() {
            None => Ok(()),
            Some(unknown) => Err(AdminRejection::Body(format!("unknown key `{unknown}`; send `{{}}`"))),
        },
        Ok(_) | Err(_) => Err(AdminRejection::Body("the body must be a JSON object; send `{}`".to_owned())),
    }
}

fn document(document: &Value) -> Response {
    respond(StatusCode::OK, JSON_MEDIA_TYPE, format!("{document}\n"))
}

pub(super) fn respond(status: StatusCode, content_type: &'static str, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
