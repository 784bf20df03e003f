# SPDX-License-Identifier: BSD-3-Clause
"""`glean stage` in a directory of its own, which is its home."""

import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]


class Service:
    """One process of the service, which has said where it is."""

    def __init__(self, test, *arguments, **variables):
        self.process = subprocess.Popen([COMMAND, "stage", "--memory", test.MEMORY, *map(str, arguments)], cwd=test.directory,
                                        env=test.environment | variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        test.addCleanup(self.kill)
        self.said = []
        for line in self.process.stdout:
            self.said.append(line.rstrip("\n"))
            if line.startswith("writes below"):
                return
        raise AssertionError(f"it did not start: {self.said}")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def end(self, number=signal.SIGTERM):
        """What it says when it ends, and its status."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self):
        rest = self.process.stdout.read()
        return rest, self.process.wait()


class StageTest(unittest.TestCase):
    MEMORY = "8MiB"

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name).resolve()
        self.file = self.directory / "glean-stage.json"
        self.key = self.directory / ".glean" / "stage.key"
        of_launchers = ("GLEAN_", "OMPI_", "PMI", "SLURM_", "MPI_")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(of_launchers)}
        self.environment["HOME"] = str(self.directory)

    def run_stage(self, *arguments, **variables):
        return self.glean("stage", *arguments, **variables)

    def glean(self, *arguments, **variables):
        return subprocess.run([COMMAND, *map(str, arguments)], cwd=self.directory, env=self.environment | variables,
                              capture_output=True, text=True, timeout=100, check=False)
