"""Lists and calls `time` with the Python SDK 2.x in both eras, chosen by the client or told, over HTTP and stdio."""

import sys
from typing import Any

import anyio
from mcp import Client, MCPError, StdioServerParameters

from checks import Answer, Checks, Refused, Target, arguments, exercise

# How the client connects, and the revision that it must end with.
MODES = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}


class Sdk:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def tools(self) -> list[dict[str, Any]]:
        result = await self.client.list_tools()
        return [tool.model_dump(by_alias=True, exclude_none=True) for tool in result.tools]

    async def call(self, name: str, arguments: dict[str, Any]) -> Answer:
        try:
            result = await self.client.call_tool(name, arguments)
        except MCPError as error:
            raise Refused(error.error.code, error.error.message) from error
        text = "".join(block.text for block in result.content if block.type == "text")
        return Answer(bool(result.is_error), text, result.structured_content)


def connect(target: Target, mode: str) -> Client:
    if target.url:
        return Client(target.url, mode=mode)
    command, *rest = target.command
    return Client(StdioServerParameters(command=command, args=rest, env=target.environment), mode=mode)


async def revision(client: Client, wanted: str) -> None:
    assert client.protocol_version == wanted, client.protocol_version


async def main() -> int:
    prefix, targets = arguments()
    failed = 0
    for target in targets:
        for mode, wanted in MODES.items():
            checks = Checks(f"python 2.x, {target.transport}, {mode}")
            async with connect(target, mode) as client:
                await checks.check(f"speaks {wanted}", revision(client, wanted))
                await exercise(checks, Sdk(client), prefix)
            failed += checks.failed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(anyio.run(main))
