# SPDX-License-Identifier: BSD-3-Clause
"""Every way to write gives files that can be read, with the same mesh and fields, which are those of the exact solution; those of one
output in one file have the same bytes, whichever ranks computed what. GLEAN's have its own words between the arrays."""

import argparse
import pathlib
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True

from evaluation import launch, legacy_vtk   # noqa: E402

OUTPUTS = 3


def field_at(mode, points, time):
    """Of mode TE or TM with m = n = 1 and one wavelength in the guide, from the formulas of a textbook: H and E."""
    x, y, z = points.astype(float).T
    kx, ky, kz = np.pi / 1.0, np.pi / 0.5, 2 * np.pi / 2.0
    cutoff = kx * kx + ky * ky
    frequency = np.sqrt(cutoff + kz * kz)
    wave = np.exp(1j * (kz * z - frequency * time))
    potential, slope_x, slope_y = {
        "te": (np.cos(kx * x) * np.cos(ky * y), -kx * np.sin(kx * x) * np.cos(ky * y), -ky * np.cos(kx * x) * np.sin(ky * y)),
        "tm": (np.sin(kx * x) * np.sin(ky * y), kx * np.cos(kx * x) * np.sin(ky * y), ky * np.sin(kx * x) * np.cos(ky * y))}[mode]
    along = 1j * kz / cutoff * np.stack([slope_x, slope_y], 1) * wave[:, None]
    across = 1j * frequency / cutoff * np.stack([-slope_y, slope_x], 1) * wave[:, None]
    axial, none = (potential * wave)[:, None], np.zeros((len(points), 1))
    if mode == "te":
        return np.hstack([along, axial]).real, np.hstack([-across, none]).real
    return np.hstack([across, none]).real, np.hstack([along, axial]).real


def check_file(file, mode, run):
    """The mesh fills the guide, and fields are those of the mode: the exact ones to the precision of floats, the computed ones as far
    as the program says."""
    lows, highs = file.points[file.cells[:, 0]], file.points[file.cells[:, 6]]
    assert abs(np.prod((highs - lows).astype(float), axis=1).sum() - 1.0) < 1e-6, "the cells do not fill the guide"
    step = int(file.title.split()[0])
    magnetic, electric = field_at(mode, file.points, step * run["dt"])
    rounding = 2e-6
    for name, exact, allowed in (("H", magnetic, run["allowed_error"]), ("E", electric, run["allowed_error"]), ("solH", magnetic, 0),
                                 ("solE", electric, 0)):
        difference = np.abs(file.fields[name] - exact).max()
        assert difference < allowed + rounding, f"{name} is {difference} away from what it should be at step {step}"


def check_same(way, one, other):
    assert np.array_equal(one.points, other.points) and np.array_equal(one.cells, other.cells), way
    assert list(one.fields) == list(other.fields), way
    assert all(np.array_equal(one.fields[name], other.fields[name]) for name in one.fields), way


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--launcher", default="mpirun")
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--elements", required=True)
    parser.add_argument("--ratio", type=int, required=True)
    parser.add_argument("--mode", choices=("te", "tm"), required=True)
    options = parser.parse_args()
    problem = ["--elements", options.elements, "--order", "6", "--mode", options.mode + "11", "--steps", "8", "--every", "4",
               "--ratio", str(options.ratio)]
    groups = max(1, options.ranks // options.ratio)
    several = ["--files", str(groups)]
    ways = {"coio": [], "coio_files": several, "rbio": [], "rbio_files": several, "rbio_computing": ["--writers", "computing"],
            "threaded-rbio": [], "threaded-rbio_files": several, "threaded-rbio_dedicated": ["--writers", "dedicated"], "1pfpp": [],
            "glean": []}

    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        for way, extra in ways.items():
            arguments = ["--output", way.split("_")[0], *extra, *problem]
            found = launch.run(options.program, options.ranks, arguments, directory / way, options.launcher)
            assert found["outputs"] == OUTPUTS
        expected = sorted((directory / "coio").glob("*.vtk"))
        assert len(expected) == OUTPUTS, expected
        for file in expected:
            check_file(legacy_vtk.File(file), options.mode, found)
        for way in ways:
            alone = sorted((directory / way).glob("*.vtk"))
            meta = sorted((directory / way).glob("*.pvtk"))
            if meta:   # pieces, which together are the same grid
                assert len(meta) == OUTPUTS, f"{way}: {meta}"
                for file, pieces in zip(expected, map(legacy_vtk.pieces_of, meta)):
                    check_same(way, legacy_vtk.File(file), pieces)
            elif way == "glean":
                assert len(alone) == OUTPUTS, alone
                for direct, through in zip(map(legacy_vtk.File, expected), map(legacy_vtk.File, alone)):
                    check_same(way, direct, through)
                    assert direct.title == through.title, f"'{direct.title}' is not '{through.title}'"
                    assert abs(through.recorded_time - direct.step_and_time()[1]) < 1e-6
            else:
                assert len(alone) == OUTPUTS, f"{way}: {alone}"
                for a, b in zip(expected, alone):
                    assert a.read_bytes() == b.read_bytes(), f"{b} is not {a}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
