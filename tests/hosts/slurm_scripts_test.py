# SPDX-License-Identifier: BSD-3-Clause
"""The job scripts of examples/slurm, as jobs of a Slurm of three nodes that share no memory.

  slurm_scripts_test.py BIN DIRECTORY

BIN: where glean, sedov, writer and left (tests/cli/left.cpp) are. DIRECTORY: for Slurm and for files; not in /tmp, of which each node has
its own.
Needs root and Slurm (tools/slurm check); returns 77 with the reason where that cannot be.
"""
import filecmp
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLURM, SCRIPTS = ROOT / "tools/slurm", ROOT / "examples/slurm"
BIN, DIRECTORY = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
SEDOV = [BIN / "sedov", "--blocks", "4,3,2", "--steps", "4", "--checkpoint-every", "2", "--plot-every", "2", "--output", "pnetcdf"]
FILES = ["closed.nc", "open.nc"]


class Scripts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(DIRECTORY, ignore_errors=True)
        DIRECTORY.mkdir(parents=True)
        epilog = DIRECTORY / "epilog.sh"
        epilog.write_text((SCRIPTS / "epilog.sh").read_text().replace("/usr/local/bin/glean", str(BIN / "glean")))
        epilog.chmod(0o755)
        os.environ |= {"SLURM_CONF": str(DIRECTORY / "cluster/slurm.conf"), "PATH": f"{BIN}:{os.environ['PATH']}",
                       "GLEAN_POOL_BUDGET": "32MiB", "HOME": str(DIRECTORY),
                       "SLURM_PMIX_FENCE": "tree",   # docs/end-of-job.md
                       # The nodes have one host name and no memory in common, which MPI's own shared memory does not expect.
                       "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"}
        cls.addClassCleanup(subprocess.run, [SLURM, "down", DIRECTORY / "cluster"], check=True)
        subprocess.run([SLURM, "up", DIRECTORY / "cluster", "3", f"Epilog={epilog}"], check=True, timeout=90)
        cls.plain = cls.directory("plain")
        subprocess.run(["srun", "--mpi=pmix", "-N", "1", "-n", "4", *SEDOV], cwd=cls.plain, check=True, timeout=90,
                       stdout=subprocess.DEVNULL)
        cls.whole = cls.directory("whole")
        subprocess.run(["srun", "--mpi=pmix", "-N", "1", "-n", "2", BIN / "left", ".", "whole"], cwd=cls.whole, check=True, timeout=60)

    @classmethod
    def directory(cls, name):
        (DIRECTORY / name).mkdir()
        return DIRECTORY / name

    def job(self, directory, script, *program, nodes=2, tasks=2):
        """A job of this script that has been submitted; its number."""
        run = subprocess.run(["sbatch", "--parsable", f"--nodes={nodes}", f"--ntasks-per-node={tasks}", "--time=10", "--output=job.out",
                              SCRIPTS / script, *program], cwd=directory, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout.strip()

    def said(self, directory):
        return (directory / "job.out").read_text() if (directory / "job.out").exists() else ""

    def until(self, directory, what, holds, seconds=120):
        limit = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), limit, f"not {what}:\n{self.said(directory)}")
            time.sleep(0.1)

    def state(self, job):
        shown = subprocess.run(["scontrol", "--oneliner", "show", "job", job], capture_output=True, text=True, check=False).stdout
        return shown.partition("JobState=")[2].split(" ")[0]

    def finish(self, directory, job, state="COMPLETED"):
        self.until(directory, "the end of the job", lambda: self.state(job) in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"))
        self.assertEqual(self.state(job), state, self.said(directory))
        return self.said(directory)

    def run_job(self, directory, script, *program, nodes=2, tasks=2):
        """The number of a job of this script that has completed, and what it has said."""
        for _ in range(5):   # some starts on several nodes crash in MPI_Init (docs/end-of-job.md), before the program does anything
            job = self.job(directory, script, *program, nodes=nodes, tasks=tasks)
            self.until(directory, "the end of the job", lambda job=job: self.state(job) in ("COMPLETED", "FAILED"))
            if "Failing at address: (nil)" not in self.said(directory) or [path.name for path in directory.iterdir()] != ["job.out"]:
                break
        return job, self.finish(directory, job)

    def assert_same(self, directory, other):
        names = sorted(path.name for path in other.glob("*.nc"))
        self.assertGreater(len(names), 0)
        self.assertEqual(sorted(path.name for path in directory.glob("*.nc")), names, self.said(directory))
        for name in names:
            self.assertTrue(filecmp.cmp(directory / name, other / name, shallow=False), name)

    def test_threads_write(self):
        directory = self.directory("threaded")
        job, said = self.run_job(directory, "threaded.sh", *SEDOV)

        self.assertIn("glean: 4 ranks, MPI-IO captured", said)
        self.assert_same(directory, self.plain)
        self.assertEqual(json.loads((directory / f"glean-{job}.json").read_text())["ranks"], 4)

    def test_a_helper_writes(self):
        directory = self.directory("helper")

        said = self.finish(directory, self.job(directory, "process.sh", *SEDOV, nodes=1, tasks=4))

        self.assertIn("glean: 4 ranks, MPI-IO captured", said)
        self.assert_same(directory, self.plain)

    def test_what_a_crashed_program_had_ended_is_completed(self):
        directory = self.directory("crash")
        job = self.job(directory, "process.sh", BIN / "left", ".", "killed", nodes=1)
        self.until(directory, "the program at its end", (directory / "ready").exists)
        for rank in range(2):
            os.kill(int((directory / f"rank.{rank}").read_text()), signal.SIGKILL)

        self.finish(directory, job, "FAILED")

        self.assert_same(directory, self.whole)

    def test_a_rank_of_each_node_writes(self):
        directory, plain = self.directory("dedicated"), self.directory("one")
        subprocess.run(["srun", "--mpi=pmix", "-N", "1", "-n", "2", BIN / "writer"], cwd=plain, check=True, timeout=60)

        self.run_job(directory, "dedicated.sh", BIN / "writer")

        self.assert_same(directory, plain)

    def test_stagers_on_nodes_of_the_job_write(self):
        directory = self.directory("staged")

        _, said = self.run_job(directory, "staged.sh", *SEDOV, nodes=3)

        self.assertIn("glean: 4 ranks, MPI-IO captured", said)
        self.assertIn("listens at", said)
        self.assert_same(directory, self.plain)

    def test_stagers_beside_the_ranks_write(self):
        directory = self.directory("beside")

        _, said = self.run_job(directory, "stagers_beside.sh", *SEDOV)

        self.assertIn("glean: 4 ranks, MPI-IO captured", said)
        self.assert_same(directory, self.plain)

    def test_a_job_that_is_requeued_recovers_and_restarts(self):
        directory = self.directory("requeued")
        simulation = directory / "simulation"
        simulation.write_text('#!/bin/bash\necho "arguments: $*"\n[ $# -gt 0 ] || exec left . killed\n')
        simulation.chmod(0o755)
        os.environ["CHECKPOINTS"] = "closed.nc"
        self.addCleanup(os.environ.pop, "CHECKPOINTS")
        job = self.job(directory, "end_of_job.sh", simulation, tasks=1)
        self.until(directory, "the program at its end", (directory / "ready").exists)

        subprocess.run(["scontrol", "requeue", job], check=True)
        # Slurm waits two minutes before it starts a job anew; the administrator may be quicker.
        self.until(directory, "requeued", lambda: self.state(job) == "PENDING")
        subprocess.run(["scontrol", "update", f"JobId={job}", "StartTime=now"], check=True)
        said = self.finish(directory, job)

        self.assertIn("arguments: --restart closed.nc", said)
        self.assert_same(directory, self.whole)

    def test_a_step_that_is_told_to_end_is_recovered_by_the_script(self):
        directory = self.directory("signal")
        job = self.job(directory, "end_of_job.sh", BIN / "left", ".", "killed", tasks=1)
        self.until(directory, "the program at its end", (directory / "ready").exists)

        subprocess.run(["scancel", "--signal=TERM", f"{job}.1"], check=True)   # as --signal=TERM@300 does; step 0 was `glean recover`
        self.finish(directory, job, "FAILED")

        self.assert_same(directory, self.whole)

    def test_the_epilog_completes_what_a_job_on_one_node_has_left(self):
        directory = self.directory("epilog")
        job = self.job(directory, "threaded.sh", BIN / "left", ".", "killed", nodes=1)
        self.until(directory, "the program at its end", (directory / "ready").exists)

        subprocess.run(["scancel", job], check=True)
        self.finish(directory, job, "CANCELLED")

        self.until(directory, "the files there", lambda: all((directory / name).exists() for name in FILES))
        self.assert_same(directory, self.whole)


if __name__ == "__main__":
    check = subprocess.run([SLURM, "check"], capture_output=True, text=True, check=False)
    reason = check.stderr.strip() if check.returncode != 0 else "" if DIRECTORY.parts[1] != "tmp" else "the build directory is in /tmp"
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
