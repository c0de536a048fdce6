"""HTTP requests, used like the package `requests`. The operator grants hosts with `allow.http`.

`urllib.request.urlopen` works, too, and uses the same functions. The gateway adds credentials
(`allow.credentials`), so a plugin never sees them. All errors are `HttpError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urljoin, urlsplit

from . import host, schema
from .errors import HttpError

_MAX_BODY = 16 * 1024 * 1024
_REDIRECTS = {301, 302, 303, 307, 308}


class Headers(Mapping[str, str]):
    """Headers of a response; names are case-insensitive. Values with the same name are joined with `, `."""

    def __init__(self, pairs: Iterable[tuple[str, bytes]]) -> None:
        self.pairs = [(name, value.decode("latin-1")) for name, value in pairs]

    def __getitem__(self, name: str) -> str:
        found = [value for other, value in self.pairs if other.lower() == name.lower()]
        if not found:
            raise KeyError(name)
        return ", ".join(found)

    def __iter__(self) -> Any:
        return iter(dict.fromkeys(name.lower() for name, _ in self.pairs))

    def __len__(self) -> int:
        return len(list(iter(self)))


@dataclass
class Response:
    """A response with its whole body."""

    status: int
    headers: Headers
    content: bytes
    """The body."""
    url: str
    """The URL, after redirects."""

    @property
    def ok(self) -> bool:
        """True for a status below 400."""
        return self.status < 400

    @property
    def status_code(self) -> int:
        """The status, as `requests` calls it."""
        return self.status

    @property
    def text(self) -> str:
        """The body as text, in the charset of its `content-type` or UTF-8."""
        charset = "utf-8"
        for part in self.headers.get("content-type", "").split(";")[1:]:
            name, _, value = part.strip().partition("=")
            if name.lower() == "charset":
                charset = value.strip('"')
        try:
            return self.content.decode(charset, "replace")
        except LookupError:
            return self.content.decode("utf-8", "replace")

    def json(self, kind: Any = Any) -> Any:
        """The body as JSON. `kind` converts it, for example to a dataclass."""
        try:
            return schema.decode(kind, schema.loads(self.content.decode()))
        except (ValueError, schema.Mismatch) as error:
            raise HttpError("json", f"invalid JSON: {error}") from None

    def raise_for_status(self) -> Response:
        """Raise `HttpError` for a status of 400 or higher. Returns the response."""
        if not self.ok:
            place = urlsplit(self.url)
            message = f"`{place.scheme}://{place.netloc}` returned status {self.status}"
            raise HttpError("status", message, status=self.status)
        return self


def request(
    method: str,
    url: str,
    *,
    params: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    data: bytes | str | Mapping[str, Any] | None = None,
    json: Any = None,
    timeout: float | None = None,
    max_redirects: int = 10,
    max_body: int = _MAX_BODY,
) -> Response:
    """Send a request, and return the response with its whole body.

    `params` are added to the query. `data` is the body: bytes, a string, or fields of a form; `json` is a body in JSON.
    `timeout` is in seconds; the call's own limit always applies. `max_body` is in bytes. Redirects are followed with
    GET, as browsers do; 307 and 308 keep the method and body.
    """
    if params:
        url += ("&" if urlsplit(url).query else "?") + urlencode(params, doseq=True)
    lines = [(name.lower(), value.encode("latin-1", "replace")) for name, value in (headers or {}).items()]
    body, kind = _body(data, json)
    if kind and all(name != "content-type" for name, _ in lines):
        lines.append(("content-type", kind))
    for _ in range(max_redirects + 1):
        prepared = _prepare(method.upper(), url, lines, body, timeout, max_body)
        found = host.current().http_send(prepared)
        response = Response(found.status, Headers(found.headers), found.body, url)
        target = response.headers.get("location")
        if found.status not in _REDIRECTS or target is None or max_redirects == 0:
            return response
        next_url = urljoin(url, target)
        if urlsplit(next_url)[:2] != urlsplit(url)[:2]:
            lines = [(name, value) for name, value in lines if name not in ("authorization", "cookie")]
        url = next_url
        if found.status == 303 or (found.status in (301, 302) and method.upper() == "POST"):
            method, body = "GET", None
            lines = [(name, value) for name, value in lines if name not in ("content-type", "content-length")]
    raise HttpError("redirects", f"more than {max_redirects} redirects")


def get(url: str, **options: Any) -> Response:
    """Send a GET request. The options are those of `request`."""
    return request("GET", url, **options)


def post(url: str, **options: Any) -> Response:
    """Send a POST request. The options are those of `request`."""
    return request("POST", url, **options)


def put(url: str, **options: Any) -> Response:
    """Send a PUT request. The options are those of `request`."""
    return request("PUT", url, **options)


def patch(url: str, **options: Any) -> Response:
    """Send a PATCH request. The options are those of `request`."""
    return request("PATCH", url, **options)


def delete(url: str, **options: Any) -> Response:
    """Send a DELETE request. The options are those of `request`."""
    return request("DELETE", url, **options)


def head(url: str, **options: Any) -> Response:
    """Send a HEAD request. The options are those of `request`."""
    return request("HEAD", url, **options)


def _body(data: Any, json: Any) -> tuple[bytes | None, bytes | None]:
    if json is not None:
        return schema.dumps(json).encode(), b"application/json"
    if isinstance(data, Mapping):
        return urlencode(data, doseq=True).encode(), b"application/x-www-form-urlencoded"
    return (data.encode() if isinstance(data, str) else data), None


def _prepare(
    method: str, url: str, headers: list[tuple[str, bytes]], body: bytes | None, timeout: float | None, max_body: int
) -> host.Request:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for an invalid port
    except ValueError as error:
        raise HttpError("invalid-url", f"invalid URL `{url}`: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise HttpError("invalid-url", f"invalid URL `{url}`: expected `http://` or `https://` and a host")
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    if parts.query:
        path += "?" + quote(parts.query, safe="/?%:@!$&'()*+,;=~-._[]")
    authority = parts.netloc.rpartition("@")[2]
    return host.Request(method, parts.scheme, authority, path, headers, body, timeout, max_body)
