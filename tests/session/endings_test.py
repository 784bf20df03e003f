#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""endings_test.py PROGRAM MPIRUN…: what is left when a program is told to end."""

import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, LAUNCH = sys.argv[1], sys.argv[2:]
COMMAND = os.environ.get("COMMAND")


def pools():
    return {path.name for path in pathlib.Path("/dev/shm").glob("glean.*")}


class Endings(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(dir="/dev/shm", prefix="endings.")   # a busy disk would be later than what is waited for
        self.addCleanup(scratch.cleanup)
        self.directory = pathlib.Path(scratch.name)

    def launch(self, ranks, way, **settings):
        """The program when it has ended, and the pools that it has left."""
        before = pools()
        done = subprocess.run([*LAUNCH, "-n", str(ranks), PROGRAM, way, str(self.directory)], text=True, env=os.environ | settings,
                              capture_output=True, timeout=100)
        return done, pools() - before

    def run_program(self, way, **settings):
        done, left = self.launch(2, way, **settings)
        self.assertEqual(left, set(), done.stderr)
        return done

    def whole(self):
        """The file of four ranks that nothing disturbs."""
        done, left = self.launch(4, "whole")
        self.assertEqual((done.returncode, left), (0, set()), done.stderr)
        content = (self.directory / "out.nc").read_bytes()
        (self.directory / "out.nc").unlink()
        return content

    def recover(self, left, expected):
        recovered = subprocess.run([COMMAND, "recover", *left], text=True, capture_output=True, timeout=100)
        self.assertEqual(pools() & left, set(), recovered.stdout + recovered.stderr)
        self.assertEqual((self.directory / "out.nc").read_bytes(), expected, recovered.stdout)
        self.assertEqual([path.name for path in self.directory.iterdir()], ["out.nc"])
        (self.directory / "out.nc").unlink()

    def records(self):
        with open(self.directory / "out.nc", "rb") as file:
            return struct.unpack(">4xQ", file.read(12))[0]

    def test_what_all_ranks_have_ended_is_finished_before_sigterm_ends_the_job(self):
        done = self.run_program("sigterm")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("told to end (SIGTERM)", done.stderr)
        self.assertIn("step 1 is not there: rank 1 had not ended it", done.stderr)
        self.assertEqual(self.records(), 1)
        self.assertEqual([path.name for path in self.directory.iterdir()], ["out.nc"])

    def test_a_program_that_handles_sigterm_itself_is_not_disturbed(self):
        done = self.run_program("handler")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.records(), 1)

    def test_sigterm_ends_a_program_whose_session_is_closed(self):
        done = self.run_program("after")
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("told to end", done.stderr)
        self.assertEqual(self.records(), 1)

    def test_an_exception_after_another_rank_has_ended_loses_nothing(self):
        for way in ("killed", "killed-closed"):
            with self.subTest(way):
                # The launcher must not kill rank 0 as well.
                done = self.run_program(way, OMPI_MCA_odls_base_sigkill_timeout="4")
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("a rank has ended without closing its outputs: completing what all ranks have captured", done.stderr)
                self.assertIn("step 1 is not there: rank 1 had not ended it", done.stderr)
                self.assertEqual(self.records(), 1)
                self.assertEqual([path.name for path in self.directory.iterdir()], ["out.nc"])
                (self.directory / "out.nc").unlink()

    def test_the_next_session_removes_what_a_job_has_left_that_had_nothing_more_to_do(self):
        done, left = self.launch(2, "aborted")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(len(left), 1, done.stderr)
        done = self.run_program("after")
        self.assertEqual(pools() & left, set())
        self.assertNotIn(left.pop(), done.stderr)

    @unittest.skipUnless(COMMAND, "needs the command glean")
    def test_what_several_nodes_could_not_complete_together_is_left_to_recovery(self):
        expected = self.whole()
        for way, why in {"unclosed": "MPI was finalized before the session was closed",
                         "killed-closed": "a rank has ended without closing its outputs",
                         "apart": "the session was left before all nodes had done their part"}.items():
            with self.subTest(way):
                done, left = self.launch(4, way, GLEAN_TOPOLOGY_RANKS_PER_NODE="2", GLEAN_POOL_DEADLINE="5s", GLEAN_EXCHANGE="mpi",
                                         OMPI_MCA_odls_base_sigkill_timeout="4")
                if way == "apart" and not left:   # all blocks had moved before the ranks parted
                    self.assertEqual((self.directory / "out.nc").read_bytes(), expected, done.stderr)
                    (self.directory / "out.nc").unlink()
                    continue
                self.assertIn(f"{why}: `mpirun --map-by ppr:1:node glean recover` completes", done.stderr)
                self.assertEqual(len(left), 2, done.stderr)
                self.recover(left, expected)

    def test_several_nodes_complete_together_in_the_background_what_was_closed(self):
        expected = self.whole()
        for way in ("unclosed", "apart"):
            with self.subTest(way):
                done, left = self.launch(4, way, GLEAN_TOPOLOGY_RANKS_PER_NODE="2", GLEAN_POOL_DEADLINE="60s", GLEAN_EXCHANGE="tcp")
                self.assertEqual(left, set(), done.stderr)
                self.assertEqual((self.directory / "out.nc").read_bytes(), expected)
                (self.directory / "out.nc").unlink()

    # Four ranks that compute, and two writers.
    WRITERS = {"GLEAN_MODE": "dedicated", "GLEAN_TOPOLOGY_RANKS_PER_NODE": "3", "GLEAN_POOL_DEADLINE": "1s",
               "OMPI_MCA_odls_base_sigkill_timeout": "5"}

    @unittest.skipUnless(COMMAND, "needs the command glean")
    def test_a_writer_that_is_killed_leaves_what_all_have_captured_to_recovery(self):
        expected = self.whole()
        for way in ("writer-killed", "killed-closed", "sigterm"):
            with self.subTest(way):
                done, left = self.launch(6, way, **self.WRITERS)
                if way == "writer-killed":
                    self.assertIn("the writer of node 1 is gone", done.stderr)
                    for rank in range(4):
                        self.assertIn(f"rank {rank} is told: the rank that drains node 1 is gone", done.stderr)
                self.assertEqual(len(left), 2, done.stderr)
                self.recover(left, expected)

    def test_writers_complete_together_what_ranks_have_closed_that_leave_apart(self):
        expected = self.whole()
        done, left = self.launch(6, "apart", **self.WRITERS | {"GLEAN_POOL_DEADLINE": "60s"})
        self.assertEqual(left, set(), done.stderr)
        self.assertEqual((self.directory / "out.nc").read_bytes(), expected)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
