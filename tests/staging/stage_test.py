# SPDX-License-Identifier: BSD-3-Clause
"""`glean stage`: how it starts and ends, who finds it, and what it says of itself. Its jobs: jobs_test.py, staging_service_test.cpp."""

import json
import re
import signal
import subprocess
import time
import unittest

from service import COMMAND, Service, StageTest


class Stage(StageTest):
    def stagers(self):
        run = self.run_stage("status", "--json")
        return run.returncode, json.loads(run.stdout)["stagers"]

    def assert_refused(self, run, *words):
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        for word in words:
            self.assertIn(word, run.stderr)

    def test_says_where_it_is_and_what_it_does(self):
        service = Service(self)
        in_file = json.loads(self.file.read_text())["stagers"][0]
        self.assertEqual(service.said[:-2], [f"listens at {address}" for address in in_file["addresses"]])
        self.assertEqual(service.said[-2:], [f"address file {self.file}",
                                             f"writes below {self.directory}; memory 8 MiB, 8 MiB of it for a job"])
        self.assertEqual([oct(path.stat().st_mode & 0o777) for path in (self.file, self.key)], ["0o600"] * 2)

        status, (stager,) = self.stagers()
        self.assertEqual((status, stager["pid"], stager["answers"]), (0, service.process.pid, True))
        self.assertEqual(stager["addresses"], in_file["addresses"])
        said = stager["status"]
        self.assertEqual((said["pid"], said["state"], said["directories"], said["jobs"], said["connections"]),
                         (service.process.pid, "running", [str(self.directory)], [], 1))
        self.assertEqual(said["memory"], {"budget_bytes": 8 << 20, "job_bytes": 8 << 20, "used_bytes": 0, "left_bytes": 0,
                                          "left_jobs": 0, "kept_files": 0, "high_water_bytes": 0})
        self.assertEqual((said["finished"]["jobs"], said["finished"]["files"]["published"]), (0, 0))

        run = self.run_stage("status")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertRegex(run.stdout, rf"^\S+, process {service.process.pid}, at {re.escape(in_file['addresses'][0])}\n"
                                     r"  running  since \d+ s, version \S+, 1 connection\n"
                                     rf"  writes below {re.escape(str(self.directory))}\n"
                                     r"  memory  0 B of 8 MiB in use, 0 B at most so far\n"
                                     r"  finished  0 jobs, ")

    def test_ends_by_a_signal_and_takes_itself_out_of_the_file(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            service = Service(self)
            said, status = service.end(number)
            self.assertEqual(status, 0, said)
            self.assertRegex(said, r"^jobs +0\n.*\nfiles published +0\n")
            self.assertEqual([path.name for path in self.directory.iterdir()], [".glean"])
        self.assert_refused(self.run_stage("status"), "glean-stage.json", "start the staging service")

    def test_a_service_that_is_there_keeps_its_file(self):
        service = Service(self)
        before = self.file.read_text()
        self.assert_refused(self.run_stage(), f"process {service.process.pid}", "--address-file")
        self.assertEqual(self.file.read_text(), before)
        other = Service(self, "--address-file", "other.json")
        self.assertEqual(other.end()[1], 0)
        self.assertEqual(self.stagers()[0], 0)

    def test_one_that_was_killed_is_named_and_replaced(self):
        service = Service(self)
        service.kill()
        run = self.run_stage("status")
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"process {service.process.pid} on", run.stderr)
        self.assertIn("does not answer", run.stdout)
        next_one = Service(self)
        status, (stager,) = self.stagers()
        self.assertEqual((status, stager["pid"]), (0, next_one.process.pid))

    def test_processes_that_a_launcher_has_started_share_the_file(self):
        of_launcher = {"OMPI_COMM_WORLD_SIZE": "3"}
        services = [Service(self, **of_launcher) for _ in range(3)]
        status, stagers = self.stagers()
        self.assertEqual((status, [stager["pid"] for stager in stagers]), (0, [service.process.pid for service in services]))
        services[1].kill()
        status, stagers = self.stagers()
        self.assertEqual((status, [stager["answers"] for stager in stagers]), (1, [True, False, True]))
        for service in (services[0], services[2]):
            self.assertEqual(service.end()[1], 0)
        self.assertEqual([stager["pid"] for stager in json.loads(self.file.read_text())["stagers"]], [services[1].process.pid])
        Service(self)   # alone: nothing of that service is there any more

    def test_only_those_who_have_the_key_get_in(self):
        Service(self)
        other = self.directory / "other.key"
        other.write_text("42" * 32)
        other.chmod(0o600)
        run = self.run_stage("status", "--key", other)
        self.assertEqual(run.returncode, 1)
        self.assertIn("another key", run.stderr)
        self.assertEqual(self.run_stage("status", GLEAN_STAGE_KEY=(self.key).read_text()).returncode, 0)
        self.assertEqual(self.run_stage("status", GLEAN_STAGE_KEY="42" * 32).returncode, 1)

    def test_the_key_is_where_jobs_look_for_it(self):
        key = self.directory / "elsewhere.key"
        Service(self, GLEAN_STAGING_KEY=str(key))
        self.assertTrue(key.exists())
        self.assertFalse(self.key.exists())
        self.assertEqual(self.run_stage("status", GLEAN_STAGING_KEY=str(key)).returncode, 0)
        self.assertEqual(self.run_stage("status", "--key", key, GLEAN_STAGING_KEY=str(self.key)).returncode, 0)
        self.assert_refused(self.run_stage("status"), "stage.key")

    def test_a_key_that_others_can_read_is_refused(self):
        key = self.directory / "open.key"
        key.write_text("42" * 32)
        key.chmod(0o644)
        self.assert_refused(self.run_stage("--key", key), str(key), "chmod")
        self.assertFalse(self.file.exists())

    def test_refuses_what_cannot_be(self):
        self.assert_refused(self.run_stage("--directory", "missing"), "missing")
        self.assert_refused(self.run_stage("--memory", "1MiB"), "4MiB at least")
        self.assert_refused(self.run_stage("--memory", "8MiB", "--job-memory", "9MiB"), "9MiB")
        self.assert_refused(self.run_stage("--listen", "nowhere"), "nowhere")
        self.file.write_text("something else")
        self.file.chmod(0o600)
        self.assert_refused(self.run_stage(), "no address file")
        self.assertEqual(self.file.read_text(), "something else")

    def test_watches(self):
        Service(self)
        watching = subprocess.Popen([COMMAND, "stage", "status", "--watch"], cwd=self.directory, env=self.environment,
                                    stdout=subprocess.PIPE, text=True)
        looks = 0
        deadline = time.monotonic() + 60
        while looks < 2 and time.monotonic() < deadline:
            looks += watching.stdout.readline().startswith("  finished")
        watching.terminate()
        watching.wait()
        watching.stdout.close()
        self.assertEqual(looks, 2)


if __name__ == "__main__":
    unittest.main()
