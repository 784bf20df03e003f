# SPDX-License-Identifier: BSD-3-Clause
"""The report of a real run, as a text, as a page, and simulated with more ranks on another machine."""
import html.parser
import json
import os
import shlex
import subprocess
import unittest

from command import CommandTest


class Checked(html.parser.HTMLParser):
    """Tags that are opened are closed, in order."""
    def __init__(self):
        super().__init__()
        self.open, self.tags, self.addresses = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


class Report(CommandTest):
    def setUp(self):
        super().setUp()
        run = subprocess.run([*shlex.split(os.environ["MPIRUN"]), "2", os.environ["MINIMAL"]], cwd=self.directory, timeout=100, check=False,
                             capture_output=True, text=True, env=os.environ | {"GLEAN_REPORT_FILE": "report.json"})
        self.assertEqual(run.returncode, 0, run.stderr)

    def refusal(self, *arguments):
        run = self.glean(*arguments)
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertEqual(run.stderr.count("glean: "), 2, run.stderr)   # what is wrong, and what to do
        return run.stderr

    def test_is_shown_as_text(self):
        run = self.glean("report", "report.json", "--machine", "theta")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("2 on 1 node, mode threaded", run.stdout)
        self.assertIn("What would be better, simulated on theta", run.stdout)

    def test_advises_for_more_ranks_where_the_machine_has_no_room_for_few(self):
        self.assertIn("no partition of 1 nodes", self.refusal("report", "report.json", "--machine", "intrepid"))
        run = self.glean("report", "report.json", "--machine", "intrepid", "--ranks", "4096", "--ranks-per-node", "4",
                         "--html", "page.html")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("intrepid: 4096 ranks on 1024 nodes", (self.directory / "page.html").read_text())

    def test_is_a_page_that_is_complete_in_itself(self):
        run = self.glean("report", "report.json", "--html", "report.html")
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))
        page = Checked()
        page.feed((self.directory / "report.html").read_text())
        self.assertEqual((page.open, page.addresses), ([], []))
        self.assertNotIn("script", page.tags)
        self.assertGreaterEqual(page.tags.count("svg"), 2)

    def test_is_simulated_with_more_ranks_on_another_machine(self):
        run = self.glean("simulate", "--from", "report.json", "--machine", "theta", "--ranks", "16384", "--ranks-per-node", "64",
                         "--interval", "10min", "--format", "json")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        forecast = json.loads(run.stdout)
        steps = json.loads((self.directory / "report.json").read_text())
        self.assertEqual((forecast["ranks"], forecast["nodes"], forecast["interval_seconds"]), (16384, 256, 600))
        self.assertAlmostEqual(forecast["step_bytes"], steps["captured_bytes"] / 4 / 2 * 16384, delta=0.05 * forecast["step_bytes"])
        self.assertEqual([mode["mode"] for mode in forecast["modes"]], ["passthrough", "collective", "dedicated", "threaded", "staged"])
        self.assertGreater(forecast["stripes"], 0)
        self.assertIn("stripes: ", self.glean("simulate", "--from", "report.json", "--machine", "theta").stdout)

    def test_that_cannot_be_used_is_refused_with_the_reason(self):
        report = json.loads((self.directory / "report.json").read_text())
        del report["steps"]
        self.write("older.json", json.dumps(report))
        self.write("other.json", json.dumps(report | {"schema": "glean-report-7"}))
        self.assertIn("older version", self.refusal("report", "older.json"))
        self.assertIn("'glean-report-7'; this version reads glean-report-1",
                      self.refusal("simulate", "--from", "other.json", "--machine", "theta"))
        self.assertIn("on which machine?", self.refusal("simulate", "--from", "report.json"))
        self.assertIn("cannot read the report 'none.json'", self.glean("report", "none.json").stderr)
        self.assertIn("--interval takes a time", self.refusal("simulate", "--from", "report.json", "--machine", "theta",
                                                              "--interval", "soon"))
        self.assertIn("do not go with --from", self.refusal("simulate", "--from", "report.json", "--plot", "x.svg"))


if __name__ == "__main__":
    unittest.main()
