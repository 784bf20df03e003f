# SPDX-License-Identifier: BSD-3-Clause
"""What is found out of the files of a program that knows nothing of GLEAN, against what its files hold."""

import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "examples/sedov"))

from evaluation import cdf


class UnmodifiedProgram(unittest.TestCase):
    def test_the_statistics_of_its_files_are_those_of_what_is_in_them(self):
        with tempfile.TemporaryDirectory() as directory:
            command = [os.environ["GLEAN"], "run", "--", *os.environ["MPIRUN"].split(), "2", os.environ["S3D_IO"], "--output", "pnetcdf",
                       "--block", "8,6,5", "--dumps", "2", "--steps", "1", "--directory", directory]
            done = subprocess.run(command, env={**os.environ, "GLEAN_ANALYSE": "statistics,histogram"}, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            files = sorted(pathlib.Path(directory).glob("*.nc"))
            self.assertGreaterEqual(len(files), 2, done.stdout)
            for path in files:
                with open(f"{path}.statistics.csv", newline="") as table:
                    lines = {line["variable"]: line for line in csv.DictReader(table)}
                self.assertIn("pressure", lines)
                file = cdf.File(path)
                for name, line in lines.items():
                    values = np.asarray(file[name], dtype="f8")
                    self.assertEqual(int(line["values"]), values.size)
                    self.assertEqual((float(line["minimum"]), float(line["maximum"])), (values.min(), values.max()))
                    np.testing.assert_allclose(float(line["mean"]), values.mean(), rtol=1e-12)
                with open(f"{path}.histogram.csv", newline="") as table:
                    counts = [int(line["count"]) for line in csv.DictReader(table) if line["variable"] == "pressure"]
                self.assertEqual(sum(counts), np.asarray(file["pressure"]).size)

    def test_an_analysis_of_the_users_own_sees_what_is_in_them(self):
        with tempfile.TemporaryDirectory() as directory:
            program = pathlib.Path(directory, "mine.py")
            program.write_text("""
join = {"pressure": "sum", "values": "sum"}
def analyse(step):
    arrays = [piece.array for piece in step["pressure"].pieces]
    return {"pressure": sum(float(each.astype("f8").sum()) for each in arrays), "values": sum(each.size for each in arrays)}
""")
            command = [os.environ["GLEAN"], "run", "--", *os.environ["MPIRUN"].split(), "2", os.environ["S3D_IO"], "--output", "pnetcdf",
                       "--block", "8,6,5", "--dumps", "2", "--steps", "1", "--directory", directory]
            done = subprocess.run(command, env={**os.environ, "GLEAN_ANALYSE_WITH": str(program), "GLEAN_ANALYSE_PYTHON": sys.executable},
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            files = sorted(pathlib.Path(directory).glob("*.nc"))
            self.assertGreaterEqual(len(files), 2, done.stdout)
            for path in files:
                with open(f"{path}.mine.csv", newline="") as table:
                    found = {line["name"]: float(line["value"]) for line in csv.DictReader(table)}
                values = np.asarray(cdf.File(path)["pressure"], dtype="f8")
                self.assertEqual(found["values"], values.size)
                np.testing.assert_allclose(found["pressure"], values.sum(), rtol=1e-12)


if __name__ == "__main__":
    unittest.main()
