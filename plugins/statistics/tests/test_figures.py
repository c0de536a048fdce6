"""The calculations of the tools."""

import math
import unittest

import figures
from figures import Unusable


class Describe(unittest.TestCase):
    def test_usual_statistics(self):
        self.assertEqual(
            figures.describe([4.0, 1.0, 3.0, 2.0]),
            {
                "count": 4, "sum": 10.0, "mean": 2.5, "median": 2.5, "minimum": 1.0, "maximum": 4.0,
                "standard_deviation": math.sqrt(5 / 3), "lower_quartile": 1.75, "upper_quartile": 3.25,
            },
        )

    def test_one_number_has_no_deviation(self):
        self.assertEqual(
            figures.describe([7.0]),
            {"count": 1, "sum": 7.0, "mean": 7.0, "median": 7.0, "minimum": 7.0, "maximum": 7.0},
        )

    def test_sums_are_exact(self):
        found = figures.describe([1e16, 1.0, -1e16])
        self.assertEqual((found["sum"], found["mean"]), (1.0, 1 / 3))

    def test_rejects_overflow(self):
        for values in ([1e308, 1e308], [1.7e308, -1.7e308, 1.7e308]):
            with self.assertRaisesRegex(Unusable, "too large"):
                figures.describe(values)


class Numbers(unittest.TestCase):
    def test_rejects_large_numbers(self):
        for large in (math.inf, -1e151):
            with self.subTest(large=large), self.assertRaisesRegex(Unusable, "`x`"):
                figures.check([1.0, large], "x")


class Outliers(unittest.TestCase):
    def test_finds_outliers(self):
        self.assertEqual(figures.outliers([1.0, 2.0, 3.0, 4.0, 100.0]), [100.0])

    def test_few_or_equal_numbers_have_no_outliers(self):
        self.assertEqual(figures.outliers([1.0, 2.0, 100.0]), [])
        self.assertEqual(figures.outliers([5.0] * 10), [])


class Quantiles(unittest.TestCase):
    def test_quantiles(self):
        self.assertEqual(figures.quantiles([4.0, 1.0, 3.0, 2.0], 4), [1.75, 2.5, 3.25])
        self.assertEqual(figures.quantiles([2.0, 1.0], 2), [1.5])

    def test_rejects_a_single_number(self):
        with self.assertRaisesRegex(Unusable, "two numbers"):
            figures.quantiles([1.0], 4)

    def test_rejects_overflow(self):
        with self.assertRaisesRegex(Unusable, "too large"):
            figures.quantiles([1e308, 1.7e308], 4)


class Regression(unittest.TestCase):
    def test_fits_a_line(self):
        found = figures.regression([1.0, 2.0, 3.0], [3.0, 5.0, 7.0])
        self.assertEqual(found, {"slope": 2.0, "intercept": 1.0, "correlation": 1.0})

    def test_a_flat_line_has_no_correlation(self):
        self.assertEqual(figures.regression([1.0, 2.0], [3.0, 3.0]), {"slope": 0.0, "intercept": 3.0})

    def test_rejects_points_without_a_line(self):
        for x, y, reason in (
            ([1.0], [1.0, 2.0], "`x` has 1 numbers and `y` has 2"),
            ([1.0], [1.0], "two points"),
            ([1.0, 1.0], [1.0, 2.0], "all values of `x` are equal"),
            ([0.0, 5e-324], [1.0, 2.0], "."),
        ):
            with self.subTest(x=x), self.assertRaisesRegex(Unusable, reason):
                figures.regression(x, y)


if __name__ == "__main__":
    unittest.main()
