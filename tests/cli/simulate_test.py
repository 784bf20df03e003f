# SPDX-License-Identifier: BSD-3-Clause
import csv
import io
import json
import os
import pty
import shutil
import subprocess
import unittest
import xml.etree.ElementTree

from command import COMMAND, CommandTest

RACK = ("--machine", "intrepid", "--ranks", "4096", "--bytes-per-rank", "64KiB")


class Simulate(CommandTest):
    def simulate(self, *arguments):
        run = self.glean("simulate", *arguments)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    def refusal(self, *arguments):
        run = self.glean("simulate", *arguments)
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        return run.stderr

    def strategies(self):
        """Of a machine without gateways, which none can assign there."""
        names = [line.split()[0] for line in self.simulate("--list").splitlines()]
        return [name for name in names if not name.startswith("reassigned")]

    def test_shows_every_strategy_in_a_table(self):
        lines = self.simulate("--machine", "intrepid", "--ranks", "65536", "--strategy", "all",
                              "--pattern", "flash-checkpoint").splitlines()
        self.assertEqual(lines[0], "intrepid: 65536 ranks on 16384 nodes, 192 GiB a step (flash, 24 variables)")
        self.assertEqual([line.split()[0] for line in lines[2:] if not line.startswith("left out")], self.strategies())
        self.assertEqual(sum("left out: reassigned" in line and "intrepid has none" in line for line in lines), 2)

    def test_csv_has_a_line_for_each_value_and_strategy(self):
        rows = list(csv.DictReader(io.StringIO(self.simulate(
            "--machine", "intrepid", "--bytes-per-rank", "64KiB", "--strategy", "posix,glean", "--to", "io-nodes", "--sweep",
            "ranks=4096:16384", "--format", "csv"))))
        self.assertEqual([(row["ranks"], row["strategy"]) for row in rows],
                         [(ranks, strategy) for ranks in ("4096", "8192", "16384") for strategy in ("posix", "glean")])
        # Psets do not share anything on the way to their I/O nodes: perfect weak scaling (seed 000, 5.1.2).
        for strategy in ("posix", "glean"):
            times = {row["durable_seconds"] for row in rows if row["strategy"] == strategy}
            self.assertEqual(len(times), 1, times)

    def test_json_has_what_a_step_waits_for(self):
        point, = json.loads(self.simulate(*RACK, "--strategy", "glean-staged-by-group", "--stagers", "12", "--format", "json"))
        outcome, = point["outcomes"]
        self.assertEqual((point["machine"], point["ranks"], point["step_bytes"]), ("intrepid", 4096, 1 << 28))
        self.assertLessEqual(outcome["blocked_seconds"], outcome["staged_seconds"])
        self.assertLessEqual(outcome["staged_seconds"], outcome["durable_seconds"])
        self.assertAlmostEqual(sum(limit["share"] for limit in outcome["limits"]), 1)

    def test_no_strategy_is_faster_than_the_bound(self):
        def durable(executor):
            points = json.loads(self.simulate(*RACK, "--executor", executor, "--format", "json"))
            return {outcome["strategy"]: outcome["durable_seconds"] for outcome in points[0]["outcomes"]}
        fluid, bound = durable("fluid"), durable("bound")
        self.assertEqual(list(fluid), self.strategies())
        for strategy, seconds in fluid.items():
            self.assertGreaterEqual(seconds, bound[strategy] * (1 - 1e-9), strategy)

    def test_leaves_out_of_all_what_the_machine_cannot_do(self):
        text = self.simulate("--machine", "jaguar", "--ranks", "32768", "--pattern", "nekcem")
        self.assertIn("left out: glean-staged: ", text)
        self.assertIn("jaguar says nothing of staging nodes", text)
        self.assertIn("says nothing of staging nodes", self.refusal(
            "--machine", "jaguar", "--ranks", "32768", "--pattern", "nekcem", "--strategy", "glean-staged"))

    def test_ends_at_the_stagers(self):
        staged, = json.loads(self.simulate(*RACK, "--strategy", "glean-staged", "--stagers", "12", "--to", "stagers", "--format", "json"))
        outcome, = staged["outcomes"]
        self.assertEqual((staged["to"], outcome["files"]), ("stagers", 0))
        self.assertEqual(outcome["staged_seconds"], outcome["durable_seconds"])
        self.assertIn("posix sends nothing to stagers", self.refusal(*RACK, "--strategy", "posix", "--to", "stagers"))

    def test_tells_a_terminal_what_it_is_about(self):
        reader, terminal = pty.openpty()
        run = subprocess.run([COMMAND, "simulate", "--machine", "intrepid", "--bytes-per-rank", "64KiB", "--strategy", "posix,glean",
                              "--sweep", "ranks=4096:8192"], stdout=subprocess.PIPE, stderr=terminal, check=False)
        os.close(terminal)
        said = os.read(reader, 4096).decode()
        os.close(reader)
        self.assertEqual(run.returncode, 0)
        for text in ("ranks 4096: posix", "ranks 4096: glean", "ranks 8192: posix", "ranks 8192: glean"):
            self.assertIn("glean simulate: " + text, said)
        self.assertTrue(said.endswith("\x1b[K"), "the line is taken away")

    def test_draws_what_is_swept_and_when_it_happens(self):
        self.simulate("--machine", "mira", "--bytes-per-rank", "2MiB", "--strategy", "glean,collective", "--sweep", "ranks=8192:32768",
                      "--plot", "sweep.svg", "--timeline", "time.svg")
        plot, timeline = (xml.etree.ElementTree.parse(self.directory / name).getroot() for name in ("sweep.svg", "time.svg"))
        texts = [each.text for each in plot.iter("{http://www.w3.org/2000/svg}text")]
        for text in ("glean, blocked", "glean, durable", "collective, blocked", "ranks", "8192"):
            self.assertIn(text, texts)
        self.assertIn("glean: forward", [each.text for each in timeline.iter("{http://www.w3.org/2000/svg}text")])
        if shutil.which("rsvg-convert"):
            self.simulate(*RACK, "--strategy", "glean", "--plot", "bars.png")
            self.assertEqual((self.directory / "bars.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
            self.assertEqual([path.name for path in self.directory.glob("bars.png.*")], [])
        self.assertIn("name a file .svg or .png", self.refusal(*RACK, "--plot", "plot.jpg"))

    def test_of_all_of_a_large_machine_is_cheap(self):
        def cost(*arguments):
            """Seconds of processor and bytes of memory."""
            process = subprocess.Popen([COMMAND, "simulate", *arguments], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
        for arguments, seconds in (
                (("--machine", "intrepid", "--ranks", "131072", "--pattern", "flash-checkpoint", "--strategy", "all"), 10),
                (("--machine", "mira", "--ranks", "1048576", "--ranks-per-node", "64", "--pattern", "flash-checkpoint",
                  "--strategy", "glean-staged", "--stagers", "1024"), 60)):
            processor, memory = cost(*arguments)
            self.assertLess(processor, seconds)
            self.assertLess(memory, 4 << 30)

    def test_says_what_is_wrong(self):
        self.assertIn("on which machine?", self.refusal())
        self.assertIn("with how many ranks?", self.refusal("--machine", "intrepid"))
        self.assertIn("how much does each rank write", self.refusal("--machine", "intrepid", "--ranks", "4096"))
        self.assertIn("did you mean 'flash-plot'?", self.refusal("--machine", "intrepid", "--ranks", "4096", "--pattern", "flash-plat"))
        self.assertIn("did you mean 'posix'?", self.refusal(*RACK, "--strategy", "posx"))
        self.assertIn("--sweep takes what is varied", self.refusal(*RACK, "--sweep", "cores=1,2"))
        self.assertIn("cannot go from 8 to 4", self.refusal(*RACK, "--sweep", "stagers=8:4"))
        self.assertIn("100000000 steps, of 10000 at most", self.refusal(*RACK, "--strategy", "glean", "--steps", "100000000"))
        self.assertIn("101 stagers: intrepid has 100", self.refusal(*RACK, "--strategy", "glean-staged", "--stagers", "101"))


if __name__ == "__main__":
    unittest.main()
