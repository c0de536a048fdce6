"""State: values that outlive a call, under string keys. The operator grants it with `allow.state = true`.

Values are anything that JSON can represent; the functions whose name ends in `_bytes` store bytes as they are.
All errors are `KvError`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from . import host, schema
from .errors import KvError

T = TypeVar("T")

_MAX_UPDATE_ATTEMPTS = 64


def get(key: str, default: Any = None, *, kind: Any = Any) -> Any:
    """The value of `key`, or `default` if there is none. `kind` converts it, for example to a dataclass."""
    data = get_bytes(key)
    return default if data is None else _parse(key, data, kind)


def get_bytes(key: str) -> bytes | None:
    """Like `get`, for bytes."""
    return host.current().kv_get(key)


def set(key: str, value: Any) -> None:
    """Store `value` under `key`, replacing the current value."""
    set_bytes(key, _write(key, value))


def set_bytes(key: str, value: bytes) -> None:
    """Like `set`, for bytes."""
    host.current().kv_set(key, value)


def delete(key: str) -> None:
    """Remove `key`. Succeeds if it doesn't exist."""
    host.current().kv_delete(key)


def exists(key: str) -> bool:
    """True if there is a value under `key`."""
    return get_bytes(key) is not None


def keys() -> list[str]:
    """All keys, in no particular order."""
    return host.current().kv_keys()


def increment(key: str, delta: int = 1) -> int:
    """Add `delta` to the integer under `key` atomically, and return the sum. A missing key counts as 0."""
    return host.current().kv_increment(key, delta)


def update(key: str, change: Callable[[Any], T], *, default: Any = None, kind: Any = Any) -> T:
    """Replace the value of `key` with the result of `change` atomically, and return the new value.

    If another call changes the key in the meantime, `change` is called again with the current value. Without a value, it
    gets `default`. An exception leaves the key unchanged.
    """
    snapshot = host.current().kv_snapshot(key)
    for _ in range(_MAX_UPDATE_ATTEMPTS):
        data = snapshot.current()
        # The default is copied, because `change` may modify it.
        old = schema.loads(schema.dumps(default)) if data is None else _parse(key, data, kind)
        new = change(old)
        snapshot = snapshot.swap(_write(key, new))
        if snapshot is None:
            return new
    raise KvError("contended", f"too many concurrent changes to `{key}`; try again")


def _parse(key: str, data: bytes, kind: Any) -> Any:
    try:
        return schema.decode(kind, schema.loads(data.decode()))
    except (ValueError, schema.Mismatch) as error:
        raise KvError("form", f"invalid value under `{key}`: {error}") from None


def _write(key: str, value: Any) -> bytes:
    try:
        return schema.dumps(value).encode()
    except (TypeError, ValueError) as error:
        raise KvError("form", f"invalid value under `{key}`: {error}") from None
