"""Mistakes of plugins in Python: the same tools as in the guests `misuse` and `misuse-javascript`."""

from dataclasses import dataclass
from typing import Annotated, TypedDict

from moongate import Context, Field, Form, Plugin, config, http, kv

plugin = Plugin("misuse", "0.1.0")


@dataclass
class Sure:
    sure: bool


class Size(TypedDict):
    bytes: int


@plugin.tool()
def typed(count: Annotated[int, Field(ge=0)], city: str | None = None) -> str:
    """Take typed arguments."""
    return f"{count} {city or ''}"


@plugin.tool()
def state() -> str:
    """Use state."""
    return str(kv.increment("calls"))


@plugin.tool()
def contend() -> str:
    """Change a value while it is being updated."""
    attempts: list[int] = []

    def change(old: int) -> int:
        attempts.append(old)
        if len(attempts) == 1:
            kv.set("contended", 10)
        return old + 1

    return str(kv.update("contended", change, default=0))


@plugin.tool()
def store(bytes: int) -> None:
    """Store a large value."""
    kv.set("large", "x" * bytes)


@plugin.tool()
def request(url: str) -> str:
    """Get a page, of at most 1000 bytes."""
    return http.get(url, max_body=1000).text


@plugin.tool()
def file(path: str) -> str:
    """Read a file."""
    return open(path).read()


@plugin.tool()
def ask(ctx: Context) -> str:
    """Ask the user."""
    return str(ctx.ask("sure", Form("Sure?", Sure)).sure)


@plugin.tool()
def setting() -> str:
    """Read a setting."""
    return config.required("unit")


@plugin.tool()
def large(bytes: int) -> str:
    """Return a large text."""
    return "x" * bytes


@plugin.tool()
def wrong() -> Size:
    """Return something else than the schema allows."""
    return {"bytes": "many"}  # type: ignore[typeddict-item]


@plugin.tool()
def crash() -> str:
    """Crash."""
    raise RuntimeError("a bug in the plugin")
