# SPDX-License-Identifier: BSD-3-Clause
"""The job scripts of examples/slurm where there is no Slurm: `srun` is mpirun on this node, and Slurm's variables are those of one job.

  played_slurm_test.py BIN

BIN: where glean, sedov, writer and left (tests/cli/left.cpp) are. tests/hosts/slurm_scripts_test.py runs the scripts in a real Slurm.
"""
import filecmp
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "examples/slurm"
BIN = pathlib.Path(sys.argv[1]).resolve()
MPIRUN = os.environ["MPIRUN"]
SEDOV = [BIN / "sedov", "--blocks", "4,3,2", "--steps", "4", "--checkpoint-every", "2", "--plot-every", "2", "--output", "pnetcdf"]
# Each step is noted, so that scancel finds the tasks of one. Open MPI would ask for Slurm where it sees its variables.
SRUN = f"""#!/bin/bash
tasks=$SLURM_NTASKS
while [[ $1 == -* ]]; do
  case $1 in
    -n) tasks=$2; shift 2 ;;
    -N) shift 2 ;;
    *) shift ;;
  esac
done
step=0
while ! mkdir "$PLAYED/step.$step" 2> /dev/null; do step=$((step + 1)); done
echo $$ > "$PLAYED/step.$step/pid"
for name in ${{!SLURM_*}}; do unset "$name"; done
exec {MPIRUN} "$tasks" "$@"
"""
SCANCEL = """#!/bin/bash
[[ $1 == --signal=* ]] || exit 2
for task in $(pgrep -P "$(cat "$PLAYED/step.${2#*.}/pid")"); do kill -"${1#--signal=}" "$task"; done
"""
SQUEUE = "#!/bin/bash\ndate -d '1 hour' +%FT%T\n"


class Played(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name).resolve()
        self.commands, self.work, self.plain = (self.directory / name for name in ("commands", "work", "plain"))
        for path in (self.commands, self.work, self.plain):
            path.mkdir()
        for name, text in (("srun", SRUN), ("scancel", SCANCEL), ("squeue", SQUEUE)):
            (self.commands / name).write_text(text)
            (self.commands / name).chmod(0o755)
        self.environment = os.environ | {"PATH": f"{self.commands}:{BIN}:{os.environ['PATH']}", "PLAYED": str(self.directory),
                                         "HOME": str(self.directory), "GLEAN_POOL_BUDGET": "32MiB", "SLURM_JOB_ID": "7"}
        self.nodes(1)

    def nodes(self, count):
        self.environment |= {"SLURM_NNODES": str(count), "SLURM_NTASKS": str(2 * count), "SLURM_NTASKS_PER_NODE": "2"}

    def run_plain(self, *program, ranks=2):
        subprocess.run([*MPIRUN.split(), str(ranks), *program], cwd=self.plain, check=True, stdout=subprocess.DEVNULL, timeout=60)

    def job(self, script, *program):
        return subprocess.Popen([SCRIPTS / script, *program], cwd=self.work, env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def said(self, job, code=0):
        said, _ = job.communicate(timeout=100)
        self.assertEqual(job.returncode == 0, code == 0, said)
        return said

    def assert_same(self):
        names = sorted(path.name for path in self.plain.glob("*.nc"))
        self.assertGreater(len(names), 0)
        self.assertEqual(sorted(path.name for path in self.work.glob("*.nc")), names)
        for name in names:
            self.assertTrue(filecmp.cmp(self.work / name, self.plain / name, shallow=False), name)

    def test_programs_that_know_nothing_write_their_files(self):
        self.run_plain(*SEDOV)
        for script, nodes in (("threaded.sh", 1), ("process.sh", 1), ("stagers_beside.sh", 1), ("staged.sh", 2), ("end_of_job.sh", 1)):
            with self.subTest(script):
                for path in self.work.iterdir():
                    path.unlink()
                self.nodes(nodes)   # of two nodes one is the stagers'

                said = self.said(self.job(script, *SEDOV))

                self.assertIn("glean: 2 ranks, MPI-IO captured", said)
                self.assert_same()
                for step in self.directory.glob("step.*"):
                    (step / "pid").unlink()
                    step.rmdir()

    def test_a_rank_is_set_aside(self):
        self.run_plain(BIN / "writer", ranks=1)

        self.said(self.job("dedicated.sh", BIN / "writer"))

        self.assert_same()

    def test_what_was_killed_is_recovered_and_the_next_job_restarts(self):
        self.run_plain(BIN / "left", ".", "whole")
        self.environment["CHECKPOINTS"] = "closed.nc"
        job = self.job("end_of_job.sh", BIN / "left", ".", "killed")
        limit = time.monotonic() + 60
        while not (self.work / "ready").exists():
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.05)
        for rank in range(2):
            os.kill(int((self.work / f"rank.{rank}").read_text()), signal.SIGKILL)

        self.said(job, code=1)
        self.assert_same()
        simulation = self.work / "simulation"
        simulation.write_text('#!/bin/sh\necho "arguments: $*"\n')
        simulation.chmod(0o755)

        said = self.said(self.job("end_of_job.sh", simulation, "input"))

        self.assertIn("arguments: input --restart closed.nc", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
