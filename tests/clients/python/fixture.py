"""The checks of every Python client, one per capability, independent of the SDK.

A check takes a `Connection` and raises an exception on failure. Names and texts come from the fixture
`everything` and the zoo. Results are plain values in the wire format.
"""

import argparse
import asyncio
import base64
import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from checks import Checks, Unsupported

Wire = dict[str, Any]
OnProgress = Callable[[float, float | None, str | None], Awaitable[None]]

# The maximum time for a notification, in seconds.
NOTIFICATION_TIMEOUT = 30

# The key of a request's log level in stateless revisions.
LOG_LEVEL = "io.modelcontextprotocol/logLevel"

# The components that replace a plugin's file in turn, each with a tool and its arguments.
REPLACEMENTS = [
    ("plugins/dist/time.wasm", "replaced_get_current_time", {"timezone": "UTC"}),
    ("plugins/dist/stateful.wasm", "replaced_note", {"key": "new"}),
]

ROOT = {"uri": "file:///garden", "name": "garden"}


@dataclass
class Refused(Exception):
    """A JSON-RPC error instead of a result."""

    code: int
    message: str


@dataclass
class Seen:
    """A client's received messages, and its answers to requests."""

    logs: list[Wire] = field(default_factory=list)
    asked: list[tuple[str, Wire]] = field(default_factory=list)
    # The kinds of lists and URIs of resources in change notifications.
    changed: set[str] = field(default_factory=set)
    declines: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def log(self, params: Wire) -> None:
        self.logs.append(params)
        self.news.set()

    def change(self, what: str) -> None:
        self.changed.add(what)
        self.news.set()

    def notification(self, method: str, params: Wire) -> None:
        """Records a change notification. Other notifications have their own callbacks."""
        if method == "notifications/resources/updated":
            self.change(params["uri"])
        elif method.endswith("/list_changed"):
            self.change(method.split("/")[1])

    def elicited(self, params: Wire) -> Wire:
        self.asked.append(("elicitation/create", params))
        if self.declines:
            return {"action": "decline"}
        fields = params["requestedSchema"]["properties"]
        return {"action": "accept", "content": {name: filled(one) for name, one in fields.items()}}

    def sampled(self, params: Wire) -> Wire:
        self.asked.append(("sampling/createMessage", params))
        content = {"type": "text", "text": "Paris"}
        return {"role": "assistant", "content": content, "model": "a-model", "stopReason": "endTurn"}

    def rooted(self) -> Wire:
        self.asked.append(("roots/list", {}))
        return {"roots": [ROOT]}

    async def until(self, so: Callable[[], bool], what: str) -> None:
        """Waits for a condition."""
        try:
            async with asyncio.timeout(NOTIFICATION_TIMEOUT):
                while not so():
                    self.news.clear()
                    await self.news.wait()
        except TimeoutError:
            raise AssertionError(f"timed out waiting for {what}") from None


def filled(one: Wire) -> Any:
    """The default or first valid value of a form's field."""
    if "default" in one:
        return one["default"]
    if "enum" in one:
        return one["enum"][0]
    if choices := one.get("oneOf") or one.get("anyOf"):
        return choices[0]["const"]
    if one["type"] == "array":
        return [filled(one["items"])]
    return {"boolean": True, "integer": 1, "number": 1}.get(one["type"], "Ada")


class Connection(ABC):
    """A connected client. Each method raises `Refused` on a JSON-RPC error."""

    # The reason that messages above the size limit end the connection.
    oversized: str | None = None

    def __init__(self, revision: str, seen: Seen) -> None:
        self.revision = revision
        self.seen = seen

    @property
    def stateless(self) -> bool:
        return self.revision >= "2026"

    @abstractmethod
    async def tools(self) -> list[Wire]: ...

    @abstractmethod
    async def resources(self) -> list[Wire]: ...

    @abstractmethod
    async def templates(self) -> list[Wire]: ...

    @abstractmethod
    async def prompts(self) -> list[Wire]: ...

    @abstractmethod
    async def call(
        self, name: str, arguments: Wire | None = None, progress: OnProgress | None = None, meta: Wire | None = None
    ) -> Wire: ...

    @abstractmethod
    async def read(self, uri: str) -> Wire: ...

    @abstractmethod
    async def get(self, name: str, arguments: dict[str, str] | None = None) -> Wire: ...

    @abstractmethod
    async def complete(self, prompt: str, argument: str, value: str) -> Wire: ...

    @abstractmethod
    async def set_level(self, level: str) -> None: ...

    @abstractmethod
    def listen(self, uris: list[str]) -> AbstractAsyncContextManager[None]:
        """Subscribes to list changes, which sessions always get, and to the resources `uris`."""

    async def cancel(self, calling: asyncio.Task[Wire]) -> None:
        """Cancels a running call."""
        calling.cancel()

    async def list(self, kind: str) -> list[Wire]:
        return await {"tools": self.tools, "prompts": self.prompts}[kind]()

    async def logged(self, level: str, name: str) -> None:
        """A call with log messages of `level` and above, set in the request or for the session."""
        if self.stateless:
            await self.call(name, meta={LOG_LEVEL: level})
        else:
            await self.set_level(level)
            await self.call(name)


def named(items: list[Wire], key: str = "name") -> list[str]:
    return [item[key] for item in items]


def text_of(result: Wire) -> str:
    return "".join(block["text"] for block in result["content"] if block["type"] == "text")


async def refused(body: Awaitable[Any], *codes: int) -> None:
    try:
        answer = await body
    except Refused as error:
        assert error.code in codes, error
    else:
        raise AssertionError(f"expected an error, got {answer}")


async def lists(client: Connection) -> None:
    tools = await client.tools()
    assert "test_simple_text" in named(tools), named(tools)
    assert all(tool["description"] and tool["inputSchema"]["type"] == "object" for tool in tools)
    (tool,) = (tool for tool in tools if tool["name"] == "json_schema_2020_12_tool")
    assert tool["inputSchema"]["$defs"]["address"]["$anchor"] == "addressDef", tool
    assert "test://static-text" in named(await client.resources(), "uri")
    assert "test://template/{id}/data" in named(await client.templates(), "uriTemplate")
    assert "test_prompt_with_arguments" in named(await client.prompts())


async def calls(client: Connection) -> str | None:
    assert text_of(await client.call("test_simple_text")) == "This is a simple text response for testing."
    mixed = await client.call("test_multiple_content_types")
    assert [block["type"] for block in mixed["content"]] == ["text", "image", "resource"], mixed
    (sound,) = (await client.call("test_audio_content"))["content"]
    assert sound["type"] == "audio", sound
    assert (await client.call("test_error_handling"))["isError"] is True
    about = await client.call("zoo_echo_context")
    assert about["structuredContent"] == json.loads(text_of(about)), about
    assert about["structuredContent"]["revision"] == client.revision, about
    await refused(client.call("no_such_tool"), -32602)

    async def one(number: int) -> None:
        result = await client.call("test_x_mcp_header", {"region": f"r{number}", "level": number})
        assert text_of(result) == f"region=r{number}, level={number}", (number, result)

    await asyncio.gather(*(one(number) for number in range(32)))
    if client.oversized is None:
        await too_long(client)
    return client.oversized


async def too_long(client: Connection) -> None:
    """A message above the limits fails at once."""
    try:
        async with asyncio.timeout(30):
            answer = await client.call("zoo_echo", {"text": "x" * (11 << 20)})
    except TimeoutError:
        raise AssertionError("the call waits for an answer") from None
    except Exception:
        pass
    else:
        raise AssertionError(f"expected an error, got {answer}")
    assert text_of(await client.call("zoo_echo", {"text": "next"})) == "next"


async def reads(client: Connection) -> None:
    (text,) = (await client.read("test://static-text"))["contents"]
    assert text["text"] == "This is the content of the static text resource.", text
    (image,) = (await client.read("test://static-binary"))["contents"]
    assert image["mimeType"] == "image/png" and b"PNG" in base64.b64decode(image["blob"]), image
    (data,) = (await client.read("test://template/123/data"))["contents"]
    assert json.loads(data["text"])["id"] == "123", data
    await refused(client.read("test://nothing"), -32602 if client.stateless else -32002)


async def gets(client: Connection) -> None:
    (message,) = (await client.get("test_simple_prompt"))["messages"]
    assert message["content"]["text"] == "This is a simple prompt for testing.", message
    (message,) = (await client.get("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"}))["messages"]
    assert message["content"]["text"] == "Prompt with arguments: arg1='a', arg2='b'", message
    image, _ = (await client.get("test_prompt_with_image"))["messages"]
    assert image["content"]["type"] == "image", image
    held, _ = (await client.get("test_prompt_with_embedded_resource", {"resourceUri": "test://held"}))["messages"]
    assert held["content"]["resource"]["uri"] == "test://held", held
    await refused(client.get("test_prompt_with_arguments", {}), -32602)


async def completes(client: Connection) -> None:
    result = await client.complete("test_prompt_with_arguments", "arg1", "te")
    assert result["completion"]["values"] == ["test", "testing", "tested"], result


async def progresses(client: Connection) -> None:
    seen = []

    async def progress(current: float, total: float | None, _message: str | None) -> None:
        seen.append((current, total))
        client.seen.news.set()

    await client.call("test_tool_with_progress", progress=progress)
    await client.seen.until(lambda: len(seen) >= 3, "the progress")
    assert seen == [(0, 100), (50, 100), (100, 100)], seen


async def logs(client: Connection) -> None:
    seen = client.seen.logs
    wanted = ["Tool execution started", "Tool processing data", "Tool execution completed"]
    seen.clear()
    await client.logged("debug", "test_tool_with_logging")
    await client.seen.until(lambda: len(seen) >= len(wanted), "the log messages")
    assert [(log["level"], log["data"]) for log in seen] == [("info", text) for text in wanted], seen
    seen.clear()
    await client.logged("error", "test_logging_tool")
    await client.seen.until(lambda: bool(seen), "the log message")
    assert named(seen, "level") == ["error"], seen
    seen.clear()
    await client.logged("error", "zoo_cut_emoji")
    await client.seen.until(lambda: bool(seen), "the log message that was cut")
    assert named(seen, "data") == ["cut \ufffd"], seen


async def elicits(client: Connection) -> None:
    asked = client.seen.asked

    async def ask(name: str, arguments: Wire | None = None) -> str:
        asked.clear()
        return text_of(await client.call(name, arguments))

    text = await ask("test_elicitation", {"message": "Who are you?"})
    assert "accept" in text and "Ada" in text, text
    assert "Who are you?" in asked[0][1]["message"], asked
    client.seen.declines = True
    text = await ask("test_elicitation", {"message": "Who are you?"})
    client.seen.declines = False
    assert "decline" in text, text
    assert "John Doe" in await ask("test_elicitation_sep1034_defaults")
    assert "accept" in await ask("test_elicitation_sep1330_enums")
    assert await ask("test_input_required_result_elicitation") == "Hello, Ada!"
    await ask("test_input_required_result_multi_round")
    assert len(asked) == 2, asked
    (message, *_) = (await client.get("test_input_required_result_prompt"))["messages"]
    assert "Ada" in message["content"]["text"], message


async def samples(client: Connection) -> None:
    asked = client.seen.asked
    asked.clear()
    prompt = "What is the capital of France?"
    assert "Paris" in text_of(await client.call("test_sampling", {"prompt": prompt}))
    ((method, params),) = asked
    assert method == "sampling/createMessage" and params["maxTokens"] == 100, asked
    assert prompt in json.dumps(params["messages"]), asked
    assert "Paris" in text_of(await client.call("test_input_required_result_sampling"))


async def roots(client: Connection) -> None:
    text = text_of(await client.call("test_input_required_result_list_roots"))
    assert ROOT["uri"] in text, text
    client.seen.asked.clear()
    await client.call("test_input_required_result_multiple_inputs")
    methods = sorted(method for method, _ in client.seen.asked)
    assert methods == ["elicitation/create", "roots/list", "sampling/createMessage"], methods


async def cancels(client: Connection) -> None:
    runs = asyncio.Event()

    async def progress(_current: float, _total: float | None, _message: str | None) -> None:
        runs.set()

    calling = asyncio.create_task(client.call("zoo_report_and_hang", progress=progress))
    begun = asyncio.create_task(runs.wait())
    await asyncio.wait([calling, begun], return_when=asyncio.FIRST_COMPLETED)
    assert not calling.done(), calling
    await client.cancel(calling)
    # The zoo runs one call at a time, so this one runs only after the other has ended.
    assert text_of(await client.call("zoo_echo", {"text": "free"})) == "free"
    calling.cancel()
    with suppress(asyncio.CancelledError, Refused):
        await calling


async def lists_change(client: Connection) -> None:
    changed = client.seen.changed
    async with client.listen([]):
        for kind in ["tools", "prompts"]:
            before = named(await client.list(kind))
            changed.discard(kind)
            await client.call(f"test_trigger_{kind[:-1]}_change")
            after = before
            # Another gateway may have the new list later, and then there is another notification.
            while after == before:
                await client.seen.until(lambda kind=kind: kind in changed, f"the news of {kind}")
                changed.discard(kind)
                after = named(await client.list(kind))


async def subscribes(client: Connection) -> None:
    changed = client.seen.changed
    changed.clear()
    async with client.listen(["zoo://text"]):
        await client.call("zoo_changes_flood", {"count": 100})
        await client.seen.until(lambda: "zoo://text" in changed, "the news of the resource")
        # Notifications of an earlier check's lists may arrive only now.
        others = changed - {"zoo://text", "tools", "prompts"}
        assert not others, f"unexpected change notifications: {others}"


async def is_replaced(client: Connection) -> None:
    changed = client.seen.changed
    async with client.listen([]):
        before = named(await client.tools())
        first, second = REPLACEMENTS
        (_, old, _), (component, tool, arguments) = (first, second) if first[1] in before else (second, first)
        assert old in before, before
        changed.discard("tools")
        file = os.environ["MOONGATE_REPLACED"]
        shutil.copyfile(component, f"{file}.new")
        os.replace(f"{file}.new", file)
        after = before
        # Notifications of an earlier check's changes may arrive only now.
        while tool not in after:
            await client.seen.until(lambda: "tools" in changed, "the news of the other tools")
            changed.discard("tools")
            after = named(await client.tools())
        assert old not in after, after
        result = await client.call(tool, arguments)
        assert not result.get("isError"), result


CHECKS = {
    "list": lists,
    "call": calls,
    "read": reads,
    "get": gets,
    "complete": completes,
    "progress": progresses,
    "logging": logs,
    "elicitation": elicits,
    "sampling": samples,
    "roots": roots,
    "cancel": cancels,
    "list_changed": lists_change,
    "subscriptions": subscribes,
    "replaced": is_replaced,
}


@dataclass
class Target:
    """A server to connect to: an address, or a command that inherits this process's environment.

    The command of a Unix socket and of a WebSocket is the bridge, with the address as its last word.
    """

    transport: str
    url: str = ""
    command: tuple[str, ...] = ()

    @property
    def environment(self) -> dict[str, str]:
        return dict(os.environ)


def targets() -> list[Target]:
    """Parses the command line: `[--http URL] [--sse URL] [--unix ADDRESS] [--websocket URL] [--stdio COMMAND…]`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", metavar="URL", help="a Streamable HTTP endpoint")
    parser.add_argument("--sse", metavar="URL", help="an endpoint of the HTTP+SSE transport")
    parser.add_argument("--unix", metavar="ADDRESS", help="a Unix socket, through `connect` of the program that serves stdio")
    parser.add_argument("--websocket", metavar="URL", help="a WebSocket, likewise")
    parser.add_argument("--stdio", nargs=argparse.REMAINDER, help="a command that serves stdio (must come last)")
    options = parser.parse_args()
    found = [Target(name, url=url) for name in ("http", "sse") if (url := getattr(options, name))]
    if options.stdio:
        found.append(Target("stdio", command=tuple(options.stdio)))
        bridged = [(name, address) for name in ("unix", "websocket") if (address := getattr(options, name))]
        found.extend(Target(name, command=(options.stdio[0], "connect", address)) for name, address in bridged)
    if not found:
        parser.error("give --http, --sse or --stdio")
    return found


Connect = Callable[[Target, str, Seen], AbstractAsyncContextManager[tuple[Connection, str]]]


@asynccontextmanager
async def no_subscription() -> AsyncIterator[None]:
    """A no-op subscription, for sessions, which get change notifications without one."""
    yield


async def run_checks(client: str, target: Target, revision: str, connect: Connect) -> int:
    """Runs all checks over one connection. `connect` returns the client and its revision."""
    checks = Checks(f"{client} {target.transport} {revision}")

    async def speaks(spoken: str) -> None:
        assert spoken == revision, f"the connection uses revision {spoken}"

    async def broken(error: BaseException) -> None:
        raise AssertionError(f"not connected: {error!r}")

    try:
        async with connect(target, revision, Seen()) as (connection, spoken):
            if target.transport == "websocket":
                connection.oversized = "messages above the size limit don't work, because they close the WebSocket"
            await checks.check("connect", speaks(spoken))
            for name, body in CHECKS.items():
                await checks.check(name, body(connection))
    except Exception as error:  # noqa: BLE001 - reported as the result of a check
        await checks.check("connect", broken(error))
    return checks.failed


__all__ = ["CHECKS", "Checks", "Connection", "Unsupported", "Refused", "Seen", "Target", "run_checks", "no_subscription", "targets"]
