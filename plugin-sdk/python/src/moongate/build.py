"""Builds a plugin as a component: `python -m moongate.build -o FILE`.

The world contains only what the plugin uses: the interfaces of its tools, resources, prompts and completions, and the
gateway's functions whose modules it imports.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import traceback
from pathlib import Path

from .plugin import Plugin

_WIT = Path(__file__).parent / "wit"

# Modules of this package, and what they import.
_IMPORTS = {
    "log": ["moongate:plugin/log@0.1.0"],
    "progress": ["moongate:plugin/progress@0.1.0"],
    "changes": ["moongate:plugin/changes@0.1.0"],
    "config": ["wasi:config/store@0.2.0-rc.1"],
    "kv": ["wasi:keyvalue/store@0.2.0-draft2", "wasi:keyvalue/atomics@0.2.0-draft2"],
    "http": ["wasi:http/outgoing-handler@0.2.12"],
}

# Popular HTTP packages. They open sockets, which would fail only during a call.
_SOCKETS = {"aiohttp", "httpx", "requests", "urllib3"}

# During a call, there are no files to import, so modules that only a function imports are imported here.
_ENTRY = """\
import importlib

import {module}
from moongate.component import *

for name in {modules}:
    try:
        importlib.import_module(name)
    except ImportError:
        pass  # a part of a module, or a module that Python lacks here

serve({module})
"""


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m moongate.build", description="Build a plugin as a component.")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the component's file")
    parser.add_argument("-s", "--source", type=Path, default=Path("src"), help="the directory of your modules (src)")
    parser.add_argument("-m", "--module", default="plugin", help="the module with the `Plugin` (plugin)")
    parser.add_argument(
        "-p", "--path", type=Path, action="append", default=[], help="another directory with modules; can be repeated"
    )
    options = parser.parse_args()
    # `moongate dev` terminates running builds. An exit removes the temporary directory.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    tool = shutil.which("componentize-py", path=sysconfig.get_path("scripts")) or shutil.which("componentize-py")
    if tool is None:
        print("error: componentize-py isn't installed; run `pip install componentize-py==0.25.1`", file=sys.stderr)
        return 69
    try:
        build(tool, options.output, options.source, options.module, options.path)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


class BuildError(Exception):
    """A plugin that can't be built."""


def build(tool: str, output: Path, source: Path, module: str, paths: list[Path]) -> None:
    """Build the component with componentize-py."""
    for directory in (source, *paths):
        if not directory.is_dir():
            raise BuildError(f"the directory `{directory}` doesn't exist")
        sys.path.insert(0, str(directory))
    plugin = _load(module)
    modules = imported_modules([source, *paths])
    for name in sorted(_SOCKETS & imported_modules([source])):
        print(f"warning: {_instead(name)}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="moongate-") as temporary:
        directory = Path(temporary)
        (directory / "wit").mkdir()
        (directory / "wit/world.wit").write_text(world(plugin, modules))
        shutil.copytree(_WIT, directory / "contract")
        if "moongate.ask" not in modules:
            # Otherwise the gateway would report that the plugin was built to ask the client.
            host = directory / "contract/host.wit"
            host.write_text(re.sub(r"\n  answer: func[^;]*;", "", host.read_text()))
        (directory / "entry").mkdir()
        (directory / "entry/moongate_entry.py").write_text(
            _ENTRY.format(module=module, modules=sorted(name for name in modules if importable(name)))
        )
        package = directory / "package"
        shutil.copytree(Path(__file__).parent, package / "moongate", ignore=shutil.ignore_patterns("wit", "__pycache__"))
        output.parent.mkdir(parents=True, exist_ok=True)
        # A gateway that watches the file never sees a partial one.
        partial = output.with_name(output.name + ".new")
        command = [tool, "-q", "-d", str(directory / "contract"), "-d", str(directory / "wit"), "-w", "moongate:component/component"]
        command += ["--full-names", "componentize", "moongate_entry", "-o", str(partial), "-p", str(directory / "entry")]
        for path in (source, *paths, package):
            command += ["-p", str(path)]
        # Without these, componentize-py adds the packages of the environment: itself, and those of the tests.
        environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
        if subprocess.run(command, env=environment, check=False).returncode:
            raise BuildError("componentize-py failed")
        os.replace(partial, output)


def _load(module: str) -> Plugin:
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name == module:
            raise BuildError(f"there is no module `{module}`; name another one with `--module`") from None
        package = str(error.name).partition(".")[0]
        hint = f"to add a package, run `pip install --target packages {package}`"
        if package in _SOCKETS:
            hint = _instead(package)
        raise BuildError(f"{_problem(module, error)}\nhint: {hint}") from None
    except Exception as error:
        raise BuildError(_problem(module, error)) from None
    found = {id(value): value for value in vars(loaded).values() if isinstance(value, Plugin)}
    if len(found) != 1:
        raise BuildError(f"`{module}` must contain one `Plugin`, but it contains {len(found)}")
    return next(iter(found.values()))


def _instead(package: str) -> str:
    return f"`{package}` opens sockets, which plugins can't; use `moongate.http`"


def _problem(module: str, error: Exception) -> str:
    """The error of a module that can't be imported, without the frames of this library and of the import system."""
    shown = traceback.TracebackException.from_exception(error)
    hidden = ("<frozen ", importlib.__file__, str(Path(__file__).parent))
    frames = traceback.StackSummary.from_list([one for one in shown.stack if not one.filename.startswith(hidden)])
    text = "".join([*frames.format(), *shown.format_exception_only()])
    return f"can't import `{module}`:\n{text.rstrip()}"


def world(plugin: Plugin, modules: set[str]) -> str:
    """The world of a plugin."""
    exports = {
        "lifecycle": True, "tools": plugin.tools, "resources": plugin.resources, "prompts": plugin.prompts,
        "completions": plugin.completions,
    }
    imports = ["moongate:plugin/types@0.1.0", "moongate:plugin/request@0.1.0"]
    used = {name.split(".")[1] for name in modules if name.startswith("moongate.")}
    if any(name.startswith("urllib.request") for name in modules):
        used.add("http")
    for name in sorted(used & set(_IMPORTS)):
        imports += _IMPORTS[name]
    lines = [f"  import {name};" for name in imports]
    lines += [f"  export moongate:plugin/{name}@0.1.0;" for name, items in exports.items() if items]
    return "package moongate:component;\n\nworld component {\n" + "\n".join(lines) + "\n}\n"


def imported_modules(directories: list[Path]) -> set[str]:
    """The modules that the sources in these directories import or name, also inside of functions."""
    found = set()
    for file in (file for directory in directories for file in directory.rglob("*.py")):
        if file.is_relative_to(Path(__file__).parent):
            continue
        for node in ast.walk(ast.parse(file.read_bytes(), str(file))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Attribute) and node.attr in ("ask", "ask_all"):
                found.add("moongate.ask")  # `Context.ask`
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "moongate":
                found.add(f"moongate.{node.attr}")
    return found


def importable(name: str) -> bool:
    """True for a module of the plugin, its dependencies or Python that components can contain."""
    return not name.startswith(("moongate", "__future__", "pytest", "tests"))


if __name__ == "__main__":
    raise SystemExit(main())
