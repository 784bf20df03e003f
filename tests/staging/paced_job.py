# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that go on when they are told (paced.cpp, paced_raw.c), and what they have made at the end, for tests of their stagers."""

import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile

from service import Service, StageTest

sys.path.append(os.environ["TESTS_OF_COMMAND"])
from left import wait_for   # noqa: E402

MPIRUN = shlex.split(os.environ["MPIRUN"])
SHARED_MEMORY = pathlib.Path("/dev/shm")


def pools_of(process):
    return list(SHARED_MEMORY.glob(f"glean.{os.getuid()}.{process}.*"))


def without_settings():
    return {name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")}


class PacedTest(StageTest):
    """Two nodes of a rank each; their marks are in a directory of their own."""

    MEMORY, JOB_MEMORY = "64MiB", "8MiB"
    PROGRAM = ["no program"]
    PRELOAD = None                  # of a program that knows nothing of GLEAN
    END, END_OF_SESSION = 6, 7      # marks of the program
    PLAIN = {"GLEAN_MODE": "passthrough"}

    @classmethod
    def setUpClass(cls):
        kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(kept.cleanup)
        data, marks = (pathlib.Path(kept.name) / name for name in ("data", "marks"))
        data.mkdir()
        marks.mkdir()
        (marks / "go").touch()
        subprocess.run([*MPIRUN, "2", *cls.PROGRAM, data, marks], check=True, cwd=marks, timeout=100, env=without_settings() | cls.PLAIN)
        cls.whole = {path.name: path.read_bytes() for path in data.iterdir()}

    def setUp(self):
        super().setUp()
        self.data, self.marks = (self.directory / name for name in ("data", "marks"))
        self.data.mkdir()
        self.marks.mkdir()
        self.stagers = []

    def start(self, count=1, *words, **variables):
        words = ["--job-memory", self.JOB_MEMORY, *words, "--directory", self.data]
        self.stagers = [Service(self, *words, OMPI_COMM_WORLD_SIZE=str(count), **variables) for _ in range(count)]
        return self.stagers

    def end_well(self, job, *stagers):
        """The job ends, then these stagers, and the files are whole: what the stagers have said."""
        self.go()
        self.assertEqual(job.wait(60), 0, self.said())
        said = [stager.end() for stager in stagers]
        self.assertEqual([status for _, status in said], [0] * len(stagers), said)
        self.assert_whole()
        return "".join(text for text, _ in said)

    def job(self, **settings):
        environment = without_settings()
        environment |= {"HOME": str(self.directory), "GLEAN_MODE": "staged", "GLEAN_STAGING_ADDRESS": str(self.file),
                        "GLEAN_POOL_BUDGET": "16MiB", "GLEAN_TOPOLOGY_RANKS_PER_NODE": "1"} | settings
        preload = ["-x", f"LD_PRELOAD={self.PRELOAD}"] if self.PRELOAD else []
        self.log = open(self.directory / "job.log", "w+", encoding="utf-8")
        self.addCleanup(self.log.close)
        job = subprocess.Popen([*MPIRUN, "2", *preload, *self.PROGRAM, self.data, self.marks], cwd=self.directory, env=environment,
                               stdout=self.log, stderr=self.log)
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
            (self.marks / f"go.{before}").touch()
        wait_for(lambda: (self.marks / f"at.{step}").exists() or job.poll() is not None, f"step {step}")
        self.assertIsNone(job.poll(), self.said())

    def stop_at(self, job, step):
        """From there on stagers take in nothing more."""
        self.come_to(job, step)
        for stager in self.stagers:
            stager.process.send_signal(signal.SIGSTOP)

    def go(self):
        (self.marks / "go").touch()

    def lose(self, stager):
        """With its host: nothing of its memory is left."""
        stager.process.send_signal(signal.SIGKILL)
        stager.process.wait()
        for pool in pools_of(stager.process.pid):
            pool.unlink()

    def pools(self):
        return sorted(path.name for path in SHARED_MEMORY.glob(f"glean.{os.getuid()}.*"))

    def assert_files(self):
        self.assertEqual(sorted(path.name for path in self.data.iterdir()), sorted(self.whole))
        for name, content in self.whole.items():
            self.assertTrue((self.data / name).read_bytes() == content, f"{name} differs")

    def assert_whole(self):
        self.assert_files()
        self.assertEqual(self.pools(), [])
