# SPDX-License-Identifier: BSD-3-Clause
"""A job (paced.cpp) whose stagers run on hosts of their own, while the network to one of them is cut: nothing comes back, as from a host
without power, and no connection ends.

  network_test.py GLEAN PACED MPIEXEC [Network.TEST]

Needs root and network name spaces (tools/hosts check); returns 77 with the reason where that cannot be.
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HOSTS = pathlib.Path(__file__).resolve().parents[2] / "tools" / "hosts"
GLEAN, PACED, MPIEXEC = sys.argv[1:4]
FILES = ["chk_0.nc", "chk_2.nc", "chk_4.nc", "filled.nc", "series.nc"]
STAGERS = 2
SILENCE = 30   # transport::TcpPatience::silence_seconds


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")}
    return kept | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} | more


class Network(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(kept.cleanup)
        cls.whole = pathlib.Path(kept.name)
        (cls.whole / "go").touch()
        subprocess.run(cls.mpirun(cls.whole), check=True, cwd=cls.whole, timeout=100, env=environment(GLEAN_MODE="passthrough"))

    @staticmethod
    def mpirun(data):
        return [MPIEXEC, "--oversubscribe", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "self,vader", "--mca",
                "mpi_yield_when_idle", "1", "-n", "2", PACED, data]

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name).resolve()
        self.data = self.directory / "data"
        self.data.mkdir()
        self.file, self.key = self.directory / "stage.json", self.directory / "stage.key"
        self.key.touch(mode=0o600)
        self.key.write_text(os.urandom(32).hex() + "\n")
        self.name = f"n{os.getpid() % 10000}{chr(97 + Network.groups)}"
        Network.groups += 1
        subprocess.run([HOSTS, "up", self.name, str(1 + STAGERS), "none"], check=True, capture_output=True)
        self.started = []
        self.addCleanup(self.down)
        self.stagers = [self.start(number) for number in range(STAGERS)]

    groups = 0

    def down(self):
        subprocess.run([HOSTS, "down", self.name], check=True)
        for process in self.started:
            process.wait(60)

    def on(self, host, *command, log, **more):
        """Stager N is on host N + 1, the job on host 0."""
        out = open(self.directory / log, "w+", encoding="utf-8")
        self.addCleanup(out.close)
        where = environment(HOME=str(self.directory), GLEAN_STAGING_KEY=str(self.key), **more)
        process = subprocess.Popen(["setsid", HOSTS, "run", self.name, str(host), *map(str, command)], cwd=self.directory, env=where,
                                   stdout=out, stderr=out)
        process.log = self.directory / log
        self.started.append(process)
        return process

    def start(self, number):
        process = self.on(1 + number, GLEAN, "stage", "--memory", "64MiB", "--job-memory", "8MiB", "--directory", self.data,
                          "--address-file", self.file, log=f"stager{number}", OMPI_COMM_WORLD_SIZE=str(STAGERS))
        self.wait_for(lambda: "writes below" in process.log.read_text(), f"stager {number}")
        return process

    @staticmethod
    def wait_for(condition, what, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"{what} did not come")
            time.sleep(0.02)

    def job(self, **settings):
        return self.on(0, *self.mpirun(self.data), log="job", GLEAN_MODE="staged", GLEAN_STAGING_ADDRESS=str(self.file),
                       GLEAN_POOL_BUDGET="16MiB", GLEAN_TOPOLOGY_RANKS_PER_NODE="1", **settings)

    def come_to(self, job, step):
        for before in range(step):
            (self.data / f"go.{before}").touch()
        self.wait_for(lambda: (self.data / f"at.{step}").exists() or job.poll() is not None, f"step {step}")
        self.assertIsNone(job.poll(), job.log.read_text())

    def network(self, stager, *state):
        """Its link stays up, and leads nowhere, or is on the switch again."""
        subprocess.run(["ip", "-n", f"{self.name}-switch", "link", "set", f"port{1 + stager}", *state], check=True)

    def cut(self, stager):
        self.network(stager, "nomaster")

    def mend(self, stager):
        self.network(stager, "master", "br0")

    def end(self, number):
        self.stagers[number].send_signal(signal.SIGTERM)
        status = self.stagers[number].wait(60)
        return self.stagers[number].log.read_text(), status

    def assert_ends_well(self, job, seconds=100):
        (self.data / "go").touch()
        self.assertEqual(job.wait(seconds), 0, job.log.read_text())

    def assert_whole(self):
        self.assertEqual(sorted(path.name for path in self.data.iterdir() if path.name[:3] not in ("at.", "go", "go.")), FILES)
        for name in FILES:
            self.assertEqual((self.data / name).read_bytes(), (self.whole / name).read_bytes(), name)

    def pools_on(self, host):
        return [name for name in os.listdir(f"/tmp/hosts.{self.name}/{self.name}{host}.shm") if name.startswith("glean.")]

    def test_a_cut_that_is_mended_is_not_noticed_by_the_program(self):
        job = self.job()
        self.come_to(job, 2)
        self.cut(1)
        self.come_to(job, 4)
        time.sleep(3)
        self.mend(1)
        self.cut(0)
        (self.data / "go").touch()
        time.sleep(3)
        self.mend(0)
        self.assert_ends_well(job)
        for number in range(STAGERS):
            said, status = self.end(number)
            self.assertEqual(status, 0, said)
            self.assertNotIn("goes on here", said)
        self.assert_whole()

    def check_that_another_takes_the_place_of(self, lost):
        job = self.job(GLEAN_STAGING_KEEP="durable", GLEAN_STAGING_RESTART="2s")
        self.come_to(job, 3)
        self.cut(lost)
        begin = time.monotonic()
        self.assert_ends_well(job, 2 * SILENCE + 60)
        self.assertGreater(time.monotonic() - begin, SILENCE)
        left = 1 - lost
        self.assertIn("the host of the one before is gone", self.stagers[left].log.read_text())
        self.assert_whole()
        times = {name: (self.data / name).stat().st_mtime_ns for name in FILES}
        self.mend(lost)
        said, status = self.end(left)
        self.assertEqual(status, 0, said)
        self.end(lost)
        self.assert_whole()
        self.assertEqual({name: (self.data / name).stat().st_mtime_ns for name in FILES}, times)
        self.assertEqual(self.pools_on(0), [])

    def test_another_takes_the_place_of_a_silent_root_and_the_files_stay_as_they_are_when_it_is_back(self):
        self.check_that_another_takes_the_place_of(0)

    def test_the_root_takes_the_place_of_a_silent_stager_and_the_files_stay_as_they_are_when_it_is_back(self):
        self.check_that_another_takes_the_place_of(1)

    def test_without_a_way_to_a_stager_the_job_is_told_and_recovery_completes_what_was_closed(self):
        job = self.job(GLEAN_POOL_DEADLINE="10s")
        self.come_to(job, 3)
        self.cut(1)
        (self.data / "go").touch()
        self.assertNotEqual(job.wait(SILENCE + 60), 0)
        self.assertIn("told: ", job.log.read_text())
        self.assertIn("`mpirun --map-by ppr:1:node glean recover` completes", job.log.read_text())
        self.mend(1)
        for number in range(STAGERS):
            self.end(number)
        run = subprocess.run([HOSTS, "mpirun", self.name, "1", GLEAN, "recover"], env=environment(), capture_output=True, text=True,
                             timeout=100, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        for name in FILES[:2]:
            self.assertEqual((self.data / name).read_bytes(), (self.whole / name).read_bytes(), name)
        self.assertEqual([self.pools_on(host) for host in range(1 + STAGERS)], [[]] * (1 + STAGERS))


if __name__ == "__main__":
    check = subprocess.run([HOSTS, "check"], capture_output=True, text=True, check=False)
    if check.returncode != 0:
        print(f"skipped: {check.stderr.strip()}")
        sys.exit(77)
    if len(sys.argv) > 4:
        unittest.main(argv=sys.argv[:1] + sys.argv[4:])
    # They mostly wait: at the same time.
    names = unittest.TestLoader().getTestCaseNames(Network)
    tests = [subprocess.Popen([sys.executable, "-B", *sys.argv, f"Network.{name}"]) for name in names]
    sys.exit(1 if any([test.wait() != 0 for test in tests]) else 0)
