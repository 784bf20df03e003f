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


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)

    def install(self, name, **where):
        """The directory that the package is in then."""
        source, package = self.directory / f"{name}-source", self.directory / name
        shutil.copytree(SOURCE / "frontends/python", source)   # nothing of the project is beside it
        run(sys.executable, "-m", "pip", "install", "--no-index", "--no-build-isolation", "--no-deps", "--target", package, source,
            cwd=self.directory, **where)
        for file in ("py.typed", "_glean.pyi", "__init__.py"):
            self.assertTrue((package / "glean" / file).is_file(), file)
        return package

    def version(self, package):
        return run(sys.executable, "-c", "import glean; print(glean.__file__, glean.version())", cwd=self.directory,
                   PYTHONPATH=str(package)).split()

    def test_on_the_build_directory_and_the_programs_of_the_page_run(self):
        package = self.install("on_build", glean_DIR=BUILD)

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

    def test_on_what_is_installed(self):
        prefix = self.directory / "prefix"
        run("cmake", "--install", BUILD, "--prefix", prefix, cwd=self.directory)
        package = self.install("on_prefix", CMAKE_PREFIX_PATH=str(prefix))

        file, version = self.version(package)

        self.assertEqual(pathlib.Path(file).parents[1], package)
        self.assertEqual(version, run(prefix / "bin/glean", "--version", cwd=self.directory).split()[1])
        self.assertTrue((package / f"glean-{version}.dist-info").is_dir(), "pyproject.toml has another version")
        linked = run("ldd", next((package / "glean").glob("_glean*.so")), cwd=self.directory)
        self.assertIn(str(prefix), re.search(r"libglean\.so\S* => (\S+)", linked)[1])

    def test_without_glean_it_says_what_is_missing(self):
        with self.assertRaisesRegex(AssertionError, 'configuration file provided by "glean"'):
            self.install("on_nothing", CMAKE_PREFIX_PATH="", glean_DIR="")


if __name__ == "__main__":
    unittest.main()
