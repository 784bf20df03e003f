# SPDX-License-Identifier: BSD-3-Clause
"""Meshes of each kind, their points and cells from arrays of NumPy; other people's readers have python.meshes.vtk and its like."""

import tracemalloc
import unittest

import numpy as np
from mpi4py import MPI

import glean
import ranks
from glean import CellType
from ranks import RANK, SIZE


class Meshes(ranks.Ranks):
    def rows(self):
        """Two rows of this rank, of an array of two dimensions."""
        return [np.s_[2 * RANK:2 * RANK + 2, :]]

    def test_a_rectilinear_grid_has_its_coordinates_and_their_bounds(self):
        with self.session() as session:
            with session.open(self.path("a.nc")) as output:
                y, x = np.arange(2 * SIZE + 1.0)**2, [0, 1, 4]
                grid = output.grid(glean.RectilinearGrid([y, x], self.rows(), ["lat", "lon"]))
                self.assertEqual(grid.cells, ((2 * SIZE, 2), (glean.Box((2 * RANK, 0), (2, 2)),)))
                self.assertEqual(grid.points, ((2 * SIZE + 1, 3), (glean.Box((2 * RANK, 0), (3, 3)),)))
                dens = output.variable("dens", "f8", grid=grid)
                corner = output.variable("corner", "i4", grid=grid, centring="points")
                with output.step() as step:
                    step.put(dens, np.full((2, 2), RANK))
                    step.put(corner, np.add.outer(10 * np.arange(2 * RANK, 2 * RANK + 3), np.arange(3)))
            with session.open_input(self.path("a.nc")) as file:
                self.assertEqual(file["dens"].dimensions, ("lat", "lon"))
                self.assertEqual(file["lon"][:].tolist(), [0.5, 2.5])
                np.testing.assert_array_equal(file["lat_bounds"][:], np.stack([y[:-1], y[1:]], 1))
                np.testing.assert_array_equal(file["lat_points"][:], y)
                np.testing.assert_array_equal(file["corner"][:], np.add.outer(10 * np.arange(2 * SIZE + 1), np.arange(3)))

    def test_points_are_taken_from_where_they_lie(self):
        inside = np.s_[1:-1, 1:-1, :3]
        ghosted = np.zeros((5, 5, 4), "f4")   # 2 x 2 cells have 3 x 3 points; ghosts around, and something else beside
        ghosted[inside] = np.moveaxis(np.mgrid[RANK:RANK + 3, 0:3, 0:1][::-1, ..., 0], 0, -1)
        by_component = np.ascontiguousarray(np.moveaxis(ghosted[inside], -1, 0))
        for given in (ghosted[inside], np.moveaxis(by_component, 0, -1), ghosted[inside].reshape(-1, 3).astype(">f4")):
            with self.session() as session:
                with session.open(self.path("a.nc")) as output:
                    grid = output.grid(glean.CurvilinearGrid([2 * SIZE, 2], self.rows(), given))
                    v = output.variable("v", "f8", grid=grid, centring="points", components=3)
                    self.assertEqual((v.shape, v.blocks), ((2 * SIZE + 1, 3, 3), (glean.Box((2 * RANK, 0, 0), (3, 3, 3)),)))
                    with output.step():
                        v[...] = ghosted[inside]
                with session.open_input(self.path("a.nc")) as file:
                    for place, name in enumerate("xyz"):
                        points = file[f"{name}_points"]
                        self.assertEqual((points.dtype, points.dimensions), (np.float32, ("j_points", "i_points")))
                        np.testing.assert_array_equal(points[2 * RANK:2 * RANK + 2], ghosted[1:3, 1:-1, place])
                        np.testing.assert_array_equal(file["v"][2 * RANK:2 * RANK + 2, :, place], ghosted[1:3, 1:-1, place])

    def test_points_of_a_mesh_are_copied_only_by_the_library(self):
        wide = np.zeros((100000, 5))
        with self.session() as session:
            output = session.open(self.path("a.nc"))
            mesh = glean.UnstructuredMesh(wide[:, 1:4], np.full(10, CellType.VERTEX, "u1"), connectivity=np.arange(10))
            tracemalloc.start()
            output.grid(mesh)
            allocated = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            output.abandon()
        self.assertLess(allocated, 16 * 1024)

    def unstructured(self, output):
        """A square and a triangle beside it on each rank; the last of several has nothing."""
        if SIZE > 1 and RANK == SIZE - 1:
            return output.grid(glean.UnstructuredMesh()), 0
        points = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0, 0]]) + [10 * RANK, 0, 0]
        return output.grid(glean.UnstructuredMesh(points, [CellType.QUAD, CellType.TRIANGLE], [0, 4, 7], [0, 1, 2, 3, 1, 4, 2])), 1

    def test_an_unstructured_mesh_is_numbered_over_all_ranks(self):
        with self.session() as session:
            with session.open(self.path("a.nc")) as output:
                grid, mine = self.unstructured(output)
                kind = output.variable("kind", "i4", grid=grid)
                wind = output.variable("wind", "f4", grid=grid, centring="points", components=2)
                self.assertEqual((kind.shape, [box.count for box in wind.blocks]), (None, [(5, 2)] * mine))
                with output.step() as step:
                    step.put(kind, [RANK, -RANK][:2 * mine])
                    step.put(wind, np.full((2, 5 * mine), RANK).T)
            writers = max(SIZE - 1, 1)
            with session.open_input(self.path("a.nc")) as file:
                self.assertEqual(file["mesh_types"][:].tolist(), [9, 5] * writers)
                self.assertEqual(file["mesh_connectivity"][-7:].tolist(), [5 * (writers - 1) + p for p in (0, 1, 2, 3, 1, 4, 2)])
                self.assertEqual(file["mesh_x"].dtype, np.float64)   # given as whole numbers
                self.assertEqual(file["kind"][:].tolist(), [sign * rank for rank in range(writers) for sign in (1, -1)])
                self.assertEqual(file["wind"][:, 1].tolist(), [rank for rank in range(writers) for _ in range(5)])

    def refused(self, define, kind, pattern):
        """By an output of this rank alone, which is not published then."""
        path = self.path(f"{RANK}.nc")
        with glean.Session(MPI.COMM_SELF, **ranks.SMALL) as session:
            output = session.open(path)
            with self.assertRaisesRegex(kind, pattern):
                define(output)
            with self.assertRaises(glean.Error):
                output.close("durable")
        self.assertFalse(path.exists())

    def test_parts_of_an_unstructured_mesh_are_refused(self):
        def put(values, key=None, **where):
            def define(output):
                mesh = glean.UnstructuredMesh([[0, 0, 0], [1, 0, 0]], [CellType.VERTEX] * 2, (), [0, 1])
                variable = output.variable("v", "f8", grid=output.grid(mesh))
                with output.step() as step:
                    if key is None:
                        step.put(variable, values, **where)
                    else:
                        variable[key] = values
            return define

        self.refused(put([1], start=[0]), glean.InvalidArgument, "a part of a variable over an unstructured mesh")
        self.refused(put([1], key=slice(0, 1)), glean.InvalidArgument, "a part of a variable over an unstructured mesh")
        self.refused(put([1, 2, 3]), glean.InvalidArgument, r"shape \(3,\) for a block of shape \(2,\)")

    def test_all_that_is_wrong_with_a_mesh_is_said_at_once(self):
        def mesh(points, types, offsets=(), connectivity=()):
            return lambda output: output.grid(glean.UnstructuredMesh(points, types, offsets, connectivity))

        one = np.zeros((1, 3))
        self.refused(mesh([[0, np.nan, 0]], [CellType.QUAD, CellType.VERTEX], [0, 3, 4], [0, 0, 0, 7]), glean.InvalidArgument,
                     "cell 0 is a quad and has 3 points.*point 7.*y of point 0 is not finite")
        self.refused(mesh(one, [300]), glean.InvalidArgument, "types of a mesh: numbers from 300 to 300")
        self.refused(mesh(one, [17], (), [0]), glean.InvalidArgument, "17")
        self.refused(mesh(one, [1], (), [0.0]), glean.InvalidArgument, "connectivity of a mesh: an array of type float64")
        self.refused(mesh(np.zeros((4, 2)), [1], (), [0]), glean.InvalidArgument, r"points of a grid: an array of shape \(4, 2\)")
        self.refused(mesh([b"x"] * 3, [1], (), [0]), glean.InvalidArgument, "points of a mesh have type")
        self.refused(lambda output: output.grid(glean.RectilinearGrid([[1, 0], [0, 0]])), glean.InvalidArgument,
                     "along dimension 0 .* along dimension 1 ")

    def test_what_variables_have_of_a_grid_is_checked(self):
        def variable(**options):
            return lambda output: output.variable("v", "f8", grid=output.grid(glean.UniformGrid([2], [0], [1], [np.s_[:]])), **options)

        self.refused(variable(centring="edges"), glean.InvalidArgument, "centring 'edges'.*'cells', 'points'")
        self.refused(variable(components=0), glean.InvalidArgument, "component")
        self.refused(variable(components=-1), glean.InvalidArgument, "components of variable 'v'.*from 0 on")
        self.refused(lambda output: output.variable("v", "f8", [output.dimension("x", 2)], components=3), glean.InvalidArgument,
                     "on no grid")

    def test_each_step_has_its_time(self):
        with self.session() as session:
            with session.open(self.path("a.nc")) as output:
                output.set_time(0.5, "s")
                grid = output.grid(glean.UniformGrid([2 * SIZE, 2], [0, 0], [1, 1], self.rows()))
                v = output.variable("v", "f8", grid=grid, per_step=True)
                for number in range(3):
                    with output.step() as step:
                        step.put(v, np.full((2, 2), number))
                    output.set_time(1 + number if RANK == 0 else 99)
            with session.open_input(self.path("a.nc")) as file:
                self.assertEqual((file["time"][:].tolist(), file["time"].attrs["units"]), ([0.5, 1, 2], "s"))

    def test_a_time_is_said_before_definitions_end_and_between_steps(self):
        def late(output):
            output.step().end()
            output.set_time(1)

        def in_step(output):
            output.set_time(0)
            step = output.step()
            try:
                output.set_time(1)
            finally:
                step.end()

        self.refused(late, glean.InvalidState, "it has no time")
        self.refused(in_step, glean.InvalidState, "a step is open")
        self.refused(lambda output: output.set_time(np.inf), glean.InvalidArgument, "not a finite number")

    def test_the_formats_of_vtk_are_formats(self):
        for format, signature in (("vtk", b"# vtk DataFile"), ("vtkhdf", b"\x89HDF")):
            with self.session() as session:
                with session.open(self.path(f"a.{format}"), format) as output:
                    grid, mine = self.unstructured(output)
                    kind = output.variable("kind", "i4", grid=grid)
                    with output.step():
                        kind[...] = [7] * (2 * mine)
                session.wait("durable")
            self.assertEqual(self.path(f"a.{format}").read_bytes()[:len(signature)], signature)

    def test_points_of_a_lagrange_hexahedron_are_where_vtk_has_them(self):
        self.assertEqual([glean.lagrange_hexahedron_point(*corner, 2) for corner in ((0, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0))],
                         [0, 1, 2, 3])
        self.assertEqual(sorted(glean.lagrange_hexahedron_point(i, j, k, 2) for i in range(3) for j in range(3) for k in range(3)),
                         list(range(27)))


if __name__ == "__main__":
    ranks.main()
