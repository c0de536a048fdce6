"""Sends the same calls to `mcp-server-time` and to the gateway's `time`, and compares what comes back.

Both are started over stdio and spoken to by one SDK, so a difference is a difference between the servers. Each knows
the zones from a package of its own, of a pinned version; the two versions hold the same release of the zone data.

What is compared, the normal form:
- the list of tools: names without the gateway's prefix, each with its arguments' names, types and which are required,
  the result's names (the output schema's, at every depth), and the four behaviour hints;
- a result: the value that its text holds as JSON, and the structured content, exactly; only `datetime` of the current
  time may differ, by less than a minute, and must have the same offset;
- a failure: that it is one, as a tool error that says something.

What remains different, on purpose, and so isn't compared:
- the wording of titles, descriptions and failures: the other server shows its language's own words and paths for some
  zones, ours names the value and the cure;
- what belongs to a server and not to a tool: its name, its version, its capabilities.
"""

import argparse
import asyncio
import json
import os
import sys
from datetime import datetime, timedelta
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from checks import Checks

ZONES = [
    "UTC",
    "Etc/UTC",
    "Etc/GMT+12",
    "Europe/Warsaw",
    "Europe/Dublin",  # its winter time is the odd one out in the zone data
    "Africa/Casablanca",  # so is its summer
    "America/New_York",
    "America/St_Johns",
    "America/Sao_Paulo",
    "Asia/Kathmandu",
    "Asia/Kolkata",
    "Asia/Tokyo",
    "Australia/Lord_Howe",  # half an hour of summer time
    "Pacific/Apia",
    "Pacific/Chatham",
    "US/Pacific",  # an old name
    "EST5EDT",
]
TIMES = ["00:00", "09:30", "12:00", "23:59"]
ODD_TIMES = ["9:5", "7:05", "24:00", "12:60", "25:00", "noon", "", "12", "12:30:00", " 12:30", "12:30 ", "-1:30"]
ODD_ZONES = ["Mars/Olympus", "europe/warsaw", "Utc+2", "", "Europe", "../etc/passwd", "Europe/Warsaw ", "a\u0000b"]


class Server:
    """One of the two, with names as the other has them."""

    def __init__(self, client: Client, prefix: str) -> None:
        self.client = client
        self.prefix = prefix

    async def tools(self) -> dict[str, Any]:
        tools = (await self.client.list_tools()).tools
        return {tool.name.removeprefix(self.prefix): normal_tool(tool) for tool in tools}

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        result = await self.client.call_tool(self.prefix + name, arguments)
        text = "".join(block.text for block in result.content if block.type == "text")
        if result.is_error:
            assert text, "a failure without a word"
            return {"error": "…"}
        return {"value": json.loads(text), "structured": result.structured_content}


def normal_tool(tool: Any) -> dict[str, Any]:
    """What of a tool's description both must agree on."""
    schema = tool.input_schema
    hints = tool.annotations
    return {
        "arguments": {name: part.get("type") for name, part in schema["properties"].items()},
        "required": sorted(schema["required"]),
        "result": names_in(tool.output_schema, tool.output_schema),
        "hints": hints
        and [hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint],
    }


def names_in(schema: Any, root: Any) -> Any:
    """The names of a schema's properties, at every depth, references followed."""
    if not isinstance(schema, dict):
        return None
    if reference := schema.get("$ref"):
        *_, folder, name = reference.split("/")
        return names_in(root[folder][name], root)
    if "properties" not in schema:
        return schema.get("type")
    return {name: names_in(part, root) for name, part in sorted(schema["properties"].items())}


async def same(theirs: Server, ours: Server, name: str, arguments: dict[str, Any]) -> None:
    """Both answer a call alike. A day may begin between the two calls, so a first difference is tried again."""
    for attempt in (1, 2):
        expected, got = await theirs.call(name, arguments), await ours.call(name, arguments)
        if name == "get_current_time" and "value" in expected and "value" in got:
            expected, got = without_moment(expected, got)
        if expected == got:
            return
        if attempt == 2:
            raise AssertionError(f"{name} {arguments}\n  theirs: {expected}\n  ours:   {got}")


def without_moment(expected: dict[str, Any], got: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Takes the current time out of two results, after comparing it."""
    for kind in ("value", "structured"):
        then, now = (datetime.fromisoformat(answer[kind]["datetime"]) for answer in (expected, got))
        assert abs(now - then) < timedelta(minutes=1), (expected, got)
        assert now.utcoffset() == then.utcoffset(), (expected, got)
        assert len(expected[kind]["datetime"]) == len(got[kind]["datetime"]), (expected, got)
    strip = lambda answer: {kind: {**answer[kind], "datetime": "…"} for kind in ("value", "structured")}  # noqa: E731
    return strip(expected), strip(got)


async def all_same(theirs: Server, ours: Server, calls: list[tuple[str, dict[str, Any]]]) -> None:
    differences = []
    for name, arguments in calls:
        try:
            await same(theirs, ours, name, arguments)
        except AssertionError as difference:
            differences.append(str(difference))
    assert not differences, "\n" + "\n".join(differences)


def calls() -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """The calls, in groups: each group is one check."""

    def convert(source: Any, time: Any, target: Any) -> tuple[str, dict[str, Any]]:
        return "convert_time", {"source_timezone": source, "time": time, "target_timezone": target}

    def current(zone: Any) -> tuple[str, dict[str, Any]]:
        return "get_current_time", {"timezone": zone}

    pairs = list(zip(ZONES, ZONES[1:] + ZONES[:1], strict=True))
    return {
        "the current time in every zone": [current(zone) for zone in ZONES],
        "conversions": [convert(source, time, target) for source, target in pairs for time in TIMES],
        "times in an odd form": [convert("UTC", time, "Asia/Tokyo") for time in ODD_TIMES],
        "zones that aren't there": [current(zone) for zone in ODD_ZONES]
        + [convert(zone, "12:00", "UTC") for zone in ODD_ZONES]
        + [convert("UTC", "12:00", zone) for zone in ODD_ZONES],
        "two mistakes at once": [convert("", "noon", ""), convert("Mars/Olympus", "noon", "Mars/Phobos")],
        "arguments that don't fit": [
            ("get_current_time", {}),
            ("get_current_time", {"timezone": 1}),
            ("get_current_time", {"timezone": None}),
            ("convert_time", {"source_timezone": "UTC", "time": "12:00"}),
            convert("UTC", 12, "Asia/Tokyo"),
        ],
        "an argument too many": [("get_current_time", {"timezone": "UTC", "more": 1})],
    }


async def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--prefix", default="time_", help="what stands before our names of tools")
    parser.add_argument("--stdio", nargs=argparse.REMAINDER, required=True, help="our command (must come last)")
    options = parser.parse_args()
    command, *rest = options.stdio
    # With an empty PYTHONTZPATH it reads the zone data of the package `tzdata`, not whatever the machine has.
    reference = StdioServerParameters(
        command=sys.executable,
        args=["-m", "mcp_server_time", "--local-timezone", "UTC"],
        env={**os.environ, "PYTHONTZPATH": ""},
    )
    gateway = StdioServerParameters(command=command, args=rest, env=dict(os.environ))

    checks = Checks("beside mcp-server-time")
    async with Client(reference) as their_client, Client(gateway) as our_client:
        theirs, ours = Server(their_client, ""), Server(our_client, options.prefix)
        await checks.check("the tools", same_tools(theirs, ours))
        for name, group in calls().items():
            await checks.check(name, all_same(theirs, ours, group))
    return 1 if checks.failed else 0


async def same_tools(theirs: Server, ours: Server) -> None:
    expected, got = await asyncio.gather(theirs.tools(), ours.tools())
    assert expected == got, f"\n  theirs: {expected}\n  ours:   {got}"


if __name__ == "__main__":
    sys.exit(anyio.run(main))
