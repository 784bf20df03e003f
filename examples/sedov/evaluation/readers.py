# SPDX-License-Identifier: BSD-3-Clause
"""Says as JSON what another program's reader finds in files of the refined mesh; run by a Python that has that program.

  readers.py (yt|vtk) FILE...
"""

import json
import sys


def with_yt(path):
    import yt
    yt.set_log_level("error")
    file = yt.load(path)
    data = file.all_data()
    levels = [int(level) for level in file.index.grid_levels.ravel()]
    return {"reader": type(file).__name__, "time": float(file.current_time),
            "blocks": [levels.count(level) for level in sorted(set(levels))],
            "leaf_cells": int(data["flash", "dens"].size),
            "mass": float((data["flash", "dens"].v * data["index", "cell_volume"].v).sum()),
            "far_corner": [float(x) for x in file.domain_right_edge]}


def vtk_reader(path):
    if path.endswith(".vtkhdf"):
        from vtkmodules.vtkIOHDF import vtkHDFReader
        reader = vtkHDFReader()
        reader.SetFileName(path)
        if hasattr(reader, "SetMaximumLevelsToReadByDefaultForAMR"):
            reader.SetMaximumLevelsToReadByDefaultForAMR(0)   # all
        return reader
    from vtkmodules.vtkIOAMR import vtkAMRFlashReader
    reader = vtkAMRFlashReader()
    reader.SetFileName(path)
    reader.SetMaxLevel(60)
    reader.SetCellArrayStatus("dens", 1)
    return reader


def with_vtk(path):
    from vtkmodules.util.numpy_support import vtk_to_numpy
    reader = vtk_reader(path)
    reader.Update()
    mesh = reader.GetOutputDataObject(0)
    found = {"reader": mesh.GetClassName(), "blocks": [], "leaf_cells": 0, "mass": 0.0}
    for level in range(mesh.GetNumberOfLevels()):
        count = mesh.GetNumberOfBlocks(level) if hasattr(mesh, "GetNumberOfBlocks") else mesh.GetNumberOfDataSets(level)
        found["blocks"].append(count)
        for number in range(count):
            block = mesh.GetDataSetAsImageData(level, number) if hasattr(mesh, "GetDataSetAsImageData") else mesh.GetDataSet(level, number)
            x, y, z = block.GetSpacing()
            ghosts = block.GetCellData().GetArray("vtkGhostType")   # not zero: there are finer cells
            dens = vtk_to_numpy(block.GetCellData().GetArray("dens")).ravel()
            leaf = slice(None) if ghosts is None else vtk_to_numpy(ghosts) == 0
            found["leaf_cells"] += int(dens[leaf].size)
            found["mass"] += float(dens[leaf].sum() * x * y * z)
    bounds = [0.0] * 6
    mesh.GetBounds(bounds)
    found["far_corner"] = bounds[1::2]
    return found


def main():
    read = {"yt": with_yt, "vtk": with_vtk}[sys.argv[1]]
    for path in sys.argv[2:]:
        print("FOUND " + json.dumps(read(path)), flush=True)


if __name__ == "__main__":
    main()
