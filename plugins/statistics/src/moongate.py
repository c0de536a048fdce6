"""Helpers for the contract's types.

The bindings that componentize-py generates are dataclasses without defaults, so every field must be set. These helpers
cover the fields that most plugins use; copy this file into your plugin. It works with every world: a missing import
only matters when it is used.
"""

from __future__ import annotations  # so that a world doesn't need all types named here

import json
from typing import NoReturn

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import types

try:
    from wit_world.imports import log
except ImportError:
    log = None  # not imported by the world


def info(name: str, version: str, title: str, description: str) -> exports.lifecycle.PluginInfo:
    """The plugin's metadata."""
    return exports.lifecycle.PluginInfo(
        name=name, version=version, title=title, description=description,
        website_url=None, icons=None, instructions=None, config_schema=None, meta=None, extra=None,
    )


def tool(
    name: str,
    description: str,
    takes: dict,
    gives: dict | None = None,
    *,
    title: str | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
) -> exports.tools.Tool:
    """A tool for the list. `takes` and `gives` are JSON Schemas of objects: the arguments, and the object for `answer`.

    The last four are hints on the effects of a call. Without them, hosts assume that a call can be destructive.
    """
    hints = exports.tools.ToolAnnotations(
        title=None, read_only=read_only, destructive=destructive, idempotent=idempotent, open_world=open_world,
        extra=None,
    )
    return exports.tools.Tool(
        name=name, title=title, description=description,
        input_schema=json.dumps(takes), output_schema=None if gives is None else json.dumps(gives),
        annotations=hints, icons=None, meta=None, extra=None,
    )


def text(content: str) -> types.Content_Text:
    """A text block."""
    return types.Content_Text(types.TextContent(text=content, annotations=None, meta=None, extra=None))


def say(message: str) -> exports.tools.CallOutcome_Done:
    """A tool result with text."""
    return _done(message)


def answer(structured: dict) -> exports.tools.CallOutcome_Done:
    """A tool result with an object, and the same as text for clients that don't support structured content."""
    written = json.dumps(structured, ensure_ascii=False, allow_nan=False)
    return _done(written, structured=written)


def unsuccessful(message: str) -> exports.tools.CallOutcome_Done:
    """A failed tool result; the model reads the message."""
    return _done(message, is_error=True)


def _done(
    message: str, structured: str | None = None, is_error: bool | None = None
) -> exports.tools.CallOutcome_Done:
    result = exports.tools.CallResult(
        content=[text(message)], structured=structured, is_error=is_error, meta=None, extra=None
    )
    return exports.tools.CallOutcome_Done(result)


def resource(uri: str, name: str, title: str, description: str, mime_type: str) -> types.ResourceInfo:
    """A resource for the list."""
    return types.ResourceInfo(
        uri=uri, name=name, title=title, description=description, mime_type=mime_type,
        size=None, icons=None, annotations=None, meta=None, extra=None,
    )


def contents(uri: str, mime_type: str, body: str, ttl_ms: int) -> exports.resources.ReadOutcome_Done:
    """The text of a resource, which can be cached and shared for this many milliseconds."""
    data = types.ResourceContents(
        uri=uri, mime_type=mime_type, body=types.ResourceBody_Text(body), meta=None, extra=None
    )
    return exports.resources.ReadOutcome_Done(
        exports.resources.ReadResult(contents=[data], ttl_ms=ttl_ms, shareable=True, meta=None, extra=None)
    )


def not_found(message: str) -> NoReturn:
    """Fail the request: the tool or resource doesn't exist."""
    raise Err(types.Failure_NotFound(types.Fault(message=message, at=None, data=None)))


def log_line(level: types.LogLevel, data: object) -> None:
    """Write a log message, if the level is enabled. The world must have `import moongate:plugin/log@0.1.0;`."""
    if log.enabled(level):
        log.write(level, None, json.dumps(data, ensure_ascii=False))
