# SPDX-License-Identifier: BSD-3-Clause
"""`glean recover` completes what programs of several nodes have left, with a process for each node or alone."""
import os
import re
import subprocess
import unittest

from command import COMMAND
from left import MPIRUN, SHARED_MEMORY, Program
from recovering import HOST, OWN_MOUNTS, RecoverTest, main


@unittest.skipUnless(OWN_MOUNTS, "this user may not mount")
class SeveralNodes(RecoverTest):
    """Two nodes of one rank, which write one file together."""

    def killed_on_nodes(self, directory=None, what="killed"):
        program = Program(self, directory or self.data, what, GLEAN_TOPOLOGY_RANKS_PER_NODE="1")
        program.wait_for("ready")
        pools = program.pools()
        self.assertEqual(len(pools), 2)
        program.kill()
        return pools

    def recover_on_each(self, *arguments):
        return subprocess.run([*MPIRUN, "2", COMMAND, "recover", *arguments],
                              capture_output=True, text=True, cwd=self.directory, timeout=100, check=False)

    def test_are_completed_together_by_a_process_for_each(self):
        pools = self.killed_on_nodes()
        run = self.recover_on_each()
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        for node, pool in enumerate(pools):
            self.assertRegex(run.stdout, rf"{re.escape(pool)} on {re.escape(HOST)}: left, node {node} of 2, ")
            self.assertFalse(self.exists(pool))
        self.assert_whole()

    def recover_behind(self, wrapper, **variables):
        """`wrapper`: a shell command in which glean is the command."""
        environment = os.environ | {"OMPI_MCA_btl": "self,tcp", "glean": COMMAND} | variables
        return subprocess.run([*MPIRUN, "2", "sh", "-c", wrapper], env=environment,
                              capture_output=True, text=True, cwd=self.directory, timeout=100, check=False)

    def test_are_completed_together_behind_a_shell_where_each_process_sees_one_pool(self):
        for number, wrapper in enumerate(('"$glean" recover; exit $?', 'timeout 60 "$glean" recover | cat')):
            written = self.directory / f"written{number}"
            pools = self.killed_on_nodes(written)
            for node, pool in enumerate(pools):
                away = self.directory / f"node{node}"
                away.mkdir(exist_ok=True)
                (away / pool).write_bytes((SHARED_MEMORY / pool).read_bytes())
                (SHARED_MEMORY / pool).unlink()
            alone = f'mount --bind node$OMPI_COMM_WORLD_RANK {SHARED_MEMORY} && cd {self.directory} && {wrapper}'
            run = self.recover_behind(f"exec unshare --mount sh -c '{alone}'")
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            self.assert_whole(written)
            self.assertEqual([*self.directory.glob("node*/glean.*")], [])

    def test_of_which_not_all_come_are_not_waited_for_longer_than_the_deadline(self):
        pools = self.killed_on_nodes()
        run = self.recover_behind('[ "$OMPI_COMM_WORLD_RANK" != 0 ] || "$glean" recover', GLEAN_POOL_DEADLINE="2s")
        self.assertIn("glean: not all of the 2 processes that mpirun has started (OMPI_COMM_WORLD_SIZE=2) have run `glean recover` "
                      "within 2s: this one goes on alone", run.stderr)
        for pool in pools:
            if self.exists(pool):   # mpirun ends a job in which a process has given up MPI
                (SHARED_MEMORY / pool).unlink()

    def test_are_completed_without_mpi_by_what_a_rank_starts(self):
        self.killed_on_nodes()
        libraries = subprocess.run(["ldd", COMMAND], capture_output=True, text=True, check=True).stdout
        (library,) = re.findall(r"libmpi\.so\S* => (\S+)", libraries)
        # A process with MPI's library stands for a rank.
        rank = f"""LD_PRELOAD={library} sh -c 'LD_PRELOAD= "$glean" recover; exit $?'"""
        run = self.recover_behind(f'[ "$OMPI_COMM_WORLD_RANK" != 0 ] || {rank}', GLEAN_POOL_DEADLINE="2s")
        self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)
        self.assert_whole()

    def test_of_one_job_do_not_hear_what_those_of_another_have_said_last(self):
        jobs = [self.directory / f"job{number}" for number in range(2)]
        for job in jobs:
            self.killed_on_nodes(job.with_suffix(".begins"), "begins")
            self.killed_on_nodes(job)
        run = self.recover_on_each()
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        for job in jobs:
            self.assert_whole(job)

    def test_are_completed_by_one_process_that_sees_all_pools(self):
        pools = self.killed_on_nodes()
        run = self.glean("recover")
        self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)
        self.assert_whole()
        self.assertFalse(any(map(self.exists, pools)))

    def test_are_left_as_they_are_while_one_is_missing(self):
        pools = self.killed_on_nodes()
        away = self.directory / "away"
        away.write_bytes((SHARED_MEMORY / pools[1]).read_bytes())
        (SHARED_MEMORY / pools[1]).unlink()
        run = self.glean("recover")
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn("it belongs to a job of 2 nodes, and the pool of node 1 is not here or in use", run.stdout)
        self.assertTrue(self.exists(pools[0]))
        (SHARED_MEMORY / pools[1]).write_bytes(away.read_bytes())
        run = self.recover_on_each()
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assert_whole()

    def assert_all_end(self, run, pools, words):
        self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
        self.assertIn(words, run.stderr)
        self.assertTrue(all(map(self.exists, pools)))

    def test_are_left_by_all_when_a_named_one_is_nowhere(self):
        pools = self.killed_on_nodes()
        run = self.recover_on_each(*pools, "glean.0.1.3")
        self.assert_all_end(run, pools, "glean: there is no pool '/glean.0.1.3'")

    def test_are_left_by_all_when_a_named_one_is_in_use(self):
        pools = self.killed_on_nodes()
        alive = Program(self, self.directory / "alive")
        alive.wait_for("ready")
        run = self.recover_on_each(*pools, alive.pool())
        self.assert_all_end(run, pools, f"glean: the pool '/{alive.pool()}' is in use by process ")

    def test_are_not_waited_for_when_one_process_ends_alone(self):
        pools = self.killed_on_nodes()
        fails_alone = [":", MPIRUN[-1], "1", COMMAND, "recover", "glean.0.1.3"]
        run = subprocess.run([*MPIRUN, "1", COMMAND, "recover", *pools, *fails_alone],
                             capture_output=True, text=True, cwd=self.directory, timeout=100, check=False)
        self.assert_all_end(run, pools, "glean: there is no pool '/glean.0.1.3'")


if __name__ == "__main__":
    main()
