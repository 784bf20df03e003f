#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""copies_test.py SEDOV MPIRUN…: files of other formats that are made when a file is complete, in every mode and after a kill."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unittest

import h5py
import numpy

SEDOV, LAUNCH = sys.argv[1], sys.argv[2:]
COMMAND = os.environ["COMMAND"]
OPTIONS = ("--blocks", "2,2,2", "--steps", "4", "--checkpoint-every", "4", "--plot-every", "1000")
CHECKPOINTS = ("sedov_chk_0000", "sedov_chk_0001")
PLOTS = ("sedov_plt_0000", "sedov_plt_0001")


def kill(job, path):
    """Kills the job and all of its processes, whose command lines name `path`, and waits until they are gone."""
    while subprocess.run(["pkill", "-KILL", "-f", str(path)], check=False).returncode == 0:
        time.sleep(0.01)   # the pool of a rank that is not gone yet is in use
    job.wait(60)


class Copies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """What sedov writes by itself with parallel HDF5."""
        scratch = tempfile.TemporaryDirectory(prefix="copies.")
        cls.addClassCleanup(scratch.cleanup)
        cls.bare = pathlib.Path(scratch.name)
        subprocess.run([*LAUNCH, "-n", "3", SEDOV, *OPTIONS, "--output", "hdf5", "--directory", cls.bare], check=True,
                       capture_output=True, timeout=100)

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="copies.")
        self.addCleanup(scratch.cleanup)
        self.directory = pathlib.Path(scratch.name)

    def config(self, text):
        path = self.directory / "glean.toml"
        path.write_text(text)
        return {"GLEAN_CONFIG": str(path), "GLEAN_REPORT_FILE": str(self.directory / "report.json")}

    def sedov(self, *options, before=(), into="out", **variables):
        directory = self.directory / into
        directory.mkdir(exist_ok=True)
        return {"args": [*before, *LAUNCH, "-n", "3", SEDOV, *OPTIONS, *options, "--directory", str(directory)],
                "env": os.environ | {"GLEAN_POOL_BUDGET": "64MiB"} | variables}

    def run_sedov(self, *options, **how):
        done = subprocess.run(**self.sedov(*options, **how), capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def written(self, into="out"):
        return sorted(path.name for path in (self.directory / into).iterdir())

    def expect_values_of_hdf5(self, stems, names=("dens", "pres", "temp"), type="f8"):
        for stem in stems:
            with h5py.File(self.bare / f"{stem.removesuffix('_plot')}.h5") as bare, \
                    h5py.File(self.directory / "out" / f"{stem}.h5") as copy:
                for name in names:
                    self.assertEqual(copy[name].dtype, numpy.dtype(type))
                    numpy.testing.assert_array_equal(copy[name][...], bare[name][...].astype(type), f"{stem}: {name}")

    def test_native_outputs_have_copies_beside_them(self):
        variables = self.config('[[rule]]\npattern = "*_chk_*"\nalso = ["hdf5", "vtkhdf"]\nsemantics = "flash"\n'
                                'plot_variables = ["dens", "pres"]\n')

        self.run_sedov(**variables)

        expected = [f"{stem}{end}" for stem in CHECKPOINTS for end in (".h5", ".nc", ".vtkhdf")]
        expected += [f"{stem}_plot.h5" for stem in CHECKPOINTS] + [f"{stem}.nc" for stem in PLOTS]
        self.assertEqual(self.written(), sorted(expected))
        self.expect_values_of_hdf5(CHECKPOINTS)
        self.expect_values_of_hdf5(("sedov_chk_0001_plot",), ("dens", "pres"), "f4")
        with h5py.File(self.directory / "out/sedov_chk_0001_plot.h5") as plot:
            self.assertNotIn("temp", plot)
        report = json.loads((self.directory / "report.json").read_text())
        copies = {pathlib.Path(copy["path"]).name: copy["error"] for output in report["outputs"] for copy in output["copies"]}
        self.assertEqual(len(copies), 6)
        self.assertEqual(set(copies.values()), {None})

    def test_unmodified_programs_have_them_too(self):
        self.run_sedov("--output", "pnetcdf", before=(COMMAND, "run", "--"), GLEAN_ALSO="hdf5,vtkhdf", GLEAN_SEMANTICS="flash")

        self.assertEqual(self.written(), sorted(f"{stem}{end}" for stem in CHECKPOINTS + PLOTS for end in (".h5", ".nc", ".vtkhdf")))
        self.expect_values_of_hdf5(CHECKPOINTS)

    def test_a_helper_process_makes_them(self):
        self.run_sedov(GLEAN_ALSO="hdf5", GLEAN_DRAIN_PLACE="process")

        self.assertEqual(self.written(), sorted(f"{stem}{end}" for stem in CHECKPOINTS + PLOTS for end in (".h5", ".nc")))
        self.expect_values_of_hdf5(CHECKPOINTS)

    def test_stagers_make_them(self):
        self.run_sedov(before=(COMMAND, "run", "--stagers", "2", "--"), GLEAN_ALSO="hdf5")

        self.assertEqual(self.written(), sorted(f"{stem}{end}" for stem in CHECKPOINTS + PLOTS for end in (".h5", ".nc")))
        self.expect_values_of_hdf5(CHECKPOINTS)

    def test_several_nodes_have_one_that_makes_them(self):
        self.run_sedov(GLEAN_ALSO="hdf5", GLEAN_TOPOLOGY_RANKS_PER_NODE="1")

        self.assertEqual(self.written(), sorted(f"{stem}{end}" for stem in CHECKPOINTS + PLOTS for end in (".h5", ".nc")))
        self.expect_values_of_hdf5(CHECKPOINTS)

    def test_modes_without_a_drain_say_once_that_they_make_none(self):
        for mode in ("passthrough", "collective"):
            with self.subTest(mode):
                said = self.run_sedov(GLEAN_ALSO="hdf5", GLEAN_MODE=mode)

                self.assertEqual(said.count("make no copies"), 1, said)
                self.assertEqual(self.written(), sorted(f"{stem}.nc" for stem in CHECKPOINTS + PLOTS))

    def test_a_copy_takes_the_place_of_the_file(self):
        for options, before in (((), ()), (("--output", "pnetcdf"), (COMMAND, "run", "--"))):
            with self.subTest(options=options):
                self.run_sedov(*options, before=before, GLEAN_FORMAT="hdf5")

                self.assertEqual(self.written(), sorted(f"{stem}.h5" for stem in CHECKPOINTS + PLOTS))
                self.expect_values_of_hdf5(CHECKPOINTS)
                for path in (self.directory / "out").iterdir():
                    path.unlink()

    def test_a_copy_that_cannot_be_made_is_named_and_the_file_appears(self):
        said = self.run_sedov(**self.config('format = "hdf5"\nplot_variables = ["none_such"]\n'), GLEAN_DRAIN_COMMAND="/bin/false")

        self.assertEqual(self.written(), sorted(f"{stem}.nc" for stem in CHECKPOINTS + PLOTS))
        self.assertIn("sedov_chk_0001.h5' is not made: ", said)
        report = json.loads((self.directory / "report.json").read_text())
        self.assertEqual({output["state"] for output in report["outputs"]}, {"published"})
        self.assertNotIn(None, {copy["error"] for output in report["outputs"] for copy in output["copies"]})

    def test_recovery_makes_those_that_a_killed_job_was_just_making(self):
        slow = self.directory / "glean"   # it never ends
        slow.write_text(f"#!/bin/sh\ntouch '{self.directory}/begun'\nexec sleep 1000\n")
        slow.chmod(0o755)
        job = subprocess.Popen(**self.sedov(GLEAN_ALSO="hdf5", GLEAN_DRAIN_COMMAND=str(slow)), start_new_session=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not (self.directory / "begun").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        kill(job, self.directory / "out")
        self.assertNotIn("sedov_chk_0000.nc", self.written())

        done = subprocess.run([COMMAND, "recover", "--wait=20s"], capture_output=True, text=True, timeout=60)

        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("sedov_chk_0000.nc", self.written())
        self.assertIn("sedov_chk_0000.h5", self.written())
        self.expect_values_of_hdf5(CHECKPOINTS[:1])
        subprocess.run(["pkill", "-KILL", "-f", f"^sleep 1000$"], check=False)


    def test_a_kill_at_any_time_leaves_one_of_the_two_formats(self):
        seed = random.randrange(1 << 30)
        chosen = random.Random(seed)
        for trial in range(int(os.environ.get("TRIALS", "2"))):
            with self.subTest(seed=seed, trial=trial):
                job = subprocess.Popen(**self.sedov("--checkpoint-every", "1", into=f"killed.{trial}", GLEAN_FORMAT="hdf5"),
                                       start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                directory = self.directory / f"killed.{trial}"
                deadline = time.monotonic() + 60
                while not any(directory.iterdir()) and time.monotonic() < deadline and job.poll() is None:
                    time.sleep(0.001)
                time.sleep(chosen.uniform(0, 0.3))
                kill(job, directory)

                done = subprocess.run([COMMAND, "recover", "--wait=20s"], capture_output=True, text=True, timeout=60)

                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                left = {path.name for path in directory.iterdir()}
                self.assertEqual({name for name in left if not name.endswith((".h5", ".nc"))}, set())
                self.assertIn("sedov_chk_0000", {name.rpartition(".")[0] for name in left})
                for name in left:
                    if name.endswith(".h5"):
                        with h5py.File(directory / name) as copy:
                            self.assertEqual(copy["dens"].shape if "dens" in copy else (), (8, 16, 16, 16))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
