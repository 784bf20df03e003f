#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""endings_test.py PROGRAM MPIRUN…: what is left when a program is told to end, and what is said when a rank is late."""

import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, LAUNCH = sys.argv[1], sys.argv[2:]


def pools():
    return {path.name for path in pathlib.Path("/dev/shm").glob("glean.*")}


class Endings(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = pathlib.Path(scratch.name)

    def run_program(self, way, **settings):
        before = pools()
        environment = [word for name, value in settings.items() for word in ("-x", f"{name}={value}")]
        done = subprocess.run([*LAUNCH, "-n", "2", *environment, PROGRAM, way, str(self.directory)], text=True,
                              capture_output=True, timeout=100)
        self.assertEqual(pools() - before, set(), done.stderr)
        return done

    def records(self):
        with open(self.directory / "out.nc", "rb") as file:
            return struct.unpack(">4xQ", file.read(12))[0]

    def test_what_all_ranks_have_ended_is_finished_before_sigterm_ends_the_job(self):
        done = self.run_program("sigterm")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("told to end (SIGTERM)", done.stderr)
        self.assertIn("step 1 is not there: rank(s) 1 had not ended it", done.stderr)
        self.assertEqual(self.records(), 1)
        self.assertEqual([path.name for path in self.directory.iterdir()], ["out.nc"])

    def test_a_program_that_handles_sigterm_itself_is_not_disturbed(self):
        done = self.run_program("handler")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.records(), 1)

    def test_sigterm_ends_a_program_whose_session_is_closed(self):
        done = self.run_program("after")
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("told to end", done.stderr)
        self.assertEqual(self.records(), 1)

    def test_who_is_late_for_a_collective_call_is_named(self):
        done = self.run_program("late", GLEAN_POOL_DEADLINE="300ms")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("rank 0 waits in end_definitions for rank 1, which has not called it", done.stderr)
        self.assertEqual(self.records(), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
