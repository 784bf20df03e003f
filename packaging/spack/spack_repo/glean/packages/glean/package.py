# SPDX-License-Identifier: BSD-3-Clause
import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Glean(CMakePackage):
    """Moves the output of a parallel program off its ranks with one copy, and writes NetCDF, HDF5 and VTKHDF files in the background:
    for programs that use its library, and for those that write through MPI-IO, PnetCDF or HDF5 and are not changed."""

    git = pathlib.Path(__file__).resolve().parents[6].as_uri()   # the sources in which this recipe lies

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("hdf5", default=True, description="Write HDF5 and VTKHDF files, and convert to them")
    variant("pnetcdf", default=True, description="The library and its NetCDF files; without it only programs that use MPI-IO are captured")
    variant("fortran", default=True, description="The Fortran module")
    variant("python", default=False, description="The Python package")
    variant("uring", default=True, description="Write with io_uring")
    variant("muparser", default=True, description="Compute expressions over variables")
    variant("zfp", default=True, description="Compress within a tolerance")
    variant("hwloc", default=True, description="Ask hwloc for cores and NUMA nodes")

    conflicts("+fortran", when="~pnetcdf", msg="the Fortran module is of the library, which needs PnetCDF")
    conflicts("+python", when="~pnetcdf", msg="the Python package is of the library, which needs PnetCDF")
    conflicts("+fortran", when="%gcc@:11", msg="the Fortran module reads the array descriptors of gfortran 12 or later")
    conflicts("platform=darwin", msg="Linux only: shared memory, /proc and interposition")
    conflicts("platform=windows", msg="Linux only: shared memory, /proc and interposition")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("mpi")
    depends_on("fmt@9:")
    depends_on("spdlog@1.10:")
    depends_on("tomlplusplus@3.3:")
    depends_on("nlohmann-json@3.11:")
    depends_on("cli11@2.1:")
    depends_on("xxhash@0.8:")
    depends_on("libsodium@1.0.18:")
    depends_on("asio@1.22:")
    depends_on("boost@1.74: +system")
    depends_on("parallel-netcdf@1.12:", when="+pnetcdf")
    depends_on("hdf5@1.10.5: +hl", when="+hdf5")
    depends_on("liburing@2.3:", when="+uring")
    depends_on("muparser@2.3:", when="+muparser")
    depends_on("zfp@1.0:", when="+zfp")
    depends_on("hwloc@2.9:", when="+hwloc")

    with when("+python"):
        extends("python")
        depends_on("python@3.9:", type=("build", "link", "run"))
        depends_on("py-nanobind@2.12:", type="build")
        depends_on("py-mpi4py@3.1:", type=("build", "run"))
        depends_on("py-numpy", type=("build", "run"))

    def cmake_args(self):
        args = [
            self.define_from_variant("GLEAN_WITH_HDF5", "hdf5"),
            self.define_from_variant("GLEAN_WITH_PNETCDF", "pnetcdf"),
            self.define_from_variant("GLEAN_WITH_FORTRAN", "fortran"),
            self.define_from_variant("GLEAN_WITH_PYTHON", "python"),
            self.define_from_variant("GLEAN_WITH_LIBURING", "uring"),
            self.define_from_variant("GLEAN_WITH_MUPARSER", "muparser"),
            self.define_from_variant("GLEAN_WITH_ZFP", "zfp"),
            self.define_from_variant("GLEAN_WITH_HWLOC", "hwloc"),
            self.define("GLEAN_BUILD_TESTS", False),
        ]
        if self.spec.satisfies("+python"):
            args.append(self.define("GLEAN_PYTHON_PACKAGES", python_platlib))
        return args

    def setup_run_environment(self, env):
        env.prepend_path("PATH", self.prefix.bin)
