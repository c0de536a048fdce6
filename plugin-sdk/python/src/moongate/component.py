"""The contract's exports and imports, in a component. Only the entry module that `build.py` writes imports this.

`wit_world` are the bindings that componentize-py generates. A plugin's world contains only what it uses, so modules of
other interfaces are missing.
"""

from __future__ import annotations

import dataclasses
import importlib
from types import TracebackType
from typing import Any

from componentize_py_types import Err
from wit_world.imports import moongate_plugin_request_0_1_0 as request
from wit_world.imports import moongate_plugin_types_0_1_0 as types

from . import content as c
from . import host, schema
from .context import Context
from .errors import ConfigError, KvError, ProtocolError, ToolError, reason
from .plugin import Plugin
from .questions import NeedInput


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(f"wit_world.imports.{name}")
    except ImportError:
        return None  # not used by the plugin


def _exported(name: str) -> Any:
    try:
        return importlib.import_module(f"wit_world.exports.moongate_plugin_{name}_0_1_0")
    except ImportError:
        return None


log = _imported("moongate_plugin_log_0_1_0")
progress = _imported("moongate_plugin_progress_0_1_0")
changes = _imported("moongate_plugin_changes_0_1_0")
settings = _imported("wasi_config_store_0_2_0_rc_1")
kv_store = _imported("wasi_keyvalue_store_0_2_0_draft2")
kv_atomics = _imported("wasi_keyvalue_atomics_0_2_0_draft2")
lifecycle = _exported("lifecycle")
tools = _exported("tools")
resources = _exported("resources")
prompts = _exported("prompts")
completions = _exported("completions")

_plugin: Plugin
send_http: Any = None


def serve(module: Any) -> None:
    """Export the plugin of this module."""
    global _plugin
    found = {id(value): value for value in vars(module).values() if isinstance(value, Plugin)}
    if len(found) != 1:
        raise SystemExit(f"`{module.__name__}` must contain one `Plugin`, but it contains {len(found)}")
    [_plugin] = found.values()
    host.use(ComponentHost())
    if _imported("wasi_http_outgoing_handler_0_2_12"):
        # Files can't be imported during a call, so everything is imported when the component is built.
        from . import urllib_handler, wasi_http

        global send_http
        send_http = wasi_http.send
        urllib_handler.install()


# === imports ===


class ComponentHost:
    """The gateway's functions."""

    def principal(self) -> str | None:
        return request.principal()

    def client(self) -> tuple[str, str, str | None] | None:
        found = request.client()
        return None if found is None else (found.name, found.version, found.title)

    def revision(self) -> str | None:
        return request.revision()

    def capability(self, name: str) -> bool:
        return request.capability(name)

    def meta_value(self, key: str) -> str | None:
        return request.meta_value(key)

    def answer(self, key: str) -> str | None:
        return request.answer(key)  # missing if the plugin asks nothing

    def state(self) -> bytes | None:
        return request.state()

    def remaining_ms(self) -> int | None:
        return request.remaining_ms()

    def cancelled(self) -> bool:
        return request.cancelled()

    def log_enabled(self, level: str) -> bool:
        return log.enabled(types.LogLevel[level.upper()])

    def log_write(self, level: str, logger: str | None, data: str) -> None:
        log.write(types.LogLevel[level.upper()], logger, data)

    def report_progress(self, current: float, total: float | None, message: str | None) -> None:
        progress.report(current, total, message)

    def changed(self, what: str, uri: str | None = None) -> None:
        if what == "resource":
            changes.resource_updated(uri)
        else:
            getattr(changes, f"{what}_changed")()

    def config_get(self, key: str) -> str | None:
        return _config(lambda: settings.get(key))

    def config_all(self) -> list[tuple[str, str]]:
        return _config(settings.get_all)

    def kv_get(self, key: str) -> bytes | None:
        return _kv(lambda bucket: bucket.get(key))

    def kv_set(self, key: str, value: bytes) -> None:
        _kv(lambda bucket: bucket.set(key, value))

    def kv_delete(self, key: str) -> None:
        _kv(lambda bucket: bucket.delete(key))

    def kv_keys(self) -> list[str]:
        found: list[str] = []
        cursor = None
        while True:
            page = _kv(lambda bucket: bucket.list_keys(cursor))
            found += page.keys
            cursor = page.cursor
            if cursor is None:
                return found

    def kv_increment(self, key: str, delta: int) -> int:
        return _kv(lambda bucket: kv_atomics.increment(bucket, key, delta))

    def kv_snapshot(self, key: str) -> Snapshot:
        return Snapshot(_kv(lambda bucket: kv_atomics.Cas.new(bucket, key)))

    def http_send(self, outgoing: host.Request) -> host.Response:
        return send_http(outgoing)


class Snapshot:
    """The value of a key, to be replaced if it hasn't changed."""

    def __init__(self, cas: Any) -> None:
        self._cas = cas

    def current(self) -> bytes | None:
        """The value."""
        return _kv(lambda _: self._cas.current())

    def swap(self, value: bytes) -> Snapshot | None:
        """Replace the value. Returns a newer snapshot if it has changed."""
        try:
            kv_atomics.swap(self._cas, value)
        except Err as error:
            if isinstance(error.value, kv_atomics.CasError_CasFailed):
                return Snapshot(error.value.value)
            raise _kv_error(error.value.value) from None
        return None


def _config(read: Any) -> Any:
    try:
        return read()
    except Err as error:
        raise ConfigError(f"cannot read the configuration: {error.value.value}") from None


def _kv(use: Any) -> Any:
    try:
        return use(kv_store.open("default"))
    except Err as error:
        raise _kv_error(error.value) from None


def _kv_error(error: Any) -> KvError:
    if isinstance(error, kv_store.Error_Other):
        # The contract has no error code for a full storage; the gateway's message names the limit.
        return KvError("full" if "limits.state" in error.value else "other", error.value)
    return KvError("not-granted", "state isn't granted; an operator can allow it")


# === exports ===


class MoongatePluginLifecycle010:
    def describe(self) -> Any:
        config = _plugin.config
        return _record(
            lifecycle.PluginInfo, name=_plugin.name, version=_plugin.version, title=_plugin.title,
            description=_plugin.description, website_url=_plugin.website_url, icons=_icons(_plugin.icons),
            instructions=_plugin.instructions, config_schema=None if config is None else schema.dumps(schema.of(config)),
        )


class MoongatePluginTools010:
    def list_tools(self) -> Any:
        return [
            _record(
                tools.Tool, name=tool.name, title=tool.title, description=tool.description,
                input_schema=schema.dumps(tool.input_schema),
                output_schema=None if tool.output_schema is None else schema.dumps(tool.output_schema),
                annotations=_record(tools.ToolAnnotations, **tool.hints), icons=_icons(tool.icons),
                meta=_entries(tool.meta),
            )
            for tool in _plugin.list_tools()
        ]

    def call_tool(self, name: str, args: str) -> Any:
        def done(result: c.Result) -> Any:
            return tools.CallOutcome_Done(_record(
                tools.CallResult, content=[_block(block) for block in result.content],
                structured=schema.dumps(result.structured) if result.has_structured else None,
                is_error=result.is_error or None, meta=_entries(result.meta),
            ))

        return _answer(tools.CallOutcome_NeedInput, lambda context: done(_plugin.call_tool(name, args, context)))


class MoongatePluginResources010:
    def list_resources(self) -> Any:
        return [
            _record(
                types.ResourceInfo, uri=one.uri, name=one.name, title=one.title, description=one.description,
                mime_type=one.mime_type, size=one.size, icons=_icons(one.icons), meta=_entries(one.meta),
            )
            for one in _plugin.resources
            if not one.is_template
        ]

    def list_templates(self) -> Any:
        return [
            _record(
                resources.ResourceTemplate, uri_template=one.uri, name=one.name, title=one.title,
                description=one.description, mime_type=one.mime_type, icons=_icons(one.icons), meta=_entries(one.meta),
            )
            for one in _plugin.resources
            if one.is_template
        ]

    def read_resource(self, uri: str) -> Any:
        def done(result: c.ReadResult) -> Any:
            contents = [result.contents] if isinstance(result.contents, c.Contents) else result.contents
            return resources.ReadOutcome_Done(_record(
                resources.ReadResult, contents=[_contents(one) for one in contents],
                ttl_ms=None if result.ttl is None else round(result.ttl * 1000), shareable=result.shareable,
                meta=_entries(result.meta),
            ))

        return _answer(resources.ReadOutcome_NeedInput, lambda context: done(_plugin.read_resource(uri, context)))


class MoongatePluginPrompts010:
    def list_prompts(self) -> Any:
        return [
            _record(
                prompts.Prompt, name=one.name, title=one.title, description=one.description,
                args=[
                    _record(
                        prompts.PromptArgument, name=member.name, required=member.required,
                        description=member.schema().get("description"),
                    )
                    for member in one.function.members
                ],
                icons=_icons(one.icons), meta=_entries(one.meta),
            )
            for one in _plugin.prompts.values()
        ]

    def get_prompt(self, name: str, args: list[tuple[str, str]]) -> Any:
        def done(context: Context) -> Any:
            result = _plugin.get_prompt(name, args, context)
            messages = [
                _record(prompts.PromptMessage, role=types.Role[one.role.upper()], content=_block(c.blocks(one.content)[0]))
                for one in result.messages
            ]
            return prompts.PromptOutcome_Done(
                _record(prompts.PromptResult, description=result.description, messages=messages)
            )

        return _answer(prompts.PromptOutcome_NeedInput, done)


class MoongatePluginCompletions010:
    def complete(self, target: Any, name: str, value: str, others: list[tuple[str, str]]) -> Any:
        kind = "prompt" if isinstance(target, completions.CompletionTarget_Prompt) else "resource"

        def done(_: Context) -> Any:
            found = _plugin.suggest(kind, target.value, name, value, dict(others))
            return _record(completions.Completion, values=found.values, total=found.total, has_more=found.has_more)

        return _answer(None, done)


def _answer(need_input: Any, run: Any) -> Any:
    """Make a call, and convert errors and questions."""
    context = Context()
    try:
        return run(context)
    except NeedInput as asked:
        if need_input is None:
            raise Err(types.Failure_Internal(_fault("a completion can't ask questions"))) from None
        requests = [
            types.InputRequest(one.key, one.method, schema.dumps(one.params) if one.params else None)
            for one in asked.requests
        ]
        return need_input(_record(types.NeedInput, requests=requests, state=context.state()))
    except ProtocolError as error:
        raise Err(_failure(error)) from None
    except (ToolError, OSError) as error:
        raise Err(types.Failure_Internal(_fault(reason(error)))) from None
    except Exception as error:
        raise error.with_traceback(_own(error.__traceback__))


def _own(frames: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame outside this library, so that the log shows the plugin's lines first."""
    own = frames
    while own is not None and own.tb_frame.f_globals.get("__name__", "").startswith("moongate."):
        own = own.tb_next
    return own or frames


def _failure(error: ProtocolError) -> Any:
    data = None if error.data is None else schema.dumps(error.data)
    if error.kind == "missing-capability":
        return types.Failure_MissingCapability(error.capabilities)
    if error.kind == "custom":
        return types.Failure_Custom(types.CustomFault(error.code, error.message, data))
    cases = {
        "invalid-params": types.Failure_InvalidParams, "not-found": types.Failure_NotFound,
        "internal": types.Failure_Internal,
    }
    return cases[error.kind](types.Fault(error.message, error.at, data))


def _fault(message: str) -> Any:
    return types.Fault(message, None, None)


# === records ===


def _record(kind: Any, **values: Any) -> Any:
    """A record of the contract: fields that aren't named are absent."""
    return kind(**{field.name: values.get(field.name) for field in dataclasses.fields(kind)})


def _entries(values: dict[str, Any] | None) -> list[tuple[str, str]] | None:
    return None if values is None else [(key, schema.dumps(value)) for key, value in values.items()]


def _icons(icons: list[c.Icon] | None) -> Any:
    if icons is None:
        return None
    return [
        _record(
            types.Icon, src=icon.src, mime_type=icon.mime_type, sizes=icon.sizes,
            theme=None if icon.theme is None else types.IconTheme[icon.theme.upper()],
        )
        for icon in icons
    ]


def _annotations(found: c.Annotations | None) -> Any:
    if found is None:
        return None
    audience = None if found.audience is None else [types.Role[role.upper()] for role in found.audience]
    priority = None if found.priority is None else float(found.priority)
    return _record(types.Annotations, audience=audience, priority=priority, last_modified=found.last_modified)


def _contents(found: c.Contents) -> Any:
    is_text = isinstance(found.data, str)
    body = types.ResourceBody_Text(found.data) if is_text else types.ResourceBody_Blob(found.data)
    return _record(
        types.ResourceContents, uri=found.uri, mime_type=found.mime_type, body=body, meta=_entries(found.meta)
    )


def _block(block: Any) -> Any:
    if isinstance(block, str):
        block = c.Text(block)
    if isinstance(block, c.Other):
        return types.Content_Other(schema.dumps(block.json))
    common = {"annotations": _annotations(block.annotations), "meta": _entries(block.meta)}
    if isinstance(block, c.Text):
        return types.Content_Text(_record(types.TextContent, text=block.text, **common))
    if isinstance(block, (c.Image, c.Audio)):
        media = _record(types.MediaContent, data=block.data, mime_type=block.mime_type, **common)
        return types.Content_Image(media) if isinstance(block, c.Image) else types.Content_Audio(media)
    if isinstance(block, c.Embedded):
        return types.Content_Embedded(_record(types.EmbeddedResource, contents=_contents(block.contents), **common))
    return types.Content_Link(_record(
        types.ResourceInfo, uri=block.uri, name=block.name, title=block.title, description=block.description,
        mime_type=block.mime_type, size=block.size, icons=_icons(block.icons), **common,
    ))


__all__ = [
    "MoongatePluginCompletions010", "MoongatePluginLifecycle010", "MoongatePluginPrompts010",
    "MoongatePluginResources010", "MoongatePluginTools010", "serve",
]
