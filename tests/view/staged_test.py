# SPDX-License-Identifier: BSD-3-Clause
"""A stager shows the steps that it holds of a job, of ranks of all nodes, before their file is complete."""

import os
import signal
import stat
import subprocess
import sys
import time
import unittest

import numpy

sys.path.append(os.environ["TESTS_OF_STAGING"])
from service import Service, StageTest   # noqa: E402
from web_socket import Refused, Viewer, WebSocket, port_of   # noqa: E402

MPIRUN = os.environ["MPIRUN"].split()
WRITER = os.environ["LIVE_WRITER"]
SHAPE = (8, 16, 24)


class StagedView(StageTest):
    MEMORY = "64MiB"

    def job(self, name="run.nc", steps=8, milliseconds=150, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")}
        environment |= {"HOME": str(self.directory), "GLEAN_MODE": "staged", "GLEAN_STAGING_ADDRESS": str(self.file),
                        "GLEAN_POOL_BUDGET": "16MiB", "GLEAN_TOPOLOGY_RANKS_PER_NODE": "1"} | variables
        job = subprocess.Popen([*MPIRUN, "2", WRITER, name, str(steps), str(milliseconds)], cwd=self.directory, env=environment,
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        self.addCleanup(job.stdin.close)
        return job

    def until(self, holds, what, seconds=60):
        ends = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), ends, what)
            time.sleep(0.02)

    def urls(self):
        found = {}
        for file in self.directory.glob("glean-view.*.url"):
            try:
                text = file.read_text()
            except FileNotFoundError:   # it has just ended
                continue
            if text.endswith("\n"):
                found[file.name] = text.strip()
        return found

    def url(self):
        self.until(self.urls, "there is no URL")
        (url,) = self.urls().values()
        return url

    def finish(self, job):
        job.stdin.close()
        self.assertEqual(job.wait(60), 0)

    def watch(self, viewer, name, until):
        """By step, the plane x = 12 of all ranks, as the view has it."""
        seen, version = {}, 0
        while until not in seen:
            about, data = viewer.ask("slice", series=name, variable="rho", axis=2, at=[0, 0, 0.5], newer_than=version)
            version = about["version"]
            if "error" not in about:
                self.assertEqual((about["height"], about["width"]), SHAPE[:2])
                seen.setdefault(about["step"], numpy.frombuffer(data, "<f4").reshape(SHAPE[:2]))
        return seen

    def test_a_slice_across_ranks_of_two_nodes_is_that_of_the_file(self):
        service = Service(self, "--once", "--view", "auto")
        job = self.job()
        url = self.url()
        (name,) = self.urls()
        self.assertEqual(stat.S_IMODE((self.directory / name).stat().st_mode), 0o600)
        with self.assertRaises(Refused):
            WebSocket(port_of(url), "/socket?token=" + "0" * 48)
        viewer = Viewer(url)
        seen = self.watch(viewer, "run.nc", 7)
        self.assertFalse((self.directory / "run.nc").exists())
        self.assertGreater(viewer.ask("reports")[0]["now"]["budget_bytes"], 0)
        self.finish(job)
        said, status = service.wait()
        self.assertEqual(status, 0, said)
        self.assertIn(f"has a view: its URL is in {name}\n", said)
        self.assertEqual(self.urls(), {})
        # The records are the end of the file, and nothing else is in them.
        of_file = numpy.frombuffer((self.directory / "run.nc").read_bytes()[-8 * 4 * numpy.prod(SHAPE):], ">f4").reshape(8, *SHAPE)
        self.assertGreaterEqual(len(seen), 2)
        for step, picture in seen.items():
            numpy.testing.assert_array_equal(picture, of_file[step, :, :, 12])
        self.assertEqual(of_file[7, 7, 15, 12], 7715)

    def test_each_of_two_jobs_has_a_view_of_its_own(self):
        service = Service(self, "--job-memory", "16MiB", "--view", "auto")
        jobs = [self.job("first.nc"), self.job("second.nc")]
        self.until(lambda: len(self.urls()) == 2, "not both have a view")
        series = set()
        for url in self.urls().values():
            viewer, version, names = Viewer(url), 0, []
            while not names:
                about = viewer.ask("list", newer_than=version)[0]
                names, version = [each["name"] for each in about["series"]], about["version"]
            self.assertEqual(len(names), 1)
            series.update(names)
        self.assertEqual(series, {"first.nc", "second.nc"})
        for job in jobs:
            self.finish(job)
        said, status = service.end()
        self.assertEqual(status, 0, said)

    def test_a_job_goes_on_where_no_view_can_be_served(self):
        service = Service(self, "--once", "--view", "203.0.113.7:1")
        job = self.job(steps=2)
        self.finish(job)
        said, status = service.wait()
        self.assertEqual(status, 0, said)
        self.assertIn("there is no view of this run", said)
        self.assertTrue((self.directory / "run.nc").exists())

    def test_a_stager_that_goes_on_for_one_that_was_killed_has_a_view_again(self):
        first = Service(self, "--view", "auto")
        job = self.job(steps=3)
        before = self.url()
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
        second = Service(self, "--view", "auto")
        self.until(lambda: list(self.urls().values()) not in ([], [before]), "there is no new URL")
        Viewer(self.url()).ask("list")
        self.finish(job)
        said, status = second.end()
        self.assertEqual(status, 0, said)
        self.assertEqual(self.urls(), {})

    def test_stagers_of_one_command_have_a_view_whose_url_is_said_once(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")} | {
            "HOME": str(self.directory), "GLEAN_POOL_BUDGET": "16MiB"}
        command = [os.environ["COMMAND"], "run", "--stagers", "1", "--view", "auto", "--", *MPIRUN, "2", WRITER, "run.nc", "50", "150"]
        job = subprocess.Popen(command, cwd=self.directory, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.kill)
        # What it puts is a job, and what it would write through MPI-IO by itself is another one.
        self.until(lambda: len(self.urls()) == 2, "there are not two views")
        urls = list(self.urls().values())
        viewers = [Viewer(url) for url in urls]
        has_it = lambda viewer: any(each["name"] == "run.nc" for each in viewer.ask("list")[0]["series"])   # noqa: E731
        self.until(lambda: any(map(has_it, viewers)), "no view has the output")
        self.watch(next(filter(has_it, viewers)), "run.nc", 49)
        said = job.communicate(timeout=60)[1]   # the end of its input lets it end
        self.assertEqual(job.returncode, 0, said)
        for url in urls:
            self.assertEqual(said.count(f" at its stager: {url}\n"), 1, said)
        self.assertEqual(said.count(" at its stager: "), 2, said)
        self.assertEqual(self.urls(), {})

    def test_an_address_that_is_none_is_refused(self):
        run = self.run_stage("--view", "anywhere")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("neither auto nor HOST:PORT", run.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
