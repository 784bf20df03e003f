# SPDX-License-Identifier: BSD-3-Clause
"""VTK finds in the files that phasta_like writes through GLEAN the meshes, times and solution of those that it writes by itself: every
point, every tetrahedron, volume, and integrals of all fields. Status 77: tools/readers has not installed VTK."""

import argparse
import pathlib
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True

from evaluation import by_vtk, launch, phasta   # noqa: E402

TETRAHEDRON = 10
STEPS = (0, 2, 4)
# Ranks, cubes, levels, parts: some ranks have no cells in the second.
CASES = ((4, "4,4,4", 6, 4), (8, "1,1,1", 9, 6))


def integral(output, values):
    """Of a field that is linear in each tetrahedron: the mean of its corners is its value in the middle."""
    of_parts = [(phasta.volumes(part)[:, None] * values(part).reshape(len(part.points), -1)[part.cells].mean(axis=1)).sum(axis=0)
                for part in output.parts]
    return np.sum(of_parts, axis=0)


def check(mesh, direct, record):
    before = np.cumsum([0] + [len(part.points) for part in direct.parts])
    assert np.array_equal(mesh.points, np.concatenate([part.points for part in direct.parts])), "other points"
    assert np.array_equal(mesh.cells, np.concatenate([part.cells + first for part, first in zip(direct.parts, before)])), "other cells"
    assert (mesh.types == TETRAHEDRON).all() and len(mesh.types) == record["cells"], f"{len(mesh.types)} cells, not {record['cells']}"
    assert mesh.time == direct.time == record["time"], f"the time is {mesh.time}, not {direct.time}"
    volume = sum(phasta.volumes(part).sum() for part in direct.parts)
    assert abs(mesh.volume - volume) < 1e-12, f"VTK finds a volume of {mesh.volume}, not {volume}"
    assert set(mesh.fields) == {"pressure", "velocity", "temperature"}, sorted(mesh.fields)
    for name, found in mesh.fields.items():
        assert np.array_equal(found, np.concatenate([getattr(part, name) for part in direct.parts])), f"another {name}"
        wanted = integral(direct, lambda part, name=name: getattr(part, name))
        assert np.abs(mesh.integrals[name] - wanted).max() < 1e-12, f"the integral of {name} is {mesh.integrals[name]}, not {wanted}"


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
        own, through = pathlib.Path(name) / "own", pathlib.Path(name) / "glean"
        for ranks, cubes, levels, parts in CASES:
            problem = ["--cubes", cubes, "--levels", str(levels), "--steps", "4", "--every", "2", "--dt", "0.1"]
            launch.run(options.program, ranks, problem, own, options.launcher)
            measured = launch.run(options.program, ranks, ["--output", "glean", "--format", options.format, *problem], through,
                                  options.launcher)
            files = [through / f"solution_{step:06}.{options.format}" for step in STEPS]
            assert sorted(through.glob("solution*")) == files, sorted(through.iterdir())
            meshes = by_vtk.read(options.readers, files)
            assert len({mesh.cells.tobytes() for mesh in meshes}) == len(STEPS), "the mesh does not change"
            for mesh, step, record in zip(meshes, STEPS, measured["outputs"]):
                assert record["parts"] == parts, f"{record['parts']} parts, not {parts}"
                check(mesh, phasta.Output(own / f"solution_{step}.pht"), record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
