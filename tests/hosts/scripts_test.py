# SPDX-License-Identifier: BSD-3-Clause
"""The job scripts of examples/slurm are such that bash and ShellCheck find nothing, name settings and verbs that exist, and are all listed.

  scripts_test.py GLEAN
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

GLEAN = sys.argv[1]
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples/slurm"
SCRIPTS = sorted(FOLDER.glob("*.sh"))


def said(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout if done.returncode else ""


class JobScripts(unittest.TestCase):
    def test_the_page_lists_all_of_them(self):
        rows = re.findall(r"^\| `(\w+\.sh)` \|", (FOLDER / "README.md").read_text(encoding="utf-8"), re.M)
        self.assertEqual(sorted(rows), [path.name for path in SCRIPTS])
        self.assertGreater(len(rows), 5)

    def test_bash_can_read_them(self):
        for path in SCRIPTS:
            self.assertEqual(said("bash", "-n", path), "", path)

    @unittest.skipUnless(shutil.which("shellcheck"), "no ShellCheck: tools/setup")
    def test_shellcheck_finds_nothing(self):
        self.assertEqual(said("shellcheck", *SCRIPTS), "")

    def test_slurm_sees_the_options(self):
        """What follows the first command is no option any more."""
        for path in SCRIPTS:
            lines = path.read_text(encoding="utf-8").splitlines()
            first_command = next(number for number, line in enumerate(lines) if line and not line.startswith("#"))
            self.assertFalse([line for line in lines[first_command:] if line.startswith("#SBATCH")], path)
            self.assertEqual(path.name != "epilog.sh", any(line.startswith("#SBATCH --nodes=") for line in lines), path)

    def test_settings_and_verbs_are_there(self):
        keys = json.loads(subprocess.run([GLEAN, "config", "--keys", "--json"], capture_output=True, text=True, check=True).stdout)
        variables = {key["environment"] for key in keys}
        for path in SCRIPTS:
            text = path.read_text(encoding="utf-8")
            self.assertLessEqual(set(re.findall(r"\bGLEAN_[A-Z_]+", text)), variables, path)
            for verb, options in re.findall(r"^[^#\n]*(?:\bglean|\"\$glean\") ([a-z]+)([^|&#\n]*)", text, re.M):
                help_text = subprocess.run([GLEAN, verb, "--help"], capture_output=True, text=True, check=True).stdout
                for option in re.findall(r"--[a-z-]+", options.partition(" -- ")[0]):
                    self.assertIn(option, help_text, f"{path.name}: glean {verb}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
