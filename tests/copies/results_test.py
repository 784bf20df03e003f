#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""results_test.py SEDOV MPIRUN…: what `[[analysis]]` tables make beside files, in each mode and after a kill."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import h5py
import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/sedov"))
from evaluation import cdf

SEDOV, LAUNCH = sys.argv[1], sys.argv[2:]
COMMAND = os.environ["COMMAND"]
OPTIONS = ("--blocks", "2,2,2", "--steps", "4", "--checkpoint-every", "4", "--plot-every", "1000")
FILES = ("sedov_chk_0000", "sedov_chk_0001", "sedov_plt_0000", "sedov_plt_0001")
TABLES = """
[[analysis]]
output = "*_chk_*"
variables = ["dens"]
run = ["slice nzb=5", "subsample nyb=3", "expression ratio = pres / dens"]
suffix = "slice"
[[analysis]]
output = "*.nc"
run = ["region nxb=4:12 nzb=-3:", "precision float32", "deflate 3"]
format = "hdf5"
"""


class Results(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="results.")
        self.addCleanup(scratch.cleanup)
        self.directory = pathlib.Path(scratch.name)
        self.out = self.directory / "out"
        self.out.mkdir()

    def job(self, *options, tables=TABLES, before=(), ranks=3, **variables):
        path = self.directory / "glean.toml"
        path.write_text(tables)
        return {"args": [*before, *LAUNCH, "-n", str(ranks), SEDOV, *OPTIONS, *options, "--directory", str(self.out)],
                "env": os.environ | {"GLEAN_CONFIG": str(path), "GLEAN_REPORT_FILE": str(self.directory / "report.json"),
                                     "GLEAN_POOL_BUDGET": "64MiB"} | variables}

    def run_sedov(self, *options, **how):
        done = subprocess.run(**self.job(*options, **how), capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def written(self):
        return sorted(path.name for path in self.out.iterdir())

    def expect_results(self, files=FILES):
        expected = [f"{stem}{end}" for stem in files for end in (".nc", "_reduced.h5")]
        expected += [f"{stem}_slice.nc" for stem in files if "_chk_" in stem]
        self.assertEqual(self.written(), sorted(expected))
        for stem in files:
            whole = cdf.File(self.out / f"{stem}.nc")
            with h5py.File(self.out / f"{stem}_reduced.h5") as reduced:
                for name in ("dens", "pres"):
                    numpy.testing.assert_array_equal(reduced[name][()], whole[name][:, -3:, :, 4:12].astype("f4"))
                numpy.testing.assert_array_equal(reduced["bndbox"][()], whole["bndbox"])
            if "_chk_" in stem:
                part = cdf.File(self.out / f"{stem}_slice.nc")
                numpy.testing.assert_array_equal(part["dens"], whole["dens"][:, 5, ::3])
                numpy.testing.assert_array_equal(part["ratio"], (numpy.asarray(whole["pres"], "f8") / whole["dens"])[:, 5, ::3])
                self.assertNotIn("pres", part.variables)

    def test_native_outputs_have_them_on_any_number_of_ranks(self):
        for ranks in (1, 5):
            with self.subTest(ranks=ranks):
                self.run_sedov(ranks=ranks)
                self.expect_results()
                report = json.loads((self.directory / "report.json").read_text())
                self.assertEqual({copy["error"] for output in report["outputs"] for copy in output["copies"]}, {None})

    def test_unmodified_programs_have_them(self):
        self.run_sedov("--output", "pnetcdf", before=(COMMAND, "run", "--"))
        self.expect_results()

    def test_stagers_make_them(self):
        self.run_sedov(before=(COMMAND, "run", "--stagers", "2", "--"))
        self.expect_results()

    def test_stagers_make_them_of_unmodified_programs(self):
        self.run_sedov("--output", "pnetcdf", before=(COMMAND, "run", "--stagers", "2", "--"))
        self.expect_results()

    def test_several_nodes_and_helpers_make_them(self):
        self.run_sedov(GLEAN_TOPOLOGY_RANKS_PER_NODE="1", GLEAN_DRAIN_PLACE="process")
        self.expect_results()

    def test_a_result_is_a_mesh_again_where_it_is_one(self):
        self.run_sedov(tables='[[analysis]]\noutput = "*_chk_*"\nvariables = ["dens"]\nformat = "vtkhdf"\nsuffix = "mesh"\n'
                              'run = ["expression ratio = pres / dens", "precision float32"]\n')

        stems = [stem for stem in FILES if "_chk_" in stem]
        self.assertEqual(self.written(), sorted([f"{stem}.nc" for stem in FILES] + [f"{stem}_mesh.vtkhdf" for stem in stems]))
        whole = cdf.File(self.out / f"{stems[1]}.nc")
        with h5py.File(self.out / f"{stems[1]}_mesh.vtkhdf") as mesh:
            found = {}
            mesh.visititems(lambda name, node: found.update({name.rpartition("/")[2]: node}) if isinstance(node, h5py.Dataset) else None)
            for name, array in (("dens", whole["dens"]), ("ratio", numpy.asarray(whole["pres"], "f8") / whole["dens"])):
                self.assertEqual(found[name].dtype, numpy.dtype("f4"))
                numpy.testing.assert_array_equal(numpy.sort(found[name][()], axis=None), numpy.sort(array.astype("f4"), axis=None))

    def test_modes_without_a_drain_say_once_that_they_make_none(self):
        said = self.run_sedov(GLEAN_MODE="passthrough")
        self.assertEqual(said.count("[[analysis]] have no effect"), 1, said)
        self.assertEqual(self.written(), sorted(f"{stem}.nc" for stem in FILES))

    def test_what_only_the_file_shows_is_a_line_in_the_log_and_no_failed_job(self):
        said = self.run_sedov(tables='[[analysis]]\noutput = "*_chk_*"\nvariables = ["dnes"]\nrun = ["region nxb=4:99", "slice q=1"]\n')

        self.assertEqual(self.written(), sorted(f"{stem}.nc" for stem in FILES))
        for part in ("sedov_chk_0001_reduced.nc' is not made: ", "no variable 'dnes'", "[4, 99) is not in 'nxb'", "no dimension 'q'"):
            self.assertIn(part, said)
        report = json.loads((self.directory / "report.json").read_text())
        self.assertEqual({output["state"] for output in report["outputs"]}, {"published"})

    def test_a_wrong_table_is_said_before_the_program_starts(self):
        tables = '[[analysis]]\noutput = "*"\nrun = ["regoin x=1:2", "expression a = sqrt(dens"]\n'
        for job in (self.job(tables=tables), self.job(tables=tables, before=(COMMAND, "run", "--"))):
            done = subprocess.run(**job, capture_output=True, text=True, timeout=100, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("glean.toml:3: run: 'regoin x=1:2': there is no operator 'regoin' (nearest: 'region')", done.stderr)
        job = self.job(tables=tables.replace('"regoin x=1:2", ', ""))
        done = subprocess.run([COMMAND, "config"], env=job["env"], capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"analysis\[0\].run: 'sqrt\(dens', character \d+: ")

    def test_recovery_makes_those_that_a_killed_job_was_just_making(self):
        slow = self.directory / "glean"   # it never ends
        slow.write_text(f"#!/bin/sh\ntouch '{self.directory}/begun'\nexec sleep 1003\n")
        slow.chmod(0o755)
        job = subprocess.Popen(**self.job(GLEAN_DRAIN_COMMAND=str(slow)), start_new_session=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not (self.directory / "begun").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        subprocess.run(["pkill", "-KILL", "-f", str(self.out)], check=True)
        job.wait(60)
        while subprocess.run(["pgrep", "-f", str(self.out)], stdout=subprocess.DEVNULL, check=False).returncode == 0:
            time.sleep(0.01)   # the pool of a rank that is not gone yet is in use
        self.assertNotIn("sedov_chk_0000.nc", self.written())

        done = subprocess.run([COMMAND, "recover", "--wait=20s"], capture_output=True, text=True, timeout=60, check=False)

        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = sorted({name.removesuffix(".nc") for name in self.written() if name.endswith(".nc") and "_slice" not in name})
        self.assertIn("sedov_chk_0000", found)
        self.expect_results(found)
        subprocess.run(["pkill", "-KILL", "-f", "^sleep 1003$"], check=False)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
