# SPDX-License-Identifier: BSD-3-Clause
"""Jobs whose ranks do not see the directory that their stagers write in: in a mount name space of their own it is empty, and stays so."""

import concurrent.futures
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import unittest

from service import Service, StageTest

sys.path.append(os.environ["TESTS_OF_COMMAND"])
from left import wait_for   # noqa: E402

ELSEWHERE, MPIRUN = os.environ["ELSEWHERE"], shlex.split(os.environ["MPIRUN"])
WAYS = (["unshare", "--mount"], ["unshare", "--mount", "--user", "--map-root-user"])
INSIDE = 'mount -t tmpfs -o size=1m tmpfs "$0" || exit 77; "$@"; status=$?; test -z "$(ls -A "$0")" || status=78; exit $status'


def way_to_mount():
    for way in WAYS:
        if subprocess.run([*way, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False).returncode == 0:
            return way
    return None


WAY = way_to_mount()


@unittest.skipIf(WAY is None, "this user may not mount")
class Elsewhere(StageTest):
    MEMORY = "256MiB"

    def setUp(self):
        super().setUp()
        self.data = self.directory / "data"
        self.data.mkdir()

    def start(self, stagers=1, **variables):
        words = ["--job-memory", "32MiB", "--directory", self.data]
        return [Service(self, *words, **{"OMPI_COMM_WORLD_SIZE": str(stagers)} | variables) for _ in range(stagers)]

    def run_elsewhere(self, *command, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")}
        environment |= {"HOME": str(self.directory), "GLEAN_POOL_BUDGET": "32MiB", "GLEAN_MODE": "staged",
                        "GLEAN_STAGING_ADDRESS": str(self.file)}
        return subprocess.run([*WAY, "bash", "-c", INSIDE, self.data, *map(str, command)], cwd=self.directory, env=environment | variables,
                              capture_output=True, text=True, timeout=120, check=False)

    def job(self, ranks, *words, **variables):
        run = self.run_elsewhere(*MPIRUN, ranks, ELSEWHERE, self.data, *words, **variables)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stderr

    def written(self, stagers=1, ranks=3):
        services = self.start(stagers)
        self.job(ranks, "write", GLEAN_STAGING_END="durable")
        self.assertEqual(sorted(path.name for path in self.data.glob("*.nc")), ["chk_0.nc", "chk_1.nc", "chk_2.nc", "other.nc"])
        return services

    def test_reads_back_what_it_has_closed(self):
        self.written()

    @unittest.skipUnless(os.environ.get("HAS_HDF5"), "this build has no HDF5")
    def test_reads_back_hdf5_files(self):
        self.start(2)
        self.job(3, "hdf5", GLEAN_STAGING_END="durable")
        self.assertEqual(sorted(path.name for path in self.data.glob("*.h5")), ["chk_0.h5", "chk_1.h5"])

    def test_restarts_on_another_number_of_ranks(self):
        self.written(stagers=2, ranks=4)
        newest = self.data / "chk_2.nc"
        self.job(3, "restart", self.data / "chk_*.nc", newest)
        said = self.run_stage("status").stdout
        self.assertRegex(said, r"\n  read    [0-9.]+ MiB by jobs that do not see the directories; \d+ files? open\n")
        self.job(1, "restart", newest, newest)
        self.assertIn("chk_2.nc", self.job(2, "restart", "data/chk_[0-9].nc", "data/chk_2.nc", GLEAN_LOG_LEVEL="info"))
        os.truncate(newest, newest.stat().st_size - 100)
        os.utime(newest)
        said = self.job(2, "restart", self.data / "chk_*.nc", self.data / "chk_1.nc")
        self.assertIn("restart passes over", said)
        (self.data / f".{newest.name}.glean-sums").unlink(missing_ok=True)
        self.job(2, "restart", self.data / "chk_*.nc", self.data / "chk_1.nc")   # by its header alone
        os.utime(self.data / "chk_0.nc")
        self.job(2, "restart", self.data / "chk_*.nc", self.data / "chk_0.nc")

    @unittest.skipUnless("SLOW_STORAGE" in os.environ, "there is no library to preload")
    def test_restarts_from_what_another_job_has_closed_and_the_stagers_have_not_published(self):
        self.start(LD_PRELOAD=os.environ["SLOW_STORAGE"])
        with concurrent.futures.ThreadPoolExecutor() as pool:
            writing = pool.submit(self.job, 2, "write")
            wait_for(lambda: list(self.data.glob(".chk_2.nc*")) or writing.done(), "the file of chk_2.nc")
            self.job(2, "restart", self.data / "chk_*.nc", self.data / "chk_2.nc")
            writing.result()

    def test_says_what_it_cannot_read(self):
        self.start()
        (self.data / "text").write_text("text")
        (self.data / "file.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(2000))
        (self.data / "folder").mkdir()
        (self.data / "way_out").symlink_to(self.file)
        self.job(2, "errors")

    def test_goes_on_with_a_stager_that_is_started_again(self):
        (service,) = self.written()
        ready, go = self.directory / "ready", self.directory / "go"
        with concurrent.futures.ThreadPoolExecutor() as pool:
            program = pool.submit(self.job, 2, "waits", ready, go)
            wait_for(lambda: ready.exists() or program.done(), "ready")
            service.kill()
            (service,) = self.start()
            go.touch()
            program.result()
        said, status = service.end()
        self.assertEqual(status, 0, said)
        self.assertIn("is over", said)

    def test_a_directory_may_have_another_name_for_the_stagers(self):
        link = self.directory / "scratch"
        link.symlink_to(self.data)
        Service(self, "--job-memory", "32MiB", "--directory", link)
        self.job(2, "write")
        newest = link / "chk_2.nc"
        wait_for(lambda: (self.data / "other.nc").exists(), "other.nc")
        self.job(2, "restart", link / "chk_*.nc", newest)

    @unittest.skipUnless("PRELOAD" in os.environ, "there is no library to preload")
    def test_unmodified_programs_look_read_and_remove_there(self):
        self.start(2)
        (self.data / "in").write_bytes(bytes(i % 251 for i in range(3_000_000)))
        for rank in range(3):
            (self.data / f"old_{rank}").write_text("old")
            (self.data / f"by_mpi_{rank}").write_text("old")
        run = self.run_elsewhere(*MPIRUN, 3, "-x", f"LD_PRELOAD={os.environ['PRELOAD']}", os.environ["LOOKS"], self.data)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(sorted(path.name for path in self.data.iterdir()), ["in"])
        self.assertEqual(list(pathlib.Path("/dev/shm").glob("glean-copy.*")), [])

    def both(self, *words, ranks=4, stagers=2, **variables):
        """The same program with stagers and two nodes, and without GLEAN: both make the same files."""
        services = self.start(stagers)
        plain = self.directory / "plain"
        plain.mkdir()
        subprocess.run([*MPIRUN, str(ranks), *map(str, words), plain], check=True, timeout=120,
                       env={name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")})
        way_out = self.data / "way_out"
        way_out.symlink_to(self.directory)
        run = self.run_elsewhere(*MPIRUN, ranks, "-x", f"LD_PRELOAD={os.environ['PRELOAD']}", *words, self.data, way_out / "new",
                                 GLEAN_TOPOLOGY_RANKS_PER_NODE="2", **variables)
        way_out.unlink()
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(sorted(path.name for path in self.data.iterdir()), sorted(path.name for path in plain.iterdir()))
        for path in plain.iterdir():
            self.assertTrue(path.read_bytes() == (self.data / path.name).read_bytes(), f"{path.name} differs")
        return services, run.stderr

    @unittest.skipUnless("PRELOAD" in os.environ, "there is no library to preload")
    def test_unmodified_programs_write_new_files_there(self):
        _, said = self.both(os.environ["WRITES"])
        self.assertRegex(said, r"way_out/new' is not opened: the stager touches files below .* only")
        self.assertIn("close it before it is read", said)

    # --- stagers that are killed while they make such files

    def plain(self, *words):
        """What the program makes without GLEAN: its files."""
        plain, marks = self.directory / "plain", self.directory / "plain.marks"
        plain.mkdir()
        marks.mkdir()
        (marks / "go").touch()
        subprocess.run([*MPIRUN, "2", os.environ["PACED_RAW"], plain, marks, *words], check=True, timeout=120,
                       env={name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")})
        return {path.name: path.read_bytes() for path in plain.iterdir()}

    def killed(self, stagers, killed, at, stopped_at=None, lost=False, **variables):
        """A job of two nodes whose stagers take in nothing from `stopped_at` on, and are `killed` at `at`, or `lost` with their memory.
        Returns these and it."""
        self.marks = self.directory / "marks"
        self.marks.mkdir()
        services = self.start(stagers)
        job = self.pool.submit(self.run_elsewhere, *MPIRUN, 2, "-x", f"LD_PRELOAD={os.environ['PRELOAD']}", os.environ["PACED_RAW"],
                               self.data, self.marks, "elsewhere", GLEAN_TOPOLOGY_RANKS_PER_NODE="1", **variables)
        for step in range(at + 1):
            wait_for(lambda step=step: (self.marks / f"at.{step}").exists() or job.done(), f"step {step}")
            for service in services if step == stopped_at else ():
                service.process.send_signal(signal.SIGSTOP)
            if step != at:
                (self.marks / f"go.{step}").touch()
        for each in killed:
            services[each].kill()
            for pool in pathlib.Path("/dev/shm").glob(f"glean.{os.getuid()}.{services[each].process.pid}.*") if lost else ():
                pool.unlink()
        return services, job

    def assert_made(self, files):
        self.assertEqual(sorted(path.name for path in self.data.iterdir()), sorted(files))
        for name, content in files.items():
            self.assertTrue((self.data / name).read_bytes() == content, f"{name} differs")

    @unittest.skipUnless("PRELOAD" in os.environ, "there is no library to preload")
    def test_stagers_that_are_killed_and_started_again_go_on_with_what_unmodified_programs_write(self):
        for stagers, killed, at in ((1, [0], 1), (2, [1], 4), (2, [0, 1], 6)):
            with self.subTest(stagers=stagers, killed=killed, at=at), concurrent.futures.ThreadPoolExecutor() as self.pool:
                self.setUp()
                files = self.plain("elsewhere")
                services, job = self.killed(stagers, killed, at)
                for each in killed:
                    (services[each],) = self.start(1, OMPI_COMM_WORLD_SIZE=str(stagers))
                (self.marks / "go").touch()
                self.assertEqual(job.result().returncode, 0, job.result().stderr)
                said = [service.end() for service in services]
                self.assertEqual([status for _, status in said], [0] * stagers, said)
                self.assert_made(files)
                self.doCleanups()

    @unittest.skipUnless("PRELOAD" in os.environ, "there is no library to preload")
    def test_recovery_completes_what_unmodified_programs_have_closed_there(self):
        with concurrent.futures.ThreadPoolExecutor() as self.pool:
            files = self.plain("elsewhere")
            _, job = self.killed(2, [0, 1], 6, stopped_at=4, GLEAN_STAGING_RESTART="0s")
            (self.marks / "go").touch()
            self.assertIn("glean recover", job.result().stderr)
            run = self.glean("recover")
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            self.assert_made(files)

    @unittest.skipUnless("PRELOAD" in os.environ, "there is no library to preload")
    def test_what_unmodified_programs_write_there_outlives_a_stager_that_is_gone_for_good(self):
        for lost, at in ((0, 2), (1, 4)):
            with self.subTest(lost=lost, at=at), concurrent.futures.ThreadPoolExecutor() as self.pool:
                self.setUp()
                files = self.plain("elsewhere")
                services, job = self.killed(2, [lost], at, lost=True, GLEAN_STAGING_KEEP="durable", GLEAN_STAGING_RESTART="1s")
                (self.marks / "go").touch()
                self.assertEqual(job.result().returncode, 0, job.result().stderr)
                said, status = services[1 - lost].end()
                self.assertEqual(status, 0, said)
                self.assertIn("the host of the one before is gone", said)
                self.assert_made(files)
                self.doCleanups()

    @unittest.skipUnless("PRELOAD" in os.environ, "there is no library to preload")
    def test_recovery_does_without_a_stager_that_is_gone_for_good(self):
        for lost in (0, 1):
            with self.subTest(lost=lost), concurrent.futures.ThreadPoolExecutor() as self.pool:
                self.setUp()
                files = self.plain("elsewhere")
                services, job = self.killed(2, [lost], 6, stopped_at=4, lost=True, GLEAN_STAGING_KEEP="durable", GLEAN_STAGING_RESTART="0s")
                (self.marks / "go").touch()
                services[1 - lost].kill()
                self.assertIn("glean recover", job.result().stderr)
                run = self.glean("recover", "--without-stagers")
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                self.assert_made(files)
                self.doCleanups()

    @unittest.skipUnless("LIBRARIES" in os.environ, "there is no library to preload, or no parallel HDF5")
    def test_files_of_pnetcdf_and_hdf5_are_made_and_replaced_there(self):
        self.both(os.environ["LIBRARIES"])


if __name__ == "__main__":
    unittest.main()
