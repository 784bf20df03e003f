# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of readers have in common: the command, a directory, and readers in processes of their own."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
COMMAND = os.environ["COMMAND"]
SKIPPED = 77


def convert(*arguments, code=0):
    """Runs `glean convert`; a status that is not expected is an AssertionError with what was said."""
    run = subprocess.run([COMMAND, "convert", *map(str, arguments)], check=False, capture_output=True, text=True, timeout=100)
    if run.returncode != code:
        raise AssertionError(f"convert {arguments}: status {run.returncode}\n{run.stdout}\n{run.stderr}")
    return run


class PlaceTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = pathlib.Path(directory.name)

    def made(self, name, file, *options):
        """The file of that name, converted with these options."""
        source = file.write(self.place / name)
        run = convert(*options, "--json", source)
        return [pathlib.Path(each["path"]) for each in json.loads(run.stdout)]

    def read(self, python, script, *paths, may_complain=False):
        """What a reader finds in each file."""
        run = subprocess.run([*python, HERE / script, *map(str, paths)], check=False, capture_output=True, text=True, timeout=200,
                             cwd=self.place, env=os.environ | {"HOME": str(self.place)})
        if run.returncode != 0:
            raise AssertionError(f"{script}: status {run.returncode}\n{run.stdout[-2000:]}\n{run.stderr[-4000:]}")
        if not may_complain:
            self.assertNotRegex(run.stdout + run.stderr, "ERR\\||HDF5-DIAG|Warning")
        found = [json.loads(line.removeprefix("RESULT ")) for line in run.stdout.splitlines() if line.startswith("RESULT ")]
        self.assertEqual(len(found), len(paths))
        return found


def main(needed=None):
    """Runs the tests of the program, or says what is missing for them, and skips."""
    if needed is not None and (not needed[0] or not pathlib.Path(needed[0]).exists()):
        print(f"SKIPPED: {needed[1]}", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main(verbosity=1)
