# SPDX-License-Identifier: BSD-3-Clause
import json
import shutil
import subprocess
import unittest

from command import CommandTest

RACK = ("--machine", "intrepid", "--ranks", "4096", "--bytes-per-rank", "64KiB")


class Plan(CommandTest):
    def plan(self, *arguments):
        run = self.glean("plan", *arguments)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    def refusal(self, *arguments):
        run = self.glean("plan", *arguments)
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        return run.stderr

    def test_says_who_gathers_for_whom(self):
        text = self.plan(*RACK, "--to", "stagers")
        self.assertIn("4096 ranks on 1024 nodes, 256 MiB in all", text)
        self.assertIn("groups 0-15: 64 nodes, 16 MiB each", text)
        self.assertEqual(text.count("of 16 nodes, 4 MiB"), 4)
        self.assertNotIn("why", text)

    def test_explains_what_was_weighed(self):
        text = self.plan(*RACK, "--to", "stagers", "--explain")
        table, why = text.split("weighed for group 0")[1].split("\nwhy\n")
        self.assertEqual([line.split()[0] for line in table.splitlines()[3:]], ["1", "2", "*", "8", "16", "32", "64"])
        self.assertIn("4 aggregators a group: forwarding takes longest", why)
        self.assertIn("8, 16", why)

    def test_json_has_the_whole_plan(self):
        plan = json.loads(self.plan(*RACK, "--pattern", "flash", "--variables", "24", "--format", "json"))
        self.assertEqual((plan["machine"], plan["groups"], plan["bytes"], plan["pattern"]), ("intrepid", 16, 1 << 28, "flash"))
        self.assertEqual(sum(group["count"] for group in plan["alike"]), plan["groups"])
        for group in plan["alike"]:
            self.assertEqual(len(group["nodes"]), 64)
            for aggregator, each in enumerate(group["aggregators"]):
                mine = [node for node in group["nodes"] if node["aggregator"] == aggregator]
                self.assertEqual(sum(node["bytes"] for node in mine), each["bytes"])
                self.assertIn(each["position"], [node["position"] for node in mine])
        self.assertIn(plan["chosen"], plan["alternatives"])
        possible = [each for each in plan["alternatives"] if each["verdict"] == "possible"]
        fastest = min(each["seconds"]["total"] for each in possible)
        self.assertLessEqual(plan["chosen"]["seconds"]["total"], fastest * 1.05)

    @unittest.skipUnless(shutil.which("dot"), "graphviz is not installed")
    def test_dot_draws_a_group(self):
        dot = self.plan("--machine", "mira", "--ranks", "32768", "--bytes-per-rank", "1MiB", "--format", "dot", "--group", "3")
        svg = subprocess.run(["dot", "-Tsvg"], input=dot, capture_output=True, text=True, timeout=100, check=True)
        self.assertEqual(svg.stderr, "")
        self.assertEqual(svg.stdout.count("<polygon"), 128 + svg.stdout.count('class="edge"') + 1)   # boxes, arrows, the page
        self.assertEqual(svg.stdout.count("<ellipse"), 2)

    def test_takes_ranks_that_write_something_else(self):
        one = json.loads(self.plan("--machine", "fat-tree", "--ranks", "256", "--bytes-per-rank", "0B", "--except", "70=1GiB",
                                   "--to", "stagers", "--format", "json"))
        self.assertEqual(one["bytes"], 1 << 30)
        self.assertEqual([len(group["aggregators"]) for group in one["alike"]], [0, 1])
        half = json.loads(self.plan(*RACK, "--except", "0-2047=0B", "--except", "2048=1MiB", "--format", "json"))
        self.assertEqual(half["bytes"], 2047 * 65536 + (1 << 20))

    def test_keeps_to_limits(self):
        chosen = lambda *limits: json.loads(self.plan(*RACK, *limits, "--format", "json"))["chosen"]
        self.assertEqual(chosen("--max-aggregators", "2")["aggregators_per_group"], 2)
        self.assertGreaterEqual(chosen("--to", "stagers", "--min-aggregators", "8")["aggregators_per_group"], 8)
        self.assertLessEqual(chosen("--to", "stagers", "--memory", "1MiB")["bytes_per_aggregator"], 1 << 20)
        self.assertEqual(chosen("--files", "16")["files"], 16)
        self.assertEqual(chosen("--max-aggregators", "1", "--request", "9MB")["window_bytes"], 12 << 20)   # whole blocks

    def test_takes_a_machine_of_the_user(self):
        self.write("mine.toml", """
            name = "mine"
            [node]
            cores = 2
            memory = "4GiB"
            [network]
            kind = "fat-tree"
            nodes = 4
            [[network.level]]
            down = 4
            link_rate = "1GB/s"
            [way_out]
            nodes_per_group = 1
            [file_system]
            name = "ext4"
            block = "4KiB"
            rate = "1GB/s"
            """)
        text = self.plan("--machine", "./mine.toml", "--ranks", "8", "--bytes-per-rank", "1MiB", "--order", "round-robin")
        self.assertIn("mine: 8 ranks on 4 nodes, 8 MiB in all", text)

    def test_what_cannot_be_planned_is_said_with_what_to_do(self):
        self.assertIn("did you mean 'mira'", self.refusal("--machine", "mara", "--ranks", "16", "--bytes-per-rank", "1MiB"))
        self.assertIn("partition", self.refusal("--machine", "mira", "--ranks", "3000", "--bytes-per-rank", "1MiB"))
        self.assertIn("such as 64KiB", self.refusal("--machine", "mira", "--ranks", "2048", "--bytes-per-rank", "many"))
        self.assertIn("17 files", self.refusal(*RACK, "--files", "17"))
        self.assertIn("from 8 to 4", self.refusal(*RACK, "--min-aggregators", "8", "--max-aggregators", "4"))
        self.assertIn("I/O group 16", self.refusal(*RACK, "--format", "dot", "--group", "16"))
        for wrong in ("3", "5-4=1MiB", "x=1MiB", "1-=1MiB", "1=1x", "-1=1MiB"):
            self.assertIn(f"--except takes ranks and a size, not '{wrong}': ", self.refusal(*RACK, f"--except={wrong}"), wrong)
        self.assertIn("rank 5 comes behind one that goes to rank 5", self.refusal(*RACK, "--except", "4-5=1MiB", "--except", "5=1MiB"))
        for wrong, why in (("3=", "there is no size behind the ="), ("3=1x", "'1x' is no size"), ("3", "it has no ="),
                           ("5-4=1B", "rank 4 does not come behind rank 5"), ("-1=1B", "'-1' is no rank"), ("1-=1B", "'' is no rank")):
            self.assertIn(why, self.refusal(*RACK, f"--except={wrong}"))
        self.assertIn("and the ranks are 0 to", self.refusal(*RACK, "--except", "99999999=1B"))
        # What is wrong with an option does not hide behind what the machine cannot do.
        self.assertIn("it has no =", self.refusal("--machine", "mira", "--ranks", "64", "--bytes-per-rank", "1MiB", "--except=3"))

    def test_an_option_without_a_value_is_said(self):
        rest = ("--ranks", "2048", "--bytes-per-rank", "1MiB")
        self.assertIn("--machine has no value", self.refusal("--machine=", *rest))
        self.assertIn("--machine has no value", self.refusal(*rest, "--machine"))
        self.assertIn("no machine is named", self.refusal("--machine", "", *rest))
        self.assertIn("known are dragonfly", self.refusal("--machine", "", *rest))
        self.assertIn("--except has no value", self.refusal(*RACK, "--except="))

    def test_wrong_options_are_refused(self):
        for arguments in ((), RACK[:4], (*RACK, "--pattern", "round"), (*RACK, "--files", "-1")):
            self.refusal(*arguments)


if __name__ == "__main__":
    unittest.main()
