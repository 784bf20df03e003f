# SPDX-License-Identifier: BSD-3-Clause
"""The Spack recipe fits the project: its options are those of CMake, and it has every dependency that CMake asks for.

Spack's directives are played here; what they are called and how they are used is Spack's package API v2.
"""
import contextlib
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPE = ROOT / "packaging/spack/spack_repo/glean/packages/glean/package.py"
# What CMake asks for → the package of Spack that has it, or None where every system has it.
PACKAGES = {"PkgConfig": "pkgconfig", "Threads": None, "fmt": "fmt", "spdlog": "spdlog", "tomlplusplus": "tomlplusplus",
            "nlohmann_json": "nlohmann-json", "xxhash": "xxhash", "sodium": "libsodium", "ASIO_INCLUDE_DIR": "asio", "MPI": "mpi",
            "hdf5_serial": "hdf5", "HDF5_HL_LIBRARY": "hdf5", "PnetCDF": "parallel-netcdf", "CLI11": "cli11", "Python": "python",
            "nanobind": "py-nanobind", "liburing": "liburing", "muparser": "muparser", "ZFP_INCLUDE_DIR": "zfp", "ZFP_LIBRARY": "zfp",
            "hwloc": "hwloc", "BOOST_BEAST_INCLUDE_DIR": "boost"}
ONLY_TESTS = {"GTest", "Python3", "hdf5"}


class Recipe:
    """The class Glean of the recipe, and what its directives have said."""

    def __init__(self):
        self.variants, self.dependencies, self.versions, self.conflicts = {}, {}, [], []
        self.when = []
        module = types.ModuleType("spack.package")
        module.license = lambda *_: None
        module.version = lambda name, **_: self.versions.append(name)
        module.variant = lambda name, default, description: self.variants.update({name: default})
        module.conflicts = lambda spec, when="", msg="": self.conflicts.append((spec, when, msg))
        module.depends_on = self.depends_on
        module.extends = self.depends_on
        module.when = self.only_when
        module.python_platlib = "lib/python3.11/site-packages"
        cmake = types.ModuleType("spack_repo.builtin.build_systems.cmake")
        cmake.CMakePackage = CMakePackage
        played = {"spack": types.ModuleType("spack"), "spack.package": module, "spack_repo.builtin.build_systems.cmake": cmake}
        played |= {name: types.ModuleType(name) for name in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems")}
        sys.modules |= played
        scope = {"__file__": str(RECIPE)}
        exec(compile(RECIPE.read_text(encoding="utf-8"), str(RECIPE), "exec"), scope)
        self.package = scope["Glean"]
        for name in played:
            del sys.modules[name]

    def depends_on(self, spec, when="", type=None):
        name = re.match(r"[\w-]+", spec)[0]
        self.dependencies.setdefault(name, []).append((spec, " ".join([*self.when, when]).strip()))

    @contextlib.contextmanager
    def only_when(self, condition):
        self.when.append(condition)
        yield
        self.when.pop()

    def arguments(self, **variants):
        package = self.package()
        package.variants = self.variants | variants
        package.spec = types.SimpleNamespace(satisfies=lambda spec: package.variants[spec[1:]] == (spec[0] == "+"))
        return package.cmake_args()


class CMakePackage:
    def define(self, name, value):
        value = {True: "ON", False: "OFF"}.get(value, value)
        return f"-D{name}={value}"

    def define_from_variant(self, name, variant):
        return self.define(name, self.variants[variant])


class Spack(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.recipe = Recipe()
        cls.cmake = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "CMakeLists.txt", *ROOT.glob("cmake/*.cmake")))

    def test_every_option_of_the_recipe_is_one_of_cmake_and_each_variant_has_one(self):
        options = set(re.findall(r"^ *option\((\w+)|^ *set\((\w+) [^)]*CACHE", self.cmake, re.M))
        options = {name for pair in options for name in pair if name}
        given = {argument[2:].split("=")[0] for argument in self.recipe.arguments(python=True)}

        self.assertLessEqual(given, options)
        self.assertLessEqual({name for name in options if name.startswith("GLEAN_WITH_")} - {"GLEAN_WITH_MPI"}, given)
        for variant, default in self.recipe.variants.items():
            self.assertNotEqual(self.recipe.arguments(**{variant: not default}), self.recipe.arguments(), f"{variant} changes nothing")

    def test_what_cmake_looks_for_is_a_dependency(self):
        wanted = set(re.findall(r"^ *(?:find_package|pkg_check_modules|pkg_search_module|find_path|find_library)\((\w+)", self.cmake, re.M))
        wanted = {name for name in wanted if not name.startswith("PnetCDF_")} - ONLY_TESTS

        self.assertLessEqual(wanted, set(PACKAGES), "PACKAGES does not know these")
        for name in wanted:
            if PACKAGES[name]:
                self.assertIn(PACKAGES[name], self.recipe.dependencies, name)

    def test_a_dependency_of_a_variant_is_there_only_with_it(self):
        for variant, package in (("hdf5", "hdf5"), ("pnetcdf", "parallel-netcdf"), ("uring", "liburing"), ("hwloc", "hwloc"),
                                 ("zfp", "zfp"), ("muparser", "muparser"),
                                 ("python", "py-nanobind"), ("fortran", "fortran")):
            self.assertEqual([when for _, when in self.recipe.dependencies[package]], [f"+{variant}"], package)
        self.assertEqual(self.recipe.dependencies["mpi"], [("mpi", "")])

    def test_versions_are_not_below_what_cmake_wants(self):
        minimum = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", self.cmake)[1]
        hdf5 = re.search(r'"hdf5>=([\d.]+)"', self.cmake)[1]
        python = re.search(r"find_package\(Python ([\d.]+)", self.cmake)[1]

        self.assertEqual(self.recipe.dependencies["cmake"][0][0], f"cmake@{minimum}:")
        self.assertEqual(self.recipe.dependencies["hdf5"][0][0], f"hdf5@{hdf5}: +hl")
        self.assertIn((f"python@{python}:", "+python"), self.recipe.dependencies["python"])

    def test_cmake_takes_all_arguments(self):
        with tempfile.TemporaryDirectory() as build:
            off = {name: False for name in self.recipe.variants} | {"pnetcdf": True}
            done = subprocess.run(["cmake", "-S", ROOT, "-B", build, *self.recipe.arguments(**off)], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)

            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertNotIn("not used by the project", done.stdout)
            cache = pathlib.Path(build, "CMakeCache.txt").read_text(encoding="utf-8")
            self.assertIn("GLEAN_WITH_HDF5:BOOL=OFF", cache)

    def test_the_sources_are_those_beside_the_recipe(self):
        self.assertEqual(self.recipe.package.git, ROOT.as_uri())
        self.assertTrue((RECIPE.parents[2] / "repo.yaml").is_file())
        self.assertEqual(RECIPE.parents[3].name, "spack_repo")   # as Spack's repositories of API v2 have to lie


if __name__ == "__main__":
    unittest.main()
