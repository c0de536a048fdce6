"""Log messages: to the gateway's log, and to clients that requested the level. Never log a secret.

`print` writes to the gateway's log only.
"""

from __future__ import annotations

from typing import Any, Literal

from . import host, schema

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


def write(level: Level, data: Any, *, logger: str | None = None) -> None:
    """Write a message: a string, or any value that JSON can represent. `logger` names the part of the plugin."""
    gateway = host.current()
    if gateway.log_enabled(level):
        gateway.log_write(level, logger, schema.dumps(data))


def enabled(level: Level) -> bool:
    """True if messages of this level are written anywhere."""
    return host.current().log_enabled(level)


def debug(data: Any, *, logger: str | None = None) -> None:
    """Details for troubleshooting."""
    write("debug", data, logger=logger)


def info(data: Any, *, logger: str | None = None) -> None:
    """Normal operation."""
    write("info", data, logger=logger)


def notice(data: Any, *, logger: str | None = None) -> None:
    """Normal but significant."""
    write("notice", data, logger=logger)


def warning(data: Any, *, logger: str | None = None) -> None:
    """A potential problem."""
    write("warning", data, logger=logger)


def error(data: Any, *, logger: str | None = None) -> None:
    """An operation failed."""
    write("error", data, logger=logger)
