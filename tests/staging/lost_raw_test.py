# SPDX-License-Identifier: BSD-3-Clause
"""Stagers that are gone for good, with their memory, while a program that knows nothing of GLEAN writes (paced_raw.c): with staging.keep
its files have every write, in order, as if no stager had been lost."""

import os
import re
import unittest

from paced_job import PacedTest, wait_for
from service import Service


class LostRaw(PacedTest):
    PROGRAM = [os.environ["PACED_RAW"]]
    PRELOAD = os.environ["PRELOAD"]
    PLAIN = {}

    def setUp(self):
        super().setUp()
        self.held = self.directory / "held"

    def start_stagers(self, count, **variables):
        return self.start(count, LD_PRELOAD=os.environ["HELD_STORAGE"], HELD=str(self.held), HELD_BELOW=str(self.data), **variables)

    def job(self, **settings):
        return super().job(GLEAN_STAGING_KEEP="durable", **settings)

    # --- another stager takes the place

    def take_over(self, count, lost, held_at, lost_at, spare=False, **variables):
        """From step `held_at` on the storage of the stagers is slow, and one is lost at `lost_at`."""
        with self.subTest(stagers=count, lost=lost, held_at=held_at, lost_at=lost_at, **variables):
            self.setUp()
            # When all is closed, what is durable needs no stager any more; and a small pool asks for what it keeps to be durable.
            may_be_durable = lost_at == self.END and bool(variables)
            stagers = self.start_stagers(count, **({"SYNC_HELD": "1"} if lost_at == self.END and not variables else {}))
            job = self.job(GLEAN_STAGING_RESTART="1s", **variables)
            self.come_to(job, held_at)
            self.held.touch()
            self.come_to(job, lost_at)
            self.lose(stagers[lost])
            self.held.unlink()
            left = [stager for stager in stagers if stager is not stagers[lost]]
            if spare:
                left.append(Service(self, "--job-memory", self.JOB_MEMORY, "--directory", self.data))
            said = self.end_well(job, *left)
            if not may_be_durable:
                self.assertIn("the host of the one before is gone", said)
            self.doCleanups()

    def test_another_stager_takes_the_place_and_no_write_is_lost(self):
        self.take_over(2, 0, 0, 1)
        self.take_over(2, 1, 2, 3, GLEAN_POOL_BUDGET="4MiB")
        self.take_over(3, 0, 5, self.END)
        self.take_over(3, 0, 5, self.END, GLEAN_POOL_BUDGET="4MiB")

    def test_a_service_that_is_started_elsewhere_takes_the_place_of_the_only_stager(self):
        self.take_over(1, 0, 4, 5, spare=True)

    def test_a_stager_that_is_started_again_goes_on_in_both_of_its_places(self):
        for lost in (0, 1):
            with self.subTest(lost=lost):
                self.setUp()
                stagers = self.start_stagers(2)
                job = self.job(GLEAN_STAGING_RESTART="3s")
                self.come_to(job, 2)
                self.held.touch()
                self.come_to(job, 3)
                self.lose(stagers[lost])
                left = stagers[1 - lost]
                wait_for(lambda: self.run_stage("status").stdout.count("  running  ") >= 3, "both places", pause=0.2)   # and the service
                left.kill()
                self.held.unlink()
                again = Service(self, "--job-memory", self.JOB_MEMORY, "--directory", self.data, OMPI_COMM_WORLD_SIZE="2")
                said = self.end_well(job, again)
                self.assertEqual(len(re.findall(r"goes on here as stager \d of 2: the process before was killed", said)), 2, said)
                self.doCleanups()

    # --- no stager takes the place

    def recover(self, count, lost, **variables):
        """All is written and closed, and not durable, when these stagers are lost."""
        with self.subTest(stagers=count, lost=lost, **variables):
            self.setUp()
            # A small pool asks for what it keeps to be durable, and waits for that.
            stagers = self.start_stagers(count, **({} if variables else {"SYNC_HELD": "1"}))
            job = self.job(GLEAN_STAGING_RESTART="0s", **variables)
            self.come_to(job, self.END - 1)
            self.held.touch()
            self.come_to(job, self.END)
            for each in lost:
                self.lose(stagers[each])
            self.held.unlink()
            self.go()
            job.wait(60)
            for stager in stagers:
                if stager.process.poll() is None:
                    stager.end()
            run = self.glean("recover")
            # Then it may have been durable before the loss.
            if not variables or run.returncode != 0:
                self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
                self.assertIn("--without-stagers", run.stdout)
                run = self.glean("recover", "--without-stagers")
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            self.assert_whole()
            self.doCleanups()

    def test_recovery_completes_all_from_what_the_nodes_have_kept(self):
        self.recover(1, [0])
        self.recover(2, [1], GLEAN_POOL_BUDGET="4MiB")


if __name__ == "__main__":
    unittest.main()
