# SPDX-License-Identifier: BSD-3-Clause
"""pip installs the package on a GLEAN that is installed or built, and the programs of docs/python.md run with it."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ["BUILD"]
MPIRUN = os.environ["MPIRUN"].split()


def run(*command, cwd, **variables):
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=os.environ | variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


# The files are compiled several at a time; container.cpp has names that others have, too.
SEVERAL = """set_source_files_properties(container.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
cmake_language(DEFER CALL set_target_properties glean_python nanobind-static PROPERTIES UNITY_BUILD ON)
"""


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)

    def source(self, name):
        """The package's own, with nothing of the project beside it."""
        return shutil.copytree(SOURCE / "frontends/python", self.directory / f"{name}-source")

    def install(self, name, **where):
        """The directory that the package is in then, compiled without optimisation."""
        package, several = self.directory / name, self.directory / "several.cmake"
        several.write_text(SEVERAL)
        run(sys.executable, "-m", "pip", "install", "--no-index", "--no-build-isolation", "--no-deps", "--target", package,
            self.source(name), cwd=self.directory, SKBUILD_CMAKE_BUILD_TYPE="None",
            CMAKE_ARGS=f"-DCMAKE_PROJECT_INCLUDE={several}", **where)
        for file in ("py.typed", "_glean.pyi", "__init__.py"):
            self.assertTrue((package / "glean" / file).is_file(), file)
        return package

    def version(self, package):
        return run(sys.executable, "-c", "import glean; print(glean.__file__, glean.version())", cwd=self.directory,
                   PYTHONPATH=str(package)).split()

    def test_on_what_is_installed_and_the_programs_of_the_page_run(self):
        prefix = self.directory / "prefix"
        run("cmake", "--install", BUILD, "--prefix", prefix, cwd=self.directory)
        package = self.install("on_prefix", CMAKE_PREFIX_PATH=str(prefix))

        file, version = self.version(package)

        self.assertEqual(pathlib.Path(file).parents[1], package)
        self.assertEqual(version, run(prefix / "bin/glean", "--version", cwd=self.directory).split()[1])
        self.assertTrue((package / f"glean-{version}.dist-info").is_dir(), "pyproject.toml has another version")
        linked = run("ldd", next((package / "glean").glob("_glean*.so")), cwd=self.directory)
        self.assertIn(str(prefix), re.search(r"libglean\.so\S* => (\S+)", linked)[1])
        self.run_the_programs_of_the_page(package)

    def run_the_programs_of_the_page(self, package):
        programs = re.findall(r"```python\n(.*?)```", (SOURCE / "docs/python.md").read_text(encoding="utf-8"), re.S)
        self.assertEqual(len(programs), 6)
        printed = ""
        for number, text in enumerate(programs):
            program = self.directory / f"program{number}.py"
            program.write_text(text)
            printed += run(*MPIRUN, 2, sys.executable, "-B", "-X", "dev", program, cwd=self.directory, PYTHONPATH=str(package))
        self.assertEqual(sorted(path.name for path in self.directory.glob("*.nc")), ["heat.nc", "series.nc", "two.nc"])
        self.assertIn(b"CELLS 4 18", (self.directory / "step_0042.vtk").read_bytes())   # of both ranks
        for line in ("303.0", "3 ['v'] ('time', 'x') {}", "invalid_argument - with start=", "['abandoned']"):
            self.assertIn(line, printed)

    def test_the_build_directory_is_found_like_an_installation(self):
        build = self.directory / "on_build"
        run("cmake", "-S", self.source("on_build"), "-B", build, f"-DPython_EXECUTABLE={sys.executable}", cwd=self.directory,
            glean_DIR=BUILD)
        self.assertIn(f"glean_DIR:PATH={BUILD}\n", (build / "CMakeCache.txt").read_text())

    def test_without_glean_it_says_what_is_missing(self):
        with self.assertRaisesRegex(AssertionError, 'configuration file provided by "glean"'):
            self.install("on_nothing", CMAKE_PREFIX_PATH="", glean_DIR="")


if __name__ == "__main__":
    unittest.main()
