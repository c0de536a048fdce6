"""Lists and calls `time` with the Python SDK 1.x, which speaks the handshake era, over HTTP and stdio."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from checks import Answer, Checks, Refused, Target, arguments, exercise


class Sdk:
    def __init__(self, session: ClientSession) -> None:
        self.session = session

    async def tools(self) -> list[dict[str, Any]]:
        result = await self.session.list_tools()
        return [tool.model_dump(by_alias=True, exclude_none=True) for tool in result.tools]

    async def call(self, name: str, arguments: dict[str, Any]) -> Answer:
        try:
            result = await self.session.call_tool(name, arguments)
        except McpError as error:
            raise Refused(error.error.code, error.error.message) from error
        text = "".join(block.text for block in result.content if block.type == "text")
        return Answer(bool(result.isError), text, result.structuredContent)


@asynccontextmanager
async def connect(target: Target) -> AsyncIterator[ClientSession]:
    if target.url:
        streams = streamable_http_client(target.url)
    else:
        command, *rest = target.command
        streams = stdio_client(StdioServerParameters(command=command, args=rest, env=target.environment))
    async with streams as (read, write, *_), ClientSession(read, write) as session:
        yield session


async def main() -> int:
    prefix, targets = arguments()
    failed = 0
    for target in targets:
        checks = Checks(f"python 1.x, {target.transport}")
        async with connect(target) as session:
            await checks.check("shakes hands", handshake(session))
            await checks.check("pings", session.send_ping())
            await exercise(checks, Sdk(session), prefix)
        failed += checks.failed
    return 1 if failed else 0


async def handshake(session: ClientSession) -> None:
    result = await session.initialize()
    assert result.protocolVersion == "2025-11-25", result
    assert result.serverInfo.name and result.serverInfo.version, result


if __name__ == "__main__":
    sys.exit(anyio.run(main))
