"""`wasi:http/outgoing-handler` as one blocking function."""

from __future__ import annotations

import re
from typing import Any

from componentize_py_types import Err
from wit_world.imports import wasi_http_outgoing_handler_0_2_12 as handler
from wit_world.imports import wasi_http_types_0_2_12 as types
from wit_world.imports import wasi_io_streams_0_2_12 as streams

from . import host
from .errors import HttpError

_CHUNK = 64 * 1024

_METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}


def send(outgoing: host.Request) -> host.Response:
    """Send a request, and wait for the whole response."""
    headers = list(outgoing.headers)
    if outgoing.body is not None and all(name != "content-length" for name, _ in headers):
        headers.append(("content-length", str(len(outgoing.body)).encode()))
    try:
        fields = types.Fields.from_list(headers)
    except Err as error:
        raise HttpError("invalid-header", f"cannot send the headers: {_words(error.value)}") from None
    request = types.OutgoingRequest(fields)
    known = outgoing.method in _METHODS
    method = getattr(types, f"Method_{outgoing.method.title()}")() if known else types.Method_Other(outgoing.method)
    try:
        request.set_method(method)
        request.set_scheme(types.Scheme_Https() if outgoing.scheme == "https" else types.Scheme_Http())
        request.set_authority(outgoing.authority)
        request.set_path_with_query(outgoing.path)
    except Err:
        reason = "the gateway rejected its method, host or path"
        raise HttpError("invalid-url", f"invalid URL `{outgoing.origin}`: {reason}") from None
    body = None if outgoing.body is None else request.body()
    try:
        future = handler.handle(request, _options(outgoing.timeout))
        if body is not None:
            _upload(body, outgoing.body or b"", outgoing)
        found = _wait(future)
        with found as response:
            lines = response.headers().entries()
            return host.Response(response.status(), lines, _download(response, outgoing))
    except Err as error:
        raise explain(error.value, outgoing) from None


def _options(timeout: float | None) -> Any:
    if timeout is None:
        return None
    options = types.RequestOptions()
    nanoseconds = max(1, round(timeout * 1e9))
    options.set_connect_timeout(nanoseconds)
    options.set_first_byte_timeout(nanoseconds)
    options.set_between_bytes_timeout(nanoseconds)
    return options


def _wait(future: Any) -> Any:
    with future:
        while True:
            found = future.get()
            if found is None:
                with future.subscribe() as pollable:
                    pollable.block()
                continue
            for _ in range(2):  # a result inside of a result
                if isinstance(found, Err):
                    raise found
                found = found.value
            return found


def _upload(body: Any, data: bytes, outgoing: host.Request) -> None:
    try:
        with body.write() as stream:
            for start in range(0, len(data), 4096):
                stream.blocking_write_and_flush(data[start : start + 4096])
        types.OutgoingBody.finish(body, None)
    except Err as error:
        # A server can answer before it has read the whole body; then the response is the result.
        if not isinstance(error.value, streams.StreamError_Closed):
            code = _code(error.value)
            if code is not None:
                raise explain(code, outgoing) from None


def _download(response: Any, outgoing: host.Request) -> bytes:
    parts: list[bytes] = []
    size = 0
    with response.consume() as body, body.stream() as stream:
        while True:
            try:
                part = stream.blocking_read(_CHUNK)
            except Err as error:
                if isinstance(error.value, streams.StreamError_Closed):
                    return b"".join(parts)
                raise explain(_code(error.value), outgoing) from None
            size += len(part)
            if size > outgoing.max_body:
                limit = f"larger than {outgoing.max_body} bytes; to allow more, set `max_body`"
                raise HttpError("too-large", f"the response from `{outgoing.origin}` is {limit}")
            parts.append(part)


def _code(error: Any) -> Any:
    if isinstance(error, streams.StreamError_LastOperationFailed):
        return types.http_error_code(error.value)
    return None


# Reasons that the gateway can give: the kind of the error, and its message for an origin.
_REASONS = {
    "DestinationIpProhibited": ("private-address", "`{}` has no public address; an operator can allow it"),
    "DnsTimeout": ("dns", "cannot resolve `{}`: DNS lookup timed out"),
    "DestinationNotFound": ("dns", "cannot resolve `{}`"),
    "DestinationUnavailable": ("connect", "cannot connect to `{}`: host unreachable"),
    "DestinationIpUnroutable": ("connect", "cannot connect to `{}`: no route to its address"),
    "ConnectionRefused": ("connect", "cannot connect to `{}`: connection refused"),
    "ConnectionTerminated": ("connect", "cannot connect to `{}`: connection closed"),
    "ConnectionTimeout": ("timeout", "request to `{}` timed out"),
    "ConnectionReadTimeout": ("timeout", "request to `{}` timed out"),
    "ConnectionWriteTimeout": ("timeout", "request to `{}` timed out"),
    "HttpResponseTimeout": ("timeout", "request to `{}` timed out"),
    "HttpResponseIncomplete": (
        "protocol", "invalid response from `{}`: truncated: the server closed the connection before its end",
    ),
    "ConnectionLimitReached": (
        "limit", "too many concurrent requests to send another one to `{}` (`limits.requests_at_once`)",
    ),
    "TlsProtocolError": ("tls", "TLS error for `{}`: unsupported TLS version, or not TLS"),
    "TlsCertificateError": ("tls", "TLS error for `{}`: certificate verification failed"),
    "TlsAlertReceived": ("tls", "TLS error for `{}`: the server sent an alert"),
    "HttpRequestBodySize": (
        "limit", "request to `{}` exceeded `limits.sent`, the total size of a call's request bodies",
    ),
    "HttpResponseBodySize": ("limit", "request to `{}` exceeded `limits.received`, the bytes that a call can receive"),
    "LoopDetected": ("other", "`{}` is the gateway itself"),
}


def explain(code: Any, outgoing: host.Request) -> HttpError:
    """The error for a code of `wasi:http`."""
    origin = outgoing.origin
    case = type(code).__name__.removeprefix("ErrorCode_") if code is not None else "ConnectionTerminated"
    if case == "HttpRequestDenied":
        reason = f"the request {outgoing.method} {origin} isn't granted; an operator can allow it"
        return HttpError("not-granted", reason)
    if case == "DnsError":
        reason = code.value.rcode or ""
        return HttpError("dns", f"cannot resolve `{origin}`" + (f": {reason}" if reason else ""))
    if case == "InternalError" and code.value:
        return HttpError("other", code.value)
    if case in ("InternalError", "ConfigurationError"):
        return HttpError("other", f"the gateway couldn't send the request to `{origin}`; see its log")
    if case in _REASONS:
        kind, message = _REASONS[case]
        return HttpError(kind, message.format(origin))
    return HttpError("protocol", f"invalid response from `{origin}`: {_words(code)}")


def _words(code: Any) -> str:
    name = type(code).__name__.rpartition("_")[2]
    return re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()
