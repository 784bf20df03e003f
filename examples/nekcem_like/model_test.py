# SPDX-License-Identifier: BSD-3-Clause
"""The model of section 4.3 gives the paper's own example, and compares runs as it says."""

import sys
import unittest

sys.dont_write_bytecode = True

from evaluation import model   # noqa: E402


def run(step, blocked, loop, writes=(False, False)):
    ranks = [{"elements": 1, "writes": w, "blocked": [blocked] * 2, "computed": [step + 0.5 * w] * 3} for w in writes]
    return {"steps": 200, "outputs": 2, "step_seconds": step, "blocked_seconds": blocked, "loop_seconds": loop,
            "ranks": ranks}


class Model(unittest.TestCase):
    def test_gives_about_fifty_percent_for_the_numbers_of_jaguar(self):
        self.assertAlmostEqual(model.production_speedup(70, 10, 100, 0.05), 1.47, places=2)

    def test_gives_nothing_for_two_ways_that_cost_the_same(self):
        self.assertEqual(model.production_speedup(5, 5, 100, 0), 1)

    def test_loses_what_the_steps_lose(self):
        self.assertAlmostEqual(model.production_speedup(0, 0, 100, 0.25), 0.8)

    def test_takes_its_numbers_from_the_runs(self):
        found = model.compare(run(step=1, blocked=70, loop=400), run(step=1.05, blocked=10.5, loop=250))

        self.assertAlmostEqual(found["epsilon"], 0.05)
        self.assertAlmostEqual(found["x"], 10)
        self.assertAlmostEqual(found["production_model"], 170 / 110 / 1.05)
        self.assertAlmostEqual(found["production_measured"], 1.6)
        self.assertAlmostEqual(found["io_model"], 70 / 10.5)
        self.assertAlmostEqual(found["io_measured"], 70 / 10.5)

    def test_finds_the_lag_of_ranks_that_write(self):
        self.assertEqual(model.lag_of_writers(run(1, 1, 1, writes=(True, False))), [0.5] * 3)
        self.assertEqual(model.lag_of_writers(run(1, 1, 1)), [])


if __name__ == "__main__":
    unittest.main()
