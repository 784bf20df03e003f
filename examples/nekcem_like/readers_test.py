# SPDX-License-Identifier: BSD-3-Clause
"""VTK itself reads what nekcem_like writes. Status 77: there is no VTK for this Python."""

import argparse
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True

from evaluation import launch   # noqa: E402

try:
    from vtkmodules.vtkIOLegacy import vtkUnstructuredGridReader
    from vtkmodules.vtkIOParallel import vtkPDataSetReader
except ImportError:
    sys.exit(77)


def grid_of(reader, path):
    reader.SetFileName(str(path))
    if hasattr(reader, "ReadAllVectorsOn"):
        reader.ReadAllVectorsOn()
    reader.Update()
    return reader.GetOutput()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--launcher", default="mpirun")
    options = parser.parse_args()
    problem = ["--elements", "2,2,3", "--order", "4", "--steps", "2", "--every", "2", "--ratio", "2"]
    points, cells = 12 * 5 ** 3, 12 * 4 ** 3

    with tempfile.TemporaryDirectory() as name:
        one, several = pathlib.Path(name) / "one", pathlib.Path(name) / "several"
        launch.run(options.program, 4, ["--output", "rbio", *problem], one, options.launcher)
        launch.run(options.program, 4, ["--output", "threaded-rbio", "--files", "2", *problem], several, options.launcher)
        grids = [grid_of(vtkUnstructuredGridReader(), sorted(one.glob("*.vtk"))[-1]),
                 grid_of(vtkPDataSetReader(), sorted(several.glob("*.pvtk"))[-1])]
        for grid in grids:
            assert (grid.GetNumberOfPoints(), grid.GetNumberOfCells()) == (points, cells), grid
            assert grid.GetCellType(0) == 12
        for field in ("H", "E", "solH", "solE"):
            ranges = [grid.GetPointData().GetArray(field).GetRange(-1) for grid in grids]
            assert ranges[0] == ranges[1] and 0.5 < ranges[0][1] < 2, f"{field}: {ranges}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
