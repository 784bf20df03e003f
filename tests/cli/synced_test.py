# SPDX-License-Identifier: BSD-3-Clause
"""What a program was told is safe, by MPI_File_sync, ncmpi_sync or H5Fflush (synced_writer.c), is in its file whatever is killed."""
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import unittest

from command import COMMAND, CommandTest
from left import MPIRUN, SHARED_MEMORY, helpers_of, lives, wait_for
from recovering import OWN_MOUNTS, main

RANKS = 4
WRITER, LIBRARY, KINDS = os.environ["SYNCED_WRITER"], os.environ["LIBRARY"], os.environ["SYNCED_KINDS"].split()
LAYERS = os.environ["MPI_IO"].split()
OLD = b"an older file\n"
# PnetCDF itself cuts a file that is there, before it opens it.
REPLACING = [kind for kind in KINDS if kind != "pnetcdf"]


def number_in(path):
    """0: it is not there yet."""
    try:
        return struct.unpack("i", path.read_bytes())[0]
    except (FileNotFoundError, struct.error):
        return 0


def kill(process, number=signal.SIGKILL):
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


@unittest.skipUnless(OWN_MOUNTS, "this user may not mount")
class Synced(CommandTest):
    def setUp(self):
        super().setUp()
        self.data = self.directory / "data"
        self.data.mkdir()
        self.random = random.Random(self.id())

    def numbers(self, name):
        return [number_in(self.data / f"{name}.{rank}") for rank in range(RANKS)]

    def start(self, kind, io="", old=False, **settings):
        """A program that has written some frames."""
        for path in self.data.glob("*"):
            if path.name != "never":
                path.unlink()
        if old:
            (self.data / "traj").write_bytes(OLD)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")}
        environment |= {"LD_PRELOAD": LIBRARY, "GLEAN_POOL_BUDGET": "16MiB", "GLEAN_REPORT_TABLE": "false"} | settings
        if io:
            environment["OMPI_MCA_io"] = io
        log = (self.directory / "log").open("w+")
        self.addCleanup(log.close)
        program = subprocess.Popen([*MPIRUN, str(RANKS), WRITER, kind, self.data], env=environment, cwd=self.directory,
                                   stdout=log, stderr=log)
        self.addCleanup(program.kill)
        least = self.random.randint(2, 6)
        wait_for(lambda: min(self.numbers("synced")) >= least or program.poll() is not None, "frames")
        self.assertIsNone(program.poll(), (self.directory / "log").read_text())
        return program

    def kill_all(self, program):
        """All ranks in any order, before mpirun can do anything about it."""
        kill(program.pid, signal.SIGSTOP)
        for rank in self.random.sample(self.numbers("rank"), RANKS):
            kill(rank)
        self.end(program)

    def end(self, program):
        wait_for(lambda: not any(map(lives, self.numbers("rank"))), "end of the ranks")
        program.kill()
        program.wait()

    def assert_kept(self, kind, path):
        frames = min(self.numbers("synced"))
        run = subprocess.run([*MPIRUN, "1", WRITER, kind, "check", path, str(frames), str(RANKS)], capture_output=True, text=True,
                             timeout=100, check=False)
        self.assertEqual(run.returncode, 0, f"{run.stderr}{(self.directory / 'log').read_text()}")

    def assert_nothing_is_left(self):
        self.assertEqual([path.name for path in self.data.iterdir() if path.name.endswith(".part")], [])
        self.assertEqual(list(SHARED_MEMORY.glob("glean.*")), [])

    def assert_recovers(self, kind, name, *launcher):
        run = subprocess.run([*launcher, COMMAND, "recover"], capture_output=True, text=True, cwd=self.directory, timeout=100, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        path = self.data / name
        where = "" if name == "traj" else f" as {path}"
        self.assertRegex(run.stdout, rf"traj: not closed by .*, synchronized, .* wait → published{where}\n")
        self.assert_kept(kind, path)
        self.assert_nothing_is_left()

    def test_is_published_by_recovery_after_all_ranks_were_killed(self):
        for kind in KINDS:
            for io in LAYERS if kind == "mpiio" else LAYERS[:1]:
                with self.subTest(kind, io=io):
                    self.kill_all(self.start(kind, io))
                    self.assertFalse((self.data / "traj").exists())
                    self.assert_recovers(kind, "traj")

    def test_is_published_by_recovery_where_the_mpi_library_has_made_the_file(self):
        for io in LAYERS:
            with self.subTest(io=io):
                self.kill_all(self.start("mpiio", io, GLEAN_STRIPING_FACTOR="4"))
                self.assert_recovers("mpiio", "traj")

    def test_is_published_beside_a_file_that_was_there(self):
        for kind in REPLACING:
            with self.subTest(kind):
                self.kill_all(self.start(kind, old=True))
                self.assert_recovers(kind, "traj.unclosed")
                self.assertEqual((self.data / "traj").read_bytes(), OLD)

    def test_is_published_by_the_first_rank_that_is_told_to_end(self):
        program = self.start("mpiio")
        kill(program.pid, signal.SIGSTOP)   # or it would not wait for that rank for long
        first, *others = self.numbers("rank")
        for rank in others:
            kill(rank)
        kill(first, signal.SIGTERM)
        self.end(program)
        self.assert_kept("mpiio", self.data / "traj")
        self.assert_nothing_is_left()

    def test_is_published_by_a_helper_or_after_its_end(self):
        for helper_dies in (False, True):
            with self.subTest(helper_dies=helper_dies):
                program = self.start("mpiio", old=helper_dies, GLEAN_DRAIN_PLACE="process", GLEAN_DRAIN_COMMAND=COMMAND)
                (pool,) = (path.name for path in SHARED_MEMORY.glob("glean.*"))
                (helper,) = helpers_of(pool)
                if helper_dies:
                    kill(program.pid, signal.SIGSTOP)
                    victims = [helper, *self.numbers("rank")]
                    self.random.shuffle(victims)
                    for victim in victims:
                        kill(victim)
                    wait_for(lambda: not lives(helper), "end of the helper")
                    self.end(program)
                    self.assert_recovers("mpiio", "traj.unclosed")
                    continue
                self.kill_all(program)
                wait_for(lambda: not (SHARED_MEMORY / pool).exists(), "end of the pool")
                wait_for(lambda: not lives(helper), "end of the helper")
                (log,) = self.directory.glob("glean-drain.*.log")
                self.assertIn("synchronized: published as", log.read_text())
                self.assert_kept("mpiio", self.data / "traj")
                self.assert_nothing_is_left()

    def test_of_several_nodes_is_published_by_recovery_on_all(self):
        for kind in KINDS:
            for launcher in ([], [*MPIRUN, "2"]) if kind == "mpiio" else ([*MPIRUN, "2"],):
                with self.subTest(kind, alone=not launcher):
                    old = bool(launcher) and kind in REPLACING
                    self.kill_all(self.start(kind, old=old, GLEAN_TOPOLOGY_RANKS_PER_NODE="2"))
                    self.assert_recovers(kind, "traj.unclosed" if old else "traj", *launcher)

    def test_is_named_when_it_is_discarded_and_in_json(self):
        self.kill_all(self.start("mpiio"))
        (found,) = json.loads(self.glean("recover", "--dry-run", "--json").stdout)["pools"]
        (output,) = found["outputs"]
        self.assertEqual((output["synchronized"], output["closed"], output["problem"]), (True, False, ""))
        run = self.glean("recover", "--discard")
        self.assertRegex(run.stdout, r"traj: not closed by .*, synchronized, .* wait → discarded\n")
        self.assertFalse((self.data / "traj").exists())
        self.assert_nothing_is_left()

    def test_that_was_not_synchronized_does_not_appear(self):
        (self.data / "never").touch()
        self.kill_all(self.start("mpiio"))
        run = self.glean("recover")
        self.assertRegex(run.stdout, r"traj: not closed by ranks [\d, ]* → removed\n")
        self.assertEqual(sorted(path.name for path in self.data.glob("*traj*")), [])
        self.assert_nothing_is_left()


if __name__ == "__main__":
    main()
