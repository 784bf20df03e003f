# SPDX-License-Identifier: BSD-3-Clause
"""Installs into a directory of its own and uses what is there as a user would."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

BUILD = os.environ["BUILD"]
CONSUMER = pathlib.Path(__file__).resolve().parent / "consumer"
HAS_FORTRAN = pathlib.Path(BUILD, "lib/libglean_fortran.so").exists()
README = CONSUMER.parents[2] / "README.md"
FORTRAN = CONSUMER.parents[2] / "docs/fortran.md"
SETTINGS = CONSUMER.parents[2] / "docs/configuration.md"


def run(*command, cwd=None, **variables):
    result = subprocess.run(list(map(str, command)), cwd=cwd, env=os.environ | variables, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{result.stdout}")
    return result.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)
        cls.prefix = cls.directory / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)
        cls.version = run(cls.prefix / "bin/glean", "--version").split()[1]

    def use_with_cmake(self, *languages):
        """Nothing is known from before but the compilers and what they have compiled."""
        build = self.directory / "build"
        programs = [build / f"in_{language.lower()}" for language in languages]
        for old in (build / "CMakeCache.txt", *programs):
            old.unlink(missing_ok=True)
        run("cmake", "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DLANGUAGES={';'.join(languages)}")
        run("cmake", "--build", build)
        for program in programs:
            self.assertEqual(run(program).strip(), self.version)

    def test_a_project_in_one_language_finds_it(self):
        self.use_with_cmake("CXX")

    @unittest.skipUnless(HAS_FORTRAN, "no Fortran compiler")
    def test_a_project_in_fortran_finds_it(self):
        self.use_with_cmake("Fortran")

    def test_a_project_in_all_languages_finds_it(self):
        self.use_with_cmake("C", "CXX", *["Fortran"] * HAS_FORTRAN)

    def build_with_pkg_config(self, source, package="glean", compiler=("mpicxx", "-std=c++20")):
        places = {"PKG_CONFIG_PATH": ":".join(map(str, self.prefix.glob("lib/**/pkgconfig")))}
        flags = run("pkg-config", f"--define-variable=prefix={self.prefix}", "--cflags", "--libs", package, **places)
        program = self.directory / f"{source.stem}_by_pkg_config"
        run(*compiler, source, "-o", program, *flags.split())
        return program

    def test_pkg_config_finds_it(self):
        self.assertEqual(run(self.build_with_pkg_config(CONSUMER / "in_c.c", compiler=("mpicc",))).strip(), self.version)

    def test_run_finds_the_library_that_it_preloads(self):
        printed = run(self.prefix / "bin/glean", "run", "--check", "--", "true")
        self.assertRegex(printed, f"^LD_PRELOAD={re.escape(str(self.prefix.resolve()))}/lib.*/libglean_preload.so\n$")

    def test_the_program_of_the_readme_runs(self):
        source = self.directory / "readme.cpp"
        source.write_text(re.search(r"```cpp\n(.*?)```", README.read_text(encoding="utf-8"), re.S)[1])
        program = self.build_with_pkg_config(source)
        run("mpirun", "--oversubscribe", "--bind-to", "none", "-n", 2, program, cwd=self.directory)
        self.assertIn(b"temperature", (self.directory / "heat.nc").read_bytes())

    @unittest.skipUnless(HAS_FORTRAN, "no Fortran compiler")
    def test_the_programs_of_the_page_on_fortran_run(self):
        programs = re.findall(r"```fortran\n(program (\w+)\n.*?)```", FORTRAN.read_text(encoding="utf-8"), re.S)
        self.assertEqual([name for _, name in programs], ["heat", "bricks"])
        for text, name in programs:
            source = self.directory / f"{name}.f90"
            source.write_text(text)
            program = self.build_with_pkg_config(source, "glean-fortran", ("mpifort", "-std=f2008"))
            said = run("mpirun", "--oversubscribe", "--bind-to", "none", "-n", 2, program, cwd=self.directory)
            self.assertNotIn("error", said)
        size = (self.directory / "heat_fortran.nc").stat().st_size
        self.assertGreater(size, 4 * 2 * 50 * 100 * 4)
        self.assertIn(b"velocity", (self.directory / "bricks_fortran.vtkhdf").read_bytes())

    def test_the_page_has_every_key_with_its_default(self):
        keys = json.loads(run(self.prefix / "bin/glean", "config", "--keys", "--json"))
        rows = re.findall(r"^\| `(\S+)` \| `(GLEAN_\S+)` \| (?:`(\S+)`)? ?\|", SETTINGS.read_text(encoding="utf-8"), re.M)
        self.assertEqual(rows, [(key["key"], key["environment"], key["default"]) for key in keys])

    def test_only_public_headers_are_there(self):
        headers = sorted(path.name for path in (self.prefix / "include").rglob("*.*"))
        self.assertEqual(headers, ["container.h", "container.hpp", "glean.h", "glean.hpp", "input.h", "input.hpp", "mesh.h",
                                   "mesh.hpp", "plugin.h"])

    def test_machine_files_are_found_beside_the_command(self):
        self.assertTrue((self.prefix / "share/glean/machines/mira.toml").is_file())
        self.assertIn("49152", run(self.prefix / "bin/glean", "topology", "--machine", "mira"))

    def test_manual_pages_are_there(self):
        self.assertTrue((self.prefix / "share/man/man1/glean.1").is_file())
        self.assertTrue((self.prefix / "share/man/man5/glean.toml.5").is_file())

    def test_the_library_shows_nothing_but_its_interface(self):
        library = next(self.prefix.glob("lib/**/libglean.so"))
        names = run("nm", "-DC", "--defined-only", library).splitlines()
        functions = [name.split(" ", 2)[2].partition("(")[0] for name in names]
        inside = re.compile(r"\bglean::(base|mesh|topology|plan|pool|store|transport|capture|drain|nodes|service|report|session)::")
        self.assertTrue(any("glean::v0::Session::open" in name for name in functions))
        self.assertEqual([name for name in functions if inside.match(name)], [])


if __name__ == "__main__":
    unittest.main()
