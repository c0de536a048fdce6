//! An OpenTelemetry collector that keeps what it receives, or misbehaves. It decodes exports with the official protobuf
//! definitions.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use opentelemetry_proto::tonic::common::v1::{AnyValue as AnyValueMessage, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

use crate::wait_until;

/// The collector. It runs until the process ends.
#[derive(Debug)]
pub struct Collector {
    address: SocketAddr,
    received: Arc<Mutex<Received>>,
}

/// A received span, with ids as hexadecimal digits.
#[derive(Debug, Clone)]
pub struct ReceivedSpan {
    /// Its name.
    pub name: String,
    /// `SPAN_KIND_SERVER`, `SPAN_KIND_INTERNAL` or `SPAN_KIND_CLIENT`.
    pub kind: String,
    /// The trace.
    pub trace_id: String,
    /// The span.
    pub span_id: String,
    /// Its parent. Empty if there is none.
    pub parent: String,
    /// The trace and the span of each link.
    pub links: Vec<(String, String)>,
    /// Its attributes as text.
    pub attributes: BTreeMap<String, String>,
    /// True if its status is an error.
    pub is_error: bool,
    /// Its duration, in nanoseconds.
    pub nanos: u64,
    /// The attributes of the gateway.
    pub resource: BTreeMap<String, String>,
}

/// A series of a received histogram.
#[derive(Debug, Clone)]
pub struct ReceivedSeries {
    /// The name of the metric.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// The upper bounds of its buckets.
    pub bounds: Vec<f64>,
    /// Its attributes as text.
    pub attributes: BTreeMap<String, String>,
    /// The number of values.
    pub count: u64,
}

#[derive(Debug, Default)]
struct Received {
    spans: Vec<ReceivedSpan>,
    series: Vec<ReceivedSeries>,
    heads: Vec<String>,
}

/// The behaviour of a collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behaviour {
    Accepting,
    /// It reads requests and never responds.
    Hanging,
    /// It responds with success, but reports one span as rejected.
    Rejecting,
}

impl Collector {
    /// Starts a collector that accepts everything.
    #[must_use]
    pub fn start() -> Self {
        Self::serve(Behaviour::Accepting)
    }

    /// Starts a collector that never responds.
    #[must_use]
    pub fn start_hanging() -> Self {
        Self::serve(Behaviour::Hanging)
    }

    /// Starts a collector that rejects one span of each export, with a message that moves the cursor.
    #[must_use]
    pub fn start_rejecting() -> Self {
        Self::serve(Behaviour::Rejecting)
    }

    fn serve(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let received = Arc::<Mutex<Received>>::default();
        let shared = Arc::clone(&received);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&shared);
                thread::spawn(move || receive(stream, &shared, behaviour));
            }
        });
        Self { address, received }
    }

    /// Its base address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The request lines and headers so far.
    #[must_use]
    pub fn heads(&self) -> Vec<String> {
        self.received().heads.clone()
    }

    /// The spans so far.
    #[must_use]
    pub fn spans(&self) -> Vec<ReceivedSpan> {
        self.received().spans.clone()
    }

    /// The series so far. Each export has all of them.
    #[must_use]
    pub fn series(&self) -> Vec<ReceivedSeries> {
        self.received().series.clone()
    }

    /// Waits for so many spans, and returns them.
    #[must_use]
    #[track_caller]
    pub fn wait_for_spans(&self, count: usize) -> Vec<ReceivedSpan> {
        wait_until("the spans arrive", || self.received().spans.len() >= count);
        self.spans()
    }

    fn received(&self) -> MutexGuard<'_, Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves one connection.
fn receive(stream: TcpStream, received: &Mutex<Received>, behaviour: Behaviour) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if !matches!(reader.read_line(&mut head), Ok(1..)) {
                return;
            }
        }
        let header = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
        };
        let length = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let is_traces = head.starts_with("POST /v1/traces ");
        let mut all = received.lock().unwrap_or_else(PoisonError::into_inner);
        all.heads.push(head);
        if behaviour == Behaviour::Hanging {
            drop(all);
            continue;
        }
        if is_traces {
            let request = ExportTraceServiceRequest::decode(&body[..]).expect("an export of traces");
            all.spans.extend(spans(request));
        } else {
            let request = ExportMetricsServiceRequest::decode(&body[..]).expect("an export of metrics");
            all.series.extend(series(request));
        }
        drop(all);
        let body = match behaviour {
            Behaviour::Accepting | Behaviour::Hanging => Vec::new(),
            Behaviour::Rejecting => {
                let error_message = "too\x1b[2J old".to_owned();
                let rejected = ExportTracePartialSuccess { rejected_spans: 1, error_message };
                ExportTraceServiceResponse { partial_success: Some(rejected) }.encode_to_vec()
            }
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: {length}\r\n\r\n"
        );
        if reader.get_mut().write_all(&[head.as_bytes(), &body].concat()).is_err() {
            return;
        }
    }
}

fn spans(request: ExportTraceServiceRequest) -> Vec<ReceivedSpan> {
    let mut all = Vec::new();
    for resource_spans in request.resource_spans {
        let resource = attributes(resource_spans.resource.unwrap_or_default().attributes);
        for scope_spans in resource_spans.scope_spans {
            assert_eq!(scope_spans.scope.unwrap_or_default().name, "moongate");
            all.extend(scope_spans.spans.into_iter().map(|span| received_span(span, resource.clone())));
        }
    }
    all
}

fn received_span(span: Span, resource: BTreeMap<String, String>) -> ReceivedSpan {
    let kind = span.kind().as_str_name().to_owned();
    ReceivedSpan {
        kind,
        name: span.name,
        trace_id: hex(&span.trace_id),
        span_id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        links: span.links.iter().map(|link| (hex(&link.trace_id), hex(&link.span_id))).collect(),
        attributes: attributes(span.attributes),
        is_error: span.status.unwrap_or_default().code == 2,
        nanos: span.end_time_unix_nano - span.start_time_unix_nano,
        resource,
    }
}

fn series(request: ExportMetricsServiceRequest) -> Vec<ReceivedSeries> {
    let scopes = request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
    let mut all = Vec::new();
    for metric in scopes.flat_map(|scope| scope.metrics) {
        let Some(Data::Histogram(histogram)) = metric.data else { panic!("{} is no histogram", metric.name) };
        all.extend(histogram.data_points.into_iter().map(|point| ReceivedSeries {
            name: metric.name.clone(),
            unit: metric.unit.clone(),
            bounds: point.explicit_bounds,
            attributes: attributes(point.attributes),
            count: point.count,
        }));
    }
    all
}

fn attributes(all: Vec<KeyValue>) -> BTreeMap<String, String> {
    all.into_iter().map(|pair| (pair.key, text(pair.value))).collect()
}

fn text(value: Option<AnyValueMessage>) -> String {
    match value.and_then(|value| value.value) {
        Some(AnyValue::StringValue(text)) => text,
        Some(AnyValue::IntValue(number)) => number.to_string(),
        Some(AnyValue::DoubleValue(number)) => number.to_string(),
        Some(AnyValue::BoolValue(value)) => value.to_string(),
        other => panic!("unexpected value {other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
