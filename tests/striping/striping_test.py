# SPDX-License-Identifier: BSD-3-Clause
"""Hints for stripes, of the program and of settings, reach the file that is made, and nothing else of it changes.

What the MPI library is asked for is seen by opens.c; no file system with stripes is needed.
"""
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

MPIRUN, LIBRARY, OPENS_LIBRARY = shlex.split(os.environ["MPIRUN"]), os.environ["LIBRARY"], os.environ["OPENS_LIBRARY"]
PROGRAM, NATIVE, COMMAND = os.environ["PROGRAM"], os.environ["NATIVE"], os.environ["COMMAND"]
RANKS = 2
OF_PROGRAM = {"striping_factor": "3", "striping_unit": "65536", "start_iodevice": "1"}
OF_SETTINGS = {"GLEAN_STRIPING_FACTOR": "8", "GLEAN_STRIPING_UNIT": "4MiB"}
IN_VAIN = "have no effect: files are written where the file system has no stripes"
NATIVE_FILES = ["closed.nc", "open.nc"]


class Striping(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.number = 0

    def run_in(self, data, command, preloaded, settings, launcher=()):
        """What it says, and how each working file of GLEAN's was opened: final name → hints, one for each rank that did it."""
        data.mkdir(parents=True, exist_ok=True)
        self.number += 1
        log = self.directory / f"opens.{self.number}"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")}
        environment |= {"GLEAN_POOL_BUDGET": "32MiB", "OPENS": str(log), "GLEAN_REPORT_TABLE": "false"} | settings
        with_library = ["env", "LD_PRELOAD=" + ":".join(preloaded)]
        run = subprocess.run([*launcher, *MPIRUN, str(RANKS), *with_library, *map(str, command)], cwd=self.directory, env=environment,
                             capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        made = {}
        for line in log.read_text().splitlines() if log.exists() else []:
            path, *hints = line.split(" ")
            if working := re.fullmatch(r"\.(.*)\.glean-[^/]*\.part", pathlib.Path(path).name):
                made.setdefault(working[1], []).append(dict(hint.split("=", 1) for hint in hints))
        return run.stderr, made

    def unmodified(self, data, *arguments, names=("file",), **settings):
        files = [data / name for name in names]
        return self.run_in(data, [PROGRAM, *files, *arguments], [LIBRARY, OPENS_LIBRARY], settings)

    def native(self, data, launcher=(), **settings):
        return self.run_in(data, [NATIVE, data, "whole"], [OPENS_LIBRARY], settings, launcher)

    def assert_same(self, one, other, names):
        for name in names:
            self.assertEqual((one / name).read_bytes(), (other / name).read_bytes(), name)
            self.assertEqual((one / name).stat().st_mode, (other / name).stat().st_mode, name)
        self.assertEqual([path.name for path in other.iterdir() if path.name.startswith(".")], [])

    def hints(self, **more):
        return [f"{name}={value}" for name, value in (OF_PROGRAM | more).items()]

    def test_those_of_an_unmodified_program_reach_the_working_file_and_no_others(self):
        plain, striped = self.directory / "plain", self.directory / "striped"
        self.assertEqual(self.unmodified(plain, "cb_nodes=1")[1], {})   # it is made without the MPI library

        _, made = self.unmodified(striped, *self.hints(cb_nodes="1"))

        self.assertEqual(made, {"file": [OF_PROGRAM]})
        self.assert_same(plain, striped, ["file"])

    def test_each_setting_goes_before_the_hint_of_the_program(self):
        _, made = self.unmodified(self.directory / "data", *self.hints(), **OF_SETTINGS)

        self.assertEqual(made, {"file": [{"striping_factor": "8", "striping_unit": "4194304", "start_iodevice": "1"}]})

    def test_of_romios_file_of_hints_are_those_of_the_program(self):
        (self.directory / "hints").write_text("striping_factor 5\nstart_iodevice 2\n")

        _, made = self.unmodified(self.directory / "data", "striping_factor=4", ROMIO_HINTS=str(self.directory / "hints"))

        self.assertEqual(made, {"file": [{"striping_factor": "4", "start_iodevice": "2"}]})

    def test_a_rule_is_for_files_of_its_names(self):
        (self.directory / "rules.toml").write_text("[[rule]]\npattern = '*.chk'\nstriping_factor = 2\nstart_iodevice = 0\n")

        _, made = self.unmodified(self.directory / "data", names=("a.chk", "b.plt"), GLEAN_CONFIG=str(self.directory / "rules.toml"))

        self.assertEqual(made, {"a.chk": [{"striping_factor": "2", "start_iodevice": "0"}]})

    def test_a_rule_that_cannot_be_is_refused_with_all_its_values(self):
        (self.directory / "glean.toml").write_text(
            "[[rule]]\npattern = '*'\nstriping_factor = -1\nstriping_unit = '100B'\nstart_iodevice = 'first'\n")

        run = subprocess.run([COMMAND, "config"], cwd=self.directory, capture_output=True, text=True, timeout=100, check=False)

        self.assertNotEqual(run.returncode, 0)
        self.assertIn("glean.toml:3: striping_factor = '-1' cannot be; it takes auto, or 1 to 1000000", run.stderr)
        self.assertIn("glean.toml:4: striping_unit = '100B' cannot be; it takes auto, or bytes, a multiple of 4KiB below 4GiB", run.stderr)
        self.assertIn("glean.toml:5: start_iodevice = 'first' cannot be; it takes auto, or 0 to 999999", run.stderr)

    def test_that_they_have_no_effect_is_said_once_and_of_the_program_only_where_that_is_wanted(self):
        names = ("a", "b", "c")
        said, _ = self.unmodified(self.directory / "one", names=names, **OF_SETTINGS)
        self.assertEqual(said.count(IN_VAIN), 1, said)
        said, _ = self.unmodified(self.directory / "two", *self.hints(), names=names)
        self.assertNotIn(IN_VAIN, said)
        said, _ = self.unmodified(self.directory / "three", *self.hints(), names=names, GLEAN_LOG_LEVEL="info")
        self.assertEqual(said.count(IN_VAIN), 1, said)
        self.unmodified(self.directory / "four", names=names)
        said, made = self.unmodified(self.directory / "four", names=names, **OF_SETTINGS)   # no file is made
        self.assertEqual((said.count(IN_VAIN), made), (0, {}), said)

    def test_a_path_that_the_mpi_library_may_not_take_is_made_without_them(self):
        data = self.directory / ("d" * 100) / ("e" * 80)

        said, made = self.unmodified(data, *self.hints(), names=("a", "b"))

        for name in ("a", "b"):
            self.assertEqual((data / name).stat().st_size, RANKS * 30000)
        if "striping hints do not reach" in said:   # of Open MPI
            self.assertEqual((said.count("striping hints do not reach"), made), (1, {}), said)
        else:
            self.assertEqual(made, {"a": [OF_PROGRAM], "b": [OF_PROGRAM]}, said)

    def test_on_several_nodes_the_file_is_made_once(self):
        _, made = self.unmodified(self.directory / "bytes", *self.hints(), GLEAN_TOPOLOGY_RANKS_PER_NODE="1")
        self.assertEqual(made, {"file": [OF_PROGRAM]})
        _, made = self.native(self.directory / "native", GLEAN_TOPOLOGY_RANKS_PER_NODE="1", **OF_SETTINGS)
        self.assertEqual(made, {name: [{"striping_factor": "8", "striping_unit": "4194304"}] for name in NATIVE_FILES})

    def test_under_its_final_name_only_a_file_that_is_not_there_is_made(self):
        data = self.directory / "data"

        for there in (False, True):
            self.unmodified(data, *self.hints(), GLEAN_PUBLISH="in-place")
            opened = [line for line in (self.directory / f"opens.{self.number}").read_text().splitlines()
                      if line.startswith(f"{data}/file")]
            self.assertEqual(len(opened), 0 if there else 1, opened)
        self.assertEqual((data / "file").stat().st_size, RANKS * 30000)

    def test_of_outputs_of_the_library_they_reach_the_working_file(self):
        plain = self.directory / "plain"
        self.assertEqual(self.native(plain)[1], {})
        for place in ("threads", "process"):
            with self.subTest(place):
                data = self.directory / place

                _, made = self.native(data, GLEAN_DRAIN_PLACE=place, GLEAN_DRAIN_COMMAND=COMMAND, **OF_SETTINGS)

                self.assertEqual(made, {name: [{"striping_factor": "8", "striping_unit": "4194304"}] for name in NATIVE_FILES})
                self.assert_same(plain, data, NATIVE_FILES)

    def test_of_modes_that_call_pnetcdf_they_are_among_its_hints(self):
        for mode in ("passthrough", "collective"):
            with self.subTest(mode):
                said, made = self.native(self.directory / mode, GLEAN_MODE=mode, **OF_SETTINGS)

                self.assertEqual(sorted(made), NATIVE_FILES)
                for opened in made.values():
                    self.assertEqual(len(opened), RANKS)
                    for hints in opened:
                        self.assertEqual((hints["striping_factor"], hints["striping_unit"]), ("8", "4194304"))
                self.assertEqual(said.count(IN_VAIN), 1, said)

    def test_stagers_make_files_without_them_which_is_said(self):
        stagers = [os.environ["WITH_STAGERS"], os.environ["BUILD"], "1"]

        said, made = self.native(self.directory / "data", stagers, GLEAN_STAGING_END="durable", **OF_SETTINGS)

        self.assertEqual((said.count("stagers make files without the stripes"), made), (1, {}), said)
        self.assertEqual(sorted(path.name for path in (self.directory / "data").glob("*.nc")), NATIVE_FILES)


if __name__ == "__main__":
    unittest.main()
