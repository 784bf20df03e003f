# SPDX-License-Identifier: BSD-3-Clause
"""`glean recover` and `glean run` in jobs of Slurm: three nodes that share no memory.

  slurm_test.py BIN DIRECTORY

BIN: where glean, left (tests/cli/left.cpp) and run_writer are. DIRECTORY: for Slurm and for files; not in /tmp, of which each node has
its own.
Needs root and Slurm (tools/slurm check); returns 77 with the reason where that cannot be.
"""
import filecmp
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

SLURM = pathlib.Path(__file__).resolve().parents[2] / "tools" / "slurm"
BIN, DIRECTORY = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
GLEAN, LEFT, WRITER = (BIN / name for name in ("glean", "left", "run_writer"))
NODES = ["-N", "3", "-n", "3"]
FILES = ["closed.nc", "open.nc"]


class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(DIRECTORY, ignore_errors=True)
        os.environ |= {"SLURM_CONF": str(DIRECTORY / "cluster/slurm.conf"), "GLEAN_POOL_BUDGET": "16MiB",
                       # Two kinds of fences in one MPI_Init are a risk for any program (docs/end-of-job.md).
                       "SLURM_PMIX_FENCE": "tree"}
        cls.addClassCleanup(subprocess.run, [SLURM, "down", DIRECTORY / "cluster"], check=True)
        subprocess.run([SLURM, "up", DIRECTORY / "cluster", "3"], check=True, timeout=90)
        cls.whole = DIRECTORY / "whole"
        cls.whole.mkdir()
        subprocess.run(["srun", "--mpi=pmix", *NODES, LEFT, cls.whole, "whole"], check=True, timeout=60)

    def run_in(self, *command, directory=DIRECTORY):
        return subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=100, check=False)

    def killed(self, name):
        """A job that has left its pools on all nodes, and its files in this directory."""
        directory = DIRECTORY / name
        directory.mkdir()
        with subprocess.Popen(["srun", "--mpi=pmix", *NODES, LEFT, directory, "killed"], stderr=subprocess.DEVNULL) as job:
            limit = time.monotonic() + 60
            while not (directory / "ready").exists():
                self.assertLess(time.monotonic(), limit, "the job does not begin")
                self.assertIsNone(job.poll(), "the job has ended")
                time.sleep(0.05)
            for rank in range(3):
                try:
                    os.kill(int((directory / f"rank.{rank}").read_text()), signal.SIGKILL)
                except ProcessLookupError:
                    pass   # Slurm was quicker
        return directory

    def assert_whole(self, directory, run):
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        for name in FILES:
            self.assertTrue(filecmp.cmp(directory / name, self.whole / name, shallow=False), name)
        self.assertEqual(sorted(file.name for file in directory.iterdir() if ".nc" in file.name), FILES)

    def test_processes_of_srun_recover_together(self):
        for name, command in (("srun", [GLEAN, "recover"]), ("shell", ["sh", "-c", f"timeout 90 {GLEAN} recover; exit $?"])):
            with self.subTest(name):
                directory = self.killed(name)
                self.assert_whole(directory, self.run_in("srun", "--mpi=pmix", *NODES, *command))

    def test_processes_of_mpirun_in_an_allocation_recover_together(self):
        directory = self.killed("mpirun")
        os.environ |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        run = self.run_in("salloc", "-Q", *NODES, "mpirun", "--map-by", "ppr:1:node", "timeout", "90", GLEAN, "recover")
        self.assert_whole(directory, run)

    def test_srun_without_pmix_leaves_the_pools_and_says_what_is_missing(self):
        directory = self.killed("none")
        run = self.run_in("srun", "--mpi=none", *NODES, GLEAN, "recover")
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn("glean: MPI cannot be started among the 3 processes that srun has started (SLURM_STEP_NUM_TASKS=3): "
                      "`srun --mpi=pmix`", run.stderr)
        self.assert_whole(directory, self.run_in("srun", "--mpi=pmix", *NODES, GLEAN, "recover"))

    def test_a_shell_of_an_allocation_is_alone(self):
        run = self.run_in("salloc", "-Q", *NODES, GLEAN, "recover", "--dry-run")
        self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)

    def test_what_the_nodes_capture_is_seen_from_where_no_rank_runs(self):
        run = self.run_in(GLEAN, "run", "--", "srun", "--mpi=pmix", *NODES, WRITER, "file")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("glean: 3 ranks, MPI-IO captured", run.stderr)
        self.assertNotIn("not captured", run.stderr)
        self.assertNotIn("could not be seen", run.stderr)


if __name__ == "__main__":
    check = subprocess.run([SLURM, "check"], capture_output=True, text=True, check=False)
    reason = check.stderr.strip() if check.returncode != 0 else "" if DIRECTORY.parts[1] != "tmp" else "the build directory is in /tmp"
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
