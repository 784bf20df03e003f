# SPDX-License-Identifier: BSD-3-Clause
"""The demo's comparison must find every kind of difference, or its verdict is worth nothing."""

import pathlib
import struct
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import numpy as np   # noqa: E402

from evaluation import cdf, compare, measures   # noqa: E402


def classic_file(values, title=b"one"):
    """CDF-1 with one attribute and one variable v(n) of doubles, by the book."""
    name = lambda text: struct.pack(">i", len(text)) + text + b"\0" * (-len(text) % 4)   # noqa: E731
    header = b"CDF\x01" + struct.pack(">i", 0)
    header += struct.pack(">ii", 10, 1) + name(b"n") + struct.pack(">i", len(values))
    header += struct.pack(">ii", 12, 1) + name(b"title") + struct.pack(">i", 2) + name(title)
    header += struct.pack(">ii", 11, 1) + name(b"v") + struct.pack(">ii", 1, 0) + struct.pack(">ii", 0, 0)
    header += struct.pack(">iii", 6, 8 * len(values), len(header) + 12)
    return header + np.asarray(values, ">f8").tobytes()


class Comparison(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.expected, self.actual = (pathlib.Path(directory.name) / side for side in ("expected", "actual"))
        for side in (self.expected, self.actual):
            side.mkdir()
            (side / "a.nc").write_bytes(classic_file([1.0, 2.0, 3.0]))

    def problems(self):
        entries = compare.compare(self.expected, self.actual, say=lambda text: None)
        return {entry["name"]: " ".join(entry["problems"]) for entry in entries if entry["problems"]}

    def test_is_content_with_equal_files(self):
        self.assertEqual(self.problems(), {})

    def test_finds_another_value(self):
        (self.actual / "a.nc").write_bytes(classic_file([1.0, 2.5, 3.0]))
        found = self.problems()["a.nc"]
        self.assertIn("cmp", found)
        self.assertIn("ncmpidiff", found)

    def test_finds_a_missing_file_on_either_side(self):
        (self.expected / "b.nc").write_bytes(classic_file([1.0]))
        (self.actual / "c.nc").write_bytes(classic_file([1.0]))
        self.assertEqual(sorted(self.problems()), ["b.nc", "c.nc"])

    def test_finds_a_file_that_is_no_netcdf(self):
        for side in (self.expected, self.actual):
            (side / "a.nc").write_bytes(b"CDF\x07" + b"\0" * 60)
        self.assertIn("ncvalidator", self.problems()["a.nc"])

    def test_finds_what_was_left_over(self):
        (self.actual / "a.nc.part").write_bytes(b"half")
        self.assertEqual(list(self.problems()), ["a.nc.part"])

    def test_reader_reads_attributes_and_values(self):
        file = cdf.File(self.expected / "a.nc")
        self.assertEqual(file.attributes, {"title": "one"})
        np.testing.assert_array_equal(file["v"], [1.0, 2.0, 3.0])


class Measures(unittest.TestCase):
    def trace(self, steps):
        spans = [[begin, end, "compute", str(number)] for number, begin, end in steps]
        return {"per_rank": [{"intervals": spans}]}

    def test_union_joins_what_touches(self):
        self.assertEqual(measures.union([[3, 4], [0, 1], [1, 2], [3.5, 6]]), [[0, 2], [3, 6]])

    def test_slow_down_compares_drained_steps_with_those_that_follow(self):
        trace = self.trace([(1, 0, 1), (2, 1, 2.5), (3, 2.5, 4.5), (4, 4.5, 5.5), (5, 5.5, 6.5)])
        self.assertEqual(measures.disturbed_steps(trace, [[1.2, 1.4], [2.4, 3]]), {2, 3})
        found = measures.slow_down(trace, {2, 3})
        self.assertEqual(found["steps"], 2)
        self.assertAlmostEqual(found["fraction"], 3.5 / 2 - 1)
        self.assertAlmostEqual(found["fraction_of_all_steps"], 1.5 / 6.5)
        self.assertIsNone(measures.slow_down(trace, set()))
        self.assertIsNone(measures.slow_down(trace, {5}))   # nothing follows


if __name__ == "__main__":
    unittest.main()
