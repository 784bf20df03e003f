#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that write with PnetCDF leave the same files with the library under them, and its report speaks of their variables."""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import unittest

PROGRAMS = pathlib.Path(os.environ["PROGRAMS"])
VERSION = [int(part) for part in os.environ["PNETCDF_VERSION"].split(".")[:2]]
# Each rank says what it says into a file: mpirun can mix up parts of lines.
OWN_LOG = 'exec "$0" "$@" > "said.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"'


class Programs(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def run_in(self, name, program, *arguments, **settings):
        directory = self.directory / name
        directory.mkdir()
        subprocess.run([*shlex.split(os.environ["MPIRUN"]), "2", "sh", "-c", OWN_LOG, str(PROGRAMS / program), *arguments],
                       cwd=directory, env={"OMPI_MCA_io": "^ompio"} | os.environ | settings, timeout=60, check=True)
        return [(directory / f"said.{rank}").read_text() for rank in range(2)]

    def compare(self, program, file, *arguments, **settings):
        """Runs it without and with the library; returns the report's calls and datasets."""
        if not (PROGRAMS / program).exists():
            self.skipTest(f"{program} was not built")
        said = self.run_in("bare", program, *arguments)
        report = self.directory / "report.json"
        under = self.run_in("under", program, *arguments, LD_PRELOAD=os.environ["LIBRARY"], GLEAN_POOL_BUDGET="64MiB",
                               GLEAN_REPORT_FILE=str(report), **settings)
        self.assertEqual(said, under)
        bare_file, under_file = self.directory / "bare" / file, self.directory / "under" / file
        self.assertEqual(bare_file.read_bytes(), under_file.read_bytes())
        for tool in (["ncvalidator", "-q", under_file], ["ncmpidiff", "-q", bare_file, under_file]):
            if shutil.which(tool[0]):
                subprocess.run(tool, check=True, stdout=subprocess.DEVNULL)
        report = json.loads(report.read_text())
        return {call["name"]: (call["captured"], call["passed_through"]) for call in report["calls"]}, report["datasets"]

    def test_every_call_with_every_type_is_caught(self):
        calls, datasets = self.compare("pnetcdf_families", "file.nc", "file.nc")

        puts = {name: counts for name, counts in calls.items() if "put_var" in name}
        for verb, captured in (("put", True), ("iput", True), ("bput", False)):
            for kind in ("var", "var1", "vara", "vars", "varm", "varn"):
                for suffix in ("", "_text", "_schar", "_uchar", "_short", "_ushort", "_int", "_uint", "_long", "_longlong",
                               "_ulonglong", "_float", "_double"):
                    for coll in ("", "_all") if verb == "put" else ("",):
                        name = f"ncmpi_{verb}_{kind}{suffix}{coll}"
                        self.assertEqual(puts.pop(name), (2, 0) if captured else (0, 2), name)
        self.assertEqual(puts, {"ncmpi_put_vard_all": (0, 2), "ncmpi_mput_var1_int_all": (0, 2)})
        self.assertEqual(len(datasets), 4 * 6 * 13)
        first = next(dataset for dataset in datasets if dataset["name"] == "v0")
        self.assertEqual((first["type"], first["shape"], first["puts"]), ("text", [4, 6], 2))

    def test_what_the_front_end_leaves_to_the_library_is_the_same(self):
        for name, settings in (("safe", {"PNETCDF_SAFE_MODE": "1"}), ("passthrough", {"GLEAN_MODE": "passthrough"})):
            with self.subTest(name):
                shutil.rmtree(self.directory / "bare", ignore_errors=True)
                shutil.rmtree(self.directory / "under", ignore_errors=True)
                calls, _ = self.compare("pnetcdf_families", "file.nc", "file.nc", **settings)

                self.assertEqual(calls["ncmpi_put_vara_double_all"], (0, 2))

    def test_what_the_library_puts_elsewhere_is_where_it_puts_it(self):
        calls, _ = self.compare("pnetcdf_misplaced", "misplaced.nc", "misplaced.nc")

        self.assertEqual(calls["ncmpi_put_vars_int_all"], (0, 2))
        self.assertEqual(calls["ncmpi_put_varm_int"], (0, 1))
        self.assertEqual(calls["ncmpi_put_varn_int_all"], (0, 2))

    def test_values_that_do_not_fit_are_the_librarys(self):
        calls, _ = self.compare("pnetcdf_narrow", "narrow.nc", "narrow.nc")

        self.assertEqual(calls["ncmpi_iput_vara_double"], (3, 3))   # d of both ranks, b of one
        # c of the other; from 1.14 on the library may need both ranks for it, so it is its own on both.
        self.assertEqual(calls["ncmpi_put_vara_double_all"], (1, 1) if VERSION < [1, 14] else (0, 2))
        self.assertEqual(calls["ncmpi_put_vara_double"], (2, 2))   # a and e of one rank

    def test_a_wait_that_the_library_refuses_puts_nothing(self):
        calls, _ = self.compare("pnetcdf_refused", "refused.nc", "refused.nc")

        self.assertEqual(calls["ncmpi_iput_vara_int"], (36, 0))

    def test_what_is_filled_or_moved_is_there_before_what_is_put_next(self):
        for ranks_per_node in "0", "1":
            with self.subTest(ranks_per_node):
                for run in "bare", "under":
                    shutil.rmtree(self.directory / run, ignore_errors=True)
                calls, _ = self.compare("pnetcdf_filled", "filled.nc", "filled.nc", GLEAN_TOPOLOGY_RANKS_PER_NODE=ranks_per_node)

                self.assertEqual(calls["ncmpi_put_vara_int_all"], (12, 0))

    def test_what_is_put_and_what_another_handle_writes_keep_their_order(self):
        calls, _ = self.compare("pnetcdf_handles", "handles.nc", "handles.nc")

        self.assertEqual(calls["ncmpi_put_vara_int_all"], (2, 0))
        self.assertEqual(calls["ncmpi_put_vara_int"], (2, 0))

    def test_what_is_put_has_its_meaning_in_the_pool(self):
        look = self.directory / "look"
        look.write_text(f"#!/bin/sh\nunset LD_PRELOAD\n{PROGRAMS / 'pnetcdf_meaning_in_pool'} $1 > {self.directory / 'looked'}\n")
        look.chmod(0o755)
        self.compare("pnetcdf_meaning", "meaning.nc", "meaning.nc", str(look))

        found = [line for line in (self.directory / "looked").read_text().splitlines() if line != "bytes"]   # such as the header
        self.assertEqual(sorted(found), sorted(
            ["attribute units of wind", "thin no box", "thin no box"]
            + [f"{name} {record} [0:6, {begin}:{begin + 8}) 48 right"
               for name, record in (("fixed", 0), ("wind", 0), ("wind", 1)) for begin in (0, 8)]))

    def test_fortran_77(self):
        calls, datasets = self.compare("pnetcdf_nfmpi", "nfmpi.nc")

        self.assertEqual(calls["ncmpi_put_vara_double_all"], (2, 0))
        self.assertEqual(calls["ncmpi_put_vara_all"], (2, 0))
        self.assertEqual(calls["ncmpi_iput_vara_float"], (2, 0))
        self.assertEqual({dataset["name"]: dataset["shape"] for dataset in datasets}, dict.fromkeys("abcde", [2, 12]))

    def test_fortran_90(self):
        calls, datasets = self.compare("pnetcdf_nf90mpi", "nf90mpi.nc")

        self.assertEqual(sum(captured for name, (captured, _) in calls.items() if name.startswith("ncmpi_")), 8)
        self.assertEqual({dataset["name"]: dataset["shape"] for dataset in datasets}, {"a": [2, 8], "b": [2, 8], "t": [2, 8]})


if __name__ == "__main__":
    unittest.main()
