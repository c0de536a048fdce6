"""Runs checks and prints a line for each, which xtask counts: `ok`, `FAILED` or `-` (not supported by the client)."""

import asyncio
import traceback
from collections.abc import Awaitable

# The maximum time for a check, in seconds.
CHECK_TIMEOUT = 120


class Unsupported(Exception):
    """The client or its revision doesn't support the capability; the text gives the reason."""


class Checks:
    """Runs checks and counts failures."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.failed = 0

    async def check(self, name: str, body: Awaitable[str | None]) -> None:
        """Runs one check. `body` raises an exception on failure, and returns the part that isn't supported."""
        try:
            missing = await asyncio.wait_for(body, CHECK_TIMEOUT)
        except Unsupported as why:
            print(f"- {self.label} {name}: {why}", flush=True)
        except Exception as error:  # noqa: BLE001 - any failure is the check's result
            self.failed += 1
            text = " ".join(f"{type(error).__name__}: {error}".split())
            print(f"FAILED {self.label} {name}: {text}", flush=True)
            traceback.print_exc()
        else:
            print(f"ok {self.label} {name}{f': {missing}' if missing else ''}", flush=True)
