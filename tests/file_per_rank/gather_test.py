# SPDX-License-Identifier: BSD-3-Clause
"""Programs that write a file for each rank, with and without GLEAN's rule that gathers them in a container."""

import json
import os
import pathlib
import shlex
import shutil
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
    def test_the_report_says_how_many_files_were_gathered(self):
        report = self.there / "report.json"
        result = self.must("write", "write", 1, environment={"GLEAN_REPORT_FILE": str(report), "GLEAN_REPORT_TABLE": "true"})
        sizes = sum(100000 + 4097 * rank + 13 for rank in range(RANKS))
        self.assertEqual(json.loads(report.read_text())["gathered"], {"files": RANKS, "bytes": sizes, "containers": 1})
        self.assertRegex(result.stdout + result.stderr, rf"files gathered +{RANKS}, .* in 1 container\n")

    def test_each_way_of_writing_ends_in_the_container(self):
        self.rules(RESTART + RULE.format("new_restart.{rank}", "restart.sion"))
        for step, way in enumerate(["write", "direct", "stdio", "append", "mmap", "dup", "fork", "rename"]):
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
        for ranks in (1, 4):
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

    def test_what_was_closed_is_so_although_a_child_of_vfork_has_closed_it_before(self):
        self.rules(RESTART + RULE.format("begun.{rank}", "begun.sion"))
        self.run_program("crash", 4, "vfork")
        self.glean("recover")
        self.assertEqual(self.in_container("restart.sion"), [f"restart.{rank}" for rank in range(RANKS)])
        self.must("read", 4, RANKS)

    def test_the_next_job_gathers_what_a_killed_one_has_left(self):
        self.run_program("crash", 4)
        self.must("read", 4, RANKS)
        self.assert_nothing_left()

    def test_each_node_has_a_container_and_reads_those_of_all(self):
        nodes = {"GLEAN_TOPOLOGY_RANKS_PER_NODE": "2"}
        said = self.must("write", "write", 1, ranks=4, environment=nodes)
        self.assertIn("{node}", said.stderr)
        self.assertEqual(self.names(), [f"restart.{rank}" for rank in range(4)])
        for name in self.names():
            (self.there / name).unlink()
        self.rules(RULE.format("restart.{rank}", "restart.{node}.sion"))
        self.must("write", "write", 2, ranks=4, environment=nodes)
        self.assertEqual(self.names(), ["restart.0.sion", "restart.1.sion"])
        self.assertEqual(self.in_container("restart.1.sion"), ["restart.2", "restart.3"])
        self.must("read", 2, 4, ranks=3)
        self.must("read", 2, 4, ranks=4, environment=nodes)
        self.assert_nothing_left()

    def test_what_a_full_disk_refuses_stays_on_the_node_until_there_is_room(self):
        disk = self.there / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", disk], capture_output=True).returncode != 0:
            self.skipTest("this user may not mount")
        self.addCleanup(subprocess.run, ["umount", disk])
        (disk / "glean.toml").write_text(f'spill.directory = "{self.there}"\n' + (self.there / "glean.toml").read_text())
        self.there = disk
        result = self.run_program("write", "write", 1)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("restart.sion' is not complete", result.stderr)
        self.assertEqual(self.names(), [])
        self.glean("recover", code=1)
        subprocess.run(["mount", "-o", "remount,size=2m", disk], check=True)
        self.assertIn("3 files of ranks", self.glean("recover"))
        self.assertEqual(self.names(), ["restart.sion"])
        self.must("read", 1, RANKS)
        self.assert_nothing_left()


LAMMPS = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
dump d all custom 10 dump.% id x y z vx vy vz
restart 20 rst.%.*
{forces}
run 40
"""
FORCES = "pair_style lj/cut 2.5\npair_coeff 1 1 1.0 1.0 2.5\nfix 1 all nve"
AGAIN = "read_restart rst.%.20\n{forces}\nrun 20\nwrite_dump all custom final id x y z vx vy vz modify sort id\n"


@unittest.skipUnless(shutil.which("lmp"), "LAMMPS is not there")
class OfLammps(Job):
    def lammps(self, directory, script, ranks, under=()):
        (directory / "in.txt").write_text(script.format(forces=FORCES))
        command = [*under, *MPIRUN, str(ranks), "lmp", "-in", "in.txt"]
        result = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_restarts_and_dumps_are_those_of_the_program_alone(self):
        self.rules(RULE.format("rst.{rank}.{step}", "rst.{step}.sion") + RULE.format("dump.{rank}", "dump.sion"))
        bare = self.there / "bare"
        bare.mkdir()
        self.lammps(bare, LAMMPS, 3)
        self.lammps(self.there, LAMMPS, 3, [GLEAN, "run", "--"])
        self.assertEqual([name for name in self.names() if name.startswith(("rst", "dump"))],
                         ["dump.sion", "rst.20.sion", "rst.40.sion", "rst.base.20", "rst.base.40"])
        self.glean("container", "extract", "dump.sion", "-C", "bare/..")
        for rank in range(3):
            self.assertEqual((self.there / f"dump.{rank}").read_bytes(), (bare / f"dump.{rank}").read_bytes())
        self.lammps(bare, AGAIN, 2)
        self.lammps(self.there, AGAIN, 2, [GLEAN, "run", "--"])
        self.assertEqual((self.there / "final").read_bytes(), (bare / "final").read_bytes())
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
