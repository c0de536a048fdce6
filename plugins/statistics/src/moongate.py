"""Short ways to write what the contract asks for.

The bindings that componentize-py makes are dataclasses without defaults: every field has to be given. Here are the
fields that most plugins use; copy this file into yours. It fits every world: what a world doesn't have is missed only
where it is used.
"""

from __future__ import annotations  # so that a world needn't have all the types that are named here

import json
from typing import NoReturn

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import types

try:
    from wit_world.imports import log
except ImportError:
    log = None  # the world doesn't import it


def info(name: str, version: str, title: str, description: str) -> exports.lifecycle.PluginInfo:
    """What a plugin says of itself."""
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
    """An entry of the list of tools. `takes` and `gives` are JSON Schemas of objects; `gives` is of what `answer` sends.

    The last four are hints on what a call may do. Without them hosts take it for one that may destroy something.
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
    """A block of text."""
    return types.Content_Text(types.TextContent(text=content, annotations=None, meta=None, extra=None))


def say(message: str) -> exports.tools.CallOutcome_Done:
    """A tool's result: a text."""
    return _done(message)


def answer(structured: dict) -> exports.tools.CallOutcome_Done:
    """A tool's result: an object, and the same as text for clients that know only that."""
    written = json.dumps(structured, ensure_ascii=False, allow_nan=False)
    return _done(written, structured=written)


def unsuccessful(message: str) -> exports.tools.CallOutcome_Done:
    """A tool ran and didn't succeed; the model reads why."""
    return _done(message, is_error=True)


def _done(
    message: str, structured: str | None = None, is_error: bool | None = None
) -> exports.tools.CallOutcome_Done:
    result = exports.tools.CallResult(
        content=[text(message)], structured=structured, is_error=is_error, meta=None, extra=None
    )
    return exports.tools.CallOutcome_Done(result)


def resource(uri: str, name: str, title: str, description: str, mime_type: str) -> types.ResourceInfo:
    """An entry of the list of resources."""
    return types.ResourceInfo(
        uri=uri, name=name, title=title, description=description, mime_type=mime_type,
        size=None, icons=None, annotations=None, meta=None, extra=None,
    )


def contents(uri: str, mime_type: str, body: str, ttl_ms: int) -> exports.resources.ReadOutcome_Done:
    """The text of one resource, which everybody may keep for so many milliseconds."""
    data = types.ResourceContents(
        uri=uri, mime_type=mime_type, body=types.ResourceBody_Text(body), meta=None, extra=None
    )
    return exports.resources.ReadOutcome_Done(
        exports.resources.ReadResult(contents=[data], ttl_ms=ttl_ms, shareable=True, meta=None, extra=None)
    )


def not_found(message: str) -> NoReturn:
    """Ends the request: there is no such tool or resource."""
    raise Err(types.Failure_NotFound(types.Fault(message=message, at=None, data=None)))


def log_line(level: types.LogLevel, data: object) -> None:
    """Writes a line to the log, if anybody reads it. The world says `import moongate:plugin/log@0.1.0;`."""
    if log.enabled(level):
        log.write(level, None, json.dumps(data, ensure_ascii=False))
