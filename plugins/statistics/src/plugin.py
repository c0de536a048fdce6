"""Statistics of samples, because models are bad at arithmetic."""

from typing import Annotated, NotRequired, TypedDict

import figures
from moongate import Field, Plugin, ReadResult, Contents, log

plugin = Plugin("statistics", "0.1.0", "Statistics", "Calculate statistics with Python's `statistics` module.")

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

# Floats, because Python's integers are unbounded, and calculating with long ones is slow.
Numbers = Annotated[list[float], Field(min_length=1, max_length=figures.MOST)]

# All tools change nothing, and only use their arguments.
HINTS = {"read_only": True, "destructive": False, "idempotent": True, "open_world": False}


class Description(TypedDict):
    count: int
    sum: float
    mean: float
    median: float
    minimum: float
    maximum: float
    standard_deviation: NotRequired[float]
    lower_quartile: NotRequired[float]
    upper_quartile: NotRequired[float]


class Quantiles(TypedDict):
    cuts: list[float]


class Line(TypedDict):
    slope: float
    intercept: float
    correlation: NotRequired[float]


@plugin.tool(title="Describe numbers", **HINTS)
def describe(numbers: Numbers) -> Description:
    """Calculate count, sum, mean, median, minimum, maximum, standard deviation and quartiles of a list of numbers.

    Args:
        numbers: The sample, in any order.
    """
    sample = figures.check(numbers, "numbers")
    far = figures.outliers(sample)
    if far:
        log.info({"message": "outliers found", "count": len(far), "first": far[:10]})
    return figures.describe(sample)


@plugin.tool(title="Quantiles", **HINTS)
def quantiles(numbers: Numbers, parts: Annotated[int, Field(ge=2, le=1000)]) -> Quantiles:
    """Calculate quantiles, which divide a sample into parts of equal size. Use 4 parts for quartiles, 10 for deciles, 100
    for percentiles.

    Args:
        numbers: The sample, in any order.
        parts: The number of parts.
    """
    return {"cuts": figures.quantiles(figures.check(numbers, "numbers"), parts)}


@plugin.tool(title="Linear regression", **HINTS)
def regression(x: Numbers, y: Numbers) -> Line:
    """Fit a straight line to points by least squares. Returns slope, intercept and correlation.

    Args:
        x: The first coordinate of each point.
        y: The second coordinate of each point, in the same order.
    """
    return figures.regression(figures.check(x, "x"), figures.check(y, "y"))


@plugin.resource(URI, title="Formulas", mime_type=MARKDOWN)
def formulas() -> ReadResult:
    """The formulas that the tools use."""
    return ReadResult(Contents(URI, FORMULAS, MARKDOWN), ttl=3600, shareable=True)
