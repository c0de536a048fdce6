"""Questions to the client: a form or page for the user, a message for its model, or its list of directories.

Ask them with `Context.ask`. The call then ends, and starts again from the top with the answer. Ask first, and act
afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from . import content, schema
from .errors import ToolError

T = TypeVar("T")


@dataclass
class InputRequest:
    """A question in the contract's form."""

    key: str
    method: str
    params: dict[str, Any]


class NeedInput(BaseException):
    """Ends the function that asks. It isn't an `Exception`, so that `except Exception` doesn't catch it."""

    def __init__(self, requests: list[InputRequest]) -> None:
        super().__init__("the call asks the client")
        self.requests = requests


@dataclass
class Decision(Generic[T]):
    """The user's answer to a question that can be declined."""

    action: Literal["accept", "decline", "cancel"]
    value: T | None = None


@dataclass
class Form(Generic[T]):
    """Asks the user to fill in a form. `fields` is a dataclass or TypedDict with strings, numbers, booleans and choices.

    If the user declines, the call fails. With `may_decline=True`, the answer is a `Decision` instead.
    """

    message: str
    fields: type[T]
    may_decline: bool = False

    method = "elicitation/create"

    def params(self) -> dict[str, Any]:
        """The parameters of the request."""
        members = schema.members_of(self.fields)
        properties = {}
        for member in members:
            properties[member.name] = _form_field(member)
        form: dict[str, Any] = {"type": "object", "properties": properties}
        if required := [member.name for member in members if member.required]:
            form["required"] = required
        return {"mode": "form", "message": self.message, "requestedSchema": form}

    def read(self, answer: Any) -> Any:
        """Convert the client's answer."""
        decision = _decision(answer)
        if decision.action == "accept":
            try:
                decision.value = schema.decode(self.fields, decision.value)
            except schema.Mismatch as mismatch:
                raise ToolError(f"the client's answer isn't the content of the form: {mismatch}") from None
        return decision if self.may_decline else _accepted(self.message, decision)


@dataclass
class Url:
    """Asks the user to open a page, for example to log in."""

    message: str
    url: str
    may_decline: bool = False

    method = "elicitation/create"

    def params(self) -> dict[str, Any]:
        """The parameters of the request."""
        return {"mode": "url", "message": self.message, "url": self.url}

    def read(self, answer: Any) -> Any:
        """Convert the client's answer."""
        decision = _decision(answer)
        decision.value = None
        return decision if self.may_decline else _accepted(self.message, decision)


@dataclass
class Sampled:
    """The model's response."""

    content: list[content.Content]
    model: str
    role: str = "assistant"
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        """The text of all text blocks, joined by newlines."""
        return "\n".join(block.text for block in self.content if isinstance(block, content.Text))


@dataclass
class Sampling:
    """Asks the client's model. `messages` is a user message, or several messages."""

    messages: str | Sequence[content.Message | dict[str, Any]]
    max_tokens: int
    system_prompt: str | None = None
    temperature: float | None = None
    stop_sequences: list[str] | None = None
    model_hints: list[str] = field(default_factory=list)
    """Parts of models' names, the best one first."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Other parameters of the method, such as `tools`."""

    method = "sampling/createMessage"

    def params(self) -> dict[str, Any]:
        """The parameters of the request."""
        messages = [content.Message.user(self.messages)] if isinstance(self.messages, str) else self.messages
        params: dict[str, Any] = {"messages": [_message(one) for one in messages], "maxTokens": self.max_tokens}
        optional = {
            "systemPrompt": self.system_prompt, "temperature": self.temperature, "stopSequences": self.stop_sequences,
        }
        params |= {name: value for name, value in optional.items() if value is not None}
        if self.model_hints:
            params["modelPreferences"] = {"hints": [{"name": name} for name in self.model_hints]}
        return params | self.extra

    def read(self, answer: Any) -> Sampled:
        """Convert the client's answer."""
        try:
            found = answer["content"]
            blocks = [content.from_json(block) for block in (found if isinstance(found, list) else [found])]
            return Sampled(blocks, answer["model"], answer["role"], answer.get("stopReason"))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ToolError(f"the client's answer isn't a model's message: {error!r}") from None


@dataclass
class Root:
    """A workspace directory or file of the client."""

    uri: str
    name: str | None = None


@dataclass
class Roots:
    """Asks the client for its workspace directories."""

    method = "roots/list"

    def params(self) -> dict[str, Any]:
        """The parameters of the request."""
        return {}

    def read(self, answer: Any) -> list[Root]:
        """Convert the client's answer."""
        try:
            return [Root(root["uri"], root.get("name")) for root in answer["roots"]]
        except (KeyError, TypeError) as error:
            raise ToolError(f"the client's answer isn't a list of roots: {error!r}") from None


def _form_field(member: schema.Member) -> dict[str, Any]:
    found = member.schema()
    kind = found.get("type")
    if isinstance(kind, list):  # a field that can be null is one that can be left out
        found["type"] = kind = next(one for one in kind if one != "null")
        if "enum" in found:
            found["enum"] = [choice for choice in found["enum"] if choice is not None]
    items = found.get("items", {})
    if kind not in ("string", "integer", "number", "boolean") and not (kind == "array" and "enum" in items):
        raise TypeError(f"the form's field `{member.name}` must be a string, a number, a boolean or a choice")
    found.pop("uniqueItems", None)
    return found


def _message(message: content.Message | dict[str, Any]) -> dict[str, Any]:
    if isinstance(message, dict):
        return message
    [block] = content.blocks(message.content)
    return {"role": message.role, "content": content.to_json(block)}


def _decision(answer: Any) -> Decision[Any]:
    action = answer.get("action") if isinstance(answer, dict) else None
    if action not in ("accept", "decline", "cancel"):
        raise ToolError(f"the client's answer isn't an answer to a question: {answer!r}")
    return Decision(action, answer.get("content") or {} if action == "accept" else None)


def _accepted(message: str, decision: Decision[Any]) -> Any:
    if decision.action == "accept":
        return decision.value
    what = "declined" if decision.action == "decline" else "dismissed"
    raise ToolError(f'the user {what} the question "{message}"')
