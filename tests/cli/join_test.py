# SPDX-License-Identifier: BSD-3-Clause
"""`glean join` makes one file of several, also of those that a killed job has left to `glean recover` (left.cpp)."""
import unittest

from left import Program
from recover_test import FILES, RecoverTest


class Join(RecoverTest):
    def written(self):
        """Two parts of each file."""
        program = Program(self, self.data, "whole", GLEAN_TOPOLOGY_RANKS_PER_NODE="1", GLEAN_PLAN_FILES="2")
        self.assertEqual(program.process.wait(100), 0)

    def names(self):
        return sorted(file.name for file in self.data.iterdir() if ".nc" in file.name)

    def test_makes_the_file_and_keeps_the_parts_unless_told_otherwise(self):
        self.written()
        before = self.names()
        run = self.glean("join", self.data / "closed.nc", "--output", self.data / "other.nc")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertRegex(run.stdout, r"/other.nc: 2 parts, 2 records, \d+ bytes\n")
        self.assertEqual(self.names(), sorted([*before, "other.nc"]))
        self.assertEqual((self.data / "other.nc").read_bytes(), (self.whole / "closed.nc").read_bytes())
        (self.data / "other.nc").unlink()
        for name in FILES:
            self.assertEqual(self.glean("join", "--remove", self.data / name).returncode, 0)
        self.assert_whole()

    def test_says_what_is_missing(self):
        for arguments, code, text in ((["nothing.nc"], 1, "there are no parts of 'nothing.nc'"), ([], 2, "NAME is required"),
                                      (["no/directory.nc"], 1, "No such file")):
            run = self.glean("join", *arguments)
            self.assertEqual((run.returncode, run.stdout), (code, ""))
            self.assertIn(text, run.stderr)
        self.written()
        (self.data / "closed.nc.1of2").unlink()
        run = self.glean("join", self.data / "closed.nc")
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn(f"a file is missing: '{self.data}/closed.nc.1of2'", run.stderr)

    def test_is_what_latest_says_of_a_part(self):
        self.written()
        run = self.glean("latest", str(self.data / "closed*"))
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("closed.nc.1of2: it is a part of closed.nc, see glean-join(1)", run.stderr)
        self.assertNotIn(".index", run.stderr)
        self.glean("join", self.data / "closed.nc")
        run = self.glean("latest", str(self.data / "closed*"))
        self.assertEqual((run.returncode, run.stdout), (0, f"{self.data}/closed.nc\n"), run.stderr)


class OfAKilledJob(RecoverTest):
    """Two nodes of one rank, which write a file each of what is joined."""

    def test_are_completed_and_joined_up_to_the_step_that_all_have(self):
        program = Program(self, self.data, GLEAN_TOPOLOGY_RANKS_PER_NODE="1", GLEAN_PLAN_FILES="group")
        program.wait_for("ready")
        pools = program.pools()
        self.assertEqual(len(pools), 2)
        program.kill()
        for pool in pools:   # neither needs the other
            run = self.glean("recover", pool)
            self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)
        self.assertEqual(len(list(self.data.glob("*.nc.?of2"))), 4)
        said = [self.glean("join", "--remove", self.data / name).stderr for name in FILES]
        self.assertEqual(said[0], "")
        self.assertIn("1 step is left out that not all parts have", said[1])
        self.assertIn("the parts are kept", said[1])
        self.assertEqual(list(self.data.glob(f"{FILES[0]}.*")), [])
        kept = sorted(self.data.glob(f"{FILES[1]}.*"))
        self.assertEqual(len(kept), 4, kept)   # with their indexes
        for file in kept:
            file.unlink()
        self.assert_whole()

    def test_are_discarded_with_their_indexes(self):
        program = Program(self, self.data, GLEAN_TOPOLOGY_RANKS_PER_NODE="1", GLEAN_PLAN_FILES="2", GLEAN_POOL_BUDGET="64MiB")
        program.wait_for("ready")
        pools = program.pools()
        program.kill()
        self.assertNotEqual([file.name for file in self.data.glob(".open*.index")], [])
        run = self.glean("recover", "--discard", *pools)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual([file.name for file in self.data.glob(".*")], [])


if __name__ == "__main__":
    unittest.main()
