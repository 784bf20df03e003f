# SPDX-License-Identifier: BSD-3-Clause
"""What tests of the view share: a directory of files, and `glean view` that serves it."""

import os
import pathlib
import subprocess
import tempfile
import time
import unittest

import h5py
import numpy

COMMAND = os.environ["COMMAND"]


def write_field(path, steps=3, shape=(8, 16, 24), shift=0.0):
    """rho[step, z, y, x] = 1000 step + 100 z + y + x / 100, with a NaN at the begin of each step; a line."""
    z, y, x = numpy.mgrid[tuple(slice(n) for n in shape)]
    rho = numpy.stack([1000.0 * step + 100 * z + y + x / 100 + shift for step in range(steps)])
    rho[:, 0, 0, 0] = numpy.nan
    new = path.with_suffix(".new")
    with h5py.File(new, "w") as file:
        data = file.create_dataset("rho", data=rho, maxshape=(None, *shape), chunks=(1, *shape))
        data.attrs["units"] = "kg/m3"
        file["line"] = numpy.sin(numpy.arange(100) / 10)
    os.rename(new, path)
    return rho


def write_blocks(path, peak=5.0):
    """A block of 8 x 8 x 8 cells from 0 to 1, refined at its lower corner, by FLASH's names."""
    bounds = [[(0, 1)] * 3, [(0, 0.5)] * 3]
    with h5py.File(path, "w") as file:
        file["lrefine"] = numpy.array([1, 2], "i4")
        file["bndbox"] = numpy.array(bounds, "f8")
        file["parent"] = numpy.array([-1, 0], "i4")
        file["dens"] = numpy.stack([numpy.full((8, 8, 8), 1.0), numpy.full((8, 8, 8), peak)]).astype("f4")


def write_mesh(path):
    """Two tetrahedra, as NetCDF and HDF5 files have them."""
    with h5py.File(path, "w") as file:
        for axis, values in zip("xyz", ([0, 1, 0, 0, 1], [0, 0, 1, 0, 1], [0, 0, 0, 1, 1])):
            file[f"mesh_{axis}"] = numpy.array(values, "f4")
        file["mesh_types"] = numpy.array([10, 10], "u1")
        file["mesh_offsets"] = numpy.array([0, 4, 8], "i8")
        file["mesh_connectivity"] = numpy.array([0, 1, 2, 3, 1, 2, 3, 4], "i8")
        file["pressure"] = numpy.array([5, 7], "f8")


class Served(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def serve(self, *options):
        self.process = subprocess.Popen([COMMAND, "view", self.directory, "--no-open", *options], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(self.process.stdout.close)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.terminate)
        self.url = self.process.stdout.readline().strip()
        self.assertRegex(self.url, r"^http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{48}$")
        return self.url

    def resident_bytes(self, what="VmRSS"):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith(what)))

    def until(self, holds, what, seconds=20):
        ends = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), ends, what)
            time.sleep(0.05)
