# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of readers have in common: the command, a directory, and readers in processes of their own."""

import json
import os
import pathlib
import shutil
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

    @classmethod
    def reader(cls, *command):
        """A process of a reader, which the tests of a class share: it takes paths on standard input."""
        if not hasattr(cls, "process"):
            home = tempfile.mkdtemp()
            cls.addClassCleanup(shutil.rmtree, home)
            cls.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                           text=True, cwd=home, env=os.environ | {"HOME": home})
            cls.addClassCleanup(cls.end_reader)
        return cls.process

    @classmethod
    def end_reader(cls):
        said, _ = cls.process.communicate(timeout=200)
        if cls.process.returncode != 0:
            raise AssertionError(f"the reader's status is {cls.process.returncode}\n{said[-4000:]}")

    def read(self, python, script, *paths):
        """What a reader finds in each file."""
        reader, found = self.reader(*python, HERE / script), []
        for path in paths:
            print(path, file=reader.stdin, flush=True)
            said = ""
            for line in reader.stdout:
                if line.startswith("RESULT "):
                    found.append(json.loads(line.removeprefix("RESULT ")))
                    break
                said += line
            else:
                raise AssertionError(f"{script} ended at {path}\n{said[-4000:]}")
            self.assertNotRegex(said, "ERR\\||HDF5-DIAG|Warning")
        return found


def main(needed=None):
    """Runs the tests of the program, or says what is missing for them, and skips."""
    if needed is not None and (not needed[0] or not pathlib.Path(needed[0]).exists()):
        print(f"SKIPPED: {needed[1]}", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main(verbosity=1)
