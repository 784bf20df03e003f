# SPDX-License-Identifier: BSD-3-Clause
"""Stagers that are gone for good, with their memory, while a job (paced.cpp) is at different points: nothing is lost with staging.keep."""

import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from service import Service, StageTest

sys.path.append(os.environ["TESTS_OF_COMMAND"])
from left import wait_for   # noqa: E402

PACED, MPIRUN = os.environ["PACED"], shlex.split(os.environ["MPIRUN"])
SHARED_MEMORY = pathlib.Path("/dev/shm")
FILES = ["chk_0.nc", "chk_2.nc", "chk_4.nc", "filled.nc", "series.nc"]
END, END_OF_SESSION = 6, 7
SILENCE = 30   # transport::TcpPatience::silence_seconds


def pools_of(process):
    return list(SHARED_MEMORY.glob(f"glean.{os.getuid()}.{process}.*"))


class Lost(StageTest):
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
        self.data = self.directory / "data"
        self.data.mkdir()
        self.stagers = []

    def start(self, count):
        words = ["--job-memory", "8MiB", "--directory", self.data]
        self.stagers = [Service(self, *words, OMPI_COMM_WORLD_SIZE=str(count)) for _ in range(count)]
        return self.stagers

    def job(self, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")}
        environment |= {"HOME": str(self.directory), "GLEAN_MODE": "staged", "GLEAN_STAGING_ADDRESS": str(self.file),
                        "GLEAN_POOL_BUDGET": "16MiB", "GLEAN_STAGING_KEEP": "durable", "GLEAN_TOPOLOGY_RANKS_PER_NODE": "1"} | variables
        self.log = open(self.directory / "job.log", "w+", encoding="utf-8")
        self.addCleanup(self.log.close)
        job = subprocess.Popen([*MPIRUN, "2", PACED, self.data], cwd=self.directory, env=environment, stdout=self.log, stderr=self.log)
        self.addCleanup(self.end_job, job)
        return job

    def end_job(self, job):
        if job.poll() is None:
            job.terminate()
            job.wait(60)

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def come_to(self, job, step):
        """All before that step may go on."""
        for before in range(step):
            (self.data / f"go.{before}").touch()
        wait_for(lambda: (self.data / f"at.{step}").exists() or job.poll() is not None, f"step {step}")
        self.assertIsNone(job.poll(), self.said())

    def go(self):
        (self.data / "go").touch()

    def lose(self, stager):
        """With its host: nothing of its memory is left."""
        stager.process.send_signal(signal.SIGKILL)
        stager.process.wait()
        for pool in pools_of(stager.process.pid):
            pool.unlink()

    def assert_whole(self):
        self.assertEqual(sorted(path.name for path in self.data.iterdir() if path.name[:3] not in ("at.", "go", "go.")), FILES)
        for name in FILES:
            self.assertEqual((self.data / name).read_bytes(), (self.whole / name).read_bytes(), name)

    def pools(self):
        return sorted(path.name for path in SHARED_MEMORY.glob(f"glean.{os.getuid()}.*"))

    def stop_at(self, job, step):
        """From there on stagers take in nothing more."""
        self.come_to(job, step)
        for stager in self.stagers:
            stager.process.send_signal(signal.SIGSTOP)

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
                self.come_to(job, END)
                self.go()
                wait_for((self.data / lost_at).exists, lost_at)
            self.lose(stagers[lost])
            left = [stager for stager in stagers if stager is not stagers[lost]]
            for stager in left:
                stager.process.send_signal(signal.SIGCONT)
            if spare:
                left.append(Service(self, "--job-memory", "8MiB", "--directory", self.data))
            self.go()
            self.assertEqual(job.wait(60), 0, self.said())
            said = [stager.end() for stager in left]
            self.assertEqual([status for _, status in said], [0] * len(left), said)
            if isinstance(lost_at, int):
                self.assertIn("the host of the one before is gone", "".join(text for text, _ in said))
            self.assert_whole()
            self.assertEqual(self.pools(), [])
            self.doCleanups()

    def test_another_stager_takes_the_place_and_the_job_goes_on(self):
        self.take_over(2, 0, None, 3)
        self.take_over(2, 1, None, 3)
        self.take_over(3, 1, 2, 4, GLEAN_POOL_BUDGET="4MiB")
        self.take_over(2, 0, 4, END_OF_SESSION)
        self.take_over(2, 1, END, END_OF_SESSION)
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
                wait_for(lambda: self.run_stage("status").stdout.count("  running  ") >= 3, "both places")   # and the service
                left.kill()
                again = Service(self, "--job-memory", "8MiB", "--directory", self.data, OMPI_COMM_WORLD_SIZE="2")
                self.go()
                self.assertEqual(job.wait(60), 0, self.said())
                said, status = again.end()
                self.assertEqual(status, 0, said)
                self.assertEqual(len(re.findall(r"goes on here as stager \d of 2: the process before was killed", said)), 2, said)
                self.assert_whole()
                self.assertEqual(self.pools(), [])
                self.doCleanups()

    def test_a_stager_that_is_stopped_keeps_its_place(self):
        (stager,) = self.start(1)
        job = self.job(GLEAN_STAGING_RESTART="1s")
        self.stop_at(job, 3)
        self.come_to(job, END)
        time.sleep(SILENCE + 5)
        stager.process.send_signal(signal.SIGCONT)
        self.go()
        self.assertEqual(job.wait(60), 0, self.said())
        said, status = stager.end()
        self.assertEqual(status, 0, said)
        self.assert_whole()
        self.assertEqual(self.pools(), [])

    def test_a_job_that_takes_nothing_of_what_it_is_told_keeps_no_other_waiting(self):
        (stager,) = self.start(1)
        job = self.job()
        self.come_to(job, 3)
        stopped = [int(pid) for pid in subprocess.run(["pgrep", "-f", f"{PACED} {self.data}"], capture_output=True, text=True,
                                                      check=True).stdout.split()]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        first, self.data = self.data, self.directory / "data" / "other"
        self.data.mkdir()
        self.go()
        self.assertEqual(self.job().wait(60), 0, self.said())
        self.assert_whole()
        self.data.rename(self.directory / "other")
        self.data = first
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        self.go()
        self.assertEqual(job.wait(60), 0)
        said, status = stager.end()
        self.assertEqual(status, 0, said)
        self.assert_whole()
        self.assertEqual(self.pools(), [])

    def test_a_service_that_is_started_elsewhere_takes_the_place_of_the_only_stager(self):
        self.take_over(1, 0, 3, END, spare=True)

    # --- no stager takes the place

    def recover(self, count, lost, stopped_at, **variables):
        """The job comes to the end of its session, and these stagers are lost then."""
        with self.subTest(stagers=count, lost=lost, stopped_at=stopped_at, **variables):
            self.setUp()
            stagers = self.start(count)
            job = self.job(GLEAN_STAGING_RESTART="0s", **variables)
            self.stop_at(job, stopped_at)
            self.come_to(job, END_OF_SESSION)
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
            self.assertEqual(self.pools(), [])
            self.assert_whole()
            self.doCleanups()

    def test_recovery_completes_all_from_what_the_nodes_have_kept(self):
        self.recover(1, [0], 0)
        self.recover(1, [0], END, GLEAN_POOL_BUDGET="4MiB")
        self.recover(2, [0], 3, GLEAN_POOL_BUDGET="4MiB")
        self.recover(2, [1], END)


if __name__ == "__main__":
    unittest.main()
