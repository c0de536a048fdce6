"""The call in progress."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from . import host, schema
from .questions import Form, InputRequest, NeedInput, Root, Roots, Sampled, Sampling, Url

T = TypeVar("T")

Question = Form[Any] | Url | Sampling | Roots


@dataclass
class ClientInfo:
    """The client program, as it identifies itself."""

    name: str
    version: str
    title: str | None = None


class Context:
    """The call in progress. Take it as a parameter with the type `Context`."""

    def __init__(self) -> None:
        state = host.current().state()
        self._once: dict[str, Any] = json.loads(state) if state else {}

    @property
    def principal(self) -> str | None:
        """The authenticated caller. `None` if the gateway doesn't authenticate callers."""
        return host.current().principal()

    @property
    def client(self) -> ClientInfo | None:
        """The client program. Don't trust it for authorization."""
        found = host.current().client()
        return None if found is None else ClientInfo(*found)

    @property
    def revision(self) -> str | None:
        """The MCP revision of the request, such as `2026-07-28`."""
        return host.current().revision()

    @property
    def cancelled(self) -> bool:
        """True if the caller has cancelled the request or disconnected. Check it regularly in long calls."""
        return host.current().cancelled()

    @property
    def remaining(self) -> float | None:
        """The time in seconds until the gateway ends the call."""
        left = host.current().remaining_ms()
        return None if left is None else left / 1000

    def capability(self, name: str) -> bool:
        """True if the client supports this capability, such as `elicitation` or `sampling.tools`, and the plugin is
        allowed to use it."""
        return host.current().capability(name)

    def meta(self, key: str) -> Any:
        """A member of the request's `_meta`, or `None`."""
        text = host.current().meta_value(key)
        return None if text is None else schema.loads(text)

    @overload
    def ask(self, key: str, question: Form[T]) -> T: ...
    @overload
    def ask(self, key: str, question: Url) -> Any: ...
    @overload
    def ask(self, key: str, question: Sampling) -> Sampled: ...
    @overload
    def ask(self, key: str, question: Roots) -> list[Root]: ...
    def ask(self, key: str, question: Any) -> Any:
        """Ask the client, and return its answer. `key` is a name that is unique in this call.

        The first time, the function ends here. The gateway gets the answer and calls it again from the top, and then this
        returns the answer.
        """
        return self.ask_all({key: question})[key]

    def ask_all(self, questions: Mapping[str, Question]) -> dict[str, Any]:
        """Ask several questions together."""
        open_questions = []
        answers = {}
        for key, question in questions.items():
            text = host.current().answer(key)
            if text is None:
                open_questions.append(InputRequest(key, question.method, question.params()))
            else:
                answers[key] = question.read(schema.loads(text))
        if open_questions:
            raise NeedInput(open_questions)
        return answers

    def once(self, key: str, work: Callable[[], T]) -> T:
        """Run `work` once for the whole call, even if it starts again to ask something; later rounds get the stored result.

        The result travels through the client, sealed by the gateway, so keep it small: an id, not a document.
        """
        if key not in self._once:
            self._once[key] = schema.loads(schema.dumps(work()))
        return self._once[key]

    def state(self) -> bytes | None:
        """The results of `once`, for the next round."""
        return schema.dumps(self._once).encode() if self._once else None
