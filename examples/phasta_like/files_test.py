# SPDX-License-Identifier: BSD-3-Clause
"""The parts that phasta_like writes are one mesh, another one in each output, with the exact solution at its points."""

import argparse
import collections
import pathlib
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True

from evaluation import launch, phasta, vortex   # noqa: E402


def check_mesh(output, upper):
    """Cells have positive volumes that fill the box, and every face that is not on its surface belongs to two cells."""
    faces = collections.Counter()
    total = 0
    for part in output.parts:
        volumes = phasta.volumes(part)
        assert (volumes > 0).all(), "a cell is inside out"
        total += volumes.sum()
        corners = np.round(part.points[part.cells], 9)
        for corner in range(4):
            triangles = np.delete(corners, corner, axis=1)
            inside = ~((triangles == 0).all(axis=1) | (np.abs(triangles - upper) < 1e-8).all(axis=1)).any(axis=1)
            faces.update(tuple(sorted(map(tuple, triangle))) for triangle in triangles[inside])
    assert abs(total / np.prod(upper) - 1) < 1e-10, f"the cells have a volume of {total}"
    wrong = [count for count in faces.values() if count != 2]
    assert not wrong, f"{len(wrong)} of {len(faces)} inner faces do not belong to two cells"


def check_solution(output):
    for part in output.parts:
        for found, exact in zip((part.pressure, part.velocity, part.temperature), vortex.solution(part.points, output.time)):
            assert np.abs(found - exact).max() < 1e-12


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--launcher", default="mpirun")
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--cubes", required=True)
    parser.add_argument("--levels", type=int, required=True)
    parser.add_argument("--parts", type=int, required=True, help="ranks that have cells")
    options = parser.parse_args()
    cubes = [int(number) for number in options.cubes.split(",")]
    upper = np.array(cubes) / cubes[0]

    with tempfile.TemporaryDirectory() as name:
        arguments = ["--cubes", options.cubes, "--levels", str(options.levels), "--steps", "4", "--every", "2", "--dt", "0.1"]
        measured = launch.run(options.program, options.ranks, arguments, name, options.launcher)
        outputs = [phasta.Output(pathlib.Path(name) / f"solution_{step}.pht") for step in (0, 2, 4)]

    for output, record in zip(outputs, measured["outputs"]):
        assert len(output.parts) == record["parts"] == options.parts, f"{len(output.parts)} parts"
        assert sum(len(part.cells) for part in output.parts) == record["cells"]
        assert sum(len(part.points) for part in output.parts) == record["points"]
        check_mesh(output, upper)
        check_solution(output)
    if options.levels > 0:
        meshes = {tuple(len(part.cells) for part in output.parts) + (output.parts[0].points.tobytes(),) for output in outputs}
        assert len(meshes) == 3, "the mesh does not change"
    return 0


if __name__ == "__main__":
    sys.exit(main())
