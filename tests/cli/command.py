# SPDX-License-Identifier: BSD-3-Clause
"""Runs the command under test in a directory of its own, with an environment of its own."""

import os
import pathlib
import subprocess
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]
MANUAL = pathlib.Path(os.environ["MANUAL"])


class CommandTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def write(self, name, text):
        (self.directory / name).write_text(text)

    def glean(self, *arguments, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")}
        return subprocess.run([COMMAND, *map(str, arguments)], cwd=self.directory, env=environment | variables,
                              capture_output=True, text=True, timeout=100, check=False)
