# SPDX-License-Identifier: BSD-3-Clause
"""Reads files of meshes as arrays, with h5py or SciPy's reader of NetCDF, and compares each value with what follows from the coordinates.

  read_arrays.py WRITERS MESH FILE [MESH FILE]...
"""

import sys

import numpy as np

problems = []


def expect(holds, what):
    if not holds and len(problems) < 20:
        problems.append(what)


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


class File:
    """Arrays and their attributes."""

    def __init__(self, path):
        if path.endswith(".h5"):
            import h5py
            self.file = h5py.File(path)
            self.names = list(self.file)
        else:
            from scipy.io import netcdf_file
            self.file = netcdf_file(path, mmap=False)
            self.names = list(self.file.variables)

    def array(self, name):
        found = self.file[name] if hasattr(self.file, "keys") else self.file.variables[name]
        return np.array(found[()] if found.shape == () and hasattr(self.file, "keys") else found[...] if found.shape else found.getValue())

    def attribute(self, name, attribute):
        if hasattr(self.file, "keys"):
            return text(self.file[name].attrs[attribute])
        return text(getattr(self.file.variables[name], attribute))


def value_at(x, y, z):
    return x + 10 * y + 100 * z


def compare(file, name, expected, tolerance=1e-12):
    found = file.array(name)
    expect(found.shape == expected.shape, f"'{name}' has the shape {found.shape}, not {expected.shape}")
    if found.shape == expected.shape:
        expect(np.allclose(found, expected, rtol=tolerance, atol=tolerance), f"'{name}' is {found.ravel()[:8]}, not {expected.ravel()[:8]}")


def check_fields(file, cells, points):
    """x, y, z of all cells and of all points, as arrays of the shape that the fields have."""
    compare(file, "density", value_at(*cells))
    compare(file, "velocity", np.stack(cells, -1).astype("f4"), 1e-6)
    compare(file, "two", np.stack([value_at(*cells), value_at(*cells) + 1], -1).astype("f4"), 1e-6)
    compare(file, "potential", value_at(*points))
    compare(file, "place", np.stack(points, -1))
    compare(file, "stress", np.stack([value_at(*points) + c for c in range(9)], -1))
    expect(file.attribute("density", "units") == "g", "density has no unit")
    odd = file.array(next(name for name in file.names if name.endswith(" d")))
    expect(np.array_equal(np.isinf(odd), cells[0] > 2.6) and np.array_equal(np.isnan(odd), cells[0] <= 2.6), "odd values are lost")


def grid_of(file, names):
    """Coordinate variables, slowest first, as x, y, z of all."""
    lines = [file.array(name) for name in names]
    full = np.meshgrid(*lines, indexing="ij")[::-1]
    return [*full, *[np.zeros_like(full[0])] * (3 - len(full))]


def check_mesh(file, mesh, writers):
    axes = ["y", "x"] if mesh.endswith("2d") else ["z", "y", "x"]
    if mesh.startswith("uniform"):
        expect(np.allclose(file.array("x"), 2.25 + 0.5 * np.arange(4)), "x is not where the cells are")
        check_fields(file, grid_of(file, axes), grid_of(file, [a + "_points" for a in axes]))
    elif mesh.startswith("rectilinear"):
        bounds = file.array("x_bounds")
        expect(np.allclose(bounds[1:, 0], bounds[:-1, 1]) and np.allclose(bounds.mean(1), file.array("x")), "x is not between its bounds")
        expect(file.attribute("x", "bounds") == "x_bounds", "x does not name its bounds")
        check_fields(file, grid_of(file, axes), grid_of(file, [a + "_points" for a in axes]))
    elif mesh.startswith("curvilinear"):
        points = [file.array(a + "_points") for a in "xyz"]
        expect(np.allclose(np.hypot(points[0], points[1])[..., 1, :], 2), "points do not lie on circles")
        expect(file.attribute("density", "coordinates") == "z y x", "density does not name its coordinates")
        check_fields(file, [file.array(a) for a in "xyz"], points)
    elif mesh == "amr":
        bounds, levels = file.array("bndbox"), file.array("lrefine")
        expect(len(levels) == writers * 2 + writers * 8 and set(levels) == {1, 2}, "there are other blocks")
        for shape, offset, check in ((4, 0.5, True), (5, 0, False)):
            steps = np.arange(shape) + offset
            axis = [bounds[:, d, 0, None] + (bounds[:, d, 1] - bounds[:, d, 0])[:, None] / 4 * steps for d in range(3)]
            x, y, z = (np.broadcast_to(a, (len(levels), shape, shape, shape)) for a in
                       (axis[0][:, None, None, :], axis[1][:, None, :, None], axis[2][:, :, None, None]))
            compare(file, "density" if check else "potential", value_at(x, y, z))
    else:
        points = [file.array("mesh_" + a) for a in "xyz"]
        offsets, connectivity, types = (file.array("mesh_" + a) for a in ("offsets", "connectivity", "types"))
        expect(offsets[0] == 0 and offsets[-1] == len(connectivity) and len(offsets) == len(types) + 1, "offsets do not fit")
        cells = [np.array([p[connectivity[a:b]].mean() for a, b in zip(offsets[:-1], offsets[1:])]) for p in points]
        tolerance = 1e-6 if mesh == "lagrange" else 1e-12
        if mesh == "mixed":
            check_fields(file, cells, points)
            expect(list(types[:10]) == [12, 12, 14, 13, 10, 9, 5, 7, 3, 1], f"types are {types[:10]}")
        elif mesh == "lagrange":
            compare(file, "density", value_at(*cells), tolerance)
        else:
            expect(len(types) == 0 and file.array("density").shape == (0,), "it is not empty")
        expect(file.attribute("mesh", "cf_role") == "mesh_topology" and file.attribute("density", "mesh") == "mesh", "no mesh is named")
    expect(file.array("time") == 0.75 and file.attribute("time", "units") == "s", "there is no time of 0.75 s")


def main():
    writers, arguments = int(sys.argv[1]), sys.argv[2:]
    for mesh, path in zip(arguments[::2], arguments[1::2]):
        before = len(problems)
        check_mesh(File(path), mesh, writers)
        for problem in problems[before:]:
            print(f"{mesh}: {problem}")
    print(f"{len(arguments) // 2} files were read")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
