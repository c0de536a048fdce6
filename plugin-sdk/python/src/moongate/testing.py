"""A test client that calls a plugin natively, without WebAssembly and without a gateway.

    from moongate.testing import Client
    from plugin import plugin

    def test_greets():
        client = Client(plugin, config={"greeting": "Hello"})
        assert client.call("greet", name="Ada").text == "Hello, Ada!"
        assert client.logs[0].data == "greeting Ada"

A call that asks a question is made again from the top with the answer from `answers`, as a gateway does. A test fails if
the plugin would misbehave in a gateway: it acts before a question and so acts twice, asks a question without an answer, or
returns structured content that doesn't match its schema. Limits and grants aren't tested; call the component, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from . import content, host, schema
from .context import Context
from .errors import HttpError, KvError, ProtocolError
from .plugin import Plugin, PromptResult
from .questions import InputRequest, NeedInput

Answer = Callable[[dict[str, Any]], Any]


@dataclass
class LogLine:
    """A log message."""

    level: str
    data: Any
    logger: str | None = None


@dataclass
class Progress:
    """A progress report."""

    current: float
    total: float | None = None
    message: str | None = None


@dataclass
class HttpRequest:
    """A request that the plugin sent."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass
class Page:
    """A server's response. A string as the body of a page is one with status 200."""

    body: str | bytes = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def json(cls, value: Any, status: int = 200) -> Page:
        """A response in JSON."""
        return cls(json.dumps(value), status, {"content-type": "application/json"})


@dataclass
class Called:
    """The result of a tool."""

    result: content.Result

    @property
    def text(self) -> str:
        """The text of all text blocks, joined by newlines."""
        return "\n".join(block.text for block in self.content if isinstance(block, content.Text))

    @property
    def content(self) -> list[content.Content]:
        """The blocks of content."""
        return list(self.result.content)  # type: ignore[arg-type]

    @property
    def structured(self) -> Any:
        """The structured content."""
        return self.result.structured

    @property
    def failed(self) -> bool:
        """True if the model sees a failure."""
        return self.result.is_error


def accept(**fields: Any) -> dict[str, Any]:
    """The user's answer to a form."""
    return {"action": "accept", "content": fields}


def decline() -> dict[str, Any]:
    """The user declines a form or page."""
    return {"action": "decline"}


def sampled(text: str, model: str = "test") -> dict[str, Any]:
    """The answer of the client's model."""
    return {"role": "assistant", "model": model, "content": {"type": "text", "text": text}}


def roots(*uris: str) -> dict[str, Any]:
    """The client's directories."""
    return {"roots": [{"uri": uri} for uri in uris]}


class Client:
    """A client with its own fake gateway.

    `config` are settings, `state` is the stored state, `answers` are the client's answers to questions by their key: what
    `accept` and similar functions return, or a function that gets the question's parameters. `pages` are responses by URL:
    a string, a `Page`, or a function that gets the `HttpRequest`; other URLs give 404. Without `pages`, requests aren't
    granted.
    """

    def __init__(
        self,
        plugin: Plugin,
        *,
        config: Mapping[str, Any] | None = None,
        state: Mapping[str, Any] | None = None,
        state_granted: bool = True,
        answers: Mapping[str, Any] | None = None,
        pages: Mapping[str, Any] | None = None,
        principal: str | None = None,
        client: tuple[str, str] | None = None,
        revision: str | None = "2025-11-25",
        capabilities: tuple[str, ...] = ("elicitation", "sampling", "roots"),
        meta: Mapping[str, Any] | None = None,
        remaining: float | None = None,
        cancelled: bool = False,
        log_level: str = "debug",
    ) -> None:
        self.plugin = plugin
        self.logs: list[LogLine] = []
        """All log messages, oldest first."""
        self.progress: list[Progress] = []
        """All progress reports."""
        self.changes: list[str] = []
        """`tools`, `resources`, `prompts`, and URIs of changed resources."""
        self.requests: list[HttpRequest] = []
        """All HTTP requests."""
        self.asked: list[InputRequest] = []
        """All questions."""
        self._host = FakeHost(
            self, {key: _setting(value) for key, value in (config or {}).items()},
            {key: schema.dumps(value).encode() for key, value in (state or {}).items()}, state_granted,
            dict(answers or {}), None if pages is None else dict(pages), principal, client, revision, capabilities,
            dict(meta or {}), remaining, cancelled, log_level,
        )
        self._with_host(lambda: (plugin.list_tools(), plugin.config and schema.of(plugin.config)))

    @property
    def state(self) -> dict[str, Any]:
        """The stored state."""
        return {key: json.loads(value) for key, value in self._host.kv.items()}

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, /, **named: Any) -> Called:
        """Call a tool. Its arguments aren't checked against its schema, as a gateway would do."""
        text = schema.dumps({**(arguments or {}), **named})
        result: content.Result = self._rounds(lambda context: self.plugin.call_tool(tool, text, context))
        output = self.plugin.tools[tool].output_schema
        if output is not None and not result.is_error:
            assert result.has_structured, f"`{tool}` has an output schema, but returned no structured content"
            if problem := mismatch(output, result.structured):
                raise AssertionError(f"the structured content of `{tool}` doesn't match its schema: {problem}")
        return Called(result)

    def read(self, uri: str) -> list[content.Contents]:
        """Read a resource."""
        found = self._rounds(lambda context: self.plugin.read_resource(uri, context)).contents
        return [found] if isinstance(found, content.Contents) else list(found)

    def prompt(self, name: str, /, **arguments: str) -> list[content.Message]:
        """Get a prompt's messages."""
        result: PromptResult = self._rounds(
            lambda context: self.plugin.get_prompt(name, list(arguments.items()), context)
        )
        return result.messages

    def complete(
        self, argument: str, typed: str, *, prompt: str | None = None, resource: str | None = None,
        others: Mapping[str, str] | None = None,
    ) -> list[str]:
        """The suggestions for an argument."""
        kind = "resource" if prompt is None else "prompt"
        target = prompt or resource or ""
        return self._with_host(lambda: self.plugin.suggest(kind, target, argument, typed, dict(others or {})).values)

    def tools(self) -> list[str]:
        """The names of the tools that are listed now."""
        return [tool.name for tool in self._with_host(self.plugin.list_tools)]

    def _with_host(self, run: Callable[[], Any]) -> Any:
        previous = host.use(self._host)
        try:
            return run()
        finally:
            host.use(previous)

    def _rounds(self, run: Callable[[Context], Any]) -> Any:
        def call() -> Any:
            self._host.answered, self._host.round_state = {}, None
            while True:
                written = self._host.writes
                context = CheckedContext(self._host)
                try:
                    return run(context)
                except NeedInput as asked:
                    assert self._host.writes == written, (
                        "the call wrote something before it asked a question, and would write it again in the next round: "
                        "ask first, or use `Context.once`"
                    )
                    for request in asked.requests:
                        self.asked.append(request)
                        if request.key not in self._host.answers:
                            raise AssertionError(f"the call asked `{request.key}`, which isn't in `answers`") from None
                        answer = self._host.answers[request.key]
                        self._host.answered[request.key] = answer(request.params) if callable(answer) else answer
                    self._host.round_state = context.state()

        return self._with_host(call)


class CheckedContext(Context):
    """A context that doesn't count what `once` writes: that isn't repeated."""

    def __init__(self, gateway: FakeHost) -> None:
        super().__init__()
        self._gateway = gateway

    def once(self, key: str, work: Callable[[], Any]) -> Any:
        written = self._gateway.writes
        try:
            return super().once(key, work)
        finally:
            self._gateway.writes = written


@dataclass
class FakeHost:
    """A gateway in memory."""

    seen: Client
    config: dict[str, str]
    kv: dict[str, bytes]
    state_granted: bool
    answers: dict[str, Any]
    pages: dict[str, Any] | None
    principal_name: str | None
    client_info: tuple[str, str] | None
    revision_name: str | None
    capabilities: tuple[str, ...]
    meta: dict[str, Any]
    remaining: float | None
    is_cancelled: bool
    log_level: str
    answered: dict[str, Any] = field(default_factory=dict)
    round_state: bytes | None = None
    writes: int = 0

    def principal(self) -> str | None:
        return self.principal_name

    def client(self) -> tuple[str, str, str | None] | None:
        return None if self.client_info is None else (*self.client_info, None)

    def revision(self) -> str | None:
        return self.revision_name

    def capability(self, name: str) -> bool:
        return any(name == one or one.startswith(f"{name}.") for one in self.capabilities)

    def meta_value(self, key: str) -> str | None:
        return json.dumps(self.meta[key]) if key in self.meta else None

    def answer(self, key: str) -> str | None:
        return json.dumps(self.answered[key]) if key in self.answered else None

    def state(self) -> bytes | None:
        return self.round_state

    def remaining_ms(self) -> int | None:
        return None if self.remaining is None else round(self.remaining * 1000)

    def cancelled(self) -> bool:
        return self.is_cancelled

    def log_enabled(self, level: str) -> bool:
        levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
        return levels.index(level) >= levels.index(self.log_level)

    def log_write(self, level: str, logger: str | None, data: str) -> None:
        self.seen.logs.append(LogLine(level, json.loads(data), logger))

    def report_progress(self, current: float, total: float | None, message: str | None) -> None:
        if not self.seen.progress or current > self.seen.progress[-1].current:
            self.seen.progress.append(Progress(current, total, message))

    def changed(self, what: str, uri: str | None = None) -> None:
        self.seen.changes.append(uri or what)

    def config_get(self, key: str) -> str | None:
        return self.config.get(key)

    def config_all(self) -> list[tuple[str, str]]:
        return list(self.config.items())

    def kv_get(self, key: str) -> bytes | None:
        return self._granted().get(key)

    def kv_set(self, key: str, value: bytes) -> None:
        self.writes += 1
        self._granted()[key] = value

    def kv_delete(self, key: str) -> None:
        self.writes += 1
        self._granted().pop(key, None)

    def kv_keys(self) -> list[str]:
        return list(self._granted())

    def kv_increment(self, key: str, delta: int) -> int:
        self.writes += 1
        new = int(self._granted().get(key, b"0")) + delta
        self.kv[key] = str(new).encode()
        return new

    def kv_snapshot(self, key: str) -> FakeSnapshot:
        self._granted()
        return FakeSnapshot(self, key)

    def http_send(self, request: host.Request) -> host.Response:
        url = f"{request.origin}{request.path}"
        if request.method != "GET":
            self.writes += 1
        if self.pages is None:
            message = f"the request {request.method} {request.origin} isn't granted; an operator can allow it"
            raise HttpError("not-granted", f"{message} (in a test, set up servers with `pages`)")
        headers = {name: value.decode("latin-1") for name, value in request.headers}
        sent = HttpRequest(request.method, url, headers, request.body or b"")
        self.seen.requests.append(sent)
        pages = {_normal(page): found for page, found in self.pages.items()}
        page = pages.get(url, Page(f"no page {url} in the test", 404))
        page = page(sent) if callable(page) else page
        page = page if isinstance(page, Page) else Page(page)
        body = page.body.encode() if isinstance(page.body, str) else page.body
        if len(body) > request.max_body:
            limit = f"larger than {request.max_body} bytes; to allow more, set `max_body`"
            raise HttpError("too-large", f"the response from `{request.origin}` is {limit}")
        return host.Response(page.status, [(name, value.encode()) for name, value in page.headers.items()], body)

    def _granted(self) -> dict[str, bytes]:
        if not self.state_granted:
            raise KvError("not-granted", "state isn't granted; an operator can allow it")
        return self.kv


@dataclass
class FakeSnapshot:
    """A value that nothing else changes."""

    gateway: FakeHost
    key: str

    def current(self) -> bytes | None:
        return self.gateway.kv_get(self.key)

    def swap(self, value: bytes) -> None:
        self.gateway.kv_set(self.key, value)


def _setting(value: Any) -> str:
    return value if isinstance(value, str) else schema.dumps(value)


def _normal(url: str) -> str:
    return url if urlsplit(url).path else f"{url}/"


def mismatch(wanted: Any, value: Any, at: str = "") -> str | None:
    """How a value differs from a schema in types, required members and enumerations, or `None`."""
    kinds = wanted.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    names: dict[str, Any] = {
        "string": str, "array": list, "object": dict, "null": type(None), "boolean": bool, "number": (int, float),
        "integer": int,
    }
    fits = any(
        isinstance(value, names[kind]) and not (isinstance(value, bool) and kind in ("number", "integer"))
        for kind in kinds
    )
    if kinds and not fits:
        return f"`{at or '/'}` must be {' or '.join(kinds)}"
    if "enum" in wanted and value not in wanted["enum"]:
        return f"`{at or '/'}` must be one of {wanted['enum']}"
    if "anyOf" in wanted and all(mismatch(one, value, at) for one in wanted["anyOf"]):
        return f"`{at or '/'}` matches none of the possible types"
    if isinstance(value, dict):
        for name in wanted.get("required", []):
            if name not in value:
                return f"`{at}/{name}` is missing"
        for name, inner in value.items():
            found = wanted.get("properties", {}).get(name)
            if found is None and wanted.get("additionalProperties") is False:
                return f"`{at}/{name}` isn't in the schema"
            if found is not None and (problem := mismatch(found, inner, f"{at}/{name}")):
                return problem
    if isinstance(value, list) and isinstance(wanted.get("items"), dict):
        for index, inner in enumerate(value):
            if problem := mismatch(wanted["items"], inner, f"{at}/{index}"):
                return problem
    return None


__all__ = [
    "Called", "Client", "HttpRequest", "LogLine", "Page", "Progress", "ProtocolError", "accept", "decline", "roots",
    "sampled",
]
