# SPDX-License-Identifier: BSD-3-Clause
"""`glean recover`, and the helper process, complete what a program that was killed has left (left.cpp).

Runs in mounts of its own, where it may: an empty /dev/shm, so that it sees only its own pools, and a small disk. They are
gone when it ends, however it ends. Elsewhere the tests name their pools, and those that need a full disk are skipped.
"""
import filecmp
import hashlib
import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from command import COMMAND, CommandTest

LEFT, MPIRUN = os.environ["LEFT"], shlex.split(os.environ["MPIRUN"])
OWN_MOUNTS = os.environ.get("OWN_MOUNTS")   # the small disk
SHARED_MEMORY = pathlib.Path("/dev/shm")
FILES = ["closed.nc", "open.nc"]
HOST = socket.gethostname()


def wait_for(condition, what, seconds=60):
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            raise AssertionError(f"no {what} after {seconds} s")
        time.sleep(0.01)


def lives(process):
    """Not gone, and not only waiting to be buried."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def helpers_of(pool):
    found = []
    for command in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if command.read_bytes().split(b"\0")[1:3] == [b"drain", f"/{pool}".encode()]:
                found.append(int(command.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


class Program:
    """left.cpp on two ranks."""

    def __init__(self, test, directory, what="killed", **variables):
        self.directory, self.first = directory, None
        directory.mkdir(exist_ok=True)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")}
        environment |= {"GLEAN_POOL_BUDGET": "16MiB"} | variables
        self.process = subprocess.Popen([*MPIRUN, "2", LEFT, directory, what], cwd=test.directory, env=environment,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        test.addCleanup(self.end)

    def wait_for(self, mark):
        wait_for(lambda: (self.directory / mark).exists() or self.process.poll() is not None, mark)
        if not (self.directory / mark).exists():
            raise AssertionError(self.process.stderr.read())
        self.first = self.ranks()[0]

    def ranks(self):
        return [int((self.directory / f"rank.{rank}").read_text()) for rank in range(2)]

    def pool(self):
        (pool,) = SHARED_MEMORY.glob(f"glean.{os.getuid()}.{self.first}.*")
        return pool.name

    def kill(self):
        """All ranks at once."""
        for rank in self.ranks():
            try:
                os.kill(rank, signal.SIGKILL)
            except ProcessLookupError:
                pass   # the launcher was quicker
        self.process.wait(60)

    def end(self):
        pools = list(SHARED_MEMORY.glob(f"glean.{os.getuid()}.{self.first}.*"))
        for pool in pools:
            for helper in helpers_of(pool.name):   # first, or it would write a message into a directory that goes
                os.kill(helper, signal.SIGKILL)
                wait_for(lambda helper=helper: not lives(helper), "end of the helper")
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)
        self.process.stderr.close()
        for pool in pools:
            pool.unlink(missing_ok=True)


class RecoverTest(CommandTest):
    @classmethod
    def setUpClass(cls):
        kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(kept.cleanup)
        cls.whole = pathlib.Path(kept.name)
        subprocess.run([*MPIRUN, "2", LEFT, cls.whole, "whole"], check=True, cwd=cls.whole, timeout=100)

    def setUp(self):
        super().setUp()
        self.data = self.directory / "data"

    def killed(self, directory=None, **variables):
        """The name of a pool that was left while its drain was at work."""
        program = Program(self, directory or self.data, **variables)
        program.wait_for("ready")
        pool = program.pool()
        program.kill()
        return pool

    def killed_undrained(self, directory=None, **variables):
        """The name of a pool in which all that was put still waits: its drain was stopped before."""
        directory = directory or self.data
        directory.mkdir(exist_ok=True)
        (directory / "hold").touch()
        program = Program(self, directory, GLEAN_DRAIN_PLACE="process", GLEAN_DRAIN_COMMAND=COMMAND, **variables)
        program.wait_for("session")
        pool = program.pool()
        (helper,) = helpers_of(pool)
        os.kill(helper, signal.SIGSTOP)
        (directory / "hold").unlink()
        program.wait_for("ready")
        program.kill()
        os.kill(helper, signal.SIGKILL)
        wait_for(lambda: not lives(helper), "end of the helper")
        return pool

    def recover(self, *arguments, pool=None):
        """All pools that there are; the named one where others may have left some."""
        return self.glean("recover", *arguments, *([] if OWN_MOUNTS or pool is None else [pool]))

    def assert_whole(self, directory=None):
        directory = directory or self.data
        for name in FILES:
            self.assertTrue(filecmp.cmp(directory / name, self.whole / name, shallow=False), name)
        self.assertEqual(sorted(file.name for file in directory.iterdir() if ".nc" in file.name), FILES)

    def exists(self, pool):
        return (SHARED_MEMORY / pool).exists()


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
        for variables in ({}, {"GLEAN_CHECKSUMS": "true"}, {"GLEAN_DRAIN_PLACE": "threads", "SLURM_JOB_ID": "17"}):
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
                    self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "nothing to recover\n", ""))
                    (found,) = json.loads(self.recover("--json").stdout)["pools"]
                    self.assertEqual(found["state"], "in use")
                self.assertTrue(self.exists(pool))
                program.end()

    def test_names_a_pool_that_is_not_there(self):
        run = self.glean("recover", "glean.0.1.3")
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertIn("'/glean.0.1.3'", run.stderr)

    def test_two_at_once_share_the_work_without_harm(self):
        for _ in range(3):
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
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stdout.count("→ LOST: "), 2, run.stdout)
        self.assertFalse(self.exists(pool))
        (self.directory / "moved").rename(self.data)   # where the test cleans up

    def test_the_doctor_names_what_is_left(self):
        pool = self.killed()
        found = self.glean("doctor").stdout
        self.assertIn(f"/dev/shm/{pool}: 16 MiB, left by a job that was killed", found)
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
            self.assertEqual((run.returncode, run.stderr), (1, ""))
            self.assertEqual(run.stdout.count(text), count, run.stdout)
            self.assertEqual(run.stdout.count("→ not completed: "), count, run.stdout)
            self.assertIn("the rest stays in memory", run.stdout)
            self.assertTrue(self.exists(pool))
            self.assertEqual([name for name in FILES if (self.disk_data / name).exists()], [])

    def test_that_is_full_the_pool_stays_until_there_is_room(self):
        pool = self.killed_undrained(self.disk_data)
        filler = self.disk / "filler"
        with open(filler, "wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass
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
        self.assertRegex(log.read_text(), r"open.nc': published, 3 step\(s\): step 3 is not there: rank\(s\) 1 had not")

    def test_completes_what_a_program_that_forgets_its_session_has_left(self):
        program = Program(self, self.data, "forgets", GLEAN_DRAIN_PLACE="process", GLEAN_DRAIN_COMMAND=COMMAND)
        program.wait_for("ready")
        self.assertEqual((program.process.wait(60), program.process.stderr.read()), (0, ""))
        wait_for(lambda: not list(SHARED_MEMORY.glob(f"glean.*.{program.first}.*")), "end of the pool")
        self.assert_whole()
        wait_for(lambda: list(self.directory.glob("glean-drain.*.log")), "message")

    def test_says_nothing_when_all_is_well(self):
        program = Program(self, self.data, "whole", GLEAN_DRAIN_PLACE="process", GLEAN_DRAIN_COMMAND=COMMAND)
        program.process.wait(60)
        self.assertEqual((program.process.returncode, program.process.stderr.read()), (0, ""))
        self.assert_whole()
        self.assertEqual(list(self.directory.glob("glean-drain.*")), [])
        self.assertEqual(list(SHARED_MEMORY.glob(f"glean.*.{program.ranks()[0]}.*")), [])


def enter_own_mounts():
    """Runs this program once more, in mounts of its own."""
    with tempfile.TemporaryDirectory() as disk:
        mount = 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm && mount -t tmpfs -o size=4m tmpfs "$OWN_MOUNTS"'
        environment = os.environ | {"OWN_MOUNTS": disk}
        for way in (["unshare", "--mount"], ["unshare", "--mount", "--user", "--map-root-user"]):
            if subprocess.run([*way, "sh", "-c", mount], env=environment, capture_output=True, check=False).returncode == 0:
                again = [*way, "sh", "-c", mount + ' && exec "$@"', "sh", sys.executable, "-B", *sys.argv]
                return subprocess.run(again, env=environment, check=False).returncode
    return None


if __name__ == "__main__":
    status = None if OWN_MOUNTS else enter_own_mounts()
    if status is not None:
        sys.exit(status)
    unittest.main()
