# SPDX-License-Identifier: BSD-3-Clause
"""container_files_test.py WRITER COMMAND MPIRUN…: containers of jobs, as the command and a reader that knows nothing of GLEAN see them,
and what is left of them when a job fails or is killed."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import read_container   # noqa: E402

WRITER, COMMAND, *LAUNCH = sys.argv[1:]
SMALL_POOL = {"GLEAN_POOL_BUDGET": "32MiB"}
FULL = os.environ.get("FULL")   # a directory on a file system of 8 MiB


def text_of(rank, generation, size):
    line = f"generation {generation} of rank {rank}\n".encode()
    return (line * (size // len(line) + 1))[:size]


class ContainersOfJobs(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(dir="/dev/shm", prefix="containers.")
        self.addCleanup(scratch.cleanup)
        self.directory = pathlib.Path(scratch.name)
        self.path = self.directory / "a.sion"

    def start(self, ranks, *arguments, **settings):
        command = [*LAUNCH, "-n", str(ranks), WRITER, *map(str, arguments)]
        return subprocess.Popen(command, text=True, env=os.environ | SMALL_POOL | settings, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, start_new_session=True)

    def launch(self, ranks, *arguments, code=0, **settings):
        with self.start(ranks, *arguments, **settings) as job:
            said = job.communicate(timeout=150)[0]
        self.assertEqual(job.returncode != 0, code != 0, said)
        return said

    def glean(self, *arguments, code=0):
        done = subprocess.run([COMMAND, *map(str, arguments)], text=True, capture_output=True, timeout=100, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def expect(self, path, ranks, generation, size):
        self.assertEqual(read_container.tasks(path), [text_of(rank, generation, size) for rank in range(ranks)])

    def test_the_command_and_another_reader_read_what_jobs_write(self):
        nodes = {"GLEAN_TOPOLOGY_RANKS_PER_NODE": "2"}
        passthrough = nodes | {"GLEAN_MODE": "passthrough"}
        for ranks, files, settings in ((1, 1, {}), (5, 3, {}), (6, 0, nodes), (4, 2, passthrough)):
            with self.subTest(ranks=ranks, files=files, settings=settings):
                self.launch(ranks, "whole", self.path, files, 20_000, **settings)
                self.expect(self.path, ranks, 1, 20_000)
                self.assertEqual(len(read_container.read(self.path)), files or 3)
                self.glean("container", "verify", self.path)
                self.assertEqual(self.glean("container", "ls", self.path).count("task.000"), ranks)
                for part in self.directory.iterdir():
                    part.unlink()

    def test_logical_files_are_extracted(self):
        self.launch(3, "names", self.path, 1, 1000)
        self.assertEqual(len(read_container.File(self.path).names()), 9)
        self.glean("container", "extract", self.path, "-C", self.directory)
        for rank in range(3):
            for number in range(3):
                self.assertEqual((self.directory / f"rank{rank}/{number}").read_bytes(), text_of(rank, number, 1000))

    def test_a_rank_that_throws_leaves_the_old_container(self):
        for settings in ({}, {"GLEAN_MODE": "passthrough"}):
            with self.subTest(settings=settings):
                said = self.launch(3, "throws", self.path, 1, 20_000, code=1, GLEAN_POOL_DEADLINE="5s", **settings)
                self.assertIn("ERROR the program has thrown", said)
                self.expect(self.path, 3, 1, 20_000)

    @unittest.skipIf(FULL is None or not os.path.ismount(FULL), "this user may not mount")
    def test_a_full_disk_is_an_error_on_all_ranks_and_leaves_the_old_container(self):
        for mode in ("threaded", "passthrough"):
            with self.subTest(mode=mode):
                path = pathlib.Path(FULL) / "a.sion"
                self.launch(3, "whole", path, 1, 20_000, GLEAN_MODE=mode)
                way = "kept" if mode == "threaded" else "whole"
                said = self.launch(3, way, path, 1, 6_000_000, code=1, GLEAN_MODE=mode, GLEAN_POOL_DEADLINE="10s")
                errors = [line for line in said.splitlines() if line.startswith("ERROR")]
                full = sum("No space left on device" in error for error in errors)
                if mode == "threaded":
                    kept = sum("kept in memory, because the storage refuses it" in error for error in errors)
                    self.assertEqual((len(errors), full, kept), (6, 3, 3), said)
                else:   # a rank may hear only that another has left
                    self.assertEqual(len(errors), 3, said)
                    self.assertGreater(full, 0, said)
                self.expect(path, 3, 1, 20_000)
                if mode == "threaded":   # it is kept until there is room
                    subprocess.run([COMMAND, "recover", "--discard"], capture_output=True, timeout=100, check=False)
                self.assertEqual([left.name for left in path.parent.iterdir()], ["a.sion"])

    def test_a_job_that_is_killed_leaves_the_old_container_or_the_new_one(self):
        seconds = random.Random(int(os.environ.get("SEED", "1")))
        in_time, mixed = 0, 0
        for trial in range(int(os.environ.get("TRIALS", "4"))):
            files = 1 + trial % 2
            nodes = {"GLEAN_TOPOLOGY_RANKS_PER_NODE": "1"} if trial % 4 >= 2 else {}
            with self.start(3, "again", self.path, files, 30_000, 100_000, **nodes) as job:
                while not self.path.exists() and job.poll() is None:
                    time.sleep(0.001)
                time.sleep(seconds.uniform(0, 0.4))
                in_time += job.poll() is None
                self.kill_ranks(job)
                said = job.communicate(timeout=100)[0]
            durable = self.directory / "a.sion.durable"
            promised = int(durable.read_text()) if durable.exists() else 1
            recovery = subprocess.run([COMMAND, "recover"], text=True, capture_output=True, timeout=100, check=False)
            self.assertEqual(list(pathlib.Path("/dev/shm").glob("glean.*")), [], said + recovery.stdout + recovery.stderr)
            self.assertTrue(self.path.exists(), said)
            found = self.generation(files)
            mixed += found is None
            if found is not None:
                self.assertGreaterEqual(found, promised)
            for left in self.directory.iterdir():
                self.assertFalse(left.name.endswith(".part"), left)
                left.unlink()
        self.assertGreater(in_time, 0)
        print(f"{in_time} jobs killed; in {mixed} of them the physical files were of two containers", file=sys.stderr)

    def kill_ranks(self, job):
        """One of them, or all in any order."""
        ranks = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and str(self.path).encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                    if os.path.basename(os.readlink(entry / "exe")) == os.path.basename(WRITER):
                        ranks.append(int(entry.name))
            except OSError:
                continue
        random.shuffle(ranks)
        for rank in ranks[:random.choice((1, 3))]:
            try:
                os.kill(rank, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def generation(self, files):
        """Of the container, which is whole; None where its physical files are of two, which readers say."""
        listing = subprocess.run([COMMAND, "container", "ls", str(self.path)], text=True, capture_output=True, timeout=100, check=False)
        if files > 1 and "another container" in listing.stderr:
            return None
        self.assertEqual(listing.returncode, 0, listing.stderr)
        tasks = read_container.tasks(self.path)
        generation = int(tasks[0].split()[1])
        self.assertEqual(tasks, [text_of(rank, generation, 30_000) for rank in range(3)])
        self.glean("container", "verify", self.path)
        return generation


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
