# SPDX-License-Identifier: BSD-3-Clause
"""The environment modules that are installed make `glean`, the library and the package be found; Lmod, or Environment Modules, reads them.

Returns 77 where neither is installed (tools/setup lmod).
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["BUILD"])
HAS_PYTHON = (BUILD / "python/glean/__init__.py").exists()
LMOD = next((path for path in (pathlib.Path("/usr/share/lmod/lmod/libexec/lmod"), pathlib.Path(os.environ.get("LMOD_CMD", "/-")))
             if path.exists()), None)
MODULES = next((path for path in (pathlib.Path("/usr/lib/modulecmd.tcl"), pathlib.Path("/usr/share/Modules/libexec/modulecmd.tcl"))
                if path.exists()), None)


class Modulefile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name).resolve()
        cls.prefix = cls.directory / "prefix"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], stdout=subprocess.DEVNULL, check=True)
        cls.version = subprocess.run([cls.prefix / "bin/glean", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]

    def loaded(self, modules, program):
        """What a shell of a user prints for this program when the module was loaded from this directory of modules."""
        command = f"{LMOD} bash" if LMOD else f"{MODULES} bash"
        script = f'eval "$({command} load glean)" && {program}'
        clean = {"HOME": str(self.directory), "PATH": "/usr/local/bin:/usr/bin:/bin", "MODULEPATH": str(modules)}
        clean |= {name: value for name, value in os.environ.items() if name.startswith(("OMPI_", "PMIX_MCA"))}
        done = subprocess.run(["bash", "-c", script], cwd=self.directory, env=clean, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def kinds(self):
        """Directories of modules: with the file of each language alone, somewhere else, as a site copies it."""
        for kind in [".lua", ""] if LMOD else [""]:
            modules = self.directory / f"site{kind}"
            (modules / "glean").mkdir(parents=True)
            shutil.copy(self.prefix / f"share/modulefiles/glean/{self.version}{kind}", modules / "glean")
            yield kind or ".tcl", modules

    def test_the_command_cmake_pkg_config_and_python_find_it(self):
        program = ('command -v glean; pkg-config --variable=libdir glean > /dev/null && echo pkg-config;'
                   'echo "$CMAKE_PREFIX_PATH"; echo "$LD_LIBRARY_PATH"')
        for kind, modules in self.kinds():
            with self.subTest(kind):
                printed = self.loaded(modules, program).splitlines()

                self.assertEqual(printed, [f"{self.prefix}/bin/glean", "pkg-config", f"{self.prefix}", f"{self.prefix}/lib"])
                if HAS_PYTHON:
                    said = self.loaded(modules, "/usr/bin/python3 -c 'import glean; print(glean.version(), glean.__file__)'")
                    self.assertEqual(said.split()[0], self.version)
                    self.assertTrue(said.split()[1].startswith(str(self.prefix)), said)

    @unittest.skipUnless(LMOD, "Environment Modules has another way to say it")
    def test_the_directory_that_is_installed_has_the_version_once(self):
        run = subprocess.run([LMOD, "bash", "-t", "avail"], env={"MODULEPATH": f"{self.prefix}/share/modulefiles", "PATH": "/usr/bin:/bin",
                             "HOME": str(self.directory)}, capture_output=True, text=True, check=True)
        self.assertEqual(run.stderr.count(f"glean/{self.version}"), 1, run.stderr)


if __name__ == "__main__":
    if not LMOD and not MODULES:
        print("skipped: neither Lmod nor Environment Modules is installed")
        sys.exit(77)
    unittest.main()
