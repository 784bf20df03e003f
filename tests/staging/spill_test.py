# SPDX-License-Identifier: BSD-3-Clause
"""A stager whose storage is slow (held_storage.c) under a job (paced.cpp): with --spill it takes more than its memory holds."""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time
import unittest

from service import Service, StageTest

sys.path.append(os.environ["TESTS_OF_COMMAND"])
from left import wait_for   # noqa: E402

PACED, HELD_STORAGE, MPIRUN = os.environ["PACED"], os.environ["HELD_STORAGE"], shlex.split(os.environ["MPIRUN"])
SHARED_MEMORY = pathlib.Path("/dev/shm")
FILES = ["chk_0.nc", "chk_2.nc", "chk_4.nc", "filled.nc", "series.nc"]


class Spill(StageTest):
    MEMORY = "64MiB"

    @classmethod
    def setUpClass(cls):
        kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(kept.cleanup)
        cls.whole = pathlib.Path(kept.name)
        (cls.whole / "go").touch()
        subprocess.run([*MPIRUN, "2", PACED, cls.whole], check=True, cwd=cls.whole, timeout=100,
                       env=os.environ | {"GLEAN_MODE": "passthrough"})

    def setUp(self):
        super().setUp()
        self.data, self.spill, self.held = (self.directory / name for name in ("data", "spill", "held"))
        self.data.mkdir()
        self.spill.mkdir()
        self.held.touch()
        self.stagers = []

    def start(self, budget="64MiB"):
        words = ["--job-memory", "4MiB", "--directory", self.data]
        words += ["--spill", self.spill, "--spill-budget", budget] if budget else []
        self.stagers = [Service(self, *words, LD_PRELOAD=HELD_STORAGE, HELD=str(self.held), HELD_BELOW=str(self.data))]
        return self.stagers

    def job(self, **settings):
        (self.data / "go").touch()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")}
        environment |= {"HOME": str(self.directory), "GLEAN_MODE": "staged", "GLEAN_STAGING_ADDRESS": str(self.file),
                        "GLEAN_POOL_BUDGET": "16MiB", "GLEAN_TOPOLOGY_RANKS_PER_NODE": "1"} | settings
        self.log = open(self.directory / "job.log", "w+", encoding="utf-8")
        self.addCleanup(self.log.close)
        job = subprocess.Popen([*MPIRUN, "2", PACED, self.data], cwd=self.directory, env=environment, stdout=self.log, stderr=self.log)
        self.addCleanup(lambda: job.poll() is None and (job.terminate(), job.wait(60)))
        return job

    def come_to_spill(self, job):
        wait_for(lambda: self.spilled() > 1 << 18 or job.poll() is not None, "something spilled")
        self.assertIsNone(job.poll())

    def spilled(self):
        return sum(path.stat().st_blocks * 512 for path in self.spill.iterdir())

    def assert_whole(self):
        self.assertEqual(sorted(path.name for path in self.data.iterdir() if path.name[:3] not in ("at.", "go")), FILES)
        for name in FILES:
            self.assertEqual((self.data / name).read_bytes(), (self.whole / name).read_bytes(), name)
        self.assertEqual([str(path) for path in (*SHARED_MEMORY.glob("glean.*"), *self.spill.iterdir())], [])

    def assert_end_well(self):
        for stager in self.stagers:
            said, status = stager.end()
            self.assertEqual(status, 0, said)
            self.assertRegex(said, r"is over: .* written, .* s; \S+ MiB spilled at most\n")
        self.assert_whole()

    def test_what_the_memory_does_not_hold_goes_on_in_a_file(self):
        (stager,) = self.start()
        self.assertIn(f"spills to {self.spill}, 64 MiB for a job", stager.said)
        job = self.job()
        self.come_to_spill(job)
        run = self.run_stage("status")
        self.assertRegex(run.stdout, r" MiB of 4 MiB, \S+ [MK]iB spilled\n")
        self.held.unlink()
        self.assertEqual(job.wait(60), 0)
        self.assert_end_well()

    def test_a_stager_that_is_killed_and_started_again_finds_what_it_has_spilled(self):
        (stager,) = self.start()
        job = self.job()
        self.come_to_spill(job)
        stager.kill()
        self.assertGreater(self.spilled(), 0)
        self.start()
        self.held.unlink()
        self.assertEqual(job.wait(60), 0)
        self.assert_end_well()

    def test_recovery_completes_what_a_stager_has_spilled(self):
        (stager,) = self.start()
        job = self.job(GLEAN_STAGING_RESTART="0s")
        self.come_to_spill(job)
        wait_for((self.data / "at.7").exists, "the end of the session")
        stager.kill()
        self.assertGreater(self.spilled(), 0)
        self.assertNotEqual(job.wait(60), 0)
        self.held.unlink()
        run = self.glean("recover")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assert_whole()

    def test_the_budget_is_never_exceeded_and_without_room_the_job_waits(self):
        for budget in ("1MiB", None):
            with self.subTest(budget=budget):
                self.setUp()
                (stager,) = self.start(budget=budget)
                job = self.job()
                wait_for((self.data / "at.6").exists, "the end of all steps")
                most, end = 0, time.monotonic() + 2
                while time.monotonic() < end or (budget and most == 0 and job.poll() is None):
                    most = max(most, self.spilled())
                    time.sleep(0.01)
                self.assertLessEqual(most, 1 << 20)
                self.assertEqual(most != 0, budget is not None)
                self.held.unlink()
                self.assertEqual(job.wait(60), 0)
                said, status = stager.end()
                self.assertEqual(status, 0, said)
                self.assertEqual(budget is not None, re.search("spilled at most", said) is not None, said)
                self.assert_whole()
                self.doCleanups()

    def test_refuses_a_directory_that_cannot_be_used(self):
        for words, said in ((["--spill", self.directory / "nowhere", "--spill-budget", "1GiB"], "cannot spill to"),
                            (["--spill", self.spill], "--spill-budget"), (["--spill-budget", "1GiB"], "--spill"),
                            (["--spill", self.spill, "--spill-budget", "1KiB"], "1MiB")):
            run = self.run_stage("--memory", self.MEMORY, *words)
            self.assertEqual(run.returncode, 2, run.stdout)
            self.assertIn(said, run.stderr)


if __name__ == "__main__":
    unittest.main()
