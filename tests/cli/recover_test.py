# SPDX-License-Identifier: BSD-3-Clause
"""`glean recover`, and the helper process, complete what a program that was killed has left (left.cpp)."""
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import unittest

from command import COMMAND
from left import SHARED_MEMORY, Program, helpers_of, lives, wait_for
from recovering import FILES, HOST, OWN_MOUNTS, RecoverTest, main


class Recover(RecoverTest):
    def lines(self, outcomes, age=r"\d+ s"):
        closed, opened, begun = outcomes
        found = [r"%s on %s: left, 16 MiB, %s old" % ("POOL", re.escape(HOST), age),
                 f"  {self.data}/closed.nc: 2 complete steps, 625 KiB wait{closed}",
                 f"  {self.data}/open.nc: 3 complete steps, step 3 not ended by rank 1, not closed, 1.22 MiB wait{opened}",
                 f"  {self.data}/begun.nc: it has no complete step{begun}"]
        return found

    def assert_says(self, text, pool, outcomes):
        first, *rest = text.splitlines()
        expected, *outputs = self.lines(outcomes)
        self.assertRegex(first, "^" + expected.replace("POOL", re.escape(pool)) + "$")
        self.assertEqual(rest, outputs)

    def test_says_what_is_there_and_changes_nothing(self):
        pool = self.killed_undrained()

        def state():
            return (hashlib.sha256((SHARED_MEMORY / pool).read_bytes()).hexdigest(),
                    [(file.name, file.read_bytes()) for file in sorted(self.data.iterdir())])
        before = state()
        for _ in range(2):
            run = self.recover("--dry-run", pool=pool)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            self.assert_says(run.stdout, pool, ["", "", ""])
        self.assertEqual(state(), before)

    def test_completes_what_is_whole_and_removes_the_rest(self):
        pool = self.killed_undrained()
        run = self.recover(pool=pool)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assert_says(run.stdout, pool, [" → published with 2 steps", " → published with 3 steps", " → removed"])
        self.assert_whole()
        self.assertFalse(self.exists(pool))
        if OWN_MOUNTS:
            run = self.recover()
            self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "nothing to recover\n", ""))

    def test_goes_on_where_the_drain_was_killed(self):
        for variables in ({"GLEAN_CHECKSUMS": "true", "GLEAN_STRIPING_FACTOR": "4"},
                          {"GLEAN_DRAIN_PLACE": "threads", "SLURM_JOB_ID": "17"}):
            with self.subTest(variables):
                pool = self.killed(**variables)
                run = self.recover(pool=pool)
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                self.assertIn("open.nc: 3 complete steps, step 3 not ended by rank 1, not closed", run.stdout)
                self.assertIn("left, job 17, 16 MiB" if "SLURM_JOB_ID" in variables else "left, 16 MiB", run.stdout)
                if "GLEAN_CHECKSUMS" in variables:
                    self.assertEqual(self.glean("verify", self.data / "open.nc").stdout, f"{self.data}/open.nc: good\n")
                    for sidecar in self.data.glob(".*.glean-sums"):
                        sidecar.unlink()
                self.assert_whole()
                for file in self.data.iterdir():
                    file.unlink()

    def test_prints_json(self):
        pool = self.killed_undrained()
        (found,) = json.loads(self.recover("--dry-run", "--json", pool=pool).stdout)["pools"]
        self.assertEqual((found["pool"], found["host"], found["job"], found["state"]), (f"/{pool}", HOST, "left", "found"))
        self.assertEqual((found["bytes"], found["ranks"], found["in_use_by"], found["problem"]), (16 << 20, 2, 0, ""))
        outputs = {pathlib.Path(output["path"]).name: output for output in found["outputs"]}
        self.assertEqual(sorted(outputs), ["begun.nc", "closed.nc", "open.nc"])
        opened = outputs["open.nc"]
        self.assertEqual((opened["steps_complete"], opened["steps_begun"], opened["ranks_behind"]), (3, 4, [1]))
        self.assertEqual((opened["closed"], opened["waiting_bytes"], opened["steps"]), (False, 4 * 320000, None))
        self.assertEqual(opened["final_path"], str(self.data / "open.nc"))

        (done,) = json.loads(self.recover("--json", pool=pool).stdout)["pools"]
        self.assertEqual(done["state"], "recovered")
        states = {pathlib.Path(output["path"]).name: (output["state"], output["steps"]) for output in done["outputs"]}
        self.assertEqual(states, {"closed.nc": ("published", 2), "open.nc": ("published", 3), "begun.nc": ("failed", 0)})
        self.assert_whole()

    def test_discards_only_when_told(self):
        pool = self.killed_undrained()
        self.assertEqual(self.glean("recover", "--dry-run", "--discard").returncode, 2)
        run = self.recover("--discard", pool=pool)
        self.assertEqual(run.returncode, 0)
        self.assert_says(run.stdout, pool, [" → discarded"] * 3)
        self.assertFalse(self.exists(pool))
        self.assertEqual([file.name for file in self.data.iterdir() if ".nc" in file.name], [])

    def test_leaves_a_pool_in_use_alone(self):
        for place in ("threads", "process"):
            with self.subTest(place):
                program = Program(self, self.directory / place, GLEAN_DRAIN_PLACE=place, GLEAN_DRAIN_COMMAND=COMMAND)
                program.wait_for("ready")
                pool = program.pool()
                for arguments in ((pool,), (f"/{pool}", "--discard"), (pool, "--json")):
                    run = self.glean("recover", *arguments)
                    self.assertEqual((run.returncode, run.stdout), (2, ""), arguments)
                    self.assertRegex(run.stderr, rf"^glean: the pool '/{pool}' is in use by process \d+\n$")
                if OWN_MOUNTS:
                    run = self.recover()
                    self.assertEqual((run.returncode, run.stderr), (0, ""))
                    self.assertRegex(run.stdout, rf"^{pool} on {re.escape(HOST)}: left, in use by process \d+\n$")
                    (found,) = json.loads(self.recover("--json").stdout)["pools"]
                    self.assertEqual(found["state"], "in use")
                self.assertTrue(self.exists(pool))
                program.end()

    def test_names_a_pool_that_is_not_there(self):
        run = self.glean("recover", "glean.0.1.3")
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertIn("'/glean.0.1.3'", run.stderr)

    def test_two_at_once_share_the_work_without_harm(self):
        for _ in range(2):
            pool = self.killed_undrained()
            names = [] if OWN_MOUNTS else [pool]
            runs = [subprocess.Popen([COMMAND, "recover", *names], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                    for _ in range(2)]
            said = [run.communicate(timeout=60)[0] for run in runs]
            if OWN_MOUNTS:
                self.assertEqual([run.returncode for run in runs], [0, 0], said)
            self.assertEqual("".join(said).count("→ published with 3 steps"), 1, said)
            self.assert_whole()
            self.assertFalse(self.exists(pool))
            for file in self.data.iterdir():
                file.unlink()

    def test_what_cannot_be_read_is_named_and_keeps_nothing_else_from_being_completed(self):
        pool = self.killed_undrained()
        truncated = SHARED_MEMORY / "glean.0.1.2"
        self.addCleanup(truncated.unlink, missing_ok=True)
        for content in (b"garbage", b"GLEANPL2" + bytes(100), (SHARED_MEMORY / pool).read_bytes()[:1 << 20]):
            truncated.write_bytes(content)
            truncated.chmod(0o600)
            run = self.glean("recover", truncated.name)
            self.assertEqual((run.returncode, run.stderr), (1, ""))
            self.assertRegex(run.stdout, rf"^{truncated.name} on .*\n  .*'/{truncated.name}'.*; --discard removes it\n$")
            self.assertTrue(truncated.exists())
        run = self.recover(pool=pool)
        self.assertEqual(run.returncode, 1 if OWN_MOUNTS else 0)
        self.assert_whole()
        run = self.glean("recover", "--discard", truncated.name)
        self.assertEqual((run.returncode, truncated.exists()), (0, False))

    def test_says_what_is_lost_because_its_directory_is_gone(self):
        pool = self.killed_undrained()
        self.data.rename(self.directory / "moved")
        run = self.recover(pool=pool)
        self.assertEqual((run.returncode, run.stderr), (1, ""), run.stdout)
        self.assertEqual(run.stdout.count("→ LOST: "), 2, run.stdout)
        self.assertFalse(self.exists(pool))
        (self.directory / "moved").rename(self.data)   # where the test cleans up

    def aborted(self, directory, **variables):
        """A job that has ended with MPI_Abort when there was nothing left to do; the names of its pools."""
        program = Program(self, directory, "aborts", **variables)
        wait_for(lambda: (directory / "ready").exists(), "ready")
        program.processes = program.ranks()
        pools = program.pools()
        self.assertNotEqual(program.process.wait(60), 0)
        wait_for(lambda: not any(map(lives, program.ranks())), "end of the ranks")
        self.assert_whole(directory)
        return [pool for pool in pools if self.exists(pool)]

    def test_an_aborted_job_with_nothing_left_to_do_leaves_no_pool(self):
        for pool in self.aborted(self.data):
            run = self.recover(pool=pool)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            self.assertIn("  no unfinished output\n", run.stdout)
            self.assertFalse(self.exists(pool))

    def test_the_next_session_removes_the_pool_of_an_aborted_job_with_nothing_left_to_do(self):
        left = self.aborted(self.data)
        after = Program(self, self.directory / "after", "whole")
        self.assertEqual((after.process.wait(60), after.process.stderr.read()), (0, ""))
        self.assertEqual([pool for pool in left if self.exists(pool)], [])

    def test_a_helper_removes_the_pool_of_an_aborted_job_with_nothing_left_to_do(self):
        for pool in self.aborted(self.data, GLEAN_DRAIN_PLACE="process", GLEAN_DRAIN_COMMAND=COMMAND):
            wait_for(lambda pool=pool: not self.exists(pool), "end of the pool")

    def test_the_doctor_names_what_is_left(self):
        pool = self.killed()
        found = self.glean("doctor").stdout
        self.assertIn(f"/dev/shm/{pool}: 16 MiB, left by a job that ended early", found)
        self.assertIn("`glean recover`", found)
        self.glean("recover", pool)
        self.assertNotIn(pool, self.glean("doctor").stdout)


@unittest.skipUnless(OWN_MOUNTS, "this user may not mount")
class OnABadDisk(RecoverTest):
    def setUp(self):
        super().setUp()
        self.disk = pathlib.Path(OWN_MOUNTS)
        self.disk_data = self.disk / "data"

    def assert_waits_for_better_times(self, pool, text, count):
        for _ in range(2):
            run = self.recover()
            self.assertEqual((run.returncode, run.stderr), (1, ""), run.stdout)
            self.assertEqual(run.stdout.count(text), count, run.stdout)
            self.assertEqual(run.stdout.count("→ not completed: "), count, run.stdout)
            self.assertIn("the rest stays in memory", run.stdout)
            self.assertTrue(self.exists(pool))
            self.assertEqual([name for name in FILES if (self.disk_data / name).exists()], [])

    def test_that_is_full_the_pool_stays_until_there_is_room(self):
        pool = self.killed_undrained(self.disk_data)
        filler = self.disk / "filler"
        with open(filler, "wb", buffering=0) as file:
            for _ in range(3):   # a file system may find some room again when it has written what it was given
                try:
                    while file.write(bytes(4096)):
                        pass
                except OSError:
                    os.sync()
        self.assert_waits_for_better_times(pool, "No space left", 2)
        filler.unlink()
        self.assertEqual(self.recover().returncode, 0)
        self.assert_whole(self.disk_data)
        self.assertFalse(self.exists(pool))

    def test_that_is_read_only_the_pool_stays_until_it_is_not(self):
        pool = self.killed_undrained(self.disk_data)
        remount = ["mount", "-o"]
        subprocess.run([*remount, "remount,ro", self.disk], check=True)
        try:
            self.assert_waits_for_better_times(pool, "Read-only", 3)   # nor can a file be removed
        finally:
            subprocess.run([*remount, "remount,rw", self.disk], check=True)
        self.assertEqual(self.recover().returncode, 0)
        self.assert_whole(self.disk_data)

    def tearDown(self):
        for file in self.disk_data.iterdir():
            file.unlink()
        super().tearDown()


class Helper(RecoverTest):
    def test_completes_alone_what_killed_ranks_have_left(self):
        pool = self.killed(GLEAN_DRAIN_PLACE="process", GLEAN_DRAIN_COMMAND=COMMAND)
        wait_for(lambda: not self.exists(pool), "end of the pool")
        self.assert_whole()
        (log,) = self.directory.glob("glean-drain.*.log")
        self.assertEqual(log.name, pool.replace("glean.", "glean-drain.") + ".log")
        wait_for(lambda: "begun.nc" in log.read_text(), "message")
        self.assertIn("the ranks of", log.read_text())
        self.assertIn("no complete step", log.read_text())
        self.assertRegex(log.read_text(), r"open.nc': published, 3 step\(s\): step 3 is not there: rank 1 had not")

    def test_completes_what_a_program_that_forgets_its_session_has_left(self):
        program = Program(self, self.data, "forgets", GLEAN_DRAIN_PLACE="process", GLEAN_DRAIN_COMMAND=COMMAND)
        program.wait_for("ready")
        self.assertEqual((program.process.wait(60), program.process.stderr.read()), (0, ""))
        wait_for(lambda: not program.pools(), "end of the pool")
        self.assert_whole()
        wait_for(lambda: list(self.directory.glob("glean-drain.*.log")), "message")

    def test_says_nothing_when_all_is_well(self):
        program = Program(self, self.data, "whole", GLEAN_DRAIN_PLACE="process", GLEAN_DRAIN_COMMAND=COMMAND)
        program.process.wait(60)
        self.assertEqual((program.process.returncode, program.process.stderr.read()), (0, ""))
        self.assert_whole()
        self.assertEqual(list(self.directory.glob("glean-drain.*")), [])
        self.assertEqual(list(SHARED_MEMORY.glob(f"glean.*.{program.ranks()[0]}.*")), [])

    def left_to_a_stopped_helper(self):
        """A pool whose ranks were killed, and the helper that would complete it if it were not stopped."""
        program = Program(self, self.data, GLEAN_DRAIN_PLACE="process", GLEAN_DRAIN_COMMAND=COMMAND)
        program.wait_for("opened")
        pool = program.pool()
        (helper,) = helpers_of(pool)
        program.wait_for("ready")
        os.kill(helper, signal.SIGSTOP)
        program.kill()
        return pool, helper

    def waiting(self, *arguments):
        """`glean recover` that has said that it waits."""
        run = subprocess.Popen([COMMAND, "recover", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.kill)
        return run, run.stderr.readline()

    def test_is_awaited_when_that_is_wanted(self):
        pool, helper = self.left_to_a_stopped_helper()
        run, said = self.waiting("--wait", *([] if OWN_MOUNTS else [pool]))
        self.assertRegex(said, rf"^glean: process {helper} drains {pool}: waiting since 1 s\n$")
        os.kill(helper, signal.SIGCONT)
        out, _ = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0)
        self.assertIn("another process has completed it", out)
        self.assertIn(pool.replace("glean.", "glean-drain.") + ".log", out)
        self.assertFalse(self.exists(pool))
        self.assert_whole()

    def test_that_dies_while_it_is_awaited_leaves_its_work_to_the_command(self):
        pool, helper = self.left_to_a_stopped_helper()
        run, _ = self.waiting("--wait=1min", pool)
        os.kill(helper, signal.SIGKILL)
        out, _ = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0)
        self.assertIn("→ published with 3 steps", out)
        self.assertFalse(self.exists(pool))
        self.assert_whole()

    def test_is_not_awaited_for_longer_than_was_said(self):
        pool, helper = self.left_to_a_stopped_helper()
        for arguments in ([pool], [] if OWN_MOUNTS else [pool]):
            run = self.glean("recover", "--wait=200ms", *arguments)
            self.assertEqual(run.returncode, 4)
            self.assertIn(f"the pool '/{pool}' is in use by process {helper}", run.stdout)
        self.assertTrue(self.exists(pool))
        self.assertEqual(self.glean("recover", "--wait=soon").returncode, 2)

    def test_of_a_job_that_lives_is_awaited_only_by_name(self):
        program = Program(self, self.data, GLEAN_DRAIN_PLACE="process", GLEAN_DRAIN_COMMAND=COMMAND)
        program.wait_for("ready")
        pool = program.pool()
        if OWN_MOUNTS:
            run = self.glean("recover", "--wait")
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            self.assertRegex(run.stdout, rf"^{pool} on .*, in use by process \d+\n$")
        self.assertEqual(self.glean("recover", "--wait=100ms", pool).returncode, 4)


if __name__ == "__main__":
    main()
