"""What the gateway asks of the plugin: the exports `lifecycle`, `tools` and `resources` of wit/world.wit.

componentize-py looks for a class of each export's name. It runs this module once, when it builds the component: what
stands here outside of functions costs a call nothing.
"""

import json

import figures
import moongate
from wit_world import exports
from wit_world.imports.types import LogLevel

URI = "statistics://formulas"
MARKDOWN = "text/markdown"

FORMULAS = """\
# How the figures are calculated

- `sum`: rounded once, after all numbers are added (`math.fsum`)
- `mean`: sum / count, without rounding in between
- `median`: the middle number in order; of an even count, the mean of the two in the middle
- `standard_deviation`: that of a sample, √(Σ(x − mean)² / (count − 1))
- quartiles and quantiles: between two numbers they lie on the straight line; the smallest number is the 0th quantile,
  the largest the last (the method `inclusive` of Python's `statistics`, R's type 7)
- `slope`, `intercept`: least squares of y = slope · x + intercept
- `correlation`: Pearson's, from −1 to 1; left out where all y are the same number
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
    """A tool that changes nothing and knows nothing of the world."""
    return moongate.tool(
        name, description, takes, gives,
        title=title, read_only=True, destructive=False, idempotent=True, open_world=False,
    )


TOOLS = [
    reading_tool(
        "describe", "Describe numbers",
        "Calculates count, sum, mean, median, minimum, maximum, standard deviation and quartiles of a list of numbers.",
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
        "Calculates the numbers that cut a sample into parts of equal size: 4 parts for quartiles, 10 for deciles, "
        "100 for percentiles.",
        schema(
            {
                "numbers": numbers("The sample, in any order."),
                "parts": {"type": "integer", "minimum": 2, "maximum": 1000, "description": "How many parts."},
            },
            ["numbers", "parts"],
        ),
        schema({"cuts": {"type": "array", "items": NUMBER}}, ["cuts"]),
    ),
    reading_tool(
        "regression", "Linear regression",
        "Fits a straight line to points by least squares: slope, intercept, and the correlation.",
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
            "statistics", "0.1.0", "Statistics", "Calculates figures of samples by Python's module `statistics`."
        )


class Tools(exports.Tools):
    def list_tools(self):
        return TOOLS

    def call_tool(self, name, args):
        run = CALLS.get(name)
        if run is None:
            moongate.not_found(f"there is no tool `{name}`")
        try:
            # Whole numbers as floats, too: Python's own have no end, and calculating with long ones takes long.
            return moongate.answer(run(json.loads(args, parse_int=float)))
        except figures.Unusable as reason:
            return moongate.unsuccessful(str(reason))


class Resources(exports.Resources):
    def list_resources(self):
        return [
            moongate.resource(
                URI, "formulas", "Formulas", "How each figure of the tools is calculated.", MARKDOWN
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
            {"message": "numbers lie far outside of the others", "count": len(far), "first": far[:10]},
        )
    return figures.describe(sample)


def quantiles(args: dict) -> dict:
    """The tool `quantiles`."""
    return {"cuts": figures.quantiles(figures.numbers(args["numbers"], "numbers"), int(args["parts"]))}


def regression(args: dict) -> dict:
    """The tool `regression`."""
    return figures.regression(figures.numbers(args["x"], "x"), figures.numbers(args["y"], "y"))


CALLS = {"describe": describe, "quantiles": quantiles, "regression": regression}
