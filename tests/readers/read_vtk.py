# SPDX-License-Identifier: BSD-3-Clause
"""Says as JSON what VTK's readers find in files: for pvpython, and for the Python of the wheel `vtk`.

It takes their paths from standard input. A file of which nothing can be read is null. Warnings and errors of VTK go to standard error,
where tests look for them.
"""

import json

from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkFiltersVerdict import vtkCellSizeFilter
from vtkmodules.vtkIOAMR import vtkAMRFlashReader
from vtkmodules.vtkIOHDF import vtkHDFReader


def read(path):
    if path.endswith(".vtkhdf"):
        reader = vtkHDFReader()
        reader.SetFileName(path)
        if not reader.CanReadFile(path):
            return None
        if hasattr(reader, "SetMaximumLevelsToReadByDefaultForAMR"):
            reader.SetMaximumLevelsToReadByDefaultForAMR(0)   # all
    else:
        reader = vtkAMRFlashReader()
        reader.SetFileName(path)
        reader.SetMaxLevel(60)
        for index in range(reader.GetNumberOfCellArrays()):
            reader.SetCellArrayStatus(reader.GetCellArrayName(index), 1)
    reader.Update()
    return reader.GetOutputDataObject(0)


def cell_sizes(grid):
    """Length, area or volume of each cell."""
    sizes = vtkCellSizeFilter()
    sizes.SetInputData(grid)
    sizes.ComputeSumOff()
    sizes.Update()
    values = sizes.GetOutput().GetCellData()
    return sum(vtk_to_numpy(values.GetArray(name)) for name in ("Length", "Area", "Volume"))


def parts(data):
    if not data.IsA("vtkCompositeDataSet"):
        return [data]
    found, iterator = [], data.NewIterator()
    iterator.InitTraversal()
    while not iterator.IsDoneWithTraversal():
        found.append(iterator.GetCurrentDataObject())
        iterator.GoToNextItem()
    return found


def describe(data):
    cells, fields, low, high = 0, {}, [float("inf")] * 3, [float("-inf")] * 3
    for part in parts(data):
        cells += part.GetNumberOfCells()
        values, bounds, volume = part.GetCellData(), part.GetBounds(), 1.0
        for axis in range(3):
            low[axis], high[axis] = min(low[axis], bounds[2 * axis]), max(high[axis], bounds[2 * axis + 1])
        if hasattr(part, "GetSpacing"):
            for points, width in zip(part.GetDimensions(), part.GetSpacing()):
                volume *= width if points > 1 else 1.0
        else:
            volume = cell_sizes(part)
        ghosts = values.GetArray("vtkGhostType")
        is_leaf = slice(None) if ghosts is None else vtk_to_numpy(ghosts) == 0   # others are refined
        for index in range(values.GetNumberOfArrays()):
            if values.GetArrayName(index) == "vtkGhostType":
                continue
            array = vtk_to_numpy(values.GetArray(index))
            field = fields.setdefault(values.GetArrayName(index), {"sum": 0.0, "integral": 0.0, "type": str(array.dtype)})
            field["sum"] += float(array.sum(dtype="f8"))
            field["integral"] += float((array * volume)[is_leaf].sum(dtype="f8"))
    time = data.GetFieldData().GetArray("TimeValue")
    levels = data.GetNumberOfLevels() if hasattr(data, "GetNumberOfLevels") else None
    return {"class": data.GetClassName(), "cells": cells, "blocks": len(parts(data)), "levels": levels, "fields": fields,
            "time": None if time is None else time.GetValue(0), "bounds": [low, high]}


for path in map(str.strip, open(0)):   # ParaView has another sys.stdin
    found = read(path)
    print("RESULT " + json.dumps(None if found is None else describe(found)), flush=True)
