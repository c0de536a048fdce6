"""The plugin: a collection of decorated functions, and the calls that a gateway makes."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import unquote

from . import docstrings, schema
from .content import Completion, Contents, Icon, Message, ReadResult, Result, blocks, is_content
from .context import Context
from .errors import ProtocolError, ToolError, reason
from .questions import NeedInput

F = TypeVar("F", bound=Callable[..., Any])

_NAME = re.compile(r"^[\w.\-/ ]{1,128}$")


@dataclass
class Function:
    """A decorated function: its arguments, and how to call it."""

    run: Callable[..., Any]
    members: list[schema.Member]
    context: str | None
    """The name of the parameter with the type `Context`."""
    description: str | None
    returns: Any

    @classmethod
    def of(cls, run: Callable[..., Any]) -> Function:
        """Read the signature and docstring of a function."""
        if inspect.iscoroutinefunction(run) or inspect.isasyncgenfunction(run):
            raise TypeError(f"`{run.__name__}` is async; write `def`: a blocked call doesn't hold up other calls")
        description, arguments = docstrings.parse(run.__doc__)
        hints = typing.get_type_hints(run, include_extras=True)
        members = []
        context = None
        parameters = inspect.signature(run).parameters
        for name, parameter in parameters.items():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise TypeError(f"`{run.__name__}`: the parameter `{name}` must have a name that callers can use")
            if name not in hints:
                raise TypeError(f"`{run.__name__}`: the parameter `{name}` needs a type hint, such as `{name}: str`")
            if hints[name] is Context:
                context = name
                continue
            required = parameter.default is parameter.empty
            default = None if required else parameter.default
            members.append(schema.Member(name, hints[name], required, default, arguments.get(name)))
        if unknown := [name for name in arguments if name not in parameters]:
            raise TypeError(f"`{run.__name__}`: the docstring describes `{unknown[0]}`, which isn't a parameter")
        return cls(run, members, context, description, hints.get("return", None))

    def call(self, context: Context, arguments: dict[str, Any]) -> Any:
        """Call the function."""
        if self.context is not None:
            arguments[self.context] = context
        return self.run(**arguments)

    def call_with_strings(self, context: Context, texts: dict[str, str]) -> Any:
        """Call the function with arguments that are strings, and convert them to its types."""
        arguments = {}
        for member in self.members:
            if member.name in texts:
                try:
                    arguments[member.name] = schema.decode_string(member.hint, texts[member.name])
                except schema.Mismatch as mismatch:
                    shown = texts[member.name]
                    message = f"invalid `{member.name}`: expected {mismatch.expected}, got `{shown}`"
                    raise ProtocolError.invalid_params(message, at=f"/{member.name}") from None
        return self.call(context, arguments)


@dataclass
class Tool:
    """A tool."""

    name: str
    function: Function
    title: str | None
    description: str | None
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    hints: dict[str, bool | None]
    icons: list[Icon] | None
    meta: dict[str, Any] | None
    when: Callable[[], bool] | None


@dataclass
class Resource:
    """A resource, or a template if its URI contains `{`."""

    uri: str
    name: str
    function: Function
    title: str | None
    description: str | None
    mime_type: str | None
    size: int | None
    icons: list[Icon] | None
    meta: dict[str, Any] | None

    @property
    def is_template(self) -> bool:
        """True for a template."""
        return "{" in self.uri


@dataclass
class Prompt:
    """A prompt."""

    name: str
    function: Function
    title: str | None
    description: str | None
    icons: list[Icon] | None
    meta: dict[str, Any] | None


@dataclass
class PromptResult:
    """The messages of a prompt."""

    messages: list[Message]
    description: str | None


@dataclass
class Plugin:
    """A plugin. Create one in your module, and decorate functions with its methods.

    `config` is a dataclass or TypedDict for the settings; the gateway checks them when it loads the plugin.
    `instructions` is advice for the model on using the plugin, if the operator allows it.
    """

    name: str
    version: str
    title: str | None = None
    description: str | None = None
    instructions: str | None = None
    website_url: str | None = None
    icons: list[Icon] | None = None
    config: Any = None
    tools: dict[str, Tool] = field(default_factory=dict, init=False)
    resources: list[Resource] = field(default_factory=list, init=False)
    prompts: dict[str, Prompt] = field(default_factory=dict, init=False)
    completions: dict[tuple[str, str, str], Callable[..., Any]] = field(default_factory=dict, init=False)

    # --- decorators ---

    def tool(
        self,
        name: str | None = None,
        *,
        title: str | None = None,
        description: str | None = None,
        read_only: bool | None = None,
        destructive: bool | None = None,
        idempotent: bool | None = None,
        open_world: bool | None = None,
        input_schema: dict[str, Any] | None = None,
        output_schema: dict[str, Any] | None = None,
        icons: list[Icon] | None = None,
        meta: dict[str, Any] | None = None,
        when: Callable[[], bool] | None = None,
    ) -> Callable[[F], F]:
        """A tool: a function that a model can call.

        The name, description and schemas come from the function; each can be set here instead. With `input_schema`, the
        function gets the whole object as its only argument. Without the four hints, hosts assume that a call can be
        destructive. `when` decides whether the tool is listed.
        """

        def register(run: F) -> F:
            function = Function.of(run)
            named = _checked(name or run.__name__, self.tools)
            if input_schema is not None and len(function.members) != 1:
                raise TypeError(f"`{run.__name__}`: with `input_schema`, it must have one parameter for the object")
            takes = input_schema or schema.object_schema(function.members)
            self.tools[named] = Tool(
                named, function, title, description or function.description, takes,
                output_schema or _output_schema(function.returns),
                {"read_only": read_only, "destructive": destructive, "idempotent": idempotent, "open_world": open_world},
                icons, meta, when,
            )
            if input_schema is not None:
                function.members[0] = schema.Member("", function.members[0].hint, True, None, function.members[0].name)
            return run

        return register

    def resource(
        self,
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        size: int | None = None,
        icons: list[Icon] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Callable[[F], F]:
        """A resource: data that a host can read by its URI.

        With braces, `uri` is a template, and the function has a parameter for each: `{name}` is a path segment, and
        `{+name}` is any string. A parameter called `uri` is the whole URI.
        """

        def register(run: F) -> F:
            function = Function.of(run)
            variables = set(re.findall(r"\{\+?(\w+)\}", uri))
            if len(variables) != uri.count("{"):
                raise TypeError(f"invalid template `{uri}`: use `{{name}}` or `{{+name}}`, each once")
            wanted = {member.name for member in function.members} - {"uri"}
            if variables != wanted:
                raise TypeError(f"`{run.__name__}`: its parameters must be those of `{uri}`, and optionally `uri`")
            self.resources.append(Resource(
                uri, name or run.__name__, function, title, description or function.description, mime_type, size, icons,
                meta,
            ))
            return run

        return register

    def prompt(
        self,
        name: str | None = None,
        *,
        title: str | None = None,
        description: str | None = None,
        icons: list[Icon] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Callable[[F], F]:
        """A prompt: messages that a user chooses from a menu. The function returns a string or messages."""

        def register(run: F) -> F:
            function = Function.of(run)
            named = _checked(name or run.__name__, self.prompts)
            self.prompts[named] = Prompt(named, function, title, description or function.description, icons, meta)
            return run

        return register

    def complete(self, argument: str, *, prompt: str | None = None, resource: str | None = None) -> Callable[[F], F]:
        """Suggestions for an argument of a prompt or a resource template.

        The function takes the typed text, and optionally the other arguments as a dictionary, and returns a list of
        strings or a `Completion`.
        """

        def register(run: F) -> F:
            if (prompt is None) == (resource is None):
                raise TypeError(f"`{run.__name__}`: name either `prompt` or `resource`")
            known = self.prompts if resource is None else [one.uri for one in self.resources]
            target = prompt or resource or ""
            if target not in known:
                raise TypeError(f"`{run.__name__}`: `{target}` isn't defined above it")
            self.completions["prompt" if resource is None else "resource", target, argument] = run
            return run

        return register

    # --- calls of the gateway ---

    def list_tools(self) -> list[Tool]:
        """The tools to offer."""
        return [tool for tool in self.tools.values() if tool.when is None or tool.when()]

    def call_tool(self, name: str, text: str, context: Context) -> Result:
        """Call a tool with the JSON text of its arguments."""
        tool = self.tools.get(name)
        if tool is None:
            raise ProtocolError.not_found(f"there is no tool `{name}`")
        function = tool.function
        try:
            value = schema.loads(text)
            if function.members and function.members[0].name == "":
                member = function.members[0]
                arguments = {str(member.description): schema.decode(member.hint, value)}
            else:
                arguments = schema.decode_members(function.members, value)
            found = function.call(context, arguments)
        except (ToolError, OSError) as error:
            return _result(Result(reason(error), is_error=True), structured=False)
        try:
            return _result(found, structured=tool.output_schema is not None)
        except (TypeError, ValueError) as error:
            raise TypeError(f"the tool `{name}` returned a value that JSON can't represent: {error}") from None

    def read_resource(self, uri: str, context: Context) -> ReadResult:
        """Read a resource."""
        for resource in self.resources:
            values = match(resource.uri, uri)
            if values is None:
                continue
            if any(member.name == "uri" for member in resource.function.members):
                values["uri"] = uri
            try:
                found = resource.function.call_with_strings(context, values)
            except (ToolError, OSError) as error:
                raise ProtocolError.internal(reason(error)) from error
            return _read_result(found, uri, resource.mime_type)
        raise ProtocolError.not_found(f"there is no resource `{uri}`")

    def get_prompt(self, name: str, arguments: Sequence[tuple[str, str]], context: Context) -> PromptResult:
        """Get a prompt."""
        prompt = self.prompts.get(name)
        if prompt is None:
            raise ProtocolError.not_found(f"there is no prompt `{name}`")
        try:
            found = prompt.function.call_with_strings(context, dict(arguments))
        except (ToolError, OSError) as error:
            raise ProtocolError.internal(reason(error)) from error
        messages = [found] if isinstance(found, (str, Message)) or is_content(found) else found
        messages = [one if isinstance(one, Message) else Message.user(one) for one in messages]
        return PromptResult(messages, prompt.description)

    def suggest(self, kind: str, target: str, argument: str, typed: str, others: dict[str, str]) -> Completion:
        """Suggest values for an argument."""
        run = self.completions.get((kind, target, argument))
        if run is None:
            return Completion([])
        found = run(typed, others) if len(inspect.signature(run).parameters) > 1 else run(typed)
        return found if isinstance(found, Completion) else Completion(list(found))


def match(template: str, uri: str) -> dict[str, str] | None:
    """The values of a template's variables in a URI, or `None` if it doesn't match."""
    pattern = ""
    for part in re.split(r"(\{\+?\w+\})", template):
        if part.startswith("{"):
            name = part.strip("{+}")
            pattern += f"(?P<{name}>.+)" if part[1] == "+" else f"(?P<{name}>[^/?#]+)"
        else:
            pattern += re.escape(part)
    found = re.fullmatch(pattern, uri, re.DOTALL)
    return None if found is None else {name: unquote(value) for name, value in found.groupdict().items()}


def _checked(name: str, known: dict[str, Any]) -> str:
    if not _NAME.match(name):
        raise ValueError(f"invalid name `{name}`: use up to 128 letters, digits, `_` and `-`")
    if name in known:
        raise ValueError(f"there are two functions with the name `{name}`")
    return name


def _output_schema(returns: Any) -> dict[str, Any] | None:
    """The schema of a function's results, unless they are text or blocks of content."""
    origin, args = typing.get_origin(returns), typing.get_args(returns)
    if origin is typing.Annotated:
        inner = _output_schema(args[0])
        return None if inner is None else schema.of(returns)
    kinds = args if args else (returns,)
    if returns in (None, type(None), str, Any, Result) or any(_is_content_type(kind) for kind in kinds):
        return None
    return schema.of(returns)


def _is_content_type(kind: Any) -> bool:
    if typing.get_args(kind):
        return any(_is_content_type(one) for one in typing.get_args(kind))
    return isinstance(kind, type) and kind.__module__ == Result.__module__


def _result(value: Any, *, structured: bool) -> Result:
    if isinstance(value, Result):
        value.content = blocks(value.content)
        value.has_structured |= value.structured is not None
        if value.has_structured and not value.content:
            value.content = blocks(schema.dumps(value.structured))
        return value
    if structured:
        return Result(blocks(schema.dumps(value)), structured=schema.encode(value), has_structured=True)
    if value is None:
        return Result([])
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) or is_content(one) for one in value):
        return Result(blocks(value))
    if isinstance(value, str) or is_content(value):
        return Result(blocks(value))
    return Result(blocks(schema.dumps(value)))


def _read_result(value: Any, uri: str, mime_type: str | None) -> ReadResult:
    if isinstance(value, ReadResult):
        return value
    if isinstance(value, Contents):
        return ReadResult([value])
    if isinstance(value, (str, bytes)):
        return ReadResult([Contents(uri, value, mime_type)])
    if isinstance(value, (list, tuple)) and value and all(isinstance(one, Contents) for one in value):
        return ReadResult(list(value))
    return ReadResult([Contents(uri, schema.dumps(value), mime_type or "application/json")])


__all__ = ["NeedInput", "Plugin"]
