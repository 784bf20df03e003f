# SPDX-License-Identifier: BSD-3-Clause
"""Steps are seen while they are in the pool, before their file is complete."""

import json
import os
import pathlib
import re
import stat
import subprocess
import tempfile
import threading
import time
import unittest

import numpy

from web_socket import Refused, Viewer, WebSocket, port_of

MPIRUN = os.environ["MPIRUN"].split()
WRITER = os.environ["LIVE_WRITER"]


class Live(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.ended = {}

    def start(self, steps, milliseconds, *edge, **settings):
        environment = os.environ | {"GLEAN_VIEW": "auto", "GLEAN_DRAIN_COMMAND": os.environ["COMMAND"]} | settings
        self.job = subprocess.Popen([*MPIRUN, "2", WRITER, "run.nc", str(steps), str(milliseconds), *map(str, edge)], cwd=self.directory,
                                    env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.job.stdout.close)
        self.addCleanup(self.job.wait)
        self.addCleanup(self.job.kill)
        threading.Thread(target=self.listen, daemon=True).start()
        self.until(lambda: list(self.directory.glob("glean-view.*.url")) and self.url_file().read_text().endswith("\n"), "there is no URL")
        self.url = self.url_file().read_text().strip()

    def listen(self):
        try:
            for line in self.job.stdout:
                found = re.match(r"step (\d+) ([\d.]+)", line)
                if found:
                    self.ended[int(found[1])] = float(found[2])
        except ValueError:   # it was closed
            pass

    def url_file(self):
        return next(iter(self.directory.glob("glean-view.*.url")))

    def until(self, holds, what, seconds=90):
        ends = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), ends, what)
            time.sleep(0.02)

    def finish(self):
        self.job.stdin.close()
        self.assertEqual(self.job.wait(60), 0)
        self.assertTrue((self.directory / "run.nc").exists())
        self.until(lambda: not list(self.directory.glob("glean-view.*")), "the URL of a view that has ended is still there")

    def watch(self, viewer, until):
        """Follows until that step; returns how long after its end each was here, and checks its values."""
        seen, version = {}, 0
        while until not in seen:
            about, data = viewer.ask("slice", series="run.nc", variable="rho", axis=0, at=[0.99, 0, 0], newer_than=version)
            now = time.time()
            version = about["version"]
            if "error" in about:
                continue
            step = about["step"]
            picture = numpy.frombuffer(data, "<f4").reshape(16, 24)
            expected = numpy.broadcast_to(1000.0 * step + 700 + numpy.arange(16)[:, None], (16, 24)).astype("f4").copy()
            expected[-1, -1] = numpy.nan
            numpy.testing.assert_array_equal(picture, expected)
            seen.setdefault(step, now)
        self.until(lambda: until in self.ended, "the writer is late")
        return [seen[step] - self.ended[step] for step in seen if step in self.ended]

    def test_a_step_is_seen_within_a_second_while_the_file_is_open(self):
        for place in ("threads", "process"):
            with self.subTest(place=place):
                self.start(12, 250, GLEAN_DRAIN_PLACE=place)
                self.assertEqual(stat.S_IMODE(self.url_file().stat().st_mode), 0o600)
                delays = self.watch(Viewer(self.url), 11)
                self.assertFalse((self.directory / "run.nc").exists())
                self.assertGreaterEqual(len(delays), 4)
                self.assertLess(sorted(delays)[len(delays) // 2], 1)
                print(f"{place}: {len(delays)} steps seen {1e3 * sorted(delays)[len(delays) // 2]:.1f} ms after end_step (median), "
                      f"{1e3 * max(delays):.1f} ms at most", flush=True)
                self.finish()
                (self.directory / "run.nc").unlink()

    def test_ten_viewers_and_one_that_never_reads_hold_up_no_rank(self):
        self.start(20, 100)
        silent = Viewer(self.url)
        for slot in range(8):
            silent.send(json.dumps({"what": "slice", "slot": str(slot), "series": "run.nc", "variable": "rho"}))
        delays = []
        threads = [threading.Thread(target=lambda: delays.extend(self.watch(Viewer(self.url), 19))) for _ in range(10)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(60)
        self.assertGreater(len(delays), 100)
        self.assertLess(sorted(delays)[len(delays) // 2], 1)
        between = numpy.diff([self.ended[step] for step in range(20)])
        self.assertLess(numpy.median(between), 0.4)
        self.finish()

    def test_a_step_that_is_larger_than_what_a_view_may_hold_is_said_and_holds_up_no_rank(self):
        self.start(10, 100, 4096, GLEAN_POOL_BUDGET="32MiB", GLEAN_FULL="block")
        viewer = Viewer(self.url)
        self.until(lambda: 9 in self.ended, "the ranks wait", 60)
        about, _ = viewer.ask("list")
        self.assertIn("does not fit", about["series"][0]["problem"])
        self.finish()

    def test_tells_what_the_pool_holds_and_lets_none_in_without_the_token(self):
        self.start(5, 50)
        viewer = Viewer(self.url)
        self.until(lambda: 4 in self.ended, "the writer is late")
        now = viewer.ask("reports")[0]["now"]
        self.assertGreater(now["budget_bytes"], 0)
        self.assertIn("1 output on the way", now["waiting_text"])
        with self.assertRaises(Refused):
            WebSocket(port_of(self.url), "/socket?token=" + "0" * 48)
        self.finish()

    def test_a_run_goes_on_where_no_view_can_be_served(self):
        environment = os.environ | {"GLEAN_VIEW": "203.0.113.7:1"}
        job = subprocess.run([*MPIRUN, "2", WRITER, "run.nc", "2", "0"], cwd=self.directory, env=environment, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertIn("there is no view of this run", job.stderr)
        self.assertTrue((self.directory / "run.nc").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
