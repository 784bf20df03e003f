# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that add records to a file and are killed at any moment leave whole records, and all that they were told is durable."""

import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
PROGRAM, GLEAN = BUILD / "bin" / "session_appending", BUILD / "bin" / "glean"
MPIRUN = shlex.split(os.environ["MPIRUN"])
KILLS = int(os.environ.get("KILLS", "4"))


class Kills(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.file = pathlib.Path(directory.name) / "history.nc"

    def run_program(self, *words, ranks):
        return subprocess.run([*MPIRUN, str(ranks), PROGRAM, *map(str, words)], cwd=self.file.parent, capture_output=True, text=True,
                              timeout=120, check=False)

    def records(self):
        checked = self.run_program("check", self.file, ranks=1)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        return int(checked.stdout)

    def test_a_kill_leaves_whole_records(self):
        chance = random.Random(os.environ.get("SEED", "29"))
        known = grown = refused = 0
        for kill in range(KILLS):
            killed = self.run_program("write", self.file, chance.randrange(200_000, 900_000), ranks=1 if kill % 3 == 0 else 2)
            self.assertNotEqual(killed.returncode, 0)
            if not self.file.exists():
                continue
            durable = self.file.with_name(self.file.name + ".durable")
            promised = int(durable.read_text() or 0) if durable.exists() else 0
            before = self.records()
            self.assertGreaterEqual(before, max(known, promised), f"kill {kill}: {killed.stderr}")
            if kill % 2 == 1:   # what recovery would add must not be written over
                again = self.run_program("write", self.file, 400_000, ranks=2)
                refused += "glean recover" in again.stderr
                before = max(before, self.records())
            recovered = subprocess.run([GLEAN, "recover"], cwd=self.file.parent, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(recovered.returncode, 0, recovered.stdout + recovered.stderr)
            known = self.records()
            self.assertGreaterEqual(known, before)
            grown += known > before
        self.assertGreater(known, KILLS)
        print(f"{known} records after {KILLS} kills; recovery has added some {grown} times, and {refused} jobs waited for it")


if __name__ == "__main__":
    unittest.main()
