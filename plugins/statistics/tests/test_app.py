"""The plugin as the gateway sees it, with a fake log.

Requires the generated bindings; see README.md.
"""

import json
import sys
import unittest
from pathlib import Path
from unittest.mock import patch

sys.path.append(str(Path(__file__).parents[1] / "target/bindings"))
try:
    import app
except ModuleNotFoundError as missing:
    raise unittest.SkipTest(f"{missing}: generate the bindings first, see README.md") from missing

from componentize_py_types import Err
from wit_world.exports.tools import CallOutcome_Done
from wit_world.imports import log
from wit_world.imports.types import Content_Text, Failure_NotFound, LogLevel

TOOLS = app.Tools()
RESOURCES = app.Resources()


class Case(unittest.TestCase):
    def setUp(self):
        self.lines = []
        self.wanted = True
        write = lambda level, logger, data: self.lines.append((level, json.loads(data)))
        for name, fake in (("enabled", lambda level: self.wanted), ("write", write)):
            patcher = patch.object(log, name, fake)
            patcher.start()
            self.addCleanup(patcher.stop)

    def call(self, name, **args):
        """Return the result of a call, and its text."""
        outcome = TOOLS.call_tool(name, json.dumps(args))
        self.assertIsInstance(outcome, CallOutcome_Done)
        (block,) = outcome.value.content
        self.assertIsInstance(block, Content_Text)
        return outcome.value, block.value.text


class Described(Case):
    def test_describes_itself(self):
        self.assertEqual(app.Lifecycle().describe().name, "statistics")

    def test_every_tool_has_schemas_and_a_function(self):
        self.assertEqual({tool.name for tool in TOOLS.list_tools()}, set(app.CALLS))
        for tool in TOOLS.list_tools():
            for text in (tool.input_schema, tool.output_schema):
                schema = json.loads(text)
                self.assertEqual(schema["type"], "object")
                self.assertLessEqual(set(schema["required"]), set(schema["properties"]))


class Called(Case):
    def test_results_match_their_schema(self):
        arguments = {
            "describe": {"numbers": [1, 2, 3]},
            "quantiles": {"numbers": [1, 2, 3], "parts": 2},
            "regression": {"x": [1, 2], "y": [3, 4]},
        }
        for tool in TOOLS.list_tools():
            result, text = self.call(tool.name, **arguments[tool.name])
            self.assertEqual(result.structured, text)
            self.assertEqual(set(json.loads(text)), set(json.loads(tool.output_schema)["properties"]))

    def test_invalid_numbers_are_a_failed_result(self):
        result, text = self.call("regression", x=[1], y=[1, 2])
        self.assertTrue(result.is_error)
        self.assertIn("they must have the same length", text)

    def test_rejects_long_integers(self):
        outcome = TOOLS.call_tool("describe", '{"numbers": [1' + "0" * 10_000 + "]}")
        self.assertTrue(outcome.value.is_error)

    def test_logs_outliers_if_enabled(self):
        self.call("describe", numbers=[1, 2, 3, 4, 100])
        ((level, line),) = self.lines
        self.assertEqual((level, line["count"], line["first"]), (LogLevel.INFO, 1, [100.0]))
        self.wanted = False
        self.call("describe", numbers=[1, 2, 3, 4, 100])
        self.assertEqual(len(self.lines), 1)

    def test_unknown_tool_is_not_found(self):
        with self.assertRaises(Err) as raised:
            self.call("nope")
        self.assertIsInstance(raised.exception.value, Failure_NotFound)


class Read(Case):
    def test_reads_listed_resources(self):
        for resource in RESOURCES.list_resources():
            (data,) = RESOURCES.read_resource(resource.uri).value.contents
            self.assertEqual((data.uri, data.mime_type), (resource.uri, resource.mime_type))
            self.assertIn("`median`", data.body.value)
        self.assertEqual(RESOURCES.list_templates(), [])

    def test_unknown_uri_is_not_found(self):
        with self.assertRaises(Err) as raised:
            RESOURCES.read_resource("statistics://other")
        self.assertIsInstance(raised.exception.value, Failure_NotFound)


if __name__ == "__main__":
    unittest.main()
