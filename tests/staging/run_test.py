#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""run_test.py SEDOV MPIRUN…: `glean run --stagers`, of which one is killed while its job writes."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SEDOV, LAUNCH = sys.argv[1], sys.argv[2:]
COMMAND = os.environ["COMMAND"]
OPTIONS = ("--output", "pnetcdf", "--blocks", "2,2,2", "--steps", "200", "--checkpoint-every", "20", "--plot-every", "10")


def stagers_of(process):
    """The processes of the stagers that it has started."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            if parent == process and b"\0stage\0" in (stat.parent / "cmdline").read_bytes():
                found.append(int(stat.parent.name))
        except (OSError, IndexError):   # it has just ended
            continue
    return sorted(found)


class Run(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="stagers.")
        self.addCleanup(scratch.cleanup)
        self.directory = pathlib.Path(scratch.name)

    def files(self, of):
        return {path.name: path.read_bytes() for path in sorted((self.directory / of).glob("*.nc"))}

    def sedov(self, of, before=()):
        into = self.directory / of
        into.mkdir()
        return [*before, *LAUNCH, "-n", "4", SEDOV, *OPTIONS, "--directory", str(into)]

    def test_a_stager_that_is_killed_is_started_again_and_the_files_are_the_same(self):
        alone = subprocess.run(self.sedov("alone"), capture_output=True, timeout=100)
        command = self.sedov("staged", (COMMAND, "run", "--stagers", "2", "--"))
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
            deadline = time.monotonic() + 60
            while not self.files("staged") and time.monotonic() < deadline and run.poll() is None:
                time.sleep(0.005)
            stagers = stagers_of(run.pid)
            self.assertEqual(len(stagers), 2)
            os.kill(stagers[0], signal.SIGKILL)
            _, said = run.communicate(timeout=100)
        self.assertEqual(run.returncode, alone.returncode, said)   # it ends before the time at which it knows the exact solution
        self.assertIn(f"stager {stagers[0]} was killed by signal 9: it is started again", said)
        alone, staged = self.files("alone"), self.files("staged")
        self.assertEqual(sorted(staged), sorted(alone))
        self.assertEqual([name for name in alone if staged[name] != alone[name]], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
