"""The plugin as a client sees it, with a fake gateway."""

import unittest

from moongate import ProtocolError
from moongate.testing import Client
from plugin import plugin


class StatisticsPlugin(unittest.TestCase):
    def setUp(self):
        self.client = Client(plugin)

    def test_results_match_their_schema(self):
        described = self.client.call("describe", numbers=[1, 2, 3])
        self.assertEqual(described.structured["mean"], 2.0)
        self.assertEqual(self.client.call("describe", numbers=[1]).structured["count"], 1)
        self.assertEqual(self.client.call("quantiles", numbers=[1, 2, 3], parts=2).text, '{"cuts":[2.0]}')
        self.assertEqual(set(self.client.call("regression", x=[1, 2], y=[3, 4]).structured), {"slope", "intercept", "correlation"})

    def test_invalid_numbers_are_a_failed_result(self):
        found = self.client.call("regression", x=[1], y=[1, 2])
        self.assertTrue(found.failed)
        self.assertIn("they must have the same length", found.text)
        self.assertTrue(self.client.call("describe", numbers=[1e308]).failed)

    def test_logs_outliers_if_enabled(self):
        self.client.call("describe", numbers=[1, 2, 3, 4, 100])
        [line] = self.client.logs
        self.assertEqual((line.level, line.data["count"], line.data["first"]), ("info", 1, [100.0]))
        quiet = Client(plugin, log_level="warning")
        quiet.call("describe", numbers=[1, 2, 3, 4, 100])
        self.assertEqual(quiet.logs, [])

    def test_reads_the_formulas(self):
        [data] = self.client.read("statistics://formulas")
        self.assertEqual(data.mime_type, "text/markdown")
        self.assertIn("`median`", data.data)
        with self.assertRaises(ProtocolError):
            self.client.read("statistics://other")


if __name__ == "__main__":
    unittest.main()
