# SPDX-License-Identifier: BSD-3-Clause
"""glean calibrate, alone and with others: a machine file that simulations read, and nothing left behind."""
import os
import pathlib
import shlex
import signal
import subprocess
import time
import unittest

from command import COMMAND, CommandTest

SLOWSTORE = pathlib.Path(__file__).resolve().parents[2] / "tools" / "slowstore"


class Calibrate(CommandTest):
    def left(self):
        return [path.name for path in self.directory.iterdir() if path.name.startswith("glean-calibrate")]

    def test_writes_a_machine_file_that_simulate_reads(self):
        run = self.glean("calibrate", ".", "--duration", "4s", "--name", "here", "--nodes", "64", "--output", "here.toml")
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))
        self.assertEqual(self.left(), [])
        text = (self.directory / "here.toml").read_text()
        for key in ("copy_rate", "receive_rate", "link_rate", "message_time", "rate", "create_time"):
            self.assertRegex(text, rf"(?m)^{key} = '[0-9.]+[a-zA-Z/]+' +# .* samples: ")
        simulation = self.glean("simulate", "--machine", "./here.toml", "--ranks", "64", "--ranks-per-node", "1", "--bytes-per-rank",
                                "8MiB", "--strategy", "glean,collective")
        self.assertEqual((simulation.returncode, simulation.stderr), (0, ""))

    def test_processes_of_a_launcher_measure_together(self):
        run = subprocess.run([*shlex.split(os.environ["MPIRUN"]), "2", COMMAND, "calibrate", ".", "--duration", "4s"], cwd=self.directory,
                             capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.left(), [])
        self.assertEqual(run.stdout.count("# Measured by glean calibrate"), 1)
        self.assertIn("2 clients in one directory", run.stdout)

    def interrupted(self, *launcher):
        """What is left after an interruption while files are written."""
        # A shell that starts this test in the background has SIGINT ignored, and what the test starts would inherit that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with subprocess.Popen([*launcher, COMMAND, "calibrate", ".", "--duration", "20s"], cwd=self.directory,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            written = "glean-calibrate.*/written.*"
            for _ in range(600):
                if list(self.directory.glob(written)):
                    break
                time.sleep(0.1)
            self.assertTrue(list(self.directory.glob(written)))
            process.send_signal(signal.SIGINT)
            self.assertNotEqual(process.wait(60), 0)
        for _ in range(100):   # a launcher does not always wait for what it has started
            if not self.left():
                break
            time.sleep(0.1)
        return self.left()

    def test_removes_its_files_when_it_is_interrupted(self):
        self.assertEqual(self.interrupted(), [])

    def test_removes_the_files_of_all_processes_when_the_launcher_is_interrupted(self):
        self.assertEqual(self.interrupted(*shlex.split(os.environ["MPIRUN"]), "2"), [])

    def test_what_was_measured_is_not_lost_where_the_file_cannot_be_written(self):
        run = self.glean("calibrate", ".", "--duration", "1s", "--output", "missing/here.toml")
        self.assertEqual(run.returncode, 2)
        self.assertIn("cannot write 'missing/here.toml'", run.stderr)
        self.assertIn("[file_system]", run.stdout)

    @unittest.skipUnless(subprocess.run([SLOWSTORE, "check"], capture_output=True, check=False).returncode == 0, "no slow store here")
    def test_leaves_out_what_a_slow_store_has_no_time_for(self):
        store = self.directory / "store"
        run = subprocess.run([SLOWSTORE, "with", store, "2", "256M", COMMAND, "calibrate", store, "--duration", "1s"], cwd=self.directory,
                             capture_output=True, text=True, timeout=110, env=os.environ | {"TMPDIR": str(self.directory)}, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, r"one writer: .*, fdatasync at the end")
        self.assertIn("left out: the measurements before have taken three times as long as they should", run.stdout)

    def test_says_what_is_wrong(self):
        for arguments, text in ((("--duration", "0.5s"), "takes a time from 1s to 1h"), (("nowhere",), "nowhere"),
                                (("--nodes", "0"), "from 1 on")):
            run = self.glean("calibrate", *arguments)
            self.assertEqual((run.returncode, run.stdout), (2, ""))
            self.assertIn(text, run.stderr)


if __name__ == "__main__":
    unittest.main()
