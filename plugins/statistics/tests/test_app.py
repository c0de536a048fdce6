"""The plugin as the gateway sees it, with a fake in place of what it imports.

It needs the bindings, which are made once, as README.md says.
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
    raise unittest.SkipTest(f"{missing}: make the bindings first, see README.md") from missing

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
        """The result of a call, and its text."""
        outcome = TOOLS.call_tool(name, json.dumps(args))
        self.assertIsInstance(outcome, CallOutcome_Done)
        (block,) = outcome.value.content
        self.assertIsInstance(block, Content_Text)
        return outcome.value, block.value.text


class Described(Case):
    def test_it_describes_itself(self):
        self.assertEqual(app.Lifecycle().describe().name, "statistics")

    def test_every_tool_has_schemas_and_can_be_called(self):
        self.assertEqual({tool.name for tool in TOOLS.list_tools()}, set(app.CALLS))
        for tool in TOOLS.list_tools():
            for text in (tool.input_schema, tool.output_schema):
                schema = json.loads(text)
                self.assertEqual(schema["type"], "object")
                self.assertLessEqual(set(schema["required"]), set(schema["properties"]))


class Called(Case):
    def test_results_are_text_and_structured_and_have_what_the_schema_says(self):
        arguments = {
            "describe": {"numbers": [1, 2, 3]},
            "quantiles": {"numbers": [1, 2, 3], "parts": 2},
            "regression": {"x": [1, 2], "y": [3, 4]},
        }
        for tool in TOOLS.list_tools():
            result, text = self.call(tool.name, **arguments[tool.name])
            self.assertEqual(result.structured, text)
            self.assertEqual(set(json.loads(text)), set(json.loads(tool.output_schema)["properties"]))

    def test_numbers_that_can_not_be_used_are_an_answer_that_says_so(self):
        result, text = self.call("regression", x=[1], y=[1, 2])
        self.assertTrue(result.is_error)
        self.assertIn("each point needs one of both", text)

    def test_whole_numbers_without_end_are_unusable_too(self):
        outcome = TOOLS.call_tool("describe", '{"numbers": [1' + "0" * 10_000 + "]}")
        self.assertTrue(outcome.value.is_error)

    def test_outliers_are_told_to_the_log_if_anybody_reads_it(self):
        self.call("describe", numbers=[1, 2, 3, 4, 100])
        ((level, line),) = self.lines
        self.assertEqual((level, line["count"], line["first"]), (LogLevel.INFO, 1, [100.0]))
        self.wanted = False
        self.call("describe", numbers=[1, 2, 3, 4, 100])
        self.assertEqual(len(self.lines), 1)

    def test_an_unknown_tool_is_a_failure_of_the_protocol(self):
        with self.assertRaises(Err) as raised:
            self.call("nope")
        self.assertIsInstance(raised.exception.value, Failure_NotFound)


class Read(Case):
    def test_what_is_listed_can_be_read(self):
        for resource in RESOURCES.list_resources():
            (data,) = RESOURCES.read_resource(resource.uri).value.contents
            self.assertEqual((data.uri, data.mime_type), (resource.uri, resource.mime_type))
            self.assertIn("`median`", data.body.value)
        self.assertEqual(RESOURCES.list_templates(), [])

    def test_another_uri_is_not_found(self):
        with self.assertRaises(Err) as raised:
            RESOURCES.read_resource("statistics://other")
        self.assertIsInstance(raised.exception.value, Failure_NotFound)


if __name__ == "__main__":
    unittest.main()
