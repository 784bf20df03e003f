# SPDX-License-Identifier: BSD-3-Clause
"""A stager whose storage is slow (held_storage.c) under a job (paced.cpp): with --spill it takes more than its memory holds."""

import os
import re
import time
import unittest

from paced_job import PacedTest, wait_for

HELD_STORAGE = os.environ["HELD_STORAGE"]


class Spill(PacedTest):
    PROGRAM = [os.environ["PACED"]]
    JOB_MEMORY = "4MiB"

    def setUp(self):
        super().setUp()
        self.spill, self.held = (self.directory / name for name in ("spill", "held"))
        self.spill.mkdir()
        self.held.touch()

    def start_slow(self, budget="64MiB"):
        words = ["--spill", self.spill, "--spill-budget", budget] if budget else []
        return self.start(1, *words, LD_PRELOAD=HELD_STORAGE, HELD=str(self.held), HELD_BELOW=str(self.data))

    def job(self, **settings):
        self.go()
        return super().job(**settings)

    def come_to_spill(self, job):
        wait_for(lambda: self.spilled() > 1 << 18 or job.poll() is not None, "something spilled")
        self.assertIsNone(job.poll())

    def spilled(self):
        return sum(path.stat().st_blocks * 512 for path in self.spill.iterdir())

    def assert_whole(self):
        super().assert_whole()
        self.assertEqual(list(self.spill.iterdir()), [])

    def assert_end_well(self):
        for stager in self.stagers:
            said, status = stager.end()
            self.assertEqual(status, 0, said)
            self.assertRegex(said, r"is over: .* written, .* s; \S+ MiB spilled at most\n")
        self.assert_whole()

    def test_what_the_memory_does_not_hold_goes_on_in_a_file(self):
        (stager,) = self.start_slow()
        self.assertIn(f"spills to {self.spill}, 64 MiB for a job", stager.said)
        job = self.job()
        self.come_to_spill(job)
        run = self.run_stage("status")
        self.assertRegex(run.stdout, r" MiB of 4 MiB, \S+ [MK]iB spilled\n")
        self.held.unlink()
        self.assertEqual(job.wait(60), 0)
        self.assert_end_well()

    def test_a_stager_that_is_killed_and_started_again_finds_what_it_has_spilled(self):
        (stager,) = self.start_slow()
        job = self.job()
        self.come_to_spill(job)
        stager.kill()
        self.assertGreater(self.spilled(), 0)
        self.start_slow()
        self.held.unlink()
        self.assertEqual(job.wait(60), 0)
        self.assert_end_well()

    def test_recovery_completes_what_a_stager_has_spilled(self):
        (stager,) = self.start_slow()
        job = self.job(GLEAN_STAGING_RESTART="0s")
        self.come_to_spill(job)
        wait_for((self.marks / "at.7").exists, "the end of the session")
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
                (stager,) = self.start_slow(budget)
                job = self.job()
                wait_for((self.marks / "at.6").exists, "the end of all steps")
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
