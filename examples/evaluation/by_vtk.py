# SPDX-License-Identifier: BSD-3-Clause
"""What VTK finds in files of unstructured meshes.

`read` asks a Python that has VTK's wheel (tools/readers makes it), in a process of its own, which runs this file:

  by_vtk.py FILE...       leaves FILE.npz beside each
"""

import pathlib
import subprocess
import sys

import numpy as np

LAGRANGE_HEXAHEDRON = 72


class Mesh:
    """points (n, 3); types (c,); cells (c, points of each); fields: name -> values at the points; time.

    Of linear cells, volume, and integrals: name -> over the volume. Of Lagrange hexahedra, lattice (c, N + 1, N + 1, N + 1): which points
    are along z, y, x.
    """

    def __init__(self, path):
        with np.load(path) as found:
            self.points, self.types, self.time, self.volume = (found[name] for name in ("points", "types", "time", "volume"))
            self.cells = found["connectivity"].reshape(len(self.types), -1)
            self.lattice = found["lattice"] if "lattice" in found else None
            self.fields, self.integrals = ({name.split(" ", 1)[1]: found[name] for name in found if name.startswith(kind + " ")}
                                           for kind in ("field", "integral"))


def read(python, paths):
    """A Mesh of each file. Anything that VTK says against one of them is an AssertionError."""
    done = subprocess.run([str(python), "-B", __file__, *map(str, paths)], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0 and "ERR|" not in done.stderr, f"VTK ended with status {done.returncode}:\n{done.stdout}{done.stderr}"
    return [Mesh(f"{path}.npz") for path in paths]


def pieces_of(path):
    """The grids in a file, and its time."""
    from vtkmodules.vtkIOHDF import vtkHDFReader
    from vtkmodules.vtkIOLegacy import vtkGenericDataObjectReader
    reader = vtkHDFReader() if path.endswith("hdf") else vtkGenericDataObjectReader()
    for call in ("ReadAllScalarsOn", "ReadAllVectorsOn"):
        getattr(reader, call, lambda: None)()
    reader.SetFileName(path)
    reader.Update()
    data = reader.GetOutputDataObject(0)
    several = data.IsA("vtkPartitionedDataSet")
    time = data.GetFieldData().GetArray("TimeValue" if path.endswith("hdf") else "TIME")
    return [data.GetPartition(i) for i in range(data.GetNumberOfPartitions())] if several else [data], time.GetComponent(0, 0)


def lattice_of(piece):
    cells = []
    for number in range(piece.GetNumberOfCells()):
        cell = piece.GetCell(number)
        count = cell.GetNumberOfPoints()
        order = round(count ** (1 / 3)) - 1
        along = range(order + 1)
        cells.append([[[cell.GetPointId(cell.PointIndexFromIJK(i, j, k, [order] * 3 + [count])) for i in along] for j in along]
                      for k in along])
    return np.array(cells, dtype=np.int64)


def integrals_of(piece):
    """The volume, and what fields of the points have together, of linear cells."""
    from vtkmodules.vtkFiltersParallel import vtkIntegrateAttributes
    integrate = vtkIntegrateAttributes()
    integrate.SetInputData(piece)
    integrate.Update()
    done, found = integrate.GetOutput(), {}
    for i in range(done.GetPointData().GetNumberOfArrays()):
        array = done.GetPointData().GetArray(i)
        found["integral " + array.GetName()] = np.array(array.GetTuple(0))
    return done.GetCellData().GetArray("Volume").GetComponent(0, 0), found


def arrays_of(path):
    from vtkmodules.util.numpy_support import vtk_to_numpy
    pieces, time = pieces_of(path)
    parts, before, volume, integrals = {}, 0, 0.0, {}
    for piece in pieces:
        if piece.GetNumberOfPoints() == 0:
            continue
        mine = {"points": vtk_to_numpy(piece.GetPoints().GetData()),
                "types": np.array([piece.GetCellType(i) for i in range(piece.GetNumberOfCells())]),
                "connectivity": vtk_to_numpy(piece.GetCells().GetConnectivityArray()) + before}
        for i in range(piece.GetPointData().GetNumberOfArrays()):
            array = piece.GetPointData().GetArray(i)
            mine["field " + array.GetName()] = vtk_to_numpy(array)
        if (mine["types"] == LAGRANGE_HEXAHEDRON).all():
            mine["lattice"] = lattice_of(piece) + before
        else:
            of_piece, sums = integrals_of(piece)
            volume += of_piece
            integrals = {name: value + integrals.get(name, 0) for name, value in sums.items()}
        before += len(mine["points"])
        for name, values in mine.items():
            parts.setdefault(name, []).append(values)
    return {name: np.concatenate(values) for name, values in parts.items()} | integrals | {"time": time, "volume": volume}


if __name__ == "__main__":
    for file in sys.argv[1:]:
        np.savez(f"{file}.npz", **arrays_of(str(pathlib.Path(file))))
