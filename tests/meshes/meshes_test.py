# SPDX-License-Identifier: BSD-3-Clause
"""Writes meshes of all kinds on several ranks, one of which has nothing, and lets other people's programs read them.

  meshes_test.py --readers PYTHON --ranks N --format FORMAT [--paraview] [--stagers GLEAN] --writer PROGRAM [ARGUMENT]...

PYTHON has VTK's wheel (`make setup` makes it); with --paraview ParaView's own reads them, too. A reader that is not there is named; the
test is skipped if none is. GLEAN starts two stagers, which write the files.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
MESHES = {
    "vtkhdf": ["uniform", "uniform_2d", "uniform_1d", "large", "one_cell", "series", "mixed", "lagrange", "empty", "amr",
               "amr_2d"],
    "vtk": ["uniform", "uniform_2d", "uniform_1d", "large", "one_cell", "rectilinear", "rectilinear_2d", "curvilinear", "curvilinear_2d",
            "mixed", "lagrange", "empty"],
    "hdf5": ["uniform", "rectilinear", "curvilinear", "mixed", "empty", "amr"],
    "cdf1": ["uniform", "rectilinear", "rectilinear_2d", "curvilinear", "curvilinear_2d", "mixed", "lagrange", "amr"],
}
# ParaView 5.11 has VTK 9.1, whose reader takes arrays of cells of an image for arrays of points, and ends with images of fewer dimensions.
NOT_FOR_OLD = {"uniform", "uniform_2d", "uniform_1d", "large", "one_cell", "series"}
ENDINGS = {"vtkhdf": ".vtkhdf", "vtk": ".vtk", "hdf5": ".h5", "cdf1": ".nc"}


def run(command, seconds=300):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, errors="replace", timeout=seconds, check=False,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


def write(options, directory):
    files = {mesh: directory / (mesh + ENDINGS[options.format]) for mesh in MESHES[options.format]}
    stagers = [options.stagers, "run", "--stagers", 2, "--"] if options.stagers else []
    pairs = [word for pair in files.items() for word in pair]
    code, said = run([*stagers, *os.environ["MPIRUN"].split(), options.ranks, *options.writer, options.format, *pairs])
    if code != 0:
        raise SystemExit(f"not all meshes were written: status {code}\n{said[-3000:]}")
    return files


def readers_of(options):
    """Name → the command, and the meshes that it cannot read."""
    if options.format not in ("vtk", "vtkhdf"):
        return {"h5py" if options.format == "hdf5" else "SciPy": ([sys.executable, "-B", HERE / "read_arrays.py"], set())}
    readers = {}
    if pathlib.Path(options.readers).exists():
        readers["VTK 9.7"] = ([options.readers, "-B", HERE / "read_vtk.py"], set())
    if options.paraview and shutil.which("pvpython"):
        readers["ParaView"] = (["pvpython", HERE / "read_vtk.py"], NOT_FOR_OLD if options.format == "vtkhdf" else set())
    return readers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writer", required=True, nargs=argparse.REMAINDER)
    parser.add_argument("--readers", required=True)
    parser.add_argument("--ranks", required=True, type=int)
    parser.add_argument("--format", required=True, choices=MESHES)
    parser.add_argument("--paraview", action="store_true")
    parser.add_argument("--stagers")
    options = parser.parse_args()
    writers = max(options.ranks - 1, 1)
    readers = readers_of(options)
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        files = write(options, pathlib.Path(name))
        for reader, (command, left_out) in readers.items():
            pairs = [word for mesh, path in files.items() if mesh not in left_out for word in (mesh, path)]
            code, said = run([*command, writers, *pairs])
            print(f"{reader}: status {code}\n{said[-6000:]}")
            failed += code not in (0, SKIPPED)
    for missing in ("VTK 9.7", *["ParaView"] * options.paraview) if options.format in ("vtk", "vtkhdf") else ():
        if missing not in readers:
            print(f"SKIPPED: {missing} is not installed (make setup)")
    if failed:
        return 1
    return 0 if readers else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
