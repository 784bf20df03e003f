#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The report of an unmodified program counts its calls."""

import json
import os
import pathlib
import shlex
import subprocess
import tempfile
import unittest


def whole_report_of(test, **settings):
    """What the program did with 2 ranks."""
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory, "report.json")
        environment = os.environ | {"LD_PRELOAD": os.environ["LIBRARY"], "GLEAN_REPORT_FILE": str(file)} | settings
        subprocess.run([*shlex.split(os.environ["MPIRUN"]), "2", os.environ["PROGRAM"], f"--gtest_filter=Captured.{test}"],
                       cwd=directory, env=environment, check=True, timeout=100, stdout=subprocess.DEVNULL)
        return json.loads(file.read_text())


def report_of(test, **settings):
    """The same by call: (captured, passed through)."""
    return {call["name"]: (call["captured"], call["passed_through"]) for call in whole_report_of(test, **settings)["calls"]}


class Calls(unittest.TestCase):
    def test_what_is_captured_and_what_passes_through(self):
        calls = report_of("AppearsWhenItIsClosed")

        self.assertEqual(calls["MPI_File_write_at_all"], (2, 0))
        self.assertEqual(calls["MPI_File_open"], (2, 2))
        self.assertEqual(calls["MPI_File_read_at"], (0, 2))

    def test_a_file_that_is_closed_is_a_step(self):
        report = whole_report_of("AppearsWhenItIsClosed")

        step, = report["steps"]
        self.assertEqual(step["captured_bytes"], report["captured_bytes"])
        self.assertGreater(step["blocked_seconds"], 0)
        self.assertLessEqual(step["end_s"], report["run_seconds"])

    def test_calls_of_a_file_that_steps_aside_pass_through(self):
        calls = report_of("ThePointersGoOnInAtomicMode")

        self.assertEqual(calls["MPI_File_write"], (2, 2))

    def test_small_writes_pass_through_where_reads_follow_them_again_and_again(self):
        captured, passed_through = report_of("IsReadAgainAndAgainBetweenSmallWrites")["MPI_File_write_at"]

        self.assertGreaterEqual(captured, 2 * 15)
        self.assertGreater(passed_through, 0)

    def test_a_rule_lets_a_file_pass_through(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as settings:
            settings.write("[[rule]]\npattern = 'file'\nmode = 'passthrough'\n")
            settings.flush()
            calls = report_of("ThePointersGoOnInAtomicMode", GLEAN_CONFIG=settings.name)

        self.assertEqual(calls["MPI_File_write"], (0, 4))


if __name__ == "__main__":
    unittest.main()
