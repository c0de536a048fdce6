"""Errors of plugins.

`ToolError` and its subclasses are failures that the model reads and can recover from. `ProtocolError` is for the client
program. Any other exception, except `OSError`, is a bug: it ends the call, and the gateway logs the traceback.
"""

from __future__ import annotations

from typing import Any


class ToolError(Exception):
    """A failed call. A tool's result has `isError`, and the model reads the message.

    Resources and prompts have no such results, so there it becomes an internal error.
    """


class ProtocolError(Exception):
    """A JSON-RPC error for the client program; the model may never see it. Use the class methods."""

    def __init__(self, kind: str, message: str, *, at: str | None = None, data: Any = None, code: int = 0) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.at = at
        self.data = data
        self.code = code
        self.capabilities: list[str] = []

    @classmethod
    def invalid_params(cls, message: str, *, at: str | None = None, data: Any = None) -> ProtocolError:
        """The arguments are invalid (-32602). `at` is a JSON pointer such as `/city`."""
        return cls("invalid-params", message, at=at, data=data)

    @classmethod
    def not_found(cls, message: str, *, data: Any = None) -> ProtocolError:
        """There is no item with the requested name or URI."""
        return cls("not-found", message, data=data)

    @classmethod
    def internal(cls, message: str, *, data: Any = None) -> ProtocolError:
        """An internal error that isn't the caller's fault (-32603)."""
        return cls("internal", message, data=data)

    @classmethod
    def custom(cls, code: int, message: str, *, data: Any = None) -> ProtocolError:
        """An error with a custom code, outside of the ranges that JSON-RPC and MCP reserve."""
        return cls("custom", message, data=data, code=code)

    @classmethod
    def missing_capability(cls, *capabilities: str) -> ProtocolError:
        """The client doesn't support these capabilities, such as `sampling.tools` (-32021)."""
        error = cls("missing-capability", f"the client doesn't support {', '.join(capabilities)}")
        error.capabilities = list(capabilities)
        return error


def reason(error: Exception) -> str:
    """The message of an error, for the model."""
    cause = getattr(error, "reason", None)  # of `URLError`
    if isinstance(cause, ToolError):
        return str(cause)
    if isinstance(error, OSError) and error.strerror:
        return f"`{error.filename}`: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


class ConfigError(ToolError):
    """A setting is missing or invalid."""


class KvError(ToolError):
    """A value can't be read or stored. `kind` is `not-granted`, `full`, `contended`, `form` or `other`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class HttpError(ToolError):
    """An HTTP request failed. `kind` is one of `invalid-url`, `invalid-header`, `not-granted`, `private-address`,
    `dns`, `connect`, `tls`, `timeout`, `too-large`, `limit`, `redirects`, `status`, `json`, `protocol` and `other`.
    """

    def __init__(self, kind: str, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
