"""Write Moongate plugins in Python.

A plugin is a module with one `Plugin` and decorated functions. Type hints become JSON Schemas, and docstrings become
descriptions:

    from moongate import Plugin

    plugin = Plugin("hello", "0.1.0", description="Greet people.")

    @plugin.tool(read_only=True)
    def greet(name: str) -> str:
        '''Greet someone by name.

        Args:
            name: Name of the person to greet.
        '''
        return f"Hello, {name}!"

`python -m moongate.build` builds a component from it. The modules `config`, `log`, `progress`, `changes`, `kv` and `http` use the
gateway; `moongate.testing` has a client with fakes of all of them, for tests without WebAssembly.
"""

from . import changes, config, http, kv, log, progress
from .content import (
    Annotations,
    Audio,
    Completion,
    Contents,
    Embedded,
    Icon,
    Image,
    Link,
    Message,
    Other,
    ReadResult,
    Result,
    Text,
)
from .context import ClientInfo, Context
from .errors import ConfigError, HttpError, KvError, ProtocolError, ToolError
from .plugin import Plugin
from .questions import Decision, Form, Root, Roots, Sampled, Sampling, Url
from .schema import Field

__all__ = [
    "Annotations", "Audio", "ClientInfo", "Completion", "ConfigError", "Contents", "Context", "Decision", "Embedded",
    "Field", "Form", "HttpError", "Icon", "Image", "KvError", "Link", "Message", "Other", "Plugin", "ProtocolError",
    "ReadResult", "Result", "Root", "Roots", "Sampled", "Sampling", "Text", "ToolError", "Url",
    "changes", "config", "http", "kv", "log", "progress",
]
