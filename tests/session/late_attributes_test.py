# SPDX-License-Identifier: BSD-3-Clause
"""A job that is killed around the end of an output leaves an attribute that was set late as it was, or as it was set; never a step more."""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
PROGRAM, GLEAN = BUILD / "bin" / "session_late_attributes", BUILD / "bin" / "glean"
MPIRUN = shlex.split(os.environ["MPIRUN"])


class Kills(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.file = pathlib.Path(directory.name) / "a.nc"

    def run_program(self, way, ranks):
        return subprocess.run([*MPIRUN, str(ranks), PROGRAM, way, self.file], capture_output=True, text=True, timeout=120, check=False)

    def test_the_attribute_is_whole_and_no_record_is_added(self):
        for way, ranks, state in (("open", 1, "under way"), ("open", 3, "under way"), ("closing", 3, "under way"), ("closed", 1, "done"),
                                  ("closed", 3, "done")):
            with self.subTest(way=way, ranks=ranks):
                killed = self.run_program(way, ranks)
                self.assertNotEqual(killed.returncode, 0, killed.stdout)
                recovered = subprocess.run([GLEAN, "recover"], capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(recovered.returncode, 0, recovered.stdout + recovered.stderr)
                checked = self.run_program("check", 1)
                self.assertEqual(checked.stdout, f"{state} 2\n", recovered.stdout + checked.stderr)
                self.file.unlink()


if __name__ == "__main__":
    unittest.main()
