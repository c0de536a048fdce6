"""Descriptions from docstrings in Google style: the text, and the section `Args:`."""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Yields|Raises|Examples?|Notes?):\s*$")
_ARGUMENT = re.compile(r"^\s+\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s*(.*)$")


def parse(docstring: str | None) -> tuple[str | None, dict[str, str]]:
    """The description without sections, and the description of each argument."""
    text: list[str] = []
    arguments: dict[str, str] = {}
    section = None
    indent = 0
    name = None
    for line in inspect.cleandoc(docstring or "").splitlines():
        if found := _SECTION.match(line):
            section, name, indent = found[1], None, 0
        elif line and not line[0].isspace():
            section, name = None, None
            text.append(line)
        elif section is None:
            text.append(line)
        elif section in ("Args", "Arguments", "Parameters"):
            width = len(line) - len(line.lstrip())
            argument = _ARGUMENT.match(line)
            if argument and (not indent or width <= indent):
                indent, name = width, argument[1]
                arguments[name] = argument[2].strip()
            elif name and line.strip():
                arguments[name] = f"{arguments[name]} {line.strip()}".strip()
    description = re.sub(r"(?<=\S)\n(?=[^\s\-*0-9])", " ", "\n".join(text).strip())
    return description or None, arguments
