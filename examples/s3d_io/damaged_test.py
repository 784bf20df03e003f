# SPDX-License-Identifier: BSD-3-Clause
"""s3d_io does not go on from a dump that was damaged, and says what it cannot take."""
import os
import pathlib
import subprocess
import tempfile
import unittest


def run(ranks, *arguments):
    command = [*os.environ["MPIRUN"].split(), str(ranks), os.environ["PROGRAM"], *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env={"GLEAN_POOL_BUDGET": "64 MiB", **os.environ})   # to touch the default takes longer than the run


class Damaged(unittest.TestCase):
    def test_one_wrong_number_is_found(self):
        with tempfile.TemporaryDirectory() as directory:
            written = run(2, "--directory", directory, "--dumps", 1, "--steps", 1, "--grid", "5,4,7")
            self.assertEqual(written.returncode, 0, written.stdout)
            dump = next(pathlib.Path(directory).iterdir())
            again = run(3, "--restart", dump, "--directory", directory, "--dumps", 0)
            self.assertEqual(again.returncode, 0, again.stdout)
            self.assertIn("at step 1", again.stdout)
            bytes_of = bytearray(dump.read_bytes())
            bytes_of[-4] ^= 0x40   # of the last number
            dump.write_bytes(bytes_of)
            damaged = run(3, "--restart", dump, "--directory", directory, "--dumps", 0)
            self.assertNotEqual(damaged.returncode, 0)
            self.assertIn("the dump is not the exact solution", damaged.stdout)

    def test_a_job_goes_on_from_the_newest_complete_dump_on_other_ranks(self):
        with tempfile.TemporaryDirectory() as directory:
            pattern = os.path.join(directory, "s3d.*.field.nc")
            job = ["--restart", pattern, "--directory", directory, "--dumps", 2, "--steps", 3]
            first = run(2, *job, "--grid", "5,4,7")
            self.assertEqual(first.returncode, 0, first.stdout)
            self.assertIn("starts at step 0", first.stdout)
            second = run(3, *job)
            self.assertEqual(second.returncode, 0, second.stdout)
            self.assertIn("s3d.00006.field.nc at step 6", second.stdout)
            newest = pathlib.Path(directory, "s3d.00012.field.nc")
            newest.write_bytes(newest.read_bytes()[:-100])
            third = run(4, *job)
            self.assertEqual(third.returncode, 0, third.stdout)
            self.assertIn("s3d.00009.field.nc at step 9", third.stdout)
            self.assertIn("restart passes over", third.stdout)
            newest.write_bytes(newest.read_bytes()[:-100])
            none = run(2, "--restart", newest, "--directory", directory, "--dumps", 0)
            self.assertNotEqual(none.returncode, 0)
            self.assertIn("it ends 100 bytes before", none.stdout)

    def test_an_unknown_way_is_named(self):
        result = run(1, "--output", "hdf4")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("'hdf4'", result.stdout)

    def test_a_directory_that_is_not_there_is_named(self):
        result = run(2, "--directory", "/nowhere/out")
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stdout.count('there is no directory "/nowhere/out"'), 1)
        self.assertNotIn("glean", result.stdout)

    def test_a_number_that_is_none_is_named(self):
        result = run(1, "--dumps", "many")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("cannot take '--dumps many'", result.stdout)


if __name__ == "__main__":
    unittest.main()
