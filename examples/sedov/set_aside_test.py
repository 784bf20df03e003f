# SPDX-License-Identifier: BSD-3-Clause
"""Mode `dedicated` sets a rank aside, and this program does not ask which one: it ends within pool.deadline, and leaves no file."""
import argparse
import os
import pathlib
import subprocess
import tempfile
import unittest

OPTIONS = argparse.ArgumentParser()
OPTIONS.add_argument("--sedov", required=True)
OPTIONS.add_argument("--launcher", required=True)
ARGUMENTS, REST = OPTIONS.parse_known_args()


class SetAside(unittest.TestCase):
    def test_the_program_ends_with_a_message_that_names_the_call(self):
        environment = os.environ | {"GLEAN_MODE": "dedicated", "GLEAN_POOL_DEADLINE": "6s", "GLEAN_POOL_BUDGET": "64MiB",
                                    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        for name in ("GLEAN_CONFIG", "GLEAN_TOPOLOGY_RANKS_PER_NODE"):
            environment.pop(name, None)
        with tempfile.TemporaryDirectory() as directory:
            run = subprocess.run([ARGUMENTS.launcher, "--oversubscribe", "--bind-to", "none", "-n", "3", ARGUMENTS.sedov,
                                  "--blocks", "2,2,2", "--steps", "2", "--output", "glean", "--directory", directory],
                                 env=environment, cwd=directory, capture_output=True, text=True, timeout=60, check=False)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn("glean: warning: mode = \"dedicated\": a rank of node 0 was set aside to write", run.stderr)
            self.assertIn("glean: error: mode = \"dedicated\": a rank of node 0 was set aside to write, and for 6 s the program has not "
                          "asked which one: call is_writer()", run.stderr)
            self.assertEqual(list(pathlib.Path(directory).iterdir()), [])


if __name__ == "__main__":
    unittest.main(argv=["set_aside_test.py", *REST])
