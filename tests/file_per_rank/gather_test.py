# SPDX-License-Identifier: BSD-3-Clause
"""Programs that write a file for each rank, with and without GLEAN's rule that gathers them in a container."""

import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
GLEAN = BUILD / "bin" / "glean"
MPIRUN = shlex.split(os.environ["MPIRUN"])
RANKS = 3
RULE = '[[rule]]\npattern = "{}"\ninto = "{}"\n'
RESTART = RULE.format("restart.{rank}", "restart.sion")


class Job(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.there = pathlib.Path(directory.name)
        self.rules(RESTART)

    def rules(self, text, more=""):
        (self.there / "glean.toml").write_text('pool.budget = "32MiB"\n' + more + text)

    def run_program(self, *words, ranks=RANKS, program="ranks", under=(str(GLEAN), "run", "--"), environment=None):
        command = [*under, *MPIRUN, str(ranks), str(BUILD / "bin" / f"file_per_rank_{program}"), *map(str, words)]
        return subprocess.run(command, cwd=self.there, capture_output=True, text=True, timeout=120,
                              env={**os.environ, **(environment or {})})

    def must(self, *words, **options):
        result = self.run_program(*words, **options)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result

    def glean(self, *words, code=0):
        result = subprocess.run([GLEAN, *words], cwd=self.there, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout

    def names(self):
        """Without what is the test's own."""
        return sorted(path.name for path in self.there.iterdir() if path.name != "glean.toml")

    def in_container(self, container):
        return sorted(file["name"] for file in json.loads(self.glean("container", "ls", "--json", container))["entries"])

    def assert_nothing_left(self):
        self.assertEqual([path.name for path in pathlib.Path("/dev/shm").glob("glean*")], [])

    def bare(self, *words, **options):
        self.must(*words, under=(), **options)


class OfRanks(Job):
    def test_each_way_of_writing_ends_in_the_container(self):
        self.rules(RESTART + RULE.format("new_restart.{rank}", "restart.sion"))
        for step, way in enumerate(["write", "stdio", "append", "mmap", "dup", "fork", "rename"]):
            with self.subTest(way=way):
                self.must("write", way, step)
                self.assertEqual(self.names(), ["restart.sion"])
                self.assertEqual(self.in_container("restart.sion"), [f"restart.{rank}" for rank in range(RANKS)])
                self.glean("container", "verify", "restart.sion")
                self.assert_nothing_left()
                self.must("read", step, RANKS)

    def test_the_container_has_the_bytes_that_the_files_have_without_glean(self):
        self.must("write", "write", 5)
        self.glean("container", "extract", "restart.sion", "-C", ".")
        self.bare("read", 5, RANKS)

    def test_another_number_of_ranks_reads_it_back(self):
        self.must("write", "write", 1)
        for ranks in (1, 2, 4):
            self.must("read", 1, RANKS, ranks=ranks)
        self.assertEqual(self.names(), ["restart.sion"])
        self.assert_nothing_left()

    def test_files_of_their_own_stay_so(self):
        self.bare("write", "write", 1)
        self.must("write", "write", 2)
        self.assertEqual(self.names(), [f"restart.{rank}" for rank in range(RANKS)])
        self.must("read", 2, RANKS)

    def test_each_step_has_a_container_that_goes_with_its_files(self):
        self.rules(RULE.format("step.{step}.{rank}", "step.{step}.sion"))
        self.must("steps", 1, 6)
        self.assertEqual(self.names(), ["step.5.sion", "step.6.sion"])
        self.assertEqual(self.in_container("step.6.sion"), [f"step.6.{rank}" for rank in range(RANKS)])
        self.assert_nothing_left()

    def test_what_the_budget_does_not_have_room_for_lies_beside(self):
        self.must("write", "write", 1, environment={"GLEAN_POOL_BUDGET": "1MiB"})
        self.assertEqual(self.names(), ["restart.sion"])
        self.must("read", 1, RANKS)

    def test_a_name_that_something_else_has_is_left_alone(self):
        (self.there / "restart.sion").write_text("no container")
        result = self.must("write", "write", 1)
        self.assertIn("is no container", result.stderr)
        self.assertEqual(self.names(), [f"restart.{rank}" for rank in range(RANKS)] + ["restart.sion"])

    def test_what_was_closed_is_gathered_after_a_kill_and_what_was_not_is_named(self):
        self.rules(RESTART + RULE.format("begun.{rank}", "begun.sion"))
        result = self.run_program("crash", 4)
        self.assertNotEqual(result.returncode, 0)
        said = self.glean("recover")
        self.assertIn("begun.0", said)
        self.assertEqual(self.names(), [f"begun.{rank}.unclosed" for rank in range(RANKS)] + ["restart.sion"])
        self.must("read", 4, RANKS)
        self.assert_nothing_left()

    def test_the_next_job_gathers_what_a_killed_one_has_left(self):
        self.run_program("crash", 4)
        self.must("read", 4, RANKS)
        self.assert_nothing_left()


class OfFortran(Job):
    def setUp(self):
        super().setUp()
        if not (BUILD / "bin" / "file_per_rank_fortran").exists():
            self.skipTest("no Fortran compiler")

    def test_records_are_written_appended_read_and_removed(self):
        self.must("write", program="fortran")
        self.assertEqual(self.names(), ["restart.sion"])
        self.must("read", program="fortran")
        self.must("remove", program="fortran")
        self.assertEqual(self.names(), [])
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
