# SPDX-License-Identifier: BSD-3-Clause
"""A new user's way, as docs/first-program.md has it: an empty directory, an installation in $HOME/glean, nothing else of the project."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["BUILD"])
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/first-program.md"
HAS_FORTRAN = (BUILD / "lib/libglean_fortran.so").exists()
HAS_PYTHON = (BUILD / "python/glean/__init__.py").exists()
# What a machine of a user has otherwise: a core for each rank, and a user who is not root.
HERE = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_mpi_yield_when_idle": "1",
        "GLEAN_POOL_BUDGET": "64 MiB"}


class FirstProgram(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.home = pathlib.Path(directory.name)
        cls.work = cls.home / "work"
        cls.work.mkdir()
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.home / "glean"], stdout=subprocess.DEVNULL, check=True)
        text = PAGE.read_text(encoding="utf-8")
        cls.sections = {title: body for title, body in re.findall(r"^(?:## |# )(.*?)\n(.*?)(?=^## |\Z)", text, re.M | re.S)}
        for name, program in re.findall(r"^`([\w.]+)`:\n\n```\w+\n(.*?)```", text, re.M | re.S):
            (cls.work / name).write_text(program)
        cls.environment = {name: value for name, value in os.environ.items() if name.startswith(("OMPI_", "PMIX_MCA"))} | HERE
        cls.environment |= {"HOME": str(cls.home), "PATH": "/usr/local/bin:/usr/bin:/bin"}

    def follow(self, *titles):
        """Types the commands of these sections into one shell; returns what they print."""
        commands = "".join("".join(re.findall(r"```sh\n(.*?)```", self.sections[title], re.S)) for title in titles)
        done = subprocess.run(["bash", "-ec", commands], cwd=self.work, env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{commands}\n{done.stdout}")
        return done.stdout

    def test_each_language_writes_the_same_file_and_cmake_builds_them(self):
        first = "From an empty directory to a file"
        languages = {"C++": "cpp", "C": "c"} | ({"Fortran": "f90"} if HAS_FORTRAN else {}) | ({"Python": "py"} if HAS_PYTHON else {})

        for language in languages:
            self.follow(first, language)
        files = {end: (self.work / f"heat_{end}.nc").read_bytes() for end in languages.values()}
        if HAS_FORTRAN:
            (self.work / "heat_f90.nc").unlink()
            self.follow(first, "With CMake")
            files["cmake"] = (self.work / "heat_f90.nc").read_bytes()

        self.assertGreater(len(files["cpp"]), 4 * 2 * 1000 * 4)
        self.assertIn(b"temperature", files["cpp"])
        for end, data in files.items():
            self.assertEqual(data, files["cpp"], f"{end} has another file than C++")
        self.last_of_all(first, languages)

    def last_of_all(self, first, languages):
        printed = self.follow(first, "A program that is not changed")
        self.assertIn("glean: 2 ranks, MPI-IO captured", printed)
        self.assertIn(printed.splitlines()[-1], [f"heat_{end}.nc" for end in languages.values()])
        self.assertEqual((self.work / "rows.bin").read_bytes(), b"\0" * 4000 + b"\1\0\0\0" * 1000)


if __name__ == "__main__":
    unittest.main()
