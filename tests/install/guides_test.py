# SPDX-License-Identifier: BSD-3-Clause
"""Each page of docs/guides is done as it stands, in a directory of its own: programs are compiled, settings read, commands typed.

  guides_test.py BIN

BIN: where the programs are that stand in for the codes of which the pages speak.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD, BIN = pathlib.Path(os.environ["BUILD"]), pathlib.Path(sys.argv[1])
PAGES = pathlib.Path(__file__).resolve().parents[2] / "docs/guides"
HAS_FORTRAN = (BUILD / "lib/libglean_fortran.so").exists()
HAS_PYTHON = (BUILD / "python/glean/__init__.py").exists()
HAS_HDF5 = (BUILD / "lib/libglean_hdf5.so").exists()
# What a machine of a user has otherwise: a core for each rank, and a user who is not root.
HERE = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_mpi_yield_when_idle": "1",
        "GLEAN_POOL_BUDGET": "64 MiB"}
SEDOV = "sedov --blocks 4,3,2 --steps 4 --checkpoint-every 2 --plot-every 2 --output pnetcdf"
CODES = {"flash4": SEDOV, "wrf.exe": SEDOV, "cesm.exe": SEDOV, "s3d.x": "s3d_io --output mpiio --dumps 3 --steps 1 --block 8,8,8",
         "nekcem": "nekcem_like"}
LINES = 80


class Guides(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.home = pathlib.Path(directory.name)
        prefix = cls.home / "glean"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], stdout=subprocess.DEVNULL, check=True)
        packages = next(iter(prefix.glob("lib/python3*/site-packages")), "")
        cls.environment = {name: value for name, value in os.environ.items() if name.startswith(("OMPI_", "PMIX_MCA"))} | HERE
        cls.environment |= {"HOME": str(cls.home), "PATH": f"{prefix}/bin:/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": str(packages),
                            "PKG_CONFIG_PATH": f"{next(prefix.glob('lib/**/pkgconfig'))}"}

    def shell(self, commands, directory):
        done = subprocess.run(["bash", "-ec", commands], cwd=directory, env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{commands}\n{done.stdout}")
        return done.stdout

    def follow(self, name):
        """Does all that the page says, in its order; returns the directory in which it was done, and what was printed."""
        text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
        directory = self.home / name
        directory.mkdir()
        for code, program in CODES.items():
            (directory / code).write_text(f"#!/bin/sh\nexec {BIN}/{program}\n")
            (directory / code).chmod(0o755)
        blocks = re.findall(r"^```(\w+)\n(.*?)^```", text, re.M | re.S)
        files = re.findall(r"`([\w.]+)`[^`\n]*(?:`[^`\n]*`[^`\n]*)*:\n\n```(\w+)\n(.*?)^```", text, re.M | re.S)
        self.assertEqual(len(files), sum(language != "sh" for language, _ in blocks), "a block that is no file and no command")
        for file, _, content in files:
            (directory / file).write_text(content)
        self.assertIn("glean.toml", [file for file, _, _ in files])
        settings = self.shell("glean config", directory)
        self.assertIn("glean.toml", settings)   # where values come from
        printed = "".join(self.shell(content, directory) for language, content in blocks if language == "sh")
        return directory, printed

    def test_blocks_with_refinement(self):
        directory, printed = self.follow("flash")

        self.assertIn("glean: 4 ranks, MPI-IO captured", printed)
        self.assertTrue((directory / "amr_chk_0001.h5").exists())
        self.assertIn(b"bounding box", (directory / "sedov_chk_0001.h5").read_bytes())   # FLASH's layout

    @unittest.skipUnless(HAS_FORTRAN, "no Fortran compiler")
    def test_regular_grids_in_fortran(self):
        directory, printed = self.follow("s3d")

        self.assertIn("glean: 4 ranks, MPI-IO captured", printed)
        self.assertGreater((directory / "restart_0001.nc").stat().st_size, 2 * 12 * 16 * 8 * 8 * 8)

    def test_unstructured_meshes(self):
        _, printed = self.follow("unstructured")

        self.assertIn("flow_0001.vtkhdf", printed)

    @unittest.skipUnless(HAS_PYTHON, "no Python package")
    def test_a_file_for_each_rank(self):
        directory, printed = self.follow("file_per_rank")

        self.assertIn("glean: 2 ranks, MPI-IO captured", printed)
        self.assertEqual((directory / "state.1").read_bytes(), bytes(8000))

    def test_models_on_pnetcdf(self):
        _, printed = self.follow("pnetcdf")

        self.assertEqual(printed.count("glean: 4 ranks, MPI-IO captured"), 2)

    @unittest.skipUnless(pathlib.Path("/usr/bin/h5ls").exists(), "no tools of HDF5")
    def test_programs_on_hdf5(self):
        _, printed = self.follow("hdf5")

        self.assertIn("glean: 2 ranks, MPI-IO captured", printed)
        self.assertRegex(printed, r"temperature +Dataset \{16, 100\}")

    @unittest.skipUnless(HAS_PYTHON, "no Python package")
    def test_python(self):
        directory, _ = self.follow("python")

        self.assertGreater((directory / "field.npy").stat().st_size, 128 * 100 * 8)

    def test_each_page_is_listed_and_short(self):
        pages = sorted(path.name for path in PAGES.glob("*.md") if path.name != "README.md")
        listed = re.findall(r"\]\((\w+\.md)\)", (PAGES / "README.md").read_text(encoding="utf-8"))
        self.assertEqual(sorted(listed), pages)
        for page in pages:
            text = (PAGES / page).read_text(encoding="utf-8")
            self.assertLessEqual(len(text.splitlines()), LINES, page)
            for chapter in ("What to expect", "What does not work"):
                self.assertIn(f"## {chapter}", text, page)
            for link in re.findall(r"\]\(([^)#]+)", text):
                self.assertTrue((PAGES / link).exists(), f"{page}: {link}")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
