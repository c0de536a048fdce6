//! What a request to the operator's listener goes through: where it is addressed and which page sent it, the path, the
//! verb, the body's type and size; then its answer.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST, ORIGIN, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, request};
use axum::response::Response;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::admin::Admin;
use crate::admin::health::{self, Readiness};
use crate::admin::refusal::Refused;
use crate::admin::report::{self, Process};
use crate::metrics;
use crate::supervisor::control::{Cause, Ended, Reloaded};
use crate::transport::http::body;
use crate::transport::http::origin::Origins;
use crate::transport::http::refusal::Refusal;
use crate::transport::http::seats::Occupant;

/// The largest body, in bytes: there is little to say.
const MAX_BODY: usize = 64 * 1024;

/// How many may wait for a reload at once: far fewer than there are connections.
pub(super) const RELOADING: usize = 16;

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// A path that leads to something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Whether the process answers at all.
    Livez,
    /// Whether it serves.
    Readyz,
    /// Numbers for a monitor.
    Metrics,
    /// What the gateway does, as JSON.
    Status,
    /// Reads the configuration and all plugins' files anew.
    Reload,
}

impl Route {
    /// All of them, under every name.
    const ALL: [(&'static str, Self); 6] = [
        ("/livez", Self::Livez),
        ("/healthz", Self::Livez),
        ("/readyz", Self::Readyz),
        ("/metrics", Self::Metrics),
        ("/status.json", Self::Status),
        ("/reload", Self::Reload),
    ];

    /// What there is, for people.
    pub(super) fn list() -> String {
        Self::ALL.map(|(path, route)| format!("{} {path}", route.verb())).join(", ")
    }

    fn of(path: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == path).map(|(_, route)| *route)
    }

    /// Its path.
    #[must_use]
    pub fn path(self) -> &'static str {
        Self::ALL.iter().find(|(_, route)| *route == self).expect("each route has a path").0
    }

    fn verb(self) -> &'static str {
        match self {
            Self::Livez | Self::Readyz | Self::Metrics | Self::Status => "GET",
            Self::Reload => "POST",
        }
    }

    /// The verbs that it knows, as in `Allow`.
    fn verbs(self) -> &'static str {
        match self {
            Self::Livez | Self::Readyz | Self::Metrics | Self::Status => "GET, HEAD",
            Self::Reload => "POST",
        }
    }

    fn knows(self, method: &Method) -> bool {
        self.verbs().split(", ").any(|verb| verb == method.as_str())
    }
}

/// What every request is checked against, and what is told.
#[derive(Debug)]
pub(super) struct Desk {
    origins: Origins,
    process: Process,
    admin: OnceLock<Admin>,
    reloading: Semaphore,
}

impl Desk {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self {
            origins: Origins::new(address, &[], &[]),
            process: Process::this(),
            admin: OnceLock::new(),
            reloading: Semaphore::new(RELOADING),
        }
    }

    pub(super) fn open(&self, admin: Admin) {
        // A gateway starts once.
        let _ = self.admin.set(admin);
    }

    async fn answer(&self, head: &request::Parts, body: Body) -> Result<Response, Refused> {
        self.origins.check(head)?;
        if !is_our_page(&head.headers) {
            return Err(Refusal::Origin.into());
        }
        let route = Route::of(head.uri.path()).ok_or(Refusal::Path)?;
        if !route.knows(&head.method) {
            return Err(Refusal::Method(route.verbs()).into());
        }
        match route {
            Route::Livez => Ok(respond(StatusCode::OK, TEXT, "alive\n".to_owned())),
            Route::Readyz => Ok(self.ready(head.uri.query().unwrap_or_default())),
            Route::Metrics => Ok(respond(StatusCode::OK, metrics::CONTENT_TYPE, (self.opened()?.metrics)())),
            Route::Status => {
                let admin = self.opened()?;
                let status = Arc::clone(&admin.status.borrow());
                let ready = Readiness::of(Some(admin)).is_ready();
                Ok(document(&report::document(&status, &self.process, ready)))
            }
            Route::Reload => self.reload(head, body).await,
        }
    }

    fn opened(&self) -> Result<&Admin, Refused> {
        self.admin.get().ok_or(Refused::Starting)
    }

    fn ready(&self, query: &str) -> Response {
        let readiness = Readiness::of(self.admin.get());
        let status = if readiness.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        respond(status, TEXT, readiness.text(health::Detail::of(query)))
    }

    async fn reload(&self, head: &request::Parts, body: Body) -> Result<Response, Refused> {
        body::check_type(&head.headers)?;
        let body = body::read(&head.headers, body, MAX_BODY).await?;
        check_wish(&body)?;
        let admin = self.opened()?;
        // It may take long, and isn't a connection to close for another.
        let _turn = head.extensions.get::<Occupant>().map(Occupant::turn);
        // Each holds a connection, and whoever asks how the gateway does needs one, too.
        let _place = self.reloading.try_acquire().map_err(|_| Refused::Busy)?;
        let reloaded = tokio::select! {
            biased;
            reloaded = admin.reloader.reload(Cause::Admin) => reloaded,
            () = admin.draining.cancelled() => Err(Ended),
        };
        let Reloaded { changed, failed, needs_restart } = reloaded.map_err(|Ended| Refused::Stopping)?;
        Ok(document(&json!({ "changed": changed, "failed": failed, "needs_restart": needs_restart })))
    }
}

/// A request, wherever it goes.
pub(super) async fn answer(State(desk): State<Arc<Desk>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let mut response = desk.answer(&head, body).await.unwrap_or_else(Refused::respond);
    let fields = response.headers_mut();
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    fields.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    );
    response
}

/// Does the request come from no page at all, or from one that this listener sent? Those of other servers on this
/// machine may not call.
fn is_our_page(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return true };
    let ours = |host: &HeaderValue| origin.as_bytes().strip_prefix(b"http://") == Some(host.as_bytes());
    headers.get(HOST).is_some_and(ours)
}

/// A wish is a JSON object, and there is nothing to wish for yet.
fn check_wish(body: &[u8]) -> Result<(), Refused> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(members)) => match members.keys().next() {
            None => Ok(()),
            Some(unknown) => Err(Refused::Body(format!("`{unknown}` isn't known: send `{{}}`"))),
        },
        Ok(_) | Err(_) => Err(Refused::Body("the body must be a JSON object: send `{}`".to_owned())),
    }
}

fn document(document: &Value) -> Response {
    respond(StatusCode::OK, JSON, format!("{document}\n"))
}

pub(super) fn respond(status: StatusCode, content_type: &'static str, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
