# SPDX-License-Identifier: BSD-3-Clause
"""What is found out of steps while they move, against NumPy's own results of all that was put."""

import csv
import os
import unittest

import numpy as np

import ranks
from ranks import COMM, RANK, SIZE

ROWS, COLUMNS, STEPS = 5, 700, 3


class Analysis(ranks.Ranks):
    def table(self, name, table):
        with open(self.path(f"{name}.{table}.csv"), newline="") as file:
            return list(csv.DictReader(file))

    def put_random(self, name, seed, **settings):
        """All that was put, by variable: arrays (STEPS, SIZE * ROWS, COLUMNS), the same on all ranks."""
        random = np.random.default_rng(seed)
        shape = (STEPS, SIZE * ROWS, COLUMNS)
        values = {"dens": random.normal(1e3, 2.5, shape), "temp": random.lognormal(0, 3, shape).astype("f4"),
                  "level": random.integers(-4, 9, shape, dtype="i2")}
        values["dens"][1, -1, 13] = np.nan
        values["dens"][1, 0, 650:] = -np.inf
        mine = np.s_[RANK * ROWS:(RANK + 1) * ROWS, :]
        with self.session(**settings) as session, session.open(self.path(name)) as output:
            output.dimension("time")
            output.dimension("y", SIZE * ROWS)
            output.dimension("x", COLUMNS)
            for variable, array in values.items():
                output.variable(variable, array.dtype, ["time", "y", "x"], blocks=[mine])
            output.variable("note", "S1", ["x"], blocks=[np.s_[:]] if RANK == 0 else [])
            for number in range(STEPS):
                with output.step() as step:
                    for variable, array in values.items():
                        step.put(variable, array[number][mine])
                    if RANK == 0 and number == 0:
                        step.put("note", np.full(COLUMNS, b"n"))
        COMM.barrier()
        return values

    def test_statistics_are_numpys(self):
        values = self.put_random("a.nc", 1, analyse=["statistics"])

        lines = self.table("a.nc", "statistics")

        self.assertEqual([(line["step"], line["variable"]) for line in lines],
                         [(str(step), name) for step in range(STEPS) for name in sorted(values)])
        for line in lines:
            array = values[line["variable"]][int(line["step"])].astype("f8").ravel()
            finite = array[np.isfinite(array)]
            self.assertEqual(int(line["values"]), finite.size)
            self.assertEqual(float(line["minimum"]), finite.min())
            self.assertEqual(float(line["maximum"]), finite.max())
            np.testing.assert_allclose(float(line["mean"]), finite.mean(), rtol=1e-13)
            np.testing.assert_allclose(float(line["deviation"]), finite.std(), rtol=1e-11)
            for kind, which in (("nan", np.isnan(array)), ("infinite", np.isinf(array))):
                self.assertEqual(int(line[kind]), which.sum())
                self.assertEqual(line[f"first_{kind}"], str(which.argmax()) if which.any() else "")
        self.assertFalse(self.path("a.nc.histogram.csv").exists())

    def test_histograms_are_numpys(self):
        values = self.put_random("a.nc", 2, analyse=["histogram"], analyse_variables=["temp", "level"], histogram_bins=20)

        lines = self.table("a.nc", "histogram")

        self.assertEqual({line["variable"] for line in lines}, {"temp", "level"})
        for step in range(STEPS):
            for name in ("temp", "level"):
                bins = [line for line in lines if line["step"] == str(step) and line["variable"] == name]
                edges = [float(line["begin"]) for line in bins] + [float(bins[-1]["end"])]
                self.assertLessEqual(len(bins), 20)
                self.assertGreater(len(bins), 9)
                counts, _ = np.histogram(values[name][step].astype("f8"), edges)
                self.assertEqual([int(line["count"]) for line in bins], list(counts))

    def test_only_files_that_a_rule_names_are_analysed(self):
        rule = [{"pattern": "plt_*", "analyse": ["statistics"]}]

        self.put_random("plt_1.nc", 3, rule=rule)
        self.put_random("chk_1.nc", 3, rule=rule)

        self.assertEqual([path.name for path in self.directory.glob("*.csv")], ["plt_1.nc.statistics.csv"])

    @unittest.skipIf("GLEAN_STAGING_ADDRESS" in os.environ, "stagers have a larger pool")
    def test_a_step_that_does_not_fit_is_left_out_and_not_the_file(self):
        """A quarter of the pool may wait to be looked at: chunks of a step that is larger are not kept for that."""
        values = 3 << 20
        with self.session(analyse=["statistics"]) as session, session.open(self.path("a.nc")) as output:
            x = output.dimension("x", SIZE * values)
            output.variable("v", "f8", [x], blocks=[((RANK * values,), (values,))])
            with output.step() as step:
                step.put("v", np.full(values, 1.0 + RANK))
        COMM.barrier()

        self.assertTrue(self.path("a.nc").exists())
        self.assertEqual(self.table("a.nc", "statistics"), [])


if __name__ == "__main__":
    ranks.main()
