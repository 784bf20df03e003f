# SPDX-License-Identifier: BSD-3-Clause
import json
import re
import unittest

from command import MANUAL, CommandTest

SLURM = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-6]", "SLURM_TASKS_PER_NODE": "2(x6)", "SLURM_NODEID": "3"}
TREE = "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n[4-6]\nSwitchName=top Switches=a,b\n"


class Topology(CommandTest):
    def shown(self, *arguments, **variables):
        """Lines by what they are about."""
        run = self.glean("topology", *arguments, **variables)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertLessEqual(len(run.stdout.splitlines()), 20)
        return {line[:11].strip(): line[12:] for line in run.stdout.splitlines()}

    def machines(self):
        run = self.glean("topology", "--list")
        self.assertEqual(run.returncode, 0)
        return [line.split()[0] for line in run.stdout.splitlines()]

    def test_shows_a_machine_that_comes_along(self):
        lines = self.shown("--machine", "mira")
        self.assertTrue(lines["machine"].startswith("mira: Blue Gene/Q"))
        self.assertTrue(lines["nodes"].startswith("49152, 16 cores each"))
        self.assertEqual(lines["I/O groups"], "384 of 128 nodes, 2 x 2 x 4 x 4 x 2 each")
        self.assertEqual(lines["gateways"], "2 in each group, at (0,0,0,0,0) (0,0,0,0,1), 2 GB/s each")
        self.assertEqual(lines["storage"], "gpfs, blocks of 8 MiB, 128 targets, 240 GB/s")

    def test_a_machine_without_a_name_is_not_this_one(self):
        for arguments, why in ((("--machine", ""), "no machine is named"), (("--machine=",), "--machine has no value")):
            run = self.glean("topology", *arguments)
            self.assertEqual((run.returncode, run.stdout), (2, ""))
            self.assertIn(why, run.stderr)

    def test_shows_the_part_that_a_job_gets(self):
        self.assertTrue(self.shown("--machine", "mira", "--nodes", "512")["network"].startswith("torus of 4 x 4 x 4 x 4 x 2,"))
        self.assertTrue(self.shown("--machine", "intrepid", "--nodes", "64")["network"].startswith("mesh of 4 x 4 x 4,"))
        run = self.glean("topology", "--machine", "mira", "--nodes", "600")
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertIn("no partition of 600 nodes", run.stderr)
        self.assertIn("512 and of 1024", run.stderr)

    def test_every_machine_can_be_shown_written_and_read_again(self):
        machines = self.machines()
        self.assertGreaterEqual(len(machines), 7)
        for name in machines:
            self.shown("--machine", name)
            text = self.glean("topology", "--machine", name, "--format", "toml").stdout
            self.write("copy.toml", text)
            again = self.glean("topology", "--machine", "copy.toml", "--format", "toml")
            self.assertEqual((again.returncode, again.stderr, again.stdout), (0, "", text), name)

    def test_json_has_the_machine_and_its_groups(self):
        document = json.loads(self.glean("topology", "--machine", "jugene", "--format", "json").stdout)
        self.assertEqual((document["nodes"], document["groups"], document["nodes_per_group"]), (73728, 576, 128))
        self.assertEqual(document["machine"]["network"]["extents"], [72, 32, 32])
        self.assertEqual(document["machine"]["file_system"]["block"], "4MiB")

    def test_shows_where_it_runs(self):
        lines = self.shown(self.directory)
        self.assertTrue(lines["nodes"].startswith("1, "))
        self.assertTrue(lines["directory"].startswith(str(self.directory.resolve())))

    def test_shows_a_job_of_slurm_on_its_switches(self):
        self.write("topology.conf", TREE)
        conf = str(self.directory / "slurm.conf")
        lines = self.shown(SLURM_CONF=conf, **SLURM)
        self.assertEqual(lines["machine"], "job 7: as Slurm tells it")
        self.assertTrue(lines["network"].startswith("fat tree of 2 levels"))
        self.assertEqual(lines["hosts"], "n1, n2, n3, n4 and 2 more")
        self.assertEqual(lines["ranks"], "12, 2 on a node, in blocks")
        document = json.loads(self.glean("topology", "--format", "json", SLURM_CONF=conf, **SLURM).stdout)
        self.assertEqual((document["here"], document["launcher"]), (3, "Slurm"))
        self.assertEqual(document["hosts"], ["n1", "n2", "n3", "n4", "n5", "n6"])

    def test_says_what_it_did_not_understand(self):
        self.write("topology.conf", "SwitchName=a Nodes=n[1-\n")
        lines = self.shown(SLURM_CONF=str(self.directory / "slurm.conf"), **SLURM)
        self.assertTrue(lines["network"].startswith("fat tree of 1 level"))
        self.assertIn("note", lines)

    def test_a_machine_that_is_not_there_exits_with_2_and_names_the_nearest(self):
        run = self.glean("topology", "--machine", "mria")
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertIn("did you mean 'mira'?", run.stderr)

    def test_a_file_that_is_wrong_exits_with_2_and_names_every_problem(self):
        self.write("own.toml", '[network]\nkind = "torus"\nextents = [4]\nlink_rate = 425\nwarps = [true]\n')
        run = self.glean("topology", "--machine", "own.toml")
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertIn("own.toml:4: network.link_rate takes a rate with its unit", run.stderr)
        self.assertIn("own.toml:5: unknown key 'network.warps'; did you mean 'network.wraps'?", run.stderr)

    def test_finds_own_machines_in_the_directory_that_the_variable_names(self):
        self.write("own.toml", '[network]\nkind = "fat-tree"\nnodes = 2\n[[network.level]]\ndown = 2\n')
        lines = self.shown("--machine", "own", GLEAN_MACHINES=str(self.directory))
        self.assertTrue(lines["nodes"].startswith("2, "))

    def test_a_command_line_that_means_nothing_exits_with_2(self):
        for arguments in (["--nodes", "4"], ["--format", "xml"], ["--machine", "mira", "."], ["--machine", "mira", "--nodes", "0"],
                          ["/does/not/exist"]):
            self.assertEqual(self.glean("topology", *arguments).returncode, 2, arguments)


class Manual(CommandTest):
    def test_every_key_of_a_machine_file_is_described(self):
        page = (MANUAL / "glean-machine.5").read_text()
        document = (MANUAL.parent / "formats" / "machine.md").read_text()
        for name in [line.split()[0] for line in self.glean("topology", "--list").stdout.splitlines()]:
            text = self.glean("topology", "--machine", name, "--format", "toml").stdout
            for key in re.findall(r"^(\w+) = ", text, re.M):
                self.assertRegex(page, r"\b" + key + r"\b", name)
                self.assertIn(f"`{key}`", document, name)

    def test_the_example_is_a_machine(self):
        example = re.search(r"^\.nf\n(.*?)^\.fi", (MANUAL / "glean-machine.5").read_text(), re.M | re.S)[1]
        self.write("small.toml", example.replace("\\-", "-"))
        run = self.glean("topology", "--machine", "small.toml")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("I/O groups  4 of 4 nodes", run.stdout)


if __name__ == "__main__":
    unittest.main()
