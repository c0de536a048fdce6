"""The tool `echo` on FastMCP, which `cargo xtask bench` measures: over stdio, or over HTTP at a port of 127.0.0.1."""

import sys

from fastmcp import FastMCP

server = FastMCP("echo")


@server.tool
def echo(text: str) -> str:
    """Say it again."""
    return text


if sys.argv[1] == "--stdio":
    server.run(show_banner=False)
else:
    server.run(
        transport="http",
        host="127.0.0.1",
        port=int(sys.argv[1]),
        stateless_http=True,
        json_response=True,
        show_banner=False,
        log_level="error",
        uvicorn_config={"access_log": False},
    )
