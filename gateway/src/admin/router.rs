//! Handles requests to the admin listener. The checks run in this order: host and origin, credentials, path, method,
//! content type and size.
//!
//! Web pages of other origins are refused. A link to the status page is followed, because reading changes nothing.
//! Health probes need no credentials, but without them the answers contain nothing but the state.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, VARY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, request};
use axum::response::Response;
use moongate_config::{AdminConfig, Secret};
use moongate_system::background;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};

use crate::admin::AdminContext;
use crate::admin::activity::activity;
use crate::admin::authentication::{AdminAuthenticator, peer};
use crate::admin::health::{Readiness, ReadinessDetail};
use crate::admin::page::{self, PageContent, ServingState};
use crate::admin::page_events::{SharedPage, page_events};
use crate::admin::rejection::AdminRejection;
use crate::admin::report::{self, ProcessInfo};
use crate::admin::request_origin::RequestOrigin;
use crate::admin::tool_trial::{MAX_TRIAL_BODY_BYTES, ToolTrials, TrialAccess};
use crate::metrics::MetricsFormat;
use crate::supervisor::control::{ReloadCause, ReloadResult, SupervisorStopped};
use crate::transport::http::accept::{MediaRange, media_ranges};
use crate::transport::http::body::{self, MessageBody};
use crate::transport::http::connections::ConnectionHandle;
use crate::transport::http::origin::OriginPolicy;
use crate::transport::http::rejection::Rejection;

/// The maximum size of a body, in bytes.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// The maximum number of requests waiting for a reload: far below the number of connections.
pub(super) const MAX_WAITING_RELOADS: usize = 16;

/// The maximum number of open pages that are kept up to date: far below the number of connections.
pub(super) const MAX_PAGE_STREAMS: usize = 16;

const TEXT_MEDIA_TYPE: &str = "text/plain; charset=utf-8";
const JSON_MEDIA_TYPE: &str = "application/json";

/// A path of the admin listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdminRoute {
    /// The status page.
    Page,
    /// The style sheet of the page.
    Style,
    /// The script of the page.
    Script,
    /// The icon of the page.
    Icon,
    /// Changed sections of the page, as an event stream.
    Events,
    /// Liveness of the process.
    Livez,
    /// Readiness of the gateway.
    Readyz,
    /// Metrics.
    Metrics,
    /// The status, as JSON.
    Status,
    /// Calls and other events, as JSON.
    Activity,
    /// The part of the page that calls tools.
    Trial,
    /// Re-reads the configuration and all plugins.
    Reload,
}

impl AdminRoute {
    /// All paths, including aliases.
    const ALL: [(&'static str, Self); 13] = [
        ("/", Self::Page),
        ("/status.css", Self::Style),
        ("/status.js", Self::Script),
        ("/icon.svg", Self::Icon),
        ("/events", Self::Events),
        ("/livez", Self::Livez),
        ("/healthz", Self::Livez),
        ("/readyz", Self::Readyz),
        ("/metrics", Self::Metrics),
        ("/status.json", Self::Status),
        ("/activity.json", Self::Activity),
        ("/try", Self::Trial),
        ("/reload", Self::Reload),
    ];

    /// The list of paths, for error messages, without the parts of the page.
    pub(super) fn list() -> String {
        let listed = Self::ALL.iter().filter(|(_, route)| !route.is_part_of_page());
        listed.map(|(path, route)| format!("{} {path}", route.method())).collect::<Vec<_>>().join(", ")
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
        self.methods().split(',').next().unwrap_or_default()
    }

    /// The supported methods, as in `Allow`.
    fn methods(self) -> &'static str {
        match self {
            Self::Reload => "POST",
            Self::Trial => "GET, HEAD, POST",
            Self::Page
            | Self::Style
            | Self::Script
            | Self::Icon
            | Self::Events
            | Self::Livez
            | Self::Readyz
            | Self::Metrics
            | Self::Status
            | Self::Activity => "GET, HEAD",
        }
    }

    fn is_part_of_page(self) -> bool {
        match self {
            Self::Style | Self::Script | Self::Icon | Self::Events | Self::Trial => true,
            Self::Page
            | Self::Livez
            | Self::Readyz
            | Self::Metrics
            | Self::Status
            | Self::Activity
            | Self::Reload => false,
        }
    }

    /// True if it needs no credentials.
    fn is_probe(self) -> bool {
        match self {
            Self::Livez | Self::Readyz => true,
            Self::Page
            | Self::Style
            | Self::Script
            | Self::Icon
            | Self::Events
            | Self::Metrics
            | Self::Status
            | Self::Activity
            | Self::Trial
            | Self::Reload => false,
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
    /// The open streams of the page.
    streams: Arc<Semaphore>,
    trials: ToolTrials,
    /// The page that these streams send.
    page: SharedPage,
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
            streams: Arc::new(Semaphore::new(MAX_PAGE_STREAMS)),
            trials: ToolTrials::new(config),
            page: SharedPage::default(),
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
        let abandoned = |rejection: Rejection| {
            self.record_refusal(head, rejection);
            self.count_refusal(rejection.reason());
        };
        match self.authenticator.authenticate(head, abandoned).await {
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

    fn count_refusal(&self, reason: &'static str) {
        if let Some(admin) = self.admin.get() {
            (admin.refused)(reason);
        }
    }

    async fn answer(self: &Arc<Self>, head: &request::Parts, body: Body) -> Result<Response, AdminRejection> {
        let route = AdminRoute::from_path(head.uri.path());
        let sender = RequestOrigin::of(self.scheme, head);
        let is_blocked = match sender {
            RequestOrigin::Program | RequestOrigin::OwnPage => false,
            RequestOrigin::Link => route != Some(AdminRoute::Page),
            RequestOrigin::OtherPage => true,
        };
        // The listener allows the pages of no other origin. The origin of its own page has the name by which the listener is
        // reached, and that is checked first.
        let checked = match self.origins.check(head) {
            Err(Rejection::Origin) if sender == RequestOrigin::OwnPage => Ok(()),
            checked => checked,
        };
        if let Err(rejection) = checked.and(if is_blocked { Err(Rejection::Origin) } else { Ok(()) }) {
            self.record_refusal(head, rejection);
            return Err(rejection.into());
        }
        let detail = self.authenticate(head, route).await?;
        let route = route.ok_or(Rejection::Path)?;
        if route != AdminRoute::Trial {
            background::request_return(); // an earlier tool call may have moved the connection
        }
        if !route.supports(&head.method) {
            return Err(Rejection::Method(route.methods()).into());
        }
        match route {
            AdminRoute::Page => {
                let access = self.trials.access(self.opened()?, head);
                let document = page::document(&self.page_content()?, access);
                Ok(page_response(document, page::CONTENT_SECURITY_POLICY))
            }
            AdminRoute::Style => {
                Ok(respond(StatusCode::OK, "text/css; charset=utf-8", page::STYLE.to_owned()))
            }
            AdminRoute::Script => {
                Ok(respond(StatusCode::OK, "text/javascript; charset=utf-8", page::SCRIPT.to_owned()))
            }
            AdminRoute::Icon => Ok(respond(StatusCode::OK, "image/svg+xml", page::ICON.to_owned())),
            AdminRoute::Events => self.events(head),
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
                let (store, replicas) = ((admin.store)(), (admin.replicas)());
                Ok(document(&report::document(
                    &status,
                    store.as_ref(),
                    replicas.as_deref(),
                    &self.process,
                    ready,
                )))
            }
            AdminRoute::Activity => {
                let after = calls_after(head.uri.query().unwrap_or_default())?;
                let page = self.page_content()?;
                let calls = match after {
                    Some(number) => (self.opened()?.calls_after)(number),
                    None => page.snapshot.calls.recent.iter().rev().cloned().collect(),
                };
                let activity = activity(&page, calls, after.is_none());
                let text = serde_json::to_string(&activity).expect("strings and numbers can be serialised");
                Ok(respond(StatusCode::OK, JSON_MEDIA_TYPE, text + "\n"))
            }
            AdminRoute::Trial => self.trial(head, sender, body).await,
            AdminRoute::Reload if sender == RequestOrigin::OwnPage && is_form(&head.headers) => {
                self.reload(head).await?;
                Ok(back_to_page())
            }
            AdminRoute::Reload => {
                body::check_type(&head.headers)?;
                let body = body::read(&head.headers, body, MAX_BODY_BYTES).await?;
                check_options(&body)?;
                let ReloadResult { changed, failed, needs_restart } = self.reload(head).await?;
                Ok(document(&json!({ "changed": changed, "failed": failed, "needs_restart": needs_restart })))
            }
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

    /// Requests a reload, and waits for its result.
    async fn reload(&self, head: &request::Parts) -> Result<ReloadResult, AdminRejection> {
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
        reloaded.map_err(|SupervisorStopped| AdminRejection::Stopping)
    }

    /// The page that calls tools. Only its own form does.
    async fn trial(
        &self,
        head: &request::Parts,
        sender: RequestOrigin,
        body: Body,
    ) -> Result<Response, AdminRejection> {
        let admin = self.opened()?;
        if let TrialAccess::Denied(reason) = self.trials.access(admin, head) {
            (admin.peer_refused)(peer(head), "try_tools");
            return Err(AdminRejection::NoTrials(reason));
        }
        let document = if head.method == Method::POST {
            if sender != RequestOrigin::OwnPage || !is_form(&head.headers) {
                self.record_refusal(head, Rejection::Origin);
                return Err(Rejection::Origin.into());
            }
            let mut memory = (admin.request_memory)(peer(head));
            let read = body::read_message(&head.headers, body, MAX_TRIAL_BODY_BYTES, &mut memory).await?;
            let MessageBody::Complete(body) = read else {
                return Err(Rejection::BodyTooLarge(MAX_TRIAL_BODY_BYTES).into());
            };
            let _active = head.extensions.get::<ConnectionHandle>().map(ConnectionHandle::begin_request);
            Body::from(self.trials.submit(admin, head, body, memory).await?.into_bytes())
        } else {
            Body::from(ToolTrials::open(admin, head.uri.query().unwrap_or_default()))
        };
        Ok(page_response(document, page::trial::CONTENT_SECURITY_POLICY))
    }

    /// What the status page shows now.
    pub(super) fn page_content(&self) -> Result<PageContent, AdminRejection> {
        let admin = self.opened()?;
        let state = if admin.draining.is_cancelled() {
            ServingState::Stopping
        } else if admin.loaded.is_cancelled() {
            ServingState::Ready
        } else {
            ServingState::Loading
        };
        Ok(PageContent { snapshot: (admin.snapshot)(), process: self.process, state, now: SystemTime::now() })
    }

    /// Changed sections of the page, until the gateway stops or the credentials aren't accepted any more.
    fn events(self: &Arc<Self>, head: &request::Parts) -> Result<Response, AdminRejection> {
        let draining = self.opened()?.draining.clone();
        let permit =
            Arc::clone(&self.streams).try_acquire_owned().map_err(|_| AdminRejection::TooManyPages)?;
        let active = head.extensions.get::<ConnectionHandle>().map(ConnectionHandle::begin_request);
        let (router, head) = (Arc::clone(self), head.clone());
        let content = move || {
            let (router, head) = (Arc::clone(&router), head.clone());
            async move {
                router.authenticator.authenticate(&head, |_| {}).await.ok()?;
                let source = Arc::clone(&router);
                router.page.current(move || source.page_content().ok()).await
            }
        };
        let stream = page_events(content, draining, (permit, active));
        let mut response = Response::new(Body::from_stream(stream));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        Ok(response)
    }
}

/// Handles a request.
pub(super) async fn answer(State(router): State<Arc<AdminRouter>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let mut response = router.answer(&head, body).await.unwrap_or_else(|rejection| {
        rejection.reason().into_iter().for_each(|reason| router.count_refusal(reason));
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

fn page_response(document: impl Into<Body>, policy: &'static str) -> Response {
    let mut response = respond(StatusCode::OK, "text/html; charset=utf-8", document);
    let fields = response.headers_mut();
    let policy = HeaderValue::from_static(policy);
    fields.insert(HeaderName::from_static("content-security-policy"), policy);
    // Without a referrer, browsers would also omit the origin of the form.
    fields.insert(HeaderName::from_static("referrer-policy"), HeaderValue::from_static("same-origin"));
    response
}

/// The response to the form, for browsers without scripts.
fn back_to_page() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().insert(LOCATION, HeaderValue::from_static("./"));
    response
}

/// True for the body of an HTML form.
fn is_form(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded")
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

/// The number in `after=N`. `None` without a query.
fn calls_after(query: &str) -> Result<Option<u64>, AdminRejection> {
    if query.is_empty() {
        return Ok(None);
    }
    let number = query.strip_prefix("after=").and_then(|number| number.parse().ok());
    let invalid =
        || AdminRejection::Body("invalid query; use `?after=N` with the number of a call".to_owned());
    number.map(Some).ok_or_else(invalid)
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

pub(super) fn respond(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
