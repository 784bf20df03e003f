# SPDX-License-Identifier: BSD-3-Clause
"""Stagers that are gone for good, with their memory, while a job (paced.cpp) is at different points: nothing is lost with staging.keep."""

import os
import re
import signal
import subprocess
import time
import unittest

from paced_job import PacedTest, wait_for
from service import Service

PACED = os.environ["PACED"]
SILENCE = 30   # transport::TcpPatience::silence_seconds


class Lost(PacedTest):
    PROGRAM = [PACED]

    def job(self, **settings):
        return super().job(GLEAN_STAGING_KEEP="durable", **settings)

    # --- another stager takes the place

    def take_over(self, count, lost, stopped_at, lost_at, spare=False, **variables):
        """From `stopped_at` on stagers take in nothing, and one is lost at `lost_at`: a step, or a file that appears in the end."""
        with self.subTest(stagers=count, lost=lost, stopped_at=stopped_at, lost_at=lost_at, **variables):
            self.setUp()
            stagers = self.start(count)
            job = self.job(GLEAN_STAGING_RESTART="1s", **variables)
            if stopped_at is not None:
                self.stop_at(job, stopped_at)
            if isinstance(lost_at, int):
                self.come_to(job, lost_at)
            else:
                self.come_to(job, self.END)
                self.go()
                wait_for((self.data / lost_at).exists, lost_at)
            self.lose(stagers[lost])
            left = [stager for stager in stagers if stager is not stagers[lost]]
            for stager in left:
                stager.process.send_signal(signal.SIGCONT)
            if spare:
                left.append(Service(self, "--job-memory", "8MiB", "--directory", self.data))
            said = self.end_well(job, *left)
            if isinstance(lost_at, int):
                self.assertIn("the host of the one before is gone", said)
            self.doCleanups()

    def test_another_stager_takes_the_place_and_the_job_goes_on(self):
        self.take_over(2, 0, None, 3)
        self.take_over(3, 1, 2, 4, GLEAN_POOL_BUDGET="4MiB")
        self.take_over(2, 1, self.END, self.END_OF_SESSION)
        self.take_over(2, 0, None, "filled.nc")

    def test_a_stager_that_is_started_again_goes_on_in_both_of_its_places(self):
        for lost in (0, 1):
            with self.subTest(lost=lost):
                self.setUp()
                stagers = self.start(2)
                job = self.job(GLEAN_STAGING_RESTART="3s")
                self.come_to(job, 2)
                self.lose(stagers[lost])
                left = stagers[1 - lost]
                wait_for(lambda: self.run_stage("status").stdout.count("  running  ") >= 3, "both places", pause=0.2)   # and the service
                left.kill()
                again = Service(self, "--job-memory", "8MiB", "--directory", self.data, OMPI_COMM_WORLD_SIZE="2")
                said = self.end_well(job, again)
                self.assertEqual(len(re.findall(r"goes on here as stager \d of 2: the process before was killed", said)), 2, said)
                self.doCleanups()

    def test_a_stager_that_is_stopped_keeps_its_place(self):
        (stager,) = self.start(1)
        job = self.job(GLEAN_STAGING_RESTART="1s")
        self.stop_at(job, 3)
        self.come_to(job, self.END)
        time.sleep(SILENCE + 5)
        stager.process.send_signal(signal.SIGCONT)
        self.end_well(job, stager)

    def test_a_job_that_takes_nothing_of_what_it_is_told_keeps_no_other_waiting(self):
        (stager,) = self.start(1)
        job = self.job()
        self.come_to(job, 3)
        stopped = [int(pid) for pid in subprocess.run(["pgrep", "-f", f"{PACED} {self.data}"], capture_output=True, text=True,
                                                      check=True).stdout.split()]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        first, self.data, self.marks = (self.data, self.marks), self.data / "other", self.directory / "other.marks"
        self.data.mkdir()
        self.marks.mkdir()
        self.go()
        self.assertEqual(self.job().wait(60), 0, self.said())
        self.assert_files()
        self.data.rename(self.directory / "other")
        self.data, self.marks = first
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        self.go()
        self.assertEqual(job.wait(60), 0)
        said, status = stager.end()
        self.assertEqual(status, 0, said)
        self.assert_whole()

    def test_a_service_that_is_started_elsewhere_takes_the_place_of_the_only_stager(self):
        self.take_over(1, 0, 3, self.END, spare=True)

    # --- no stager takes the place

    def recover(self, count, lost, stopped_at, **variables):
        """The job comes to the end of its session, and these stagers are lost then."""
        with self.subTest(stagers=count, lost=lost, stopped_at=stopped_at, **variables):
            self.setUp()
            stagers = self.start(count)
            job = self.job(GLEAN_STAGING_RESTART="0s", **variables)
            self.stop_at(job, stopped_at)
            self.come_to(job, self.END_OF_SESSION)
            for each in lost:
                self.lose(stagers[each])
            for stager in stagers:
                stager.process.send_signal(signal.SIGCONT)
            self.go()
            self.assertNotEqual(job.wait(60), 0)
            self.assertIn("the stager on", self.said())
            for stager in stagers:
                if stager.process.poll() is None:
                    stager.end()
            run = self.glean("recover")
            self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
            self.assertIn("--without-stagers", run.stdout)
            run = self.glean("recover", "--without-stagers")
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            self.assert_whole()
            self.doCleanups()

    def test_recovery_completes_all_from_what_the_nodes_have_kept(self):
        self.recover(1, [0], 0)
        self.recover(2, [0], 3, GLEAN_POOL_BUDGET="4MiB")
        self.recover(2, [1], self.END)


if __name__ == "__main__":
    unittest.main()
