# SPDX-License-Identifier: BSD-3-Clause
"""yt, VTK and ParaView find the levels, blocks and mass of a refined mesh in the files that glean convert makes of its checkpoints."""

import argparse
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

from evaluation import cdf, runs   # noqa: E402

READ = pathlib.Path(__file__).resolve().parent / "evaluation" / "readers.py"
SKIPPED = 77
LEVELS = 3


def described(path):
    """What there is to find, from the file that sedov has written."""
    file = cdf.File(path)
    levels = list(file["lrefine"])
    leaves = cdf.leaves(file)
    mass = sum(float(file["dens"][block].sum()) * cdf.cells_of(file, block)[1] ** 3 for block in leaves)
    return {"blocks": [levels.count(level) for level in range(1, LEVELS + 1)], "leaf_cells": len(leaves) * 16**3, "mass": mass,
            "time": file.attributes["time"]}


class Readers(unittest.TestCase):
    options = None

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.place = pathlib.Path(directory.name) / "out"
        problem = runs.Problem(3, "1,2,1", steps=200, every=100)
        runs.run(cls.options.sedov, problem, "glean", cls.place, ("--levels", str(LEVELS)), launcher=cls.options.launcher)
        cls.sources = sorted(cls.place.glob("sedov_chk_*.nc"))
        cls.expected = [described(path) for path in cls.sources]

    def converted(self, format, name):
        paths = [self.place / name.format(number) for number in range(len(self.sources))]
        for source, path in zip(self.sources, paths):
            subprocess.run([self.options.glean, "convert", "--to", format, "-o", path, source], check=True, stdout=subprocess.DEVNULL)
        return paths

    def check(self, python, program, paths):
        if not python or not pathlib.Path(python).exists():
            self.skipTest(f"there is no {program}: make setup installs it")
        run = subprocess.run([python, READ, program, *paths], capture_output=True, text=True, timeout=200, cwd=self.place, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        found = [json.loads(line.removeprefix("FOUND ")) for line in run.stdout.splitlines() if line.startswith("FOUND ")]
        self.assertEqual(len(found), len(paths))
        for one, expected in zip(found, itertools.cycle(self.expected)):
            self.assertEqual((one["blocks"], one["leaf_cells"]), (expected["blocks"], expected["leaf_cells"]))
            self.assertAlmostEqual(one["mass"], expected["mass"], 13)
            self.assertAlmostEqual(one.get("time", expected["time"]), expected["time"], 13)
            for at, end in zip(one["far_corner"], (0.25, 0.5, 0.25)):
                self.assertAlmostEqual(at, end, 12)

    def test_the_mesh_changes_and_keeps_its_mass(self):
        blocks = [expected["blocks"] for expected in self.expected]
        self.assertEqual(len(blocks), 3)
        self.assertLess(blocks[0][2], blocks[-1][2])
        for expected in self.expected:
            self.assertAlmostEqual(expected["mass"], 0.25 * 0.5 * 0.25, 14)

    def test_yt_reads_flash_files(self):
        self.check(self.options.readers, "yt", self.converted("hdf5", "sedov_hdf5_chk_{:04d}"))

    def test_vtk_and_paraview_read_flash_and_vtkhdf_files(self):
        paths = [*self.converted("hdf5", "sedov_{}.h5"), *self.converted("vtkhdf", "sedov_{}.vtkhdf")]
        for program, python in (("VTK", self.options.readers), ("ParaView", self.options.paraview)):
            with self.subTest(program):
                self.check(python, "vtk", paths)


def main():
    parser = argparse.ArgumentParser()
    for name in ("--sedov", "--glean", "--readers", "--paraview"):
        parser.add_argument(name, required=True)
    parser.add_argument("--launcher", default="mpirun")
    Readers.options = parser.parse_args()
    done = unittest.main(argv=sys.argv[:1], exit=False).result
    if not done.wasSuccessful():
        return 1
    return SKIPPED if done.skipped else 0


if __name__ == "__main__":
    sys.exit(main())
