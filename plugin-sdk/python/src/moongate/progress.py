"""Progress of a call, for clients that requested it."""

from __future__ import annotations

from . import host


def report(current: float, total: float | None = None, message: str | None = None) -> None:
    """Report `current` of `total`. `current` must increase with each report."""
    host.current().report_progress(float(current), None if total is None else float(total), message)
