"""Runs checks and prints a line for each, which xtask counts: `ok`, `FAILED` or `-` for what the client lacks."""

import asyncio
import traceback
from collections.abc import Awaitable

# The seconds after which a check hangs.
LIMIT = 120


class Lacks(Exception):
    """What is checked doesn't exist in the client or in its revision; the text says why."""


class Checks:
    """Runs checks and counts what failed."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.failed = 0

    async def check(self, name: str, body: Awaitable[None]) -> None:
        """Runs one check: `body` raises when something isn't as it should be."""
        try:
            await asyncio.wait_for(body, LIMIT)
        except Lacks as why:
            print(f"- {self.label} {name}: {why}", flush=True)
        except Exception as error:  # noqa: BLE001 - any failure is the check's result
            self.failed += 1
            text = " ".join(f"{type(error).__name__}: {error}".split())
            print(f"FAILED {self.label} {name}: {text}", flush=True)
            traceback.print_exc()
        else:
            print(f"ok {self.label} {name}", flush=True)
