"""Tests the Python SDK 2.x as a client of the fixture, in both eras."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.subscriptions import PromptsListChanged, ResourceUpdated, ToolsListChanged
from pydantic import BaseModel

from fixture import Connection, OnProgress, Refused, Seen, Target, Wire, run_checks, targets

# The connection modes, each with the expected revision.
MODES = {"2025-11-25": "legacy", "2026-07-28": "auto"}


def wire(value: BaseModel) -> Wire:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def done(request: Any) -> Wire:
    try:
        return wire(await request)
    except MCPError as error:
        raise Refused(error.error.code, error.error.message) from error


class Sdk(Connection):
    def __init__(self, client: Client, revision: str, seen: Seen) -> None:
        super().__init__(revision, seen)
        self.client = client

    async def tools(self) -> list[Wire]:
        return (await done(self.client.list_tools()))["tools"]

    async def resources(self) -> list[Wire]:
        return (await done(self.client.list_resources()))["resources"]

    async def templates(self) -> list[Wire]:
        return (await done(self.client.list_resource_templates()))["resourceTemplates"]

    async def prompts(self) -> list[Wire]:
        return (await done(self.client.list_prompts()))["prompts"]

    async def call(
        self, name: str, arguments: Wire | None = None, progress: OnProgress | None = None, meta: Wire | None = None
    ) -> Wire:
        return await done(self.client.call_tool(name, arguments, progress_callback=progress, meta=meta))

    async def read(self, uri: str) -> Wire:
        return await done(self.client.read_resource(uri))

    async def get(self, name: str, arguments: dict[str, str] | None = None) -> Wire:
        return await done(self.client.get_prompt(name, arguments))

    async def complete(self, prompt: str, argument: str, value: str) -> Wire:
        ref = types.PromptReference(type="ref/prompt", name=prompt)
        return await done(self.client.complete(ref, {"name": argument, "value": value}))

    async def set_level(self, level: str) -> None:
        await done(self.client.set_logging_level(level))

    @asynccontextmanager
    async def listen(self, uris: list[str]) -> AsyncIterator[None]:
        if not self.stateless:
            for uri in uris:
                await done(self.client.subscribe_resource(uri))
            yield
            for uri in uris:
                await done(self.client.unsubscribe_resource(uri))
            return
        wanted = {"tools_list_changed": True, "prompts_list_changed": True, "resource_subscriptions": uris}
        async with self.client.listen(**wanted) as subscription:
            hearing = asyncio.create_task(self.hear(subscription))
            yield
            hearing.cancel()

    async def hear(self, subscription: Any) -> None:
        async for event in subscription:
            match event:
                case ToolsListChanged():
                    self.seen.change("tools")
                case PromptsListChanged():
                    self.seen.change("prompts")
                case ResourceUpdated(uri=uri):
                    self.seen.change(uri)


def callbacks(seen: Seen) -> dict[str, Any]:
    async def elicit(_context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult.model_validate(seen.elicited(wire(params)))

    async def sample(_context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        return types.CreateMessageResult.model_validate(seen.sampled(wire(params)))

    async def roots(_context: Any) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate(seen.rooted())

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        seen.log(wire(params))

    return {
        "elicitation_callback": elicit,
        "sampling_callback": sample,
        "list_roots_callback": roots,
        "logging_callback": log,
    }


def handler(seen: Seen) -> Any:
    """Handles messages outside a call or subscription."""

    async def message(message: Any) -> None:
        if not isinstance(message, Exception):
            received = wire(message)
            seen.notification(received["method"], received.get("params", {}))

    return message


@asynccontextmanager
async def connect(target: Target, revision: str, seen: Seen) -> AsyncIterator[tuple[Connection, str]]:
    if target.url:
        server: Any = target.url
    else:
        command, *rest = target.command
        server = StdioServerParameters(command=command, args=rest, env=target.environment)
    mode = MODES[revision]
    more = {"message_handler": handler(seen)} if mode == "legacy" else {}
    async with Client(server, mode=mode, **callbacks(seen), **more) as client:
        yield Sdk(client, revision, seen), client.protocol_version


async def main() -> int:
    name = f"python-{version('mcp')}"
    failed = [await run_checks(name, target, revision, connect) for target in targets() for revision in MODES]
    return 1 if any(failed) else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
