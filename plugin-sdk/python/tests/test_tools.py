"""Tools: arguments, schemas, results and errors."""

import json
import unittest
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from moongate import Context, Field, Image, Link, Plugin, ProtocolError, Result, Text, ToolError
from moongate.testing import Client


class Unit(Enum):
    CELSIUS = "celsius"
    KELVIN = "kelvin"


@dataclass
class Guest:
    name: str
    diet: str | None = None


class Size(TypedDict):
    bytes: int
    words: NotRequired[int]


plugin = Plugin("test", "0.1.0")


@plugin.tool(read_only=True)
def forecast(
    city: Annotated[str, "The city, in English."],
    days: Annotated[int, Field(ge=1, le=10)] = 1,
    unit: Unit | None = None,
    style: Literal["short", "long"] = "short",
) -> str:
    """Get the forecast
    for the next days.

    Use it for plans.

    Args:
        days: The number of days,
            including today.
        unit: The unit.
    """
    return f"{city} {days} {unit} {style}"


@plugin.tool()
def invite(guests: list[Guest]) -> list[str]:
    """Invite guests."""
    return [f"{guest.name} {guest.diet}" for guest in guests]


@plugin.tool()
def measure(text: str) -> Size:
    """Measure a text."""
    return {"bytes": len(text)} if text else {"bytes": 0, "words": 0}


@plugin.tool()
def wrong() -> Size:
    """Return something else."""
    return {"bytes": "many"}  # type: ignore[typeddict-item]


@plugin.tool()
def chart() -> list[Image | Link | str]:
    """Draw."""
    return ["a chart", Image(b"png", "image/png"), Link("x://y", "y")]


@plugin.tool()
def both() -> Result:
    """Return text and an object."""
    return Result("two words", structured={"words": 2})


@plugin.tool()
def fail(how: str) -> None:
    """Fail."""
    if how == "tool":
        raise ToolError("can't; try another one")
    if how == "file":
        open("/no/such/file")
    if how == "protocol":
        raise ProtocolError.invalid_params("not that", at="/how")
    if how == "result":
        return object()  # type: ignore[return-value]
    raise KeyError(how)


@plugin.tool(input_schema={"type": "object", "properties": {"a": {}}})
def anything(value: dict[str, Any]) -> str:
    """Take anything."""
    return json.dumps(value)


@plugin.tool(when=lambda: False)
def hidden() -> str:
    """Never listed."""
    return ""


class Tools(unittest.TestCase):
    def setUp(self) -> None:
        self.client = Client(plugin)

    def test_schema_and_descriptions_come_from_the_function(self) -> None:
        tool = plugin.tools["forecast"]
        self.assertEqual(tool.description, "Get the forecast for the next days.\n\nUse it for plans.")
        self.assertEqual(
            tool.input_schema,
            {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "The city, in English."},
                    "days": {
                        "type": "integer", "minimum": 1, "maximum": 10, "default": 1,
                        "description": "The number of days, including today.",
                    },
                    "unit": {"type": ["string", "null"], "enum": ["celsius", "kelvin", None], "description": "The unit."},
                    "style": {"type": "string", "enum": ["short", "long"], "default": "short"},
                },
                "required": ["city"],
                "additionalProperties": False,
            },
        )
        self.assertEqual(tool.hints["read_only"], True)

    def test_arguments_have_the_types_of_the_function(self) -> None:
        self.assertEqual(self.client.call("forecast", city="Oslo", unit="kelvin").text, "Oslo 1 Unit.KELVIN short")
        guests = self.client.call("invite", guests=[{"name": "Ada"}, {"name": "Bo", "diet": "vegan"}])
        self.assertEqual(guests.structured, ["Ada None", "Bo vegan"])

    def test_wrong_arguments_are_failures(self) -> None:
        for arguments, message in [
            ({"city": 1}, "invalid `/city`: expected a string"),
            ({"city": "Oslo", "days": 1.5}, "invalid `/days`: expected an integer"),
            ({"city": "Oslo", "unit": "miles"}, 'expected one of "celsius", "kelvin"'),
            ({}, "invalid `/city`: expected a value, but it is missing"),
            ({"city": "Oslo", "day": 1}, "invalid `/day`: no such member"),
        ]:
            found = self.client.call("forecast", arguments)
            self.assertTrue(found.failed)
            if "unit" not in arguments and "day" not in arguments:
                self.assertEqual(found.text, message)

    def test_structured_results_have_a_schema_and_text(self) -> None:
        self.assertEqual(plugin.tools["measure"].output_schema["required"], ["bytes"])
        found = self.client.call("measure", text="ab")
        self.assertEqual((found.structured, found.text), ({"bytes": 2}, '{"bytes":2}'))
        with self.assertRaisesRegex(AssertionError, "`/bytes` must be integer"):
            self.client.call("wrong")

    def test_blocks_of_content(self) -> None:
        self.assertIsNone(plugin.tools["chart"].output_schema)
        self.assertEqual(
            self.client.call("chart").content, [Text("a chart"), Image(b"png", "image/png"), Link("x://y", "y")]
        )
        both = self.client.call("both")
        self.assertEqual((both.text, both.structured), ("two words", {"words": 2}))

    def test_errors(self) -> None:
        self.assertEqual(self.client.call("fail", how="tool").text, "can't; try another one")
        self.assertEqual(self.client.call("fail", how="file").text, "`/no/such/file`: No such file or directory")
        with self.assertRaises(ProtocolError) as raised:
            self.client.call("fail", how="protocol")
        self.assertEqual((raised.exception.kind, raised.exception.at), ("invalid-params", "/how"))
        with self.assertRaises(KeyError):  # a bug fails the test; in a gateway it ends the call
            self.client.call("fail", how="bug")
        with self.assertRaisesRegex(TypeError, "the tool `fail` returned a value that JSON can't represent: a `object`"):
            self.client.call("fail", how="result")

    def test_schema_by_hand(self) -> None:
        self.assertEqual(self.client.call("anything", {"b": [1]}).text, '{"b": [1]}')

    def test_tools_can_be_hidden(self) -> None:
        self.assertNotIn("hidden", self.client.tools())

    def test_mistakes_are_found_when_the_module_is_loaded(self) -> None:
        def untyped(city):  # type: ignore[no-untyped-def]
            pass

        async def later() -> None:
            pass

        def described(city: str) -> None:
            """Describe.

            Args:
                town: The town.
            """

        def opaque(value: complex) -> None:
            pass

        for run, message in [
            (untyped, "the parameter `city` needs a type hint"), (later, "is async"), (described, "describes `town`"),
            (opaque, "no JSON Schema for the type `complex`"),
        ]:
            with self.assertRaisesRegex(TypeError, message):
                Plugin("bad", "0").tool()(run)
        with self.assertRaisesRegex(ValueError, "two functions"):
            both = Plugin("bad", "0")
            both.tool("a")(lambda: None)
            both.tool("a")(lambda: None)

    def test_outside_of_a_call_there_is_no_gateway(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "only work during a call"):
            Context()


if __name__ == "__main__":
    unittest.main()
