"""The calculations, with Python's `statistics` module."""

import math
import statistics
from collections.abc import Iterable
from contextlib import contextmanager

from moongate import ToolError

# The maximum length of a list: a longer one would exceed the time limit of a call.
MOST = 100_000

# Squares of larger numbers would overflow when they are added up.
LARGEST = 1e150


class Unusable(ToolError):
    """Invalid numbers; the message is for the caller."""


def check(values: list[float], name: str) -> list[float]:
    """Check the size of the values."""
    for value in values:
        if abs(value) > LARGEST:
            raise Unusable(f"`{name}` contains {value:g}, which is too large: the limit is {LARGEST:g}")
    return values


@contextmanager
def calculation():
    """Convert Python's errors in calculations to `Unusable`."""
    try:
        yield
    except OverflowError:
        raise Unusable("the result is too large for a floating-point number") from None
    except statistics.StatisticsError as error:
        raise Unusable(str(error)) from None


def check_finite(results: Iterable[float]) -> None:
    """Reject results that JSON can't represent."""
    if not all(map(math.isfinite, results)):
        raise OverflowError


@calculation()
def describe(values: list[float]) -> dict[str, float]:
    """The usual statistics of a sample, without those that need more than one number if there is only one."""
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
    """Numbers outside of the middle half by more than one and a half times its width."""
    if len(values) < 4:
        return []
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    reach = 1.5 * (high - low)
    return [value for value in values if value < low - reach or value > high + reach]


@calculation()
def quantiles(values: list[float], parts: int) -> list[float]:
    """The quantiles that divide a sample into parts of equal size."""
    if len(values) < 2:
        raise Unusable("`numbers` must contain at least two numbers")
    cuts = statistics.quantiles(values, n=parts, method="inclusive")
    check_finite(cuts)
    return cuts


@calculation()
def regression(x: list[float], y: list[float]) -> dict[str, float]:
    """The least-squares line through points, and its correlation."""
    if len(x) != len(y):
        raise Unusable(f"`x` has {len(x)} numbers and `y` has {len(y)}; they must have the same length")
    if len(x) < 2:
        raise Unusable("a line needs at least two points")
    if min(x) == max(x):
        raise Unusable("all values of `x` are equal, so the slope is undefined")
    slope, intercept = statistics.linear_regression(x, y)
    figures = {"slope": slope, "intercept": intercept}
    if min(y) != max(y):
        figures["correlation"] = statistics.correlation(x, y)
    check_finite(figures.values())
    return figures
