"""What the tools do with numbers, by Python's own module `statistics`. Nothing here knows the gateway."""

import math
import statistics
from collections.abc import Iterable
from contextlib import contextmanager

# So many numbers a list may have: more would take longer than a call may.
MOST = 100_000

# Larger numbers have no square that can be added up as floats.
LARGEST = 1e150


class Unusable(Exception):
    """Numbers that a tool can't work with; the message is for the caller."""


def numbers(values: list[float], name: str) -> list[float]:
    """The values as floating-point numbers that can be calculated with."""
    found = [float(value) for value in values]
    for value in found:
        if abs(value) > LARGEST:
            raise Unusable(f"`{name}` holds {value:g}, which is too large to calculate with: the limit is {LARGEST:g}")
    return found


@contextmanager
def calculation():
    """Turns what Python says of numbers that it can't calculate with into `Unusable`."""
    try:
        yield
    except OverflowError:
        raise Unusable("the result is too large for a floating-point number") from None
    except statistics.StatisticsError as error:
        raise Unusable(str(error)) from None


def check_finite(results: Iterable[float]) -> None:
    """Results that JSON has no number for are unusable."""
    if not all(map(math.isfinite, results)):
        raise OverflowError


@calculation()
def describe(values: list[float]) -> dict[str, float]:
    """The usual figures of a sample. What a single number doesn't have is left out."""
    values = sorted(values)
    figures = {
        "count": len(values),
        "sum": math.fsum(values),
        "mean": statistics.mean(values),
        "median": statistics.median(values),
        "minimum": values[0],
        "maximum": values[-1],
    }
    if len(values) > 1:
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
        figures |= {
            "standard_deviation": statistics.stdev(values),
            "lower_quartile": low,
            "upper_quartile": high,
        }
    check_finite(figures.values())
    return figures


def outliers(values: list[float]) -> list[float]:
    """Numbers that lie further from the middle half than one and a half times its width."""
    if len(values) < 4:
        return []
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    reach = 1.5 * (high - low)
    return [value for value in values if value < low - reach or value > high + reach]


@calculation()
def quantiles(values: list[float], parts: int) -> list[float]:
    """The numbers that cut a sample into so many parts of equal size."""
    if len(values) < 2:
        raise Unusable("`numbers` needs two numbers at least: one can't be divided")
    cuts = statistics.quantiles(values, n=parts, method="inclusive")
    check_finite(cuts)
    return cuts


@calculation()
def regression(x: list[float], y: list[float]) -> dict[str, float]:
    """The straight line that fits points best, by least squares, and how well it does."""
    if len(x) != len(y):
        raise Unusable(f"`x` has {len(x)} numbers and `y` has {len(y)}; each point needs one of both")
    if len(x) < 2:
        raise Unusable("two points at least are needed for a line")
    if min(x) == max(x):
        raise Unusable("all of `x` are the same number, so no line through the points has a slope")
    slope, intercept = statistics.linear_regression(x, y)
    figures = {"slope": slope, "intercept": intercept}
    if min(y) != max(y):
        figures["correlation"] = statistics.correlation(x, y)
    check_finite(figures.values())
    return figures
