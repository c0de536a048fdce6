"""Tests FastMCP as a client of the fixture, in both eras."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from typing import Any

import mcp_types as types
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp import MCPError
from pydantic import BaseModel

from checks import Unsupported
from fixture import ROOT, Connection, OnProgress, Refused, Seen, Target, Wire, run_checks, no_subscription, targets

# The connection modes, each with the expected revision.
MODES = {"2025-11-25": "legacy", "2026-07-28": "auto"}


def wire(value: BaseModel) -> Wire:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def done(request: Any) -> Wire:
    try:
        return wire(await request)
    except MCPError as error:
        raise Refused(error.error.code, error.error.message) from error


class FastMcp(Connection):
    def __init__(self, client: Client[Any], revision: str, seen: Seen) -> None:
        super().__init__(revision, seen)
        self.client = client

    async def tools(self) -> list[Wire]:
        return [wire(tool) for tool in await self.client.list_tools()]

    async def resources(self) -> list[Wire]:
        return [wire(resource) for resource in await self.client.list_resources()]

    async def templates(self) -> list[Wire]:
        return [wire(template) for template in await self.client.list_resource_templates()]

    async def prompts(self) -> list[Wire]:
        return [wire(prompt) for prompt in await self.client.list_prompts()]

    async def call(
        self, name: str, arguments: Wire | None = None, progress: OnProgress | None = None, meta: Wire | None = None
    ) -> Wire:
        request = self.client.call_tool_mcp(name, arguments or {}, progress_handler=progress, meta=meta)
        return await done(request)

    async def read(self, uri: str) -> Wire:
        return await done(self.client.read_resource_mcp(uri))

    async def get(self, name: str, arguments: dict[str, str] | None = None) -> Wire:
        return await done(self.client.get_prompt_mcp(name, arguments))

    async def complete(self, prompt: str, argument: str, value: str) -> Wire:
        ref = types.PromptReference(type="ref/prompt", name=prompt)
        return await done(self.client.complete_mcp(ref, {"name": argument, "value": value}))

    async def set_level(self, level: str) -> None:
        await self.client.set_logging_level(level)

    def listen(self, uris: list[str]) -> AbstractAsyncContextManager[None]:
        if uris:
            raise Unsupported("no method to subscribe to a resource")
        if self.stateless:
            raise Unsupported("no method to listen for changes")
        return no_subscription()


def handlers(seen: Seen) -> dict[str, Any]:
    async def elicit(_message: str, _kind: Any, params: types.ElicitRequestParams, _context: Any) -> Any:
        answer = types.ElicitResult.model_validate(seen.elicited(wire(params)))
        return answer if answer.action != "accept" else answer.content

    async def sample(_messages: Any, params: types.CreateMessageRequestParams, _context: Any) -> Any:
        return types.CreateMessageResult.model_validate(seen.sampled(wire(params)))

    async def roots(_context: Any) -> Any:
        seen.rooted()
        return [types.Root.model_validate(ROOT)]

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        seen.log(wire(params))

    async def message(message: Any) -> None:
        if not isinstance(message, Exception):
            received = wire(message)
            seen.notification(received["method"], received.get("params", {}))

    return {
        "elicitation_handler": elicit,
        "sampling_handler": sample,
        "roots": roots,
        "log_handler": log,
        "message_handler": message,
    }


@asynccontextmanager
async def connect(target: Target, revision: str, seen: Seen) -> AsyncIterator[tuple[Connection, str]]:
    if target.url:
        transport: Any = StreamableHttpTransport(target.url)
    else:
        command, *rest = target.command
        transport = StdioTransport(command, rest, env=target.environment, keep_alive=False)
    async with Client(transport, mode=MODES[revision], **handlers(seen)) as client:
        yield FastMcp(client, revision, seen), client.protocol_version or "none"


async def main() -> int:
    name = f"fastmcp-{version('fastmcp')}"
    failed = [await run_checks(name, target, revision, connect) for target in targets() for revision in MODES]
    return 1 if any(failed) else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
