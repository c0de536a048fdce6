"""What every Python client checks of the `time` plugin, whichever SDK it is built on.

A client is given as a `Connection`: the plain facts of listing and calling, with the SDK's own types taken off.
Each check prints a line that begins with `ok` or `FAILED`; xtask counts them.
"""

import argparse
import asyncio
import json
import os
import traceback
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Protocol


@dataclass
class Answer:
    """The result of one `tools/call`."""

    is_error: bool
    text: str
    structured: Any


@dataclass
class Refused(Exception):
    """A JSON-RPC error instead of a result."""

    code: int
    message: str


class Connection(Protocol):
    """A connected client."""

    async def tools(self) -> list[dict[str, Any]]: ...

    async def call(self, name: str, arguments: dict[str, Any]) -> Answer: ...


class Checks:
    """Runs checks and counts what failed."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.failed = 0

    async def check(self, name: str, body: Any) -> None:
        """Runs one check: `body` is a coroutine that raises when something isn't as it should be."""
        try:
            await asyncio.wait_for(body, 60)
        except Exception as error:  # noqa: BLE001 - any failure is the check's result
            self.failed += 1
            print(f"FAILED {self.label}: {name}: {type(error).__name__}: {error}", flush=True)
            traceback.print_exc()
        else:
            print(f"ok {self.label}: {name}", flush=True)


async def exercise(checks: Checks, client: Connection, prefix: str) -> None:
    """All checks that need nothing but a connected client."""
    await checks.check("lists the tools", lists(client, prefix))
    await checks.check("converts a time", converts(client, prefix))
    await checks.check("tells the current time", tells(client, prefix))
    await checks.check("an unknown zone is a tool error that names it", unknown_zone(client, prefix))
    await checks.check("a missing argument is an error that names it", missing_argument(client, prefix))
    await checks.check("an unknown tool is refused with -32602", unknown_tool(client, prefix))
    await checks.check("32 calls at once are each answered with their own result", many(client, prefix))


async def lists(client: Connection, prefix: str) -> None:
    tools = {tool["name"]: tool for tool in await client.tools()}
    wanted = {
        f"{prefix}get_current_time": {"timezone"},
        f"{prefix}convert_time": {"source_timezone", "time", "target_timezone"},
    }
    assert set(tools) == set(wanted), f"listed {sorted(tools)}"
    for name, arguments in wanted.items():
        tool = tools[name]
        assert tool.get("description"), f"{name} has no description"
        assert tool["inputSchema"]["type"] == "object", tool["inputSchema"]
        assert set(tool["inputSchema"]["required"]) == arguments, tool["inputSchema"]


async def converts(client: Connection, prefix: str) -> None:
    arguments = {"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "Asia/Kathmandu"}
    value = value_of(await client.call(f"{prefix}convert_time", arguments))
    assert value["time_difference"] == "-3.25h", value
    assert value["source"]["datetime"].endswith("T12:00:00+09:00"), value
    assert value["target"]["datetime"].endswith("T08:45:00+05:45"), value
    assert value["target"]["timezone"] == "Asia/Kathmandu", value


async def tells(client: Connection, prefix: str) -> None:
    value = value_of(await client.call(f"{prefix}get_current_time", {"timezone": "Asia/Kathmandu"}))
    told = datetime.fromisoformat(value["datetime"])
    assert told.utcoffset() == timedelta(hours=5, minutes=45), value
    assert abs(datetime.now(timezone.utc) - told) < timedelta(minutes=1), value
    assert value["day_of_week"] == told.strftime("%A"), value
    assert value["is_dst"] is False, value


async def unknown_zone(client: Connection, prefix: str) -> None:
    answer = await client.call(f"{prefix}get_current_time", {"timezone": "Mars/Olympus"})
    assert answer.is_error, answer
    assert "Mars/Olympus" in answer.text, answer


async def missing_argument(client: Connection, prefix: str) -> None:
    try:
        answer = await client.call(f"{prefix}convert_time", {"source_timezone": "UTC", "time": "12:00"})
    except Refused as refused:  # revisions before 2025-11-25
        assert refused.code == -32602, refused
        assert "target_timezone" in refused.message, refused
    else:
        assert answer.is_error, answer
        assert "target_timezone" in answer.text, answer


async def unknown_tool(client: Connection, prefix: str) -> None:
    try:
        answer = await client.call(f"{prefix}no_such_tool", {})
    except Refused as refused:
        assert refused.code == -32602, refused
    else:
        raise AssertionError(f"it was answered with {answer}")


async def many(client: Connection, prefix: str) -> None:
    async def one(minute: int) -> None:
        time = f"12:{minute:02}"
        arguments = {"source_timezone": "UTC", "time": time, "target_timezone": "Asia/Tokyo"}
        value = value_of(await client.call(f"{prefix}convert_time", arguments))
        assert f"T{time}:00+00:00" in value["source"]["datetime"], (time, value)
        assert value["time_difference"] == "+9.0h", value

    await asyncio.gather(*(one(minute) for minute in range(32)))


def value_of(answer: Answer) -> Any:
    """The result's value: the text is JSON, and the structured content, where there is any, says the same."""
    assert not answer.is_error, answer
    value = json.loads(answer.text)
    if answer.structured is not None:
        assert answer.structured == value, answer
    return value


@dataclass
class Target:
    """A server to connect to: by address, or by a command that is started with this process's variables."""

    transport: str
    url: str = ""
    command: tuple[str, ...] = ()

    @property
    def environment(self) -> dict[str, str]:
        return dict(os.environ)


def arguments() -> tuple[str, list[Target]]:
    """The command line: `[--prefix P] [--http URL] [--stdio COMMAND…]`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--prefix", default="time_", help="what stands before the plugin's own names of tools")
    parser.add_argument("--http", metavar="URL", help="a Streamable HTTP endpoint")
    parser.add_argument("--stdio", nargs=argparse.REMAINDER, help="a command that serves stdio (must come last)")
    options = parser.parse_args()
    targets = []
    if options.http:
        targets.append(Target("http", url=options.http))
    if options.stdio:
        targets.append(Target("stdio", command=tuple(options.stdio)))
    if not targets:
        parser.error("give --http or --stdio")
    return options.prefix, targets
