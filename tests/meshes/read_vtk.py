# SPDX-License-Identifier: BSD-3-Clause
"""Reads files of meshes with VTK, and compares each value with what follows from where its point or cell is.

  read_vtk.py MESH FILE [MESH FILE]…

Runs in the Python of ParaView or in one with VTK's wheel. Prints what differs, and returns 1 if anything does.
"""

import sys

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkDataObject   # noqa: F401
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
from vtkmodules.vtkIOHDF import vtkHDFReader
from vtkmodules.vtkIOLegacy import vtkGenericDataObjectReader

POINT_FIELDS = {"potential": 1, "place": 3, "stress": 9}
CELL_FIELDS = {"density": 1, "velocity": 3, "two": 2, "ö d": 1, "number": 1}
problems = []
later = 0   # what the values of a step have more than those of the first


def expect(holds, what):
    if not holds and len(problems) < 20:
        problems.append(what)


def expected(name, places, components):
    """The values at places, (places, components)."""
    if name in ("velocity", "place"):
        return places + later
    values = places @ [1.0, 10.0, 100.0] + later
    if name == "ö d":
        values = np.where(places[:, 0] > 2.6, np.inf, np.nan)
    elif name == "number":
        values = np.floor(values + 1e-9)
    return values[:, None] + np.arange(components)


def are_same(a, b, tolerance):
    return np.isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


def check_arrays(data, fields, places, what):
    names = [data.GetArrayName(i) for i in range(data.GetNumberOfArrays())]
    for name, components in fields.items():
        array = data.GetArray(name)
        expect(array is not None, f"{what} have no '{name}', only {names}")
        if array is None:
            continue
        shape = array.GetNumberOfTuples(), array.GetNumberOfComponents()
        expect(shape == (len(places), components), f"'{name}' of {len(places)} {what} has the shape {shape}")
        if shape != (len(places), components):
            continue
        found, wanted = vtk_to_numpy(array).reshape(shape), expected(name, places, components)
        good = are_same(found, wanted, 1e-5 if name in ("velocity", "two") else 1e-12)
        if name == "number":
            good |= abs(found - wanted) <= 1
        for i, c in np.argwhere(~good):
            expect(False, f"'{name}' of {what} {i} at {places[i]} is {found[i, c]}, not {wanted[i, c]}")


def centres_of_image(piece):
    """Also of cells that are covered by finer ones, and have no points then."""
    origin, spacing = piece.GetOrigin(), piece.GetSpacing()
    first, last = piece.GetExtent()[::2], piece.GetExtent()[1::2]
    along = [[origin[d] + spacing[d] * (i + 0.5) for i in range(first[d], last[d])] or [origin[d] + spacing[d] * first[d]]
             for d in range(3)]
    return [[x, y, z] for z in along[2] for y in along[1] for x in along[0]]


def check_piece(piece, mesh):
    points = [piece.GetPoint(i) for i in range(piece.GetNumberOfPoints())]
    centres = centres_of_image(piece) if piece.IsA("vtkImageData") else []
    for c in range(len(centres), piece.GetNumberOfCells()):
        cell = piece.GetCell(c)
        of_cell = [points[cell.GetPointId(i)] for i in range(cell.GetNumberOfPoints())]
        centres.append([sum(p[d] for p in of_cell) / len(of_cell) for d in range(3)])
    if mesh == "amr_2d":   # a layer of one cell
        centres = [[c[0], c[1], 0] for c in centres]
    else:
        check_arrays(piece.GetPointData(), POINT_FIELDS, np.reshape(points, (-1, 3)), "points")
    check_arrays(piece.GetCellData(), CELL_FIELDS, np.reshape(centres, (-1, 3)), "cells")
    if mesh == "lagrange":
        for c in range(piece.GetNumberOfCells()):
            check_lagrange(piece.GetCell(c), points)
    return len(points), len(centres)


def check_lagrange(cell, points):
    """The point that VTK takes for (i, j, k) is where it should be."""
    if not hasattr(cell, "PointIndexFromIJK"):
        expect(False, f"a cell is a {cell.GetClassName()}")
        return
    order = round(cell.GetNumberOfPoints() ** (1 / 3)) - 1
    corner = points[cell.GetPointId(0)]
    for k in range(order + 1):
        for j in range(order + 1):
            for i in range(order + 1):
                found = points[cell.GetPointId(cell.PointIndexFromIJK(i, j, k, [order] * 3 + [cell.GetNumberOfPoints()]))]
                wanted = (corner[0] + i, 0.5 * j, 0.25 * k)
                expect(are_same(found, wanted, 1e-6).all(), f"point {i}, {j}, {k} of a cell is at {found}, not {wanted}")


def pieces_of(data):
    if data is None:
        return []
    if data.IsA("vtkPartitionedDataSet"):
        return [p for i in range(data.GetNumberOfPartitions()) for p in pieces_of(data.GetPartition(i))]
    if data.IsA("vtkUniformGridAMR") or data.IsA("vtkOverlappingAMR"):
        pieces, iterator = [], data.NewIterator()
        iterator.InitTraversal()
        while not iterator.IsDoneWithTraversal():
            pieces.append(iterator.GetCurrentDataObject())
            iterator.GoToNextItem()
        return pieces
    return [data]


def counts_of(mesh, writers):
    """Points and cells that are in the file."""
    blocks = writers * 2
    return {"uniform": (140, 72), "uniform_2d": (35, 24), "uniform_1d": (13, 12), "large": (25 * 41 * 49, 24 * 40 * 48),
            "one_cell": ((writers + 1) * 6, writers * 2), "rectilinear": (140, 72), "rectilinear_2d": (35, 24),
            "curvilinear": (140, 72), "curvilinear_2d": (35, 24), "mixed": (16 * writers, 10 * writers),
            "lagrange": (64 * writers, writers), "amr": ((blocks + 8 * writers) * 125, (blocks + 8 * writers) * 64),
            "amr_2d": ((blocks + 4 * writers) * 50, (blocks + 4 * writers) * 16)}[mesh]


def check_series(path):
    global later
    reader = vtkHDFReader()
    reader.SetFileName(path)
    reader.UpdateInformation()
    times = reader.GetOutputInformation(0).Get(vtkStreamingDemandDrivenPipeline.TIME_STEPS())
    expect(times == (0.75, 1.75, 2.75), f"the times are {times}")
    for step, time in enumerate(times or ()):
        reader.UpdateTimeStep(time)
        later = 1000 * step
        expect(check_piece(reader.GetOutputDataObject(0), "uniform") == (140, 72), f"step {step} has another grid")
    later = 0


def check(mesh, path, writers):
    if mesh == "series":
        check_series(path)
        return
    reader = vtkHDFReader() if path.endswith(".vtkhdf") else vtkGenericDataObjectReader()
    for call in ("ReadAllScalarsOn", "ReadAllVectorsOn", "ReadAllTensorsOn", "ReadAllFieldsOn"):
        if hasattr(reader, call):
            getattr(reader, call)()
    reader.SetFileName(path)
    reader.Update()
    data = reader.GetOutputDataObject(0) if path.endswith(".vtkhdf") else reader.GetOutput()
    pieces = pieces_of(data)
    if mesh != "empty":
        found = [check_piece(piece, mesh) for piece in pieces]
        sums = tuple(sum(each[i] for each in found) for i in range(2))
        expect(sums == counts_of(mesh, writers), f"{sums} points and cells, not {counts_of(mesh, writers)}")
    else:
        expect(all(piece.GetNumberOfPoints() == piece.GetNumberOfCells() == 0 for piece in pieces), "it is not empty")
    if mesh.startswith("amr"):
        expect(data.GetNumberOfLevels() == 2, f"{data.GetNumberOfLevels()} levels")
    fields = data.GetFieldData()
    if not mesh.startswith("amr"):
        time = fields.GetArray("TimeValue" if path.endswith(".vtkhdf") else "TIME")
        expect(time is not None and time.GetComponent(0, 0) == 0.75, "there is no time of 0.75")
        constants = fields.GetArray("constants")
        values = [constants.GetComponent(i, 0) for i in range(3)] if constants is not None else []
        expect(values == [1, 2, 4], "the constants are not there")


def main():
    writers, arguments = int(sys.argv[1]), sys.argv[2:]
    for mesh, path in zip(arguments[::2], arguments[1::2]):
        before = len(problems)
        check(mesh, path, writers)
        for problem in problems[before:]:
            print(f"{mesh}: {problem}")
    print(f"{len(arguments) // 2} files were read")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
