# SPDX-License-Identifier: BSD-3-Clause
import json
import unittest

from command import CommandTest


class Config(CommandTest):
    def values(self, *arguments, **variables):
        run = self.glean("config", "--json", *arguments, **variables)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return json.loads(run.stdout)

    def test_prints_every_value_and_where_it_came_from(self):
        self.write("glean.toml", '[drain]\nthreads = 2\n')
        run = self.glean("config", GLEAN_POOL_BUDGET="1024MiB")
        lines = {line.split()[0]: line.split()[1:] for line in run.stdout.splitlines()}
        self.assertEqual(run.returncode, 0)
        self.assertEqual(lines["mode"], ["threaded", "default"])
        self.assertEqual(lines["drain.threads"], ["2", "glean.toml:2"])
        self.assertEqual(lines["pool.budget"], ["1GiB", "GLEAN_POOL_BUDGET"])

    def test_json_has_the_same_values(self):
        self.write("glean.toml", '[[rule]]\npattern = "*.nc"\npublish = "in-place"\n')
        document = self.values(GLEAN_LOG_LEVEL="debug")
        self.assertEqual(document["file"], "glean.toml")
        self.assertEqual(document["values"]["log.level"], {"value": "debug", "origin": "GLEAN_LOG_LEVEL"})
        self.assertEqual(document["values"]["rule[0].publish"], {"value": "in-place", "origin": "glean.toml:3"})

    def test_without_a_file_says_so(self):
        self.assertIsNone(self.values()["file"])

    def test_a_wrong_configuration_exits_with_2_and_names_every_problem(self):
        self.write("glean.toml", '[pool]\nbuget = "1GiB"\n')
        run = self.glean("config", GLEAN_MOD="threaded")
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertIn("glean.toml:2: unknown key 'pool.buget'; did you mean 'pool.budget'?", run.stderr)
        self.assertIn("unknown variable GLEAN_MOD; did you mean GLEAN_MODE?", run.stderr)

    def test_a_file_that_is_not_there_exits_with_2(self):
        run = self.glean("config", GLEAN_CONFIG="none.toml")
        self.assertEqual(run.returncode, 2)
        self.assertIn("none.toml", run.stderr)

    def test_keys_tells_what_can_be_set_even_when_what_is_set_is_wrong(self):
        run = self.glean("config", "--keys", GLEAN_MOD="threaded")
        self.assertEqual(run.returncode, 0)
        self.assertIn("pool.budget  (GLEAN_POOL_BUDGET)", run.stdout)

    def test_every_default_can_be_set_through_its_variable(self):
        keys = json.loads(self.glean("config", "--keys", "--json").stdout)
        document = self.values(**{key["environment"]: key["default"] for key in keys})
        for key in keys:
            self.assertEqual(document["values"][key["key"]],
                             {"value": key["default"], "origin": key["environment"]})


class CommandLine(CommandTest):
    def test_says_its_version(self):
        run = self.glean("--version")
        self.assertEqual(run.returncode, 0)
        self.assertRegex(run.stdout, r"^glean \d+\.\d+\.\d+\n$")

    def test_help_names_the_verbs(self):
        run = self.glean("--help")
        self.assertEqual(run.returncode, 0)
        self.assertIn("config", run.stdout)
        self.assertIn("doctor", run.stdout)

    def test_a_wrong_command_line_exits_with_2(self):
        for arguments in ([], ["cofig"], ["config", "--jsn"], ["doctor", "--ranks", "0"]):
            run = self.glean(*arguments)
            self.assertEqual(run.returncode, 2, arguments)
            self.assertNotEqual(run.stderr, "", arguments)


if __name__ == "__main__":
    unittest.main()
