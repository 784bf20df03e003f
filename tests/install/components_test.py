# SPDX-License-Identifier: BSD-3-Clause
"""find_package names the components that an installation has, and says all that is missing at once and why."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["BUILD"])
CONSUMER = pathlib.Path(__file__).resolve().parent / "consumer"
HAS = {"C": True, "CXX": True, "Fortran": (BUILD / "lib/libglean_fortran.so").exists(),
       "Python": (BUILD / "python/glean/__init__.py").exists(), "HDF5": (BUILD / "lib/libglean_hdf5.so").exists()}
WITHOUT_FORTRAN = ("component Fortran: this GLEAN was built without its Fortran module, "
                   "which needs gfortran 12 or later and GLEAN_WITH_FORTRAN=ON")
WITHOUT_PYTHON = "component Python: this GLEAN was built without its Python package"


class Components(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)
        cls.prefix = cls.directory / "prefix"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], stdout=subprocess.DEVNULL, check=True)

    def configure(self, prefix, languages, components="", optional="", package="glean"):
        """The exit code, and what CMake says, in one line. Nothing is known from before but the compilers, which it has looked at once."""
        self.build = self.directory / "build"
        (self.build / "CMakeCache.txt").unlink(missing_ok=True)
        done = subprocess.run(["cmake", "-S", CONSUMER, "-B", self.build, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DLANGUAGES={languages}",
                               f"-DCOMPONENTS={components}", f"-DOPTIONAL={optional}", f"-DPACKAGE={package}"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, " ".join(done.stdout.split())

    def stripped(self, *patterns):
        """An installation that lacks what these patterns name, as a distribution's package without them."""
        prefix = pathlib.Path(tempfile.mkdtemp(dir=self.directory)) / "prefix"
        shutil.copytree(self.prefix, prefix, symlinks=True)
        for pattern in patterns:
            for path in list(prefix.rglob(pattern)):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        return prefix

    def test_all_that_was_built_is_found_under_both_names(self):
        there = ";".join(name for name, is_there in HAS.items() if is_there)
        languages = ";".join(name for name in ("C", "CXX", "Fortran") if HAS[name])
        for package in ("glean", "GLEAN"):
            with self.subTest(package):
                code, said = self.configure(self.prefix, languages, there, package=package)

                self.assertEqual(code, 0, said)
                for name in there.split(";"):
                    self.assertIn(f"component {name}: TRUE", said)
        subprocess.run(["cmake", "--build", self.build, "--target", "in_c"], stdout=subprocess.DEVNULL, check=True)
        if HAS["Python"]:
            packages = pathlib.Path(said.split("packages: ")[1].split()[0])
            self.assertTrue((packages / "glean/__init__.py").is_file(), packages)

    def test_a_language_that_the_project_has_not_is_named(self):
        code, said = self.configure(self.prefix, "C", "CXX;Fortran")

        self.assertNotEqual(code, 0)
        for name in ("CXX", "Fortran"):
            self.assertIn(f"component {name}: the project has not the language {name}: project(... LANGUAGES {name})", said)

    def test_a_component_that_is_not_known_is_told_which_there_are(self):
        code, said = self.configure(self.prefix, "C", "C;Zarr", package="GLEAN")

        self.assertNotEqual(code, 0)
        self.assertIn("component Zarr: there is no such component; there are C, CXX, Fortran, Python and HDF5", said)
        self.assertNotIn("component C:", said)

    @unittest.skipUnless(HAS["Fortran"], "no Fortran compiler")
    def test_what_was_not_built_is_named_with_the_reason_all_at_once(self):
        prefix = self.stripped("glean-fortran-targets*", "python3*")

        code, said = self.configure(prefix, "C;Fortran", "C;Python")   # the project adds Fortran

        self.assertNotEqual(code, 0)
        self.assertIn(WITHOUT_FORTRAN, said)
        self.assertIn(WITHOUT_PYTHON, said)

    def test_what_is_optional_may_be_missing(self):
        prefix = self.stripped("python3*")

        code, said = self.configure(prefix, "C", "C", optional="Python;Zarr;CXX")

        self.assertEqual(code, 0, said)
        for line in ("component C: TRUE", "component Python: FALSE", "component Zarr:", "component CXX: FALSE"):
            self.assertIn(line, said)

    def test_the_build_directory_is_found_like_an_installation(self):
        code, said = self.configure(BUILD, "C;CXX", "C;CXX" + ";Python" * HAS["Python"])

        self.assertEqual(code, 0, said)
        self.assertEqual(f"packages: {BUILD}/python" in said, HAS["Python"])


if __name__ == "__main__":
    unittest.main()
