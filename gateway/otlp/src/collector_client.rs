//! The HTTP client of the exporters: that of the gateway, whichever thread an exporter runs on.
//!
//! A request runs in a task of the gateway's runtime, so that threads of the SDK can wait for it. Each has a time limit,
//! which the exporters themselves don't have.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, USER_AGENT};
use http_body_util::{BodyExt as _, Full, Limited};
use moongate_model::text::blanked_line;
use moongate_system::https_client::{HttpsClient, error_with_cause};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message as _;
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;
use url::Url;

/// The largest response, in bytes. Collectors respond with a few.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// The longest message of a collector in the log, in characters.
const MAX_MESSAGE_CHARS: usize = 200;

/// The headers that an exporter itself sets.
const EXPORTER_HEADERS: [HeaderName; 3] = [CONTENT_TYPE, CONTENT_ENCODING, USER_AGENT];

/// The kind of exported data.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Signal {
    Traces,
    Metrics,
}

/// A successful response that reports rejected data (OTLP Specification, Partial Success).
#[derive(Debug)]
struct PartialSuccess {
    /// The number of spans or data points.
    rejected: u64,
    /// The collector's reason.
    message: String,
}

/// Sends the exports of one signal, and logs when they begin to fail and when they succeed again.
#[derive(Debug)]
pub(crate) struct CollectorClient {
    client: HttpsClient,
    runtime: Handle,
    timeout: Duration,
    /// The configured headers. The exporter adds those of `OTEL_EXPORTER_OTLP_HEADERS`, which they replace if there are any.
    headers: HeaderMap,
    /// The signal and the collector, for logs. Addresses can contain secrets, so it names only the origin.
    signal: Signal,
    collector: String,
    is_failing: AtomicBool,
    /// True once the collector has rejected a part of what it received.
    has_rejected: AtomicBool,
    /// The spans or data points that the collector rejected although it responded with success.
    rejected: Arc<AtomicU64>,
}

impl Signal {
    fn name(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Metrics => "metrics",
        }
    }

    /// The rejected part of an export, if there is one. An invalid body is ignored, because the status reports success.
    fn rejected_part(self, body: &[u8]) -> Option<PartialSuccess> {
        let (rejected, message) = match self {
            Self::Traces => {
                let part = ExportTraceServiceResponse::decode(body).ok()?.partial_success?;
                (part.rejected_spans, part.error_message)
            }
            Self::Metrics => {
                let part = ExportMetricsServiceResponse::decode(body).ok()?.partial_success?;
                (part.rejected_data_points, part.error_message)
            }
        };
        let rejected = u64::try_from(rejected).ok().filter(|rejected| *rejected > 0)?;
        Some(PartialSuccess { rejected, message })
    }
}

impl CollectorClient {
    /// Must be called within a runtime.
    pub(crate) fn new(
        client: HttpsClient,
        timeout: Duration,
        signal: Signal,
        endpoint: &str,
        headers: HeaderMap,
    ) -> Self {
        Self {
            client,
            runtime: Handle::current(),
            timeout,
            headers,
            signal,
            collector: collector_name(endpoint),
            is_failing: AtomicBool::new(false),
            has_rejected: AtomicBool::new(false),
            rejected: Arc::default(),
        }
    }

    /// The number of rejected spans or data points. The reader resets it.
    pub(crate) fn rejected(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.rejected)
    }

    async fn send(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        if !self.headers.is_empty() {
            let mut headers = self.headers.clone();
            for own in EXPORTER_HEADERS {
                if let Some(value) = request.headers_mut().remove(&own) {
                    headers.entry(own).or_insert(value);
                }
            }
            *request.headers_mut() = headers;
        }
        let client = self.client.clone();
        let exchange = async move {
            let (head, body) = client.request(request.map(Full::new)).await?.into_parts();
            let body = Limited::new(body, MAX_RESPONSE_BYTES).collect().await?.to_bytes();
            Ok::<_, HttpError>(Response::from_parts(head, body))
        };
        let limit = self.timeout;
        let task = self.runtime.spawn(async move { tokio::time::timeout(limit, exchange).await });
        match AbortOnDropHandle::new(task).await {
            Ok(Ok(response)) => response,
            Ok(Err(_)) => Err(format!("no response within {:?}", self.timeout).into()),
            Err(_) => Err("the gateway is shutting down".into()),
        }
    }

    /// Logs when exports start to fail and when they succeed again, and counts rejected data, whose first reason is logged.
    fn record(&self, result: &Result<Response<Bytes>, HttpError>) {
        let (signal, collector) = (self.signal.name(), &self.collector);
        let problem = match result {
            Ok(response) if response.status().is_success() => {
                if let Some(PartialSuccess { rejected, message }) = self.signal.rejected_part(response.body())
                {
                    self.rejected.fetch_add(rejected, Ordering::Relaxed);
                    if !self.has_rejected.swap(true, Ordering::Relaxed) {
                        let message = blanked_line(&message, MAX_MESSAGE_CHARS);
                        tracing::warn!("{collector} rejected some of the {signal}: {message}");
                    }
                }
                None
            }
            Ok(response) => Some(format!("status {}", response.status().as_u16())),
            Err(error) => Some(error_with_cause(&**error)),
        };
        match problem {
            None => {
                if self.is_failing.swap(false, Ordering::Relaxed) {
                    tracing::info!("{collector} accepts {signal} again");
                }
            }
            Some(problem) => {
                if !self.is_failing.swap(true, Ordering::Relaxed) {
                    tracing::warn!("can't export {signal} to {collector}: {problem}");
                }
            }
        }
    }
}

/// The origin of the collector's address: the rest can contain secrets.
pub(crate) fn collector_name(endpoint: &str) -> String {
    let origin = Url::parse(endpoint).map(|url| url.origin().ascii_serialization());
    origin.unwrap_or_else(|_| "the collector".to_owned())
}

impl HttpClient for CollectorClient {
    fn send_bytes<'life, 'async_trait>(
        &'life self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'async_trait>>
    where
        'life: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            let result = self.send(request).await;
            self.record(&result);
            result
        })
    }
}
