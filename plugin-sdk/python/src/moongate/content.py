"""Content of results, prompts and resources."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Union

Role = Literal["user", "assistant"]


@dataclass
class Icon:
    """An image that a host can show next to a name."""

    src: str
    """An `https:` or `data:` URI."""
    mime_type: str | None = None
    sizes: list[str] | None = None
    """The sizes it is made for: `48x48` and so on, or `any`."""
    theme: Literal["light", "dark"] | None = None


@dataclass
class Annotations:
    """The audience and importance of an item."""

    audience: list[Role] | None = None
    priority: float | None = None
    """From 0 (optional) to 1 (required)."""
    last_modified: str | None = None
    """An ISO 8601 time."""


@dataclass
class Text:
    """A text block."""

    text: str
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None


@dataclass
class Image:
    """An image."""

    data: bytes
    mime_type: str
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None


@dataclass
class Audio:
    """Audio."""

    data: bytes
    mime_type: str
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None


@dataclass
class Link:
    """A resource that the host can read later. Use it for large data."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    """The length in bytes."""
    icons: list[Icon] | None = None
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None


@dataclass
class Contents:
    """The data of a resource: text or bytes."""

    uri: str
    data: str | bytes
    mime_type: str | None = None
    meta: dict[str, Any] | None = None


@dataclass
class Embedded:
    """A resource with its data, in a result or message."""

    contents: Contents
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None


@dataclass
class Other:
    """A kind of content newer than this package, as MCP's JSON."""

    json: dict[str, Any]


Content = Union[Text, Image, Audio, Link, Embedded, Other]


@dataclass
class Result:
    """A tool's result: content for the model, structured content for programs, or both."""

    content: str | Content | Sequence[str | Content] = ()
    structured: Any = None
    is_error: bool = False
    meta: dict[str, Any] | None = None
    has_structured: bool = False
    """Structured content that is `None` is JSON's `null`, not absent."""


@dataclass
class Message:
    """A message of a prompt."""

    role: Role
    content: str | Content

    @classmethod
    def user(cls, content: str | Content) -> Message:
        """A message of the user."""
        return cls("user", content)

    @classmethod
    def assistant(cls, content: str | Content) -> Message:
        """A message of the model."""
        return cls("assistant", content)


@dataclass
class ReadResult:
    """The data of a resource, and how long it can be cached."""

    contents: Contents | Sequence[Contents]
    ttl: float | None = None
    """The time in seconds for which the data can be cached. Default: 0."""
    shareable: bool | None = None
    """A cached copy can be shared with other callers. Default: false."""
    meta: dict[str, Any] | None = None


@dataclass
class Completion:
    """Suggestions for an argument, the best one first."""

    values: list[str]
    total: int | None = None
    has_more: bool | None = None


def blocks(content: str | Content | Sequence[str | Content]) -> list[Content]:
    """The content as a list of blocks."""
    if isinstance(content, str) or is_content(content):
        content = [content]  # type: ignore[list-item]
    return [Text(block) if isinstance(block, str) else block for block in content]  # type: ignore[union-attr]


def is_content(value: object) -> bool:
    """True for a block of content."""
    return isinstance(value, (Text, Image, Audio, Link, Embedded, Other))


def to_json(block: Content) -> dict[str, Any]:
    """A text, image or audio block as MCP's JSON, for messages to the client's model."""
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, (Image, Audio)):
        kind = "image" if isinstance(block, Image) else "audio"
        return {"type": kind, "data": base64.b64encode(block.data).decode(), "mimeType": block.mime_type}
    if isinstance(block, Other):
        return block.json
    raise TypeError(f"a message to the model can't contain {type(block).__name__}")


def from_json(block: dict[str, Any]) -> Content:
    """A block from MCP's JSON; kinds without a class become `Other`."""
    match block.get("type"):
        case "text":
            return Text(block["text"])
        case "image":
            return Image(base64.b64decode(block["data"]), block["mimeType"])
        case "audio":
            return Audio(base64.b64decode(block["data"]), block["mimeType"])
    return Other(block)
