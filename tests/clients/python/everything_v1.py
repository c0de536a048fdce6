"""Tests the Python SDK 1.x, which supports only the handshake era, as a client of the fixture."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.websocket import websocket_client
from pydantic import AnyUrl, BaseModel

from fixture import Connection, OnProgress, Refused, Seen, Target, Wire, run_checks, targets


def wire(value: BaseModel) -> Wire:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


class Sdk(Connection):
    def __init__(self, session: ClientSession, revision: str, seen: Seen) -> None:
        super().__init__(revision, seen)
        self.session = session
        self.last = 0

    async def done(self, request: Any) -> Wire:
        try:
            return wire(await request)
        except McpError as error:
            raise Refused(error.error.code, error.error.message) from error

    async def tools(self) -> list[Wire]:
        return (await self.done(self.session.list_tools()))["tools"]

    async def resources(self) -> list[Wire]:
        return (await self.done(self.session.list_resources()))["resources"]

    async def templates(self) -> list[Wire]:
        return (await self.done(self.session.list_resource_templates()))["resourceTemplates"]

    async def prompts(self) -> list[Wire]:
        return (await self.done(self.session.list_prompts()))["prompts"]

    async def call(
        self, name: str, arguments: Wire | None = None, progress: OnProgress | None = None, meta: Wire | None = None
    ) -> Wire:
        self.last = self.session._request_id  # noqa: SLF001 - SDK 1.x doesn't expose request ids
        return await self.done(self.session.call_tool(name, arguments, progress_callback=progress, meta=meta))

    async def cancel(self, calling: asyncio.Task[Wire]) -> None:
        params = types.CancelledNotificationParams(requestId=self.last, reason="not wanted any more")
        cancelled = types.CancelledNotification(method="notifications/cancelled", params=params)
        await self.session.send_notification(types.ClientNotification(cancelled))
        calling.cancel()

    async def read(self, uri: str) -> Wire:
        return await self.done(self.session.read_resource(AnyUrl(uri)))

    async def get(self, name: str, arguments: dict[str, str] | None = None) -> Wire:
        return await self.done(self.session.get_prompt(name, arguments))

    async def complete(self, prompt: str, argument: str, value: str) -> Wire:
        ref = types.PromptReference(type="ref/prompt", name=prompt)
        return await self.done(self.session.complete(ref, {"name": argument, "value": value}))

    async def set_level(self, level: str) -> None:
        await self.done(self.session.set_logging_level(level))

    @asynccontextmanager
    async def listen(self, uris: list[str]) -> AsyncIterator[None]:
        for uri in uris:
            await self.done(self.session.subscribe_resource(AnyUrl(uri)))
        yield
        for uri in uris:
            await self.done(self.session.unsubscribe_resource(AnyUrl(uri)))


def callbacks(seen: Seen) -> dict[str, Any]:
    async def elicit(_context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult.model_validate(seen.elicited(wire(params)))

    async def sample(_context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        return types.CreateMessageResult.model_validate(seen.sampled(wire(params)))

    async def roots(_context: Any) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate(seen.rooted())

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        seen.log(wire(params))

    async def message(message: Any) -> None:
        if isinstance(message, types.ServerNotification):
            received = wire(message.root)
            seen.notification(received["method"], received.get("params", {}))

    return {
        "elicitation_callback": elicit,
        "sampling_callback": sample,
        "list_roots_callback": roots,
        "logging_callback": log,
        "message_handler": message,
    }


@asynccontextmanager
async def connect(target: Target, revision: str, seen: Seen) -> AsyncIterator[tuple[Connection, str]]:
    if target.transport == "http":
        streams = streamable_http_client(target.url)
    elif target.transport == "sse":
        streams = sse_client(target.url)
    elif target.transport == "websocket":
        streams = websocket_client(target.command[-1])
    else:
        command, *rest = target.command
        streams = stdio_client(StdioServerParameters(command=command, args=rest, env=target.environment))
    async with streams as (reads, writes, *_), ClientSession(reads, writes, **callbacks(seen)) as session:
        result = await session.initialize()
        await session.send_ping()
        client = Sdk(session, revision, seen)
        if target.url:
            client.oversized = "messages above the size limit don't work, because HTTP status 413 ends the client's connection"
        yield client, result.protocolVersion


async def main() -> int:
    name = f"python-{version('mcp')}"
    failed = [await run_checks(name, target, "2025-11-25", connect) for target in targets()]
    return 1 if any(failed) else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
