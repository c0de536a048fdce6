"""The start of a new plugin: the helpers in a small world, and the example in README.md."""

import importlib.util
import json
import re
import sys
import types as python_types
import unittest
from pathlib import Path
from unittest.mock import patch

DIRECTORY = Path(__file__).parents[1]
sys.path.append(str(DIRECTORY / "target/bindings"))
try:
    from wit_world import exports, imports
    from wit_world.imports import types
except ModuleNotFoundError as missing:
    raise unittest.SkipTest(f"{missing}: generate the bindings first, see README.md") from missing


def in_a_small_world():
    """`moongate.py` in a world that exports `lifecycle` and `tools` and imports nothing."""
    small_exports = python_types.ModuleType("wit_world.exports")
    small_exports.lifecycle, small_exports.tools = exports.lifecycle, exports.tools
    small_exports.Lifecycle, small_exports.Tools = exports.Lifecycle, exports.Tools
    small_imports = python_types.ModuleType("wit_world.imports")
    small_imports.types = types
    world = python_types.ModuleType("wit_world")
    world.exports, world.imports = small_exports, small_imports
    modules = {
        "wit_world": world, "wit_world.exports": small_exports, "wit_world.imports": small_imports,
        "wit_world.imports.types": types,
    }
    spec = importlib.util.spec_from_file_location("moongate", DIRECTORY / "src/moongate.py")
    helpers = importlib.util.module_from_spec(spec)
    hidden = [name for name in sys.modules if name.startswith("wit_world")]
    with patch.dict(sys.modules, modules):
        for name in set(hidden) - set(modules):
            del sys.modules[name]
        spec.loader.exec_module(helpers)
    return helpers, modules


class NewPlugin(unittest.TestCase):
    def test_works_without_resources_and_log(self):
        helpers, _ = in_a_small_world()
        self.assertEqual(helpers.info("hello", "0.1.0", "Hello", "Greets.").name, "hello")
        hints = helpers.tool("greet", "Greets.", {"type": "object"}, read_only=True).annotations
        self.assertEqual((hints.read_only, hints.destructive), (True, None))
        self.assertEqual(helpers.say("Hello!").value.content, [helpers.text("Hello!")])
        self.assertIsNone(helpers.log)

    def test_example_of_the_readme(self):
        readme = (DIRECTORY / "README.md").read_text(encoding="utf-8")
        code = re.search(r"```python\n(.*?)```", readme, re.DOTALL)[1]
        helpers, modules = in_a_small_world()
        app = {"__name__": "app"}
        with patch.dict(sys.modules, {**modules, "moongate": helpers}):
            exec(compile(code, "README.md", "exec"), app)
        [tool] = app["Tools"]().list_tools()
        outcome = app["Tools"]().call_tool(tool.name, json.dumps({"name": "Ada"}))
        self.assertEqual(outcome.value.content, [helpers.text("Hello, Ada!")])
