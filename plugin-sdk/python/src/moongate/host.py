"""The functions of the gateway, as this package calls them.

In a component, `component.py` sets a host that calls the contract's imports. In tests, `testing.Client` sets a fake.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass
class Request:
    """An HTTP request."""

    method: str
    scheme: str
    authority: str
    path: str
    """The path with the query."""
    headers: list[tuple[str, bytes]]
    body: bytes | None
    timeout: float | None
    """The time in seconds for each step: connecting, and waiting for data."""
    max_body: int
    """The maximum size of the response's body in bytes."""

    @property
    def origin(self) -> str:
        """Scheme, host and port: as much of the URL as a message can contain."""
        return f"{self.scheme}://{self.authority}"


@dataclass
class Response:
    """An HTTP response."""

    status: int
    headers: list[tuple[str, bytes]] = field(default_factory=list)
    body: bytes = b""


class Host(Protocol):
    """The gateway's functions. JSON values are texts, as in the contract."""

    def principal(self) -> str | None: ...
    def client(self) -> tuple[str, str, str | None] | None: ...
    def revision(self) -> str | None: ...
    def capability(self, name: str) -> bool: ...
    def meta_value(self, key: str) -> str | None: ...
    def answer(self, key: str) -> str | None: ...
    def state(self) -> bytes | None: ...
    def remaining_ms(self) -> int | None: ...
    def cancelled(self) -> bool: ...
    def log_enabled(self, level: str) -> bool: ...
    def log_write(self, level: str, logger: str | None, data: str) -> None: ...
    def report_progress(self, current: float, total: float | None, message: str | None) -> None: ...
    def changed(self, what: str, uri: str | None = None) -> None: ...
    def config_get(self, key: str) -> str | None: ...
    def config_all(self) -> list[tuple[str, str]]: ...
    def kv_get(self, key: str) -> bytes | None: ...
    def kv_set(self, key: str, value: bytes) -> None: ...
    def kv_delete(self, key: str) -> None: ...
    def kv_keys(self) -> list[str]: ...
    def kv_increment(self, key: str, delta: int) -> int: ...
    def kv_snapshot(self, key: str) -> Any: ...
    def http_send(self, request: Request) -> Response: ...


class NoHost:
    """The host outside of calls."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(
            "the gateway's functions only work during a call: use them inside of a tool, resource or prompt; in a test, "
            "call the plugin with `moongate.testing.Client`"
        )


_current: Any = NoHost()


def current() -> Host:
    """The host of the call in progress."""
    return _current


def use(host: Any) -> Any:
    """Replace the host, and return the previous one."""
    global _current
    previous, _current = _current, host
    return previous
