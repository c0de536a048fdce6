"""JSON Schemas from type hints, and values of these types from JSON and back."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import inspect
import json
import math
import types
import typing
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from .errors import ToolError

# `typing_extensions` aren't needed: all of this is in Python 3.11.
_NUMBERS = {int: "integer", float: "number", bool: "boolean", str: "string"}


@dataclass(frozen=True, kw_only=True)
class Field:
    """Constraints of an argument or field: `Annotated[int, Field(ge=1, le=10)]`.

    The names are those of pydantic. A plain string in `Annotated` is a description.
    """

    description: str | None = None
    title: str | None = None
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    multiple_of: float | None = None
    min_length: int | None = None
    """Of a string, or of a list."""
    max_length: int | None = None
    pattern: str | None = None
    format: str | None = None
    extra: Mapping[str, Any] | None = None
    """Other keywords of JSON Schema."""

    def keywords(self, of: dict[str, Any]) -> dict[str, Any]:
        """The keywords for a schema of this type."""
        size = "Items" if of.get("type") == "array" else "Length"
        named = {
            "description": self.description, "title": self.title, "minimum": self.ge, "exclusiveMinimum": self.gt,
            "maximum": self.le, "exclusiveMaximum": self.lt, "multipleOf": self.multiple_of,
            f"min{size}": self.min_length, f"max{size}": self.max_length, "pattern": self.pattern,
            "format": self.format,
        }
        return {name: value for name, value in named.items() if value is not None} | dict(self.extra or {})


@dataclass(frozen=True)
class Member:
    """An argument or a field of an object."""

    name: str
    hint: Any
    required: bool
    default: Any = None
    description: str | None = None

    def schema(self) -> dict[str, Any]:
        """Its schema, with its description and default."""
        schema = of(self.hint)
        if self.description is not None:
            schema.setdefault("description", self.description)
        if not self.required and self.default is not None:
            schema["default"] = encode(self.default)
        return schema


def object_schema(members: Sequence[Member], *, closed: bool = True) -> dict[str, Any]:
    """The schema of an object with these members."""
    schema: dict[str, Any] = {"type": "object", "properties": {member.name: member.schema() for member in members}}
    if required := [member.name for member in members if member.required]:
        schema["required"] = required
    if closed:
        schema["additionalProperties"] = False
    return schema


def of(hint: Any) -> dict[str, Any]:
    """The schema of a type."""
    return _of(hint, ())


def _of(hint: Any, inside: tuple[Any, ...]) -> dict[str, Any]:
    if hint in inside:
        raise TypeError(f"`{_name(hint)}` contains itself; pass a schema by hand instead")
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        schema = _of(args[0], inside)
        for note in args[1:]:
            if isinstance(note, str):
                schema["description"] = note
            elif isinstance(note, Field):
                schema |= note.keywords(schema)
        return schema
    if origin in (typing.Required, typing.NotRequired):
        return _of(args[0], inside)
    if hint is Any or hint is object:
        return {}
    if hint is None or hint is type(None):
        return {"type": "null"}
    if hint in _NUMBERS:
        return {"type": _NUMBERS[hint]}
    if hint in _TIMES:
        return {"type": "string", "format": _TIMES[hint][0]}
    if origin is Literal:
        return _choices(list(args))
    if origin in (Union, types.UnionType):
        return _union(args, inside)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _choices([choice.value for choice in hint])
    if hint in (list, tuple, set, frozenset) or _is_list(origin):
        if origin is tuple and not (len(args) == 2 and args[1] is ...):
            parts = [_of(arg, inside) for arg in args]
            return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}
        schema = {"type": "array"}
        if args:
            schema["items"] = _of(args[0], inside)
        if origin in (set, frozenset, Set):
            schema["uniqueItems"] = True
        return schema
    if hint is dict or _is_dict(origin):
        if len(args) == 2 and (values := _of(args[1], inside)):
            return {"type": "object", "additionalProperties": values}
        return {"type": "object"}
    if dataclasses.is_dataclass(hint) or typing.is_typeddict(hint):
        properties = {}
        for member in members_of(hint):
            inner = _of(member.hint, (*inside, hint))
            if not member.required and member.default is not None:
                inner["default"] = encode(member.default)
            properties[member.name] = inner
        schema = {"type": "object", "properties": properties}
        if required := [member.name for member in members_of(hint) if member.required]:
            schema["required"] = required
        return schema | {"additionalProperties": False}
    raise TypeError(
        f"no JSON Schema for the type `{_name(hint)}`; use str, int, float, bool, list, dict, Literal, an Enum, a "
        "dataclass or a TypedDict"
    )


# The formats of JSON Schema for times, and how to read them.
_TIMES: dict[Any, tuple[str, Any]] = {
    datetime.datetime: ("date-time", datetime.datetime.fromisoformat),
    datetime.date: ("date", datetime.date.fromisoformat),
}


def members_of(hint: Any) -> list[Member]:
    """The fields of a dataclass or TypedDict."""
    hints = typing.get_type_hints(hint, include_extras=True)
    if typing.is_typeddict(hint):
        return [Member(name, hints[name], name in hint.__required_keys__) for name in hints]
    members = []
    for field in dataclasses.fields(hint):
        if not field.init:
            continue
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        default = None if field.default is dataclasses.MISSING else field.default
        members.append(Member(field.name, hints[field.name], required, default))
    return members


def _choices(values: list[Any]) -> dict[str, Any]:
    kinds = {_NUMBERS.get(type(value)) for value in values}
    kind = kinds.pop() if len(kinds) == 1 else None
    return ({"type": kind} if kind else {}) | {"enum": values}


def _union(args: tuple[Any, ...], inside: tuple[Any, ...]) -> dict[str, Any]:
    others = [arg for arg in args if arg is not type(None)]
    schemas = [_of(arg, inside) for arg in others]
    can_be_null = len(others) < len(args)
    if len(schemas) == 1 and can_be_null and isinstance(schemas[0].get("type"), str):
        [schema] = schemas
        schema["type"] = [schema["type"], "null"]
        if "enum" in schema:
            schema["enum"] = [*schema["enum"], None]
        return schema
    if can_be_null:
        schemas.append({"type": "null"})
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _is_list(origin: Any) -> bool:
    return isinstance(origin, type) and issubclass(origin, (Sequence, Set)) and not issubclass(origin, str)


def _is_dict(origin: Any) -> bool:
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _name(hint: Any) -> str:
    return getattr(hint, "__name__", None) or str(hint)


# === values ===


class Mismatch(ToolError):
    """A value that doesn't have the expected type. `at` is a JSON pointer."""

    def __init__(self, at: str, expected: str) -> None:
        super().__init__(f"invalid `{at or '/'}`: expected {expected}")
        self.at = at
        self.expected = expected


def loads(text: str) -> Any:
    """Parse JSON. An integer of hundreds of digits becomes a float, because Python's integers are unbounded."""
    return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 400 else float(digits))


def dumps(value: Any) -> str:
    """The compact JSON text of a value of any supported type."""
    return json.dumps(encode(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def encode(value: Any) -> Any:
    """The value with only types that JSON has."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, enum.Enum):
        return encode(value.value)
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"JSON has no number `{value}`")
        return value
    if isinstance(value, Mapping):
        return {_key(key): encode(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [encode(item) for item in value]
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    raise TypeError(f"a `{type(value).__name__}` can't be written as JSON")


def _key(key: Any) -> str:
    if isinstance(key, enum.Enum):
        key = key.value
    if not isinstance(key, str):
        raise TypeError(f"a key of an object must be a string, not `{key!r}`")
    return key


def decode(hint: Any, value: Any, at: str = "") -> Any:
    """Convert a JSON value to a type. Raises `Mismatch`."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated or origin in (typing.Required, typing.NotRequired):
        return decode(args[0], value, at)
    if hint is Any or hint is object:
        return value
    if hint is None or hint is type(None):
        return _expect(value is None, value, at, "null")
    if hint is bool or hint is str:
        return _expect(isinstance(value, hint), value, at, "true or false" if hint is bool else "a string")
    if hint is int:
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return _expect(isinstance(value, int) and not isinstance(value, bool), value, at, "an integer")
    if hint is float:
        _expect(isinstance(value, (int, float)) and not isinstance(value, bool), value, at, "a number")
        return float(value)
    if hint in _TIMES:
        name, read = _TIMES[hint]
        try:
            return read(_expect(isinstance(value, str), value, at, f"a {name}"))
        except ValueError:
            raise Mismatch(at, f"a {name}") from None
    if origin is Literal:
        return _expect(value in args, value, at, f"one of {', '.join(map(json.dumps, args))}")
    if origin in (Union, types.UnionType):
        for arg in args:
            try:
                return decode(arg, value, at)
            except Mismatch as mismatch:
                last = mismatch
        raise last if len(args) == 2 and type(None) in args else Mismatch(at, "one of the possible types")
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        try:
            return hint(value)
        except ValueError:
            raise Mismatch(at, f"one of {', '.join(json.dumps(choice.value) for choice in hint)}") from None
    if hint in (list, tuple, set, frozenset) or _is_list(origin):
        _expect(isinstance(value, list), value, at, "a list")
        kind = origin or hint
        if kind is tuple and args and not (len(args) == 2 and args[1] is ...):
            _expect(len(value) == len(args), value, at, f"a list of {len(args)} values")
            return tuple(decode(arg, item, f"{at}/{i}") for i, (arg, item) in enumerate(zip(args, value)))
        items = [decode(args[0], item, f"{at}/{i}") if args else item for i, item in enumerate(value)]
        return kind(items) if kind in (tuple, set, frozenset) else set(items) if kind is Set else items
    if hint is dict or _is_dict(origin):
        _expect(isinstance(value, dict), value, at, "an object")
        return {key: decode(args[1], item, f"{at}/{key}") if args else item for key, item in value.items()}
    if dataclasses.is_dataclass(hint) or typing.is_typeddict(hint):
        return hint(**_members(members_of(hint), value, at))
    raise TypeError(f"no values of the type `{_name(hint)}` in JSON")


def decode_members(members: Sequence[Member], value: Any) -> dict[str, Any]:
    """The members of a JSON object with their types, as keyword arguments; absent optional ones are left out."""
    return _members(members, value, "")


def _members(members: Sequence[Member], value: Any, at: str) -> dict[str, Any]:
    _expect(isinstance(value, dict), value, at, "an object")
    known = {member.name: member for member in members}
    for name in value:
        if name not in known:
            raise Mismatch(f"{at}/{name}", f"no such member, only {', '.join(known) or 'an empty object'}")
    found = {}
    for member in members:
        if member.name in value:
            found[member.name] = decode(member.hint, value[member.name], f"{at}/{member.name}")
        elif member.required:
            raise Mismatch(f"{at}/{member.name}", "a value, but it is missing")
    return found


def _expect(holds: bool, value: Any, at: str, expected: str) -> Any:
    if not holds:
        raise Mismatch(at, expected)
    return value


def decode_string(hint: Any, text: str) -> Any:
    """Convert a string that a user typed: an argument of a prompt, a part of a URI, or a setting."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return decode_string(args[0], text)
    if origin in (Union, types.UnionType):
        others = [arg for arg in args if arg is not type(None)]
        return decode_string(others[0], text) if len(others) == 1 else decode(hint, text)
    if hint is int or hint is float:
        try:
            return hint(text.strip())
        except ValueError:
            raise Mismatch("", "an integer" if hint is int else "a number") from None
    if hint is bool:
        values = {"true": True, "false": False}
        return _expect(text.strip().lower() in values, text, "", "true or false") and values[text.strip().lower()]
    if hint is Any or hint is inspect.Parameter.empty:
        return text
    if origin is Literal and text not in args:
        for choice in args:
            if str(choice) == text:
                return choice
    if hint is str or hint in _TIMES or origin is Literal or (isinstance(hint, type) and issubclass(hint, enum.Enum)):
        return decode(hint, text)
    try:
        value = loads(text)
    except ValueError:
        raise Mismatch("", "JSON") from None
    return decode(hint, value)
