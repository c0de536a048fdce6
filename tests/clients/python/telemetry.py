"""Checks traces and metrics with programs that share no code with the gateway: the Python SDK 2.x as a client that sends
its trace context, and a collector that decodes exports with OpenTelemetry's own protobuf definitions.

Usage: telemetry.py GATEWAY ZOO, with the path of the gateway and of the component of the zoo.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from mcp import Client
from opentelemetry import context, trace
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from checks import Checks

TRACE = 0x0AF7651916CD43DD8448EB211C80319C
PARENT = 0xB7AD6B7169203331
# The maximum time for anything, in seconds.
TIMEOUT = 60
# The maximum time for a gateway to stop whose collector doesn't respond. An export may take longer.
STOP_TIMEOUT = 8


class Server:
    """A web server that keeps what it receives. `hangs` never responds to POST."""

    def __init__(self, hangs: bool = False) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                server.requests.append((self.path, headers, body))
                if hangs:
                    time.sleep(TIMEOUT)
                    return
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST = handle_one

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_port}"

    def spans(self) -> list[Span]:
        found = []
        for path, headers, body in list(self.requests):
            if path == "/v1/traces":
                assert headers["content-type"] == "application/x-protobuf", headers
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    names = attributes(resource.resource.attributes)
                    assert names["service.name"] == "moongate", names
                    found += [span for scope in resource.scope_spans for span in scope.spans]
        return found

    def metrics(self) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for path, _, body in list(self.requests):
            if path == "/v1/metrics":
                for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                    for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
                        assert metric.unit == "s", metric
                        found.setdefault(metric.name, []).extend(
                            attributes(point.attributes) for point in metric.histogram.data_points
                        )
        return found


class Gateway:
    """A gateway with the zoo. Leaving the context stops it."""

    def __init__(self, program: str, zoo: str, collector: str, upstream: str) -> None:
        self.directory = tempfile.TemporaryDirectory()
        config = Path(self.directory.name) / "gateway.toml"
        config.write_text(
            f"""version = 1
[http]
listen = "127.0.0.1:0"
[telemetry]
otlp = "{collector}"
[plugins.zoo]
source = "{zoo}"
[plugins.zoo.allow]
http = [{{ url = "{upstream}", networks = ["127.0.0.1/32"], trace_context = true }}]
"""
        )
        environment = os.environ | {"OTEL_BSP_SCHEDULE_DELAY": "1", "OTEL_EXPORTER_OTLP_TIMEOUT": "600000"}
        self.process = subprocess.Popen(
            [program, "serve", "-c", str(config)], stderr=subprocess.PIPE, text=True, env=environment
        )
        assert self.process.stderr
        for line in self.process.stderr:
            if line.startswith("endpoint"):
                self.url = line.split()[1]
                break
        else:
            raise RuntimeError("the gateway didn't start")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def stop(self) -> float:
        """Stops the gateway, and returns the time that this took, in seconds."""
        begun = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(TIMEOUT) == 0
        return time.monotonic() - begun

    def __enter__(self) -> "Gateway":
        return self

    def __exit__(self, *_: Any) -> None:
        self.process.kill()
        self.process.wait()
        self.directory.cleanup()


def attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


async def wait_for_spans(collector: Server, count: int) -> list[Span]:
    deadline = time.monotonic() + TIMEOUT
    while len(collector.spans()) < count:
        assert time.monotonic() < deadline, collector.spans()
        await asyncio.sleep(0.05)
    return collector.spans()


async def call(gateway: Gateway, mode: str, tool: str, arguments: dict[str, Any]) -> Any:
    """Calls a tool as a part of a trace. The SDK itself sends the trace context."""
    position = trace.SpanContext(TRACE, PARENT, is_remote=False, trace_flags=trace.TraceFlags(0))
    token = context.attach(trace.set_span_in_context(trace.NonRecordingSpan(position)))
    try:
        async with Client(gateway.url, mode=mode) as client:
            return await client.call_tool(tool, arguments)
    finally:
        context.detach(token)


def named(spans: list[Span], name: str) -> Span:
    (span,) = [span for span in spans if span.name == name]
    return span


async def check_spans(program: str, zoo: str, mode: str, revision: str) -> None:
    collector, upstream = Server(), Server()
    with Gateway(program, zoo, collector.url, upstream.url) as gateway:
        await call(gateway, mode, "zoo_http_request", {"request": {"url": f"{upstream.url}/hello?secret=1"}})
        await wait_for_spans(collector, 3)
        gateway.stop()
    spans = collector.spans()
    server = named(spans, "tools/call zoo_http_request")
    assert server.kind == Span.SPAN_KIND_SERVER, server
    assert int.from_bytes(server.trace_id) == TRACE, server
    assert int.from_bytes(server.parent_span_id) == PARENT, server
    assert server.status.code != Status.STATUS_CODE_ERROR, server
    found = attributes(server.attributes)
    expected = {
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "zoo_http_request",
        "gen_ai.operation.name": "execute_tool",
        "mcp.protocol.version": revision,
        "network.transport": "tcp",
        "network.protocol.name": "http",
    }
    assert expected.items() <= found.items(), found
    assert isinstance(found["jsonrpc.request.id"], str), found
    assert ("mcp.session.id" in found) == (mode == "legacy"), found
    run = named(spans, "run zoo")
    assert run.kind == Span.SPAN_KIND_INTERNAL and run.parent_span_id == server.span_id, run
    client = named(spans, "GET")
    assert client.kind == Span.SPAN_KIND_CLIENT and client.parent_span_id == run.span_id, client
    found = attributes(client.attributes)
    assert found["url.full"] == f"{upstream.url}/REDACTED", found
    assert found["server.port"] == upstream.http.server_port, found
    assert found["http.response.status_code"] == 200, found
    ((_, headers, _),) = upstream.requests
    assert headers["traceparent"] == f"00-{client.trace_id.hex()}-{client.span_id.hex()}-01", headers
    for outer, inner in [(server, run), (run, client)]:
        assert outer.start_time_unix_nano <= inner.start_time_unix_nano + 1_000_000, (outer, inner)
    durations = collector.metrics()
    assert any(one.get("gen_ai.tool.name") == "zoo_http_request" for one in durations["mcp.server.operation.duration"])
    sessions = durations.get("mcp.server.session.duration", [])
    assert [one["mcp.protocol.version"] for one in sessions] == ([revision] if mode == "legacy" else []), sessions
    assert durations["http.client.request.duration"][0]["http.request.method"] == "GET", durations


async def check_unresponsive(program: str, zoo: str, collector: str) -> None:
    with Gateway(program, zoo, collector, "http://127.0.0.1:1") as gateway:
        for _ in range(20):
            begun = time.monotonic()
            result = await call(gateway, "auto", "zoo_echo", {"text": "a"})
            assert not result.is_error, result
            assert time.monotonic() - begun < TIMEOUT
        took = gateway.stop()
        assert took < STOP_TIMEOUT, f"stopping took {took:.1f} s"


async def main() -> int:
    program, zoo = sys.argv[1:]
    checks = Checks("telemetry")
    await checks.check("spans 2025-11-25", check_spans(program, zoo, "legacy", "2025-11-25"))
    await checks.check("spans 2026-07-28", check_spans(program, zoo, "auto", "2026-07-28"))
    await checks.check("dead collector", check_unresponsive(program, zoo, "http://127.0.0.1:1"))
    await checks.check("slow collector", check_unresponsive(program, zoo, Server(hangs=True).url))
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
