"""Short ways to write what the contract asks for.

The bindings that componentize-py makes are dataclasses without defaults: every field has to be given. Here are the
fields that most plugins use; copy this file into yours.
"""

import json
from typing import NoReturn

from componentize_py_types import Err
from wit_world.exports import lifecycle, resources, tools
from wit_world.imports import log, types


def info(name: str, version: str, title: str, description: str) -> lifecycle.PluginInfo:
    """What a plugin says of itself."""
    return lifecycle.PluginInfo(
        name=name, version=version, title=title, description=description,
        website_url=None, icons=None, instructions=None, config_schema=None, meta=None, extra=None,
    )


def reading_tool(
    name: str, title: str, description: str, takes: dict, gives: dict | None = None
) -> tools.Tool:
    """A tool that changes nothing and knows nothing of the world; its schemas are objects of JSON Schema."""
    hints = tools.ToolAnnotations(
        title=None, read_only=True, destructive=False, idempotent=True, open_world=False, extra=None
    )
    return tools.Tool(
        name=name, title=title, description=description,
        input_schema=json.dumps(takes), output_schema=None if gives is None else json.dumps(gives),
        annotations=hints, icons=None, meta=None, extra=None,
    )


def text(content: str) -> types.Content_Text:
    """A block of text."""
    return types.Content_Text(types.TextContent(text=content, annotations=None, meta=None, extra=None))


def answer(structured: object) -> tools.CallOutcome_Done:
    """A tool's result: a value, and the same as text for clients that know only that."""
    written = json.dumps(structured, ensure_ascii=False, allow_nan=False)
    result = tools.CallResult(
        content=[text(written)], structured=written, is_error=None, meta=None, extra=None
    )
    return tools.CallOutcome_Done(result)


def unsuccessful(message: str) -> tools.CallOutcome_Done:
    """A tool ran and didn't succeed; the model reads why."""
    result = tools.CallResult(content=[text(message)], structured=None, is_error=True, meta=None, extra=None)
    return tools.CallOutcome_Done(result)


def resource(uri: str, name: str, title: str, description: str, mime_type: str) -> types.ResourceInfo:
    """An entry of the list of resources."""
    return types.ResourceInfo(
        uri=uri, name=name, title=title, description=description, mime_type=mime_type,
        size=None, icons=None, annotations=None, meta=None, extra=None,
    )


def contents(uri: str, mime_type: str, body: str, ttl_ms: int) -> resources.ReadOutcome_Done:
    """The text of one resource, which everybody may keep for so many milliseconds."""
    data = types.ResourceContents(
        uri=uri, mime_type=mime_type, body=types.ResourceBody_Text(body), meta=None, extra=None
    )
    return resources.ReadOutcome_Done(
        resources.ReadResult(contents=[data], ttl_ms=ttl_ms, shareable=True, meta=None, extra=None)
    )


def not_found(message: str) -> NoReturn:
    """Ends the request: there is no such tool or resource."""
    raise Err(types.Failure_NotFound(types.Fault(message=message, at=None, data=None)))


def log_line(level: types.LogLevel, data: object) -> None:
    """Writes a line to the log, if anybody reads it."""
    if log.enabled(level):
        log.write(level, None, json.dumps(data, ensure_ascii=False))
