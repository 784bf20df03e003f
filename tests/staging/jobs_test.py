# SPDX-License-Identifier: BSD-3-Clause
"""`glean stage` with jobs of MPI: one that ends, one that is killed, and one that does not end (left.cpp)."""

import os
import pathlib
import sys
import unittest

from service import Service, StageTest

sys.path.append(os.environ["TESTS_OF_COMMAND"])
from left import Program, wait_for   # noqa: E402


class Jobs(StageTest):
    MEMORY = "64MiB"

    def job(self, what):
        return Program(self, self.directory / "data", what, HOME=str(self.directory), GLEAN_MODE="staged",
                       GLEAN_STAGING_ADDRESS=str(self.file))

    def files(self):
        return sorted(path.name for path in (self.directory / "data").glob("*.nc"))

    def running(self):
        program = self.job("killed")
        program.wait_for("ready")
        return program

    def assert_left(self, said, status, why):
        """Of open.nc, in one pool."""
        self.assertEqual(status, 1, said)
        self.assertIn("did not end well", said)
        self.assertIn(why, said)
        (left,) = [line.split()[-1] for line in said.splitlines() if line.startswith("left in memory")]
        self.assertTrue(pathlib.Path("/dev/shm", left).exists())
        self.assertEqual(self.glean("recover", "--discard", left).returncode, 0)
        self.assertFalse(pathlib.Path("/dev/shm", left).exists())

    def test_once_ends_with_its_job(self):
        service = Service(self, "--once")
        program = self.job("whole")
        self.assertEqual(program.process.wait(60), 0)
        said, status = service.wait()
        self.assertEqual(status, 0, said)
        self.assertRegex(said, r"^job 'left, 2 ranks' \(session \S+\) is over: 2 files published, ")
        self.assertRegex(said, r"\njobs +1\n")
        self.assertEqual(self.files(), ["closed.nc", "open.nc"])
        self.assertFalse(self.file.exists())

    def test_of_a_job_that_is_killed_stays_what_is_not_complete(self):
        service = Service(self)
        program = self.running()
        run = self.run_stage("status")
        while "running" not in run.stdout.split("JOB")[1]:   # the program may be faster
            run = self.run_stage("status")
        self.assertRegex(run.stdout, r"\n  JOB +STATE +SINCE .*\n  left, 2 ranks +running +\d+ s +1 of 1 +1 +\d done, \d open ")
        wait_for(lambda: self.files() == ["closed.nc"], "closed.nc")
        program.kill()
        wait_for(lambda: "incomplete\": 1" in self.run_stage("status", "--json").stdout, "end of the job")
        run = self.run_stage("status")
        self.assertEqual(run.returncode, 0)
        self.assertIn("64 MiB of it left by 1 job,", run.stdout)
        self.assertRegex(run.stdout, r"job 'left, 2 ranks': .*; glean\.\S+ was left in memory")
        said, status = service.end()
        self.assert_left(said, status, "the connection to node 0 is lost")
        self.assertEqual(self.files(), ["closed.nc"])

    def test_a_job_that_does_not_end_is_told_to(self):
        service = Service(self, "--grace", "0s")
        self.running()
        said, status = service.end()
        self.assert_left(said, status, "jobs that still run are ended")


if __name__ == "__main__":
    unittest.main()
