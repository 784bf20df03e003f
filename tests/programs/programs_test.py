# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program of others bare and with the library, and compares what it leaves and prints.

  programs_test.py CASE --build DIRECTORY --preload LIBRARY [--python INTERPRETER]
"""

import argparse
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "transparent"))

from job import Mpi, Under   # noqa: E402
import trees                 # noqa: E402

SKIPPED = 77
SECONDS = 100
EXAMPLES = pathlib.Path("/usr/share/doc/libhdf5-doc/examples")
PARALLEL_EXAMPLE = {"parallel/ParaEg0.h5", "parallel/ParaEg1.h5"}, {"/Data1", "/Data2"}   # files and datasets


class Missing(Exception):
    """What is not installed."""


class Place:
    """A directory in which commands run, bare or with the library."""

    def __init__(self, directory, options, preload):
        self.directory, self.options = directory, options
        self.build, self.python = options.build.resolve(), options.python
        self.preload, self.reports, self.text = preload, [], ""
        directory.mkdir()

    def _environment(self):
        if not self.preload:
            return {}
        self.reports.append(self.directory.parent / f"report-{len(self.reports)}.json")
        return {"LD_PRELOAD": str(self.preload), "GLEAN_REPORT_FILE": str(self.reports[-1])}

    def _ended(self, command, code, out, err, may_fail=False):
        if code != 0 and not may_fail:
            raise SystemExit(f"{self.directory.name}: {' '.join(map(str, command))}: status {code}\n{out[-2000:]}\n{err[-2000:]}")
        self.text += f"$ {pathlib.Path(str(command[0])).name}: {code}\n{out}"

    def mpi(self, ranks, io, *command):
        """Under mpirun, with one of the implementations of MPI-IO."""
        here = os.getcwd()
        os.chdir(self.directory)   # where mpirun starts the ranks
        try:
            with tempfile.TemporaryDirectory(dir=self.directory.parent) as printed:
                # mpirun itself would mix what its ranks print, also within lines.
                done = Mpi(ranks).run(command, io, Under([], self._environment()), SECONDS, ["--output-filename", printed])
                out = "".join(file.read_text(errors="replace") for file in sorted(pathlib.Path(printed).glob("**/rank.*/stdout")))
        finally:
            os.chdir(here)
        self._ended(command, done.code, out, done.err)

    def run(self, *command, may_fail=False):
        if shutil.which(str(command[0])) is None:
            raise Missing(str(command[0]))
        done = subprocess.run(list(map(str, command)), cwd=self.directory, env=os.environ | self._environment(), text=True,
                              capture_output=True, errors="replace", timeout=SECONDS, check=False)
        self._ended(command, done.returncode, done.stdout, done.stderr, may_fail)


def module(place, *names):
    for name in names:
        if subprocess.run([place.python, "-c", f"import {name}"], capture_output=True, check=False).returncode != 0:
            raise Missing(f"the Python module {name}")


def netcdf_mpi(place, io):
    place.mpi(4, io, place.build / "bin/programs_netcdf_mpi", "model.nc", "netcdf4")
    return {"model.nc"}, {"/rain", "/height", "/mask", "/clock"}


def netcdf_pnetcdf(place, io):
    place.mpi(4, io, place.build / "bin/programs_netcdf_pnetcdf", "model.nc", "cdf5")
    return {"model.nc"}, set()


def mpi4py(place, io):
    module(place, "mpi4py.MPI", "numpy")
    place.mpi(4, io, place.python, HERE / "mpi4py_files.py")
    return {"rows", "pieces", "group-0", "group-1", "group-of-0"}, set()


def h5py(place, io):
    module(place, "mpi4py.MPI", "h5py._debian_h5py_mpi")
    place.mpi(4, io, place.python, HERE / "h5py_files.py")
    return {"fields.h5"}, {"/fields/temperature", "/fields/strided", "/single", "/series", "/records", "/flags", "/later"}


def pnetcdf_utilities(place, io):
    """One writes, through MPI-IO and without mpirun; the others read, also with several ranks."""
    numbers = ", ".join(str(i / 8) for i in range(600))
    (place.directory / "made.cdl").write_text(
        f'netcdf made {{ dimensions: x = 600; time = UNLIMITED; variables: double field(x); field:units = "m"; int step(time); '
        f'data: field = {numbers}; step = 1, 2, 3; }}\n')
    place.run("ncmpigen", "-v", "5", "-o", "made.nc", "made.cdl")
    place.run("ncmpidump", "made.nc")
    place.run("ncvalidator", "made.nc")
    place.run("ncoffsets", "made.nc")
    place.run("cdfdiff", "made.nc", "made.nc")
    place.mpi(3, io, "ncmpidiff", "made.nc", "made.nc")
    place.mpi(2, io, "ncmpidump", "-h", "made.nc")
    return {"made.nc"}, set()


def hdf5_utilities(place, io):
    """What a parallel program has written goes through utilities that have no MPI; so does what they make of it."""
    program = place.build / "bin/hdf5_datasets"
    if not program.exists():
        raise Missing("libhdf5-openmpi-dev")
    place.mpi(4, io, program, place.directory)
    place.run("h5repack", "-f", "GZIP=3", "-l", "CHUNK=2x3", "parallel.h5", "packed.h5")
    place.run("h5copy", "-i", "packed.h5", "-o", "copied.h5", "-s", "/grid", "-d", "/grid")
    place.run("h5mkgrp", "copied.h5", "/more")
    place.run("h5diff", "-v", "parallel.h5", "packed.h5")
    for name in ("parallel.h5", "packed.h5", "copied.h5", "serial.h5"):
        place.run("h5dump", name)
        place.run("h5ls", "-r", name)
    place.run("h5stat", "-S", "packed.h5")
    return {"parallel.h5"}, {"/grid/density"}


def hdf5_examples(place, io):
    """Those of the HDF5 group: the parallel one, and the others one after another, some of which read what another has left."""
    if not (EXAMPLES / "ph5example.c.gz").exists():
        raise Missing("libhdf5-doc")
    if shutil.which("h5pcc.openmpi") is None:
        raise Missing("libhdf5-openmpi-dev")
    programs = place.options.programs
    if not programs.exists():
        build_examples(programs)
    (place.directory / "parallel").mkdir()
    place.mpi(4, io, programs / "ph5example", "-c", "-f", "parallel")
    if io != place.options.first_io:   # which only the parallel one has
        return PARALLEL_EXAMPLE
    # Last the one that prints without an end where another has yet to make its file.
    others = sorted((program for program in programs.iterdir() if program.name != "ph5example"),
                    key=lambda program: (program.name == "h5_chunk_read", program.name))
    text = place.text
    for _ in range(2):   # what one prints whose file another has yet to make is not defined
        place.text = text
        for program in others:
            place.run(program, may_fail=True)
    return PARALLEL_EXAMPLE


def build_examples(programs):
    programs.mkdir()
    for source in sorted(EXAMPLES.glob("*h5*.c*")):
        if "_vds" in source.name:   # files that show parts of others, which h5diff does not find
            continue
        text = gzip.open(source).read() if source.suffix == ".gz" else source.read_bytes()
        name = source.name.split(".")[0]
        subprocess.run(["h5pcc.openmpi", "-shlib", "-w", "-x", "c", "-", "-o", programs / name], input=text, cwd=programs,
                       capture_output=True, check=False)


def lammps(place, io):
    if shutil.which("lmp") is None:
        raise Missing("lammps")
    place.mpi(4, io, "lmp", "-log", "none", "-screen", "none", "-in", HERE / "lammps.in")   # else it prints how long it took
    return {"atoms.mpiio", "atoms.20.mpiio", "custom.mpiio.bin", "custom.mpiio", "positions.mpiio", "cells.20.mpiio", "restart.10.mpiio",
            "last.mpiio", "continued.mpiio"}, set()


CASES = {case.__name__: case for case in (netcdf_mpi, netcdf_pnetcdf, mpi4py, h5py, pnetcdf_utilities, hdf5_utilities, hdf5_examples,
                                          lammps)}


def is_hdf5(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x89HDF"


def differences(bare, captured):
    yield from trees.text_differences(bare.text, captured.text)
    for line in trees.file_differences(bare.directory, captured.directory):
        # HDF5 files may differ in times and in what was not written.
        one, two = (place.directory / line.split(":")[0] for place in (bare, captured))
        if not one.is_file() or not two.is_file() or not is_hdf5(one):
            yield line
        elif subprocess.run(["h5diff", one, two], capture_output=True, check=False).returncode != 0:
            yield f"{line}; h5diff finds a difference, too"


def check(case, io, root, options):
    """What is wrong."""
    bare = Place(root / f"bare-{io}", options, None)
    captured = Place(root / f"captured-{io}", options, options.preload.resolve())
    case(bare, io)
    files, datasets = case(captured, io)
    yield from differences(bare, captured)
    reports = [json.loads(path.read_text()) for path in captured.reports if path.exists()]
    published = {output["path"] for report in reports for output in report["outputs"] if output["state"] == "published"}
    for name in sorted(files - {os.path.relpath(path, captured.directory) for path in published}):
        yield f"{name} was not captured"
    named = {one["name"] for report in reports for one in report["datasets"]}
    for name in sorted(datasets - named):
        yield f"the report does not name {name}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--preload", type=pathlib.Path, required=True)
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="programs-", dir=options.build) as name:
        root = pathlib.Path(name).resolve()
        options.programs = root / "programs"
        implementations = Mpi(1).implementations()
        options.first_io = implementations[0]
        for io in implementations:
            try:
                found = list(check(CASES[options.case], io, root, options))
            except Missing as missing:
                print(f"{options.case}: left out: {missing} is not installed")
                return SKIPPED
            wrong += len(found)
            print("".join(f"{options.case} ({io}): {line}\n" for line in found) or f"{options.case} ({io}): the same\n", end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
