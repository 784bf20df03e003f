# SPDX-License-Identifier: BSD-3-Clause
"""`glean stage` whose storage is full: FULL is a file system of 8 MiB (tests/faults/in_own_mounts), which a ballast fills."""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

from service import Service, StageTest

sys.path.append(os.environ["TESTS_OF_COMMAND"])
from left import wait_for   # noqa: E402

FILLED, FULL, MPIRUN = os.environ["FILLED"], pathlib.Path(os.environ["FULL"]).resolve(), shlex.split(os.environ["MPIRUN"])


class Full(StageTest):
    MEMORY = "128MiB"

    def setUp(self):
        super().setUp()
        for path in FULL.iterdir():
            path.unlink()
        self.ballast = FULL / "ballast"
        self.out = FULL / "out.nc"
        self.ballast.write_bytes(bytes(6 << 20))

    def job(self, path, what, **variables):
        """What its ranks were told; the file that it has made without stagers is in expected.nc."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")}
        environment |= {"HOME": str(self.directory), "GLEAN_POOL_BUDGET": "16MiB", "GLEAN_MODE": "staged",
                        "GLEAN_STAGING_ADDRESS": str(self.file)}
        run = subprocess.run([*MPIRUN, "2", FILLED, path, what], cwd=self.directory, env=environment | variables, capture_output=True,
                             text=True, timeout=120, check=False)
        told = re.findall(r"told: (.*)", run.stderr)
        self.assertEqual(run.returncode != 0, bool(told), run.stderr)
        return told

    def job_whose_file_is_kept(self):
        for line in self.job(self.out, "closed"):   # its end may be late enough to be told
            self.assertIn("`glean recover`", line)

    def start(self, stagers):
        words = ["--job-memory", "32MiB", "--directory", FULL, "--directory", self.directory]
        return [Service(self, *words, OMPI_COMM_WORLD_SIZE=str(stagers)) for _ in range(stagers)]

    def status_with(self, text, times=1):
        """What `glean stage status` says when it says that."""
        seen = []
        wait_for(lambda: seen.append(self.run_stage("status")) or seen[-1].stdout.count(text) == times, text, pause=0.1)
        self.assertEqual(seen[-1].returncode, 0)
        return seen[-1]

    def assert_whole(self):
        expected = self.directory / "expected.nc"
        self.assertEqual(self.job(expected, "closed", GLEAN_MODE="threaded"), [])
        self.assertEqual(self.out.read_bytes(), expected.read_bytes())
        self.assertEqual([path.name for path in FULL.iterdir()], ["out.nc"])

    def kept(self, said):
        """The pool that stays, of a stager that has said this at its end."""
        self.assertRegex(said, r"job 'filled, 2 ranks' \(session \S+\) did not end well: 0 files published, .*; 1 file kept; "
                               r"'\S+out\.nc' is not published: .*; glean\.\S+ is left in memory: `glean recover` on ")
        self.assertRegex(said, r"\nfiles kept in memory +1\n")
        (left,) = [line.split()[-1] for line in said.splitlines() if line.startswith("left in memory")]
        return left

    def test_what_is_closed_is_kept_by_all_stagers_until_there_is_room(self):
        services = self.start(2)
        self.job_whose_file_is_kept()
        run = self.status_with("kept    1 file that the storage refuses", 2)
        self.assertEqual(len(re.findall(r"; 32 MiB of it left by 1 job, which `glean recover` on \S+ completes", run.stdout)), 2)
        self.assertEqual(self.job(self.directory / "other.nc", "waits"), [])   # it goes on
        ended = [service.end() for service in services]
        self.assertEqual([status for _, status in ended], [1, 1])
        left = sorted(self.kept(said) for said, _ in ended)
        self.assertFalse(self.out.exists())

        run = self.glean("recover")
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("not completed", run.stdout)
        self.assertEqual(sorted(path.name for path in pathlib.Path("/dev/shm").glob("glean.*")), left)
        self.ballast.unlink()
        run = self.glean("recover")
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(list(pathlib.Path("/dev/shm").glob("glean.*")), [])
        self.assert_whole()

    def test_a_stager_that_is_alone_tries_it_again(self):
        (service,) = self.start(1)
        self.job_whose_file_is_kept()
        self.assertEqual(self.job(self.directory / "other.nc", "waits"), [])
        self.assertIn("kept    1 file", self.status_with("2 jobs").stdout)
        self.ballast.unlink()
        said, status = service.end()
        self.assertEqual(status, 0, said)
        self.assertIn("out.nc', which the storage had refused, is published\n", said)
        self.assert_whole()

    def test_it_does_so_when_another_job_is_over(self):
        (service,) = self.start(1)
        self.job_whose_file_is_kept()
        self.status_with("kept    1 file")
        self.ballast.unlink()
        self.assertEqual(self.job(self.directory / "other.nc", "closed"), [])
        self.assertNotIn("kept    ", self.status_with("2 jobs").stdout)
        self.assert_whole()
        self.assertEqual(service.end()[1], 0)

    def test_a_job_that_waits_is_told(self):
        self.waits("waits", "staged")

    def test_a_job_that_waits_at_its_end_is_told(self):
        self.waits("closed", "durable")

    def waits(self, what, end):
        services = self.start(2)
        told = self.job(self.out, what, GLEAN_STAGING_END=end)
        self.assertEqual(len(told), 2, told)   # every rank
        for line in told:
            self.assertIn("out.nc", line)
            self.assertIn("No space left on device", line)
            self.assertIn("`glean recover`", line)
        for service in services:
            said, status = service.end()
            self.assertEqual(status, 1, said)
            self.kept(said)
        self.ballast.unlink()
        run = self.glean("recover")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assert_whole()

    def test_a_job_that_has_it_open_is_told_and_nothing_is_kept(self):
        services = self.start(2)
        told = self.job(self.out, "open")
        self.assertEqual(len(told), 2, told)
        self.assertIn("No space left on device", told[0])
        for service in services:
            said, status = service.end()
            self.assertEqual(status, 0, said)
        self.assertEqual([path.name for path in FULL.iterdir()], ["ballast"])


if __name__ == "__main__":
    if os.statvfs(FULL).f_blocks * os.statvfs(FULL).f_frsize > 16 << 20:
        print(f"{FULL} is no small file system: this user may not mount")
        sys.exit(77)
    unittest.main()
