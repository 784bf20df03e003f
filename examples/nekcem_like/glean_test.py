# SPDX-License-Identifier: BSD-3-Clause
"""VTK finds in the files that nekcem_like writes through GLEAN the points, cells and fields of those that it writes by itself, and in
Lagrange hexahedra each point where the spectral element has it. Status 77: tools/readers has not installed VTK."""

import argparse
import pathlib
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True

from evaluation import by_vtk, launch, legacy_vtk   # noqa: E402

HEXAHEDRON, LAGRANGE_HEXAHEDRON = 12, 72
ORDER, OUTPUTS = 5, 2
# Ranks with several elements, and some with none.
CASES = ((3, "2,1,2", False), (5, "1,1,3", True))


def check(mesh, direct, elements, is_lagrange):
    assert np.array_equal(mesh.points, direct.points), "other points"
    for name in direct.fields:
        assert np.array_equal(mesh.fields[name], direct.fields[name]), f"another {name}"
    assert abs(mesh.time - direct.step_and_time()[1]) < 1e-6, f"the time is {mesh.time}"
    if is_lagrange:
        along = ORDER + 1
        assert len(mesh.types) == elements and (mesh.types == LAGRANGE_HEXAHEDRON).all(), mesh.types
        assert np.array_equal(mesh.lattice.ravel(), np.arange(elements * along ** 3)), "points of an element are in another order"
    else:
        assert len(mesh.types) == elements * ORDER ** 3 and (mesh.types == HEXAHEDRON).all(), mesh.types
        assert np.array_equal(mesh.cells, direct.cells), "other cells"
        assert abs(mesh.volume - 1) < 1e-6, f"VTK finds a volume of {mesh.volume}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--launcher", default="mpirun")
    parser.add_argument("--readers", required=True)
    parser.add_argument("--format", choices=("vtk", "vtkhdf"), required=True)
    options = parser.parse_args()
    if not pathlib.Path(options.readers).exists():
        print("SKIPPED: VTK is not installed (tools/readers)", file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory() as name:
        written, expected = [], []
        for ranks, elements, is_lagrange in CASES:
            problem = ["--elements", elements, "--order", str(ORDER), "--steps", "3", "--every", "3"]
            direct, through = pathlib.Path(name) / "coio", pathlib.Path(name) / f"glean_{ranks}"
            launch.run(options.program, ranks, ["--output", "coio", *problem], direct, options.launcher)
            count = int(np.prod([int(along) for along in elements.split(",")]))
            expected += [(legacy_vtk.File(path), count, is_lagrange) for path in sorted(direct.glob("*.vtk"))]
            arguments = ["--output", "glean", "--format", options.format, *(["--lagrange"] if is_lagrange else []), *problem]
            launch.run(options.program, ranks, arguments, through, options.launcher)
            written += sorted(through.glob(f"*.{options.format}"))
        assert len(written) == len(expected) == len(CASES) * OUTPUTS
        for mesh, of_mesh in zip(by_vtk.read(options.readers, written), expected, strict=True):
            check(mesh, *of_mesh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
