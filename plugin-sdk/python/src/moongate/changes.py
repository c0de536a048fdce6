"""Notifications that a list or a resource has changed. The gateway acts on them after the call."""

from __future__ import annotations

from . import host


def tools() -> None:
    """The list of tools has changed, because of a `when`."""
    host.current().changed("tools")


def resources() -> None:
    """The list of resources or templates has changed."""
    host.current().changed("resources")


def prompts() -> None:
    """The list of prompts has changed."""
    host.current().changed("prompts")


def resource(uri: str) -> None:
    """The data of this resource has changed. Clients that subscribed to it are notified."""
    host.current().changed("resource", uri)
