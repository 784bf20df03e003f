# SPDX-License-Identifier: BSD-3-Clause
"""Tests that all ranks of a job run together, test by test: what they share, and the program's end."""

import io
import pathlib
import shutil
import sys
import tempfile
import unittest

from mpi4py import MPI

import glean

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
LAST = SIZE - 1
SMALL = {"pool": {"budget": "32MiB", "deadline": "20s"}}


class Ranks(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(COMM.bcast(tempfile.mkdtemp(prefix="glean-python-") if RANK == 0 else None))
        self.addCleanup(self.remove_directory)

    def remove_directory(self):
        COMM.barrier()
        if RANK == 0:
            shutil.rmtree(self.directory)

    def session(self, **settings):
        return glean.Session(COMM, **{**SMALL, **settings})

    def path(self, name):
        return self.directory / name

    def write(self, session, name, arrays, format="cdf5"):
        """One step with this rank's arrays, one after the other along the first dimension; all ranks have equal ones."""
        with session.open(self.path(name), format) as output:
            for variable, array in arrays.items():
                dimensions = [output.dimension(f"{variable}{d}", extent * (SIZE if d == 0 else 1)) for d, extent in enumerate(array.shape)]
                first = RANK * array.shape[0]
                output.variable(variable, array.dtype, dimensions,
                                blocks=[((first,) + (0,) * (array.ndim - 1), array.shape)])
            with output.step() as step:
                for variable, array in arrays.items():
                    step.put(variable, array)

    def same_bytes(self, one, other):
        return self.path(one).read_bytes() == self.path(other).read_bytes()


def main():
    """Runs the tests of the program; rank 0 speaks, the others when they fail."""
    stream = sys.stderr if RANK == 0 else io.StringIO()
    program = unittest.main(module="__main__", exit=False, verbosity=1, testRunner=unittest.TextTestRunner(stream=stream))
    failed = not program.result.wasSuccessful() or program.result.testsRun == 0
    if failed and RANK != 0:
        print(f"rank {RANK}:\n{stream.getvalue()}", file=sys.stderr)
    sys.exit(1 if COMM.allreduce(failed, MPI.LOR) else 0)
