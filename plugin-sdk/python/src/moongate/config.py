"""The plugin's settings: the table `[plugins.<name>.config]` of `gateway.toml`."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from . import host, schema
from .errors import ConfigError

T = TypeVar("T")

_TABLE = "`[plugins.<name>.config]` of `gateway.toml`"


@overload
def get(key: str) -> str | None: ...
@overload
def get(key: str, kind: type[T]) -> T | None: ...
def get(key: str, kind: Any = str) -> Any:
    """The setting `key` as this type, or `None` if it isn't set."""
    text = host.current().config_get(key)
    return None if text is None else _read(key, kind, text)


@overload
def required(key: str) -> str: ...
@overload
def required(key: str, kind: type[T]) -> T: ...
def required(key: str, kind: Any = str) -> Any:
    """The setting `key` as this type. Raises `ConfigError` if it isn't set."""
    value = get(key, kind)
    if value is None:
        raise ConfigError(f"missing `{key}` in {_TABLE}")
    return value


def all() -> dict[str, str]:
    """All settings: a string as it is, every other value as JSON."""
    return dict(host.current().config_all())


def typed(kind: type[T]) -> T:
    """All settings as a dataclass or TypedDict."""
    texts = all()
    values: dict[str, Any] = {}
    for member in schema.members_of(kind):
        if member.name in texts:
            values[member.name] = _read(member.name, member.hint, texts[member.name])
        elif member.required:
            raise ConfigError(f"missing `{member.name}` in {_TABLE}")
    return kind(**values)


def _read(key: str, kind: Any, text: str) -> Any:
    try:
        return schema.decode_string(kind, text)
    except schema.Mismatch as mismatch:
        raise ConfigError(f"invalid `{key}` in {_TABLE}: expected {mismatch.expected}") from None
