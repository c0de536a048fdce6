"""The plugin's interface to the gateway: the exports `lifecycle`, `tools` and `resources` of wit/world.wit.

componentize-py looks for a class with the name of each export. It runs this module once, when it builds the component,
so code outside of functions costs nothing at run time.
"""

import json

import figures
import moongate
from wit_world import exports
from wit_world.imports.types import LogLevel

URI = "statistics://formulas"
MARKDOWN = "text/markdown"

FORMULAS = """\
# How the statistics are calculated

- `sum`: rounded once, after all numbers are added (`math.fsum`)
- `mean`: sum / count, without rounding in between
- `median`: the middle of the sorted numbers; for an even count, the mean of the middle two
- `standard_deviation`: of a sample, √(Σ(x − mean)² / (count − 1))
- quartiles and quantiles: linear interpolation between two numbers; the smallest number is the 0th quantile, the
  largest the last (the method `inclusive` of Python's `statistics`, R's type 7)
- `slope`, `intercept`: least squares of y = slope · x + intercept
- `correlation`: Pearson's, from −1 to 1; omitted if all y are equal
"""


def numbers(description: str) -> dict:
    """The schema of a list of numbers."""
    return {
        "type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": figures.MOST,
        "description": description,
    }


def schema(properties: dict, required: list[str]) -> dict:
    """The schema of an object."""
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


NUMBER = {"type": "number"}

def reading_tool(name: str, title: str, description: str, takes: dict, gives: dict):
    """A tool that changes nothing and only uses its arguments."""
    return moongate.tool(
        name, description, takes, gives,
        title=title, read_only=True, destructive=False, idempotent=True, open_world=False,
    )


TOOLS = [
    reading_tool(
        "describe", "Describe numbers",
        "Calculate count, sum, mean, median, minimum, maximum, standard deviation and quartiles of a list of numbers.",
        schema({"numbers": numbers("The sample, in any order.")}, ["numbers"]),
        schema(
            {
                "count": {"type": "integer"},
                **{
                    name: NUMBER
                    for name in ("sum", "mean", "median", "minimum", "maximum", "standard_deviation",
                                 "lower_quartile", "upper_quartile")
                },
            },
            ["count", "sum", "mean", "median", "minimum", "maximum"],
        ),
    ),
    reading_tool(
        "quantiles", "Quantiles",
        "Calculate quantiles, which divide a sample into parts of equal size. Use 4 parts for quartiles, 10 for deciles, "
        "100 for percentiles.",
        schema(
            {
                "numbers": numbers("The sample, in any order."),
                "parts": {"type": "integer", "minimum": 2, "maximum": 1000, "description": "The number of parts."},
            },
            ["numbers", "parts"],
        ),
        schema({"cuts": {"type": "array", "items": NUMBER}}, ["cuts"]),
    ),
    reading_tool(
        "regression", "Linear regression",
        "Fit a straight line to points by least squares. Returns slope, intercept and correlation.",
        schema(
            {
                "x": numbers("The first coordinate of each point."),
                "y": numbers("The second coordinate of each point, in the same order."),
            },
            ["x", "y"],
        ),
        schema({"slope": NUMBER, "intercept": NUMBER, "correlation": NUMBER}, ["slope", "intercept"]),
    ),
]


class Lifecycle(exports.Lifecycle):
    def describe(self):
        return moongate.info(
            "statistics", "0.1.0", "Statistics", "Calculate statistics with Python's `statistics` module."
        )


class Tools(exports.Tools):
    def list_tools(self):
        return TOOLS

    def call_tool(self, name, args):
        run = CALLS.get(name)
        if run is None:
            moongate.not_found(f"there is no tool `{name}`")
        try:
            # Parse integers as floats too: Python's integers are unbounded, and calculating with long ones is slow.
            return moongate.answer(run(json.loads(args, parse_int=float)))
        except figures.Unusable as reason:
            return moongate.unsuccessful(str(reason))


class Resources(exports.Resources):
    def list_resources(self):
        return [
            moongate.resource(
                URI, "formulas", "Formulas", "The formulas that the tools use.", MARKDOWN
            )
        ]

    def list_templates(self):
        return []

    def read_resource(self, uri):
        if uri != URI:
            moongate.not_found(f"there is no resource `{uri}`")
        return moongate.contents(URI, MARKDOWN, FORMULAS, ttl_ms=3_600_000)


def describe(args: dict) -> dict:
    """The tool `describe`."""
    sample = figures.numbers(args["numbers"], "numbers")
    far = figures.outliers(sample)
    if far:
        moongate.log_line(
            LogLevel.INFO,
            {"message": "outliers found", "count": len(far), "first": far[:10]},
        )
    return figures.describe(sample)


def quantiles(args: dict) -> dict:
    """The tool `quantiles`."""
    return {"cuts": figures.quantiles(figures.numbers(args["numbers"], "numbers"), int(args["parts"]))}


def regression(args: dict) -> dict:
    """The tool `regression`."""
    return figures.regression(figures.numbers(args["x"], "x"), figures.numbers(args["y"], "y"))


CALLS = {"describe": describe, "quantiles": quantiles, "regression": regression}
