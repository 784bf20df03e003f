# SPDX-License-Identifier: BSD-3-Clause
"""The examples run, and write and read what their twins in C++ do."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MPIRUN = os.environ["MPIRUN"].split()
sys.path[:0] = [str(SOURCE / "examples/sedov"), str(SOURCE / "examples/python")]

import density_slice
from evaluation import cdf

import glean
from mpi4py import MPI


def run(*command):
    # Ranks of another job: nothing of this process's own MPI.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_COMM", "PMIX_", "PMI_"))}
    environment["PMIX_MCA_psec"] = "^munge"
    done = subprocess.run(list(map(str, command)), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


class Examples(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def test_the_minimal_program_writes_the_file_of_its_twin(self):
        for ranks in (1, 3):
            for mode in ("threaded", "passthrough"):
                with self.subTest(ranks=ranks, mode=mode):
                    os.environ["GLEAN_MODE"] = mode
                    self.addCleanup(os.environ.pop, "GLEAN_MODE", None)
                    files = []
                    twins = {"cxx": [os.environ["MINIMAL"]], "python": [sys.executable, SOURCE / "examples/python/minimal.py"]}
                    for name, program in twins.items():
                        directory = self.directory / f"{name}{ranks}{mode}"
                        directory.mkdir()
                        run(*MPIRUN, ranks, *program, directory)
                        files.append((directory / "heat.nc").read_bytes())
                    self.assertEqual(files[0], files[1])

    def test_the_slice_is_what_another_reader_finds(self):
        run(*MPIRUN, 2, os.environ["SEDOV"], "--blocks", "3,2,2", "--steps", "10", "--time", "1", "--directory", self.directory)
        path, picture = self.directory / "sedov_chk_0001.nc", self.directory / "dens.png"

        printed = run(sys.executable, SOURCE / "examples/python/density_slice.py", path, picture)

        domain, width = cdf.whole_domain(cdf.File(path), "dens")
        with glean.Session(MPI.COMM_SELF, mode="passthrough") as session, session.open_input(path) as file:
            plane, extent = density_slice.lowest_plane(file, "dens")
        np.testing.assert_array_equal(plane, domain[0])
        np.testing.assert_allclose(extent, (0, domain.shape[2] * width, 0, domain.shape[1] * width))
        self.assertIn(f"{domain.shape[1]} x {domain.shape[2]} cells", printed)
        self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")


if __name__ == "__main__":
    unittest.main()
