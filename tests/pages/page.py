# SPDX-License-Identifier: BSD-3-Clause
"""What tests of pages share: programs of a page are compiled and run in a directory of their own."""

import os
import pathlib
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["BUILD"])
FLAGS = [f"-I{SOURCE / 'include'}", f"-L{BUILD / 'lib'}", f"-Wl,-rpath,{BUILD / 'lib'}"]


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.programs = pathlib.Path(directory.name)

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def run_command(self, *command, **variables):
        result = subprocess.run(list(map(str, command)), cwd=self.directory, env=os.environ | variables, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stdout)
        return result.stdout

    def job(self, ranks, *command, **variables):
        return self.run_command(*os.environ["MPIRUN"].split(), ranks, *command, **variables)

    def compiled(self, name, text, compiler, *libraries):
        """The program, which all tests of a page have of one compilation."""
        source = self.programs / name
        if not source.exists():
            source.write_text(text)
            self.run_command(*compiler, source, "-o", source.with_suffix(""), *FLAGS, *libraries)
        return source.with_suffix("")
