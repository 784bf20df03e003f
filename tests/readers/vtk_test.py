# SPDX-License-Identifier: BSD-3-Clause
"""VTK finds in converted files what was in their sources: with ParaView's Python, or with that of the wheel.

  vtk_test.py PYTHON
"""

import sys
import unittest

import cdf
import meshes
import numpy
from place import PlaceTest, main

PYTHON = sys.argv.pop(1)
IS_PARAVIEW = "pvpython" in PYTHON


class Vtk(PlaceTest):
    def found(self, *paths):
        return self.read([PYTHON], "read_vtk.py", *paths)

    def check_blocks(self, blocks, found, name, values):
        """All blocks on their levels or, where VTK could not hide covered cells, cells of those that are not covered."""
        is_amr = blocks.can_be_hidden() or len(set(blocks.levels)) == 1
        shown = range(len(blocks.levels)) if is_amr else blocks.leaves()
        self.assertEqual(found["class"], "vtkOverlappingAMR" if is_amr else "vtkUnstructuredGrid")
        self.assertEqual(found["cells"], len(shown) * blocks.cells_per_block())
        if is_amr:
            self.assertEqual((found["blocks"], found["levels"]), (len(shown), len(set(blocks.levels))))
        else:
            self.assertAlmostEqual(found["fields"].pop("level")["sum"], sum(blocks.levels[b] for b in shown) * blocks.cells_per_block())
        self.assertEqual(sorted(found["fields"]), ["dens", "pres"])
        self.assertAlmostEqual(found["fields"][name]["sum"], sum(float(values[block].sum()) for block in shown))
        self.assertAlmostEqual(found["fields"][name]["integral"] / blocks.integral(values), 1.0, 10)

    def test_vtkhdf_of_blocks_has_all_levels_cells_and_integrals(self):
        for blocks in (meshes.three_levels(3, [4, 6, 8]), meshes.three_levels(3, [3, 4, 4]), meshes.three_levels(2, [4, 6]),
                       meshes.three_levels(1, [8]), meshes.one_cell()):
            dens = blocks.field()
            path, = self.made("a.nc", blocks.file({"dens": dens, "pres": 2 * dens}, attributes={"time": 1.5}), "--to", "vtkhdf")
            found, = self.found(path)
            self.check_blocks(blocks, found, "pres", 2 * dens)
            self.assertEqual(found["time"], 1.5)
            low, high = blocks.bounds()[..., 0].min(axis=0), blocks.bounds()[..., 1].max(axis=0)
            numpy.testing.assert_allclose(found["bounds"][0][:blocks.dimensions], low)
            numpy.testing.assert_allclose(found["bounds"][1][:blocks.dimensions], high)

    def test_levels_without_blocks_are_no_levels_of_vtkhdf(self):
        """ParaView 5.11 would end at one."""
        blocks = meshes.Blocks(3, [8, 8, 8])
        blocks.add(2, [0, 0, 0])
        blocks.add(2, [1, 0, 0])
        blocks.add(4, [5, 2, 3])
        dens = blocks.field()
        path, = self.made("a.nc", blocks.file({"dens": dens, "pres": dens}), "--to", "vtkhdf")
        found, = self.found(path)
        self.assertEqual((found["class"], found["blocks"], found["levels"], found["time"]), ("vtkOverlappingAMR", 3, 2, None))
        covered = dens[1, 6:8, 4:6, 2:4]   # z, y, x of the second block: a block of level 4 is two of its cells wide
        integral = (dens[:2].sum() - covered.sum()) * blocks.cell_volume(2) + dens[2].sum() * blocks.cell_volume(4)
        self.assertAlmostEqual(found["fields"]["dens"]["integral"], integral)

    def test_blocks_of_several_levels_beside_each_other_are_cells(self):
        """ParaView 5.11 would end at blocks that lie beyond all coarser ones."""
        blocks = meshes.Blocks(3, [4, 4, 4])
        blocks.add(1, [0, 0, 0])
        for x in (2, 3):
            blocks.add(2, [x, 0, 0])
        dens = blocks.field()
        path, = self.made("a.nc", blocks.file({"dens": dens, "pres": dens}), "--to", "vtkhdf")
        found, = self.found(path)
        self.check_cells(blocks, found, dens)

    def check_cells(self, blocks, found, dens):
        self.assertEqual((found["class"], found["cells"]), ("vtkUnstructuredGrid", len(blocks.levels) * blocks.cells_per_block()))
        self.assertAlmostEqual(found["fields"]["dens"]["integral"], blocks.integral(dens))

    def test_blocks_that_are_mixed_in_the_file_keep_their_values(self):
        for blocks in (meshes.three_levels(3, [2, 2, 2]), meshes.three_levels(2, [2, 2])):
            order = numpy.random.default_rng(7).permutation(len(blocks.levels))
            place = numpy.argsort(order)
            mixed = meshes.Blocks(blocks.dimensions, blocks.cells, lower=-0.5)
            for block in order:
                parent = blocks.parents[block]
                mixed.add(blocks.levels[block], blocks.positions[block], -1 if parent < 0 else int(place[parent]))
            weights = numpy.array([10.0 ** level for level in mixed.levels]).reshape(-1, *[1] * blocks.dimensions)
            values = weights * mixed.field()
            path, = self.made("a.nc", mixed.file({"dens": values, "pres": values}), "--to", "vtkhdf")
            found, = self.found(path)
            self.check_blocks(mixed, found, "dens", values)

    def test_single_precision_is_single_and_integers_stay(self):
        blocks = meshes.three_levels(3, [2, 2, 2])
        dens = blocks.field()
        file = blocks.file({"dens": dens, "pres": dens.astype("i4")})
        path, = self.made("a.nc", file, "--to", "vtkhdf", "--single")
        found, = self.found(path)
        self.assertEqual({name: field["type"] for name, field in found["fields"].items()}, {"dens": "float32", "pres": "int32"})
        self.check_blocks(blocks, found, "pres", dens)

    def uniform(self, shape, records=None):
        file = cdf.File()
        names = ["z", "y", "x"][3 - len(shape):]
        for name, length in zip(names, shape):
            file.dimension(name, length)
            file.variable(name, [name], 10 + (numpy.arange(length) + 0.5) * 0.25 * (1 + names.index(name)))
        if records:
            file.dimension("time", None)
            file.variable("time", ["time"], numpy.arange(records) * 0.5)
        values = numpy.arange(numpy.prod(shape) * (records or 1), dtype="f4").reshape(*([records] if records else []), *shape)
        file.variable("temp", (["time"] if records else []) + names, values)
        return file, values, float(numpy.prod([0.25 * (1 + i) for i in range(len(shape))]))

    def test_vtkhdf_of_a_uniform_grid_has_its_cells_and_integral(self):
        for shape in ((3, 4, 5), (4, 5), (7,)):
            file, values, volume = self.uniform(shape)
            path, = self.made("a.nc", file, "--to", "vtkhdf")
            found, = self.found(path)
            self.assertEqual((found["class"], found["cells"], found["levels"]), ("vtkOverlappingAMR", values.size, 1))
            self.assertAlmostEqual(found["fields"]["temp"]["integral"], values.sum(dtype="f8") * volume)
            self.assertEqual(found["bounds"][0][:len(shape)], [10.0] * len(shape))

    def test_each_record_becomes_a_file_with_its_time(self):
        file, values, _ = self.uniform((2, 3, 4), records=3)
        paths = self.made("run.nc", file, "--to", "vtkhdf")
        self.assertEqual([path.name for path in paths], ["run_0000.vtkhdf", "run_0001.vtkhdf", "run_0002.vtkhdf"])
        for record, found in enumerate(self.found(*paths)):
            self.assertEqual(found["time"], 0.5 * record)
            self.assertAlmostEqual(found["fields"]["temp"]["sum"], values[record].sum(dtype="f8"))

    @unittest.skipIf(IS_PARAVIEW, "ParaView 5.11 cannot read cells of images")
    def test_an_image_has_its_cells_and_integral(self):
        for shape in ((3, 4, 5), (4, 5), (7,)):
            file, values, volume = self.uniform(shape)
            path, = self.made("a.nc", file, "--to", "vtkhdf", "--image")
            found, = self.found(path)
            self.assertEqual((found["class"], found["cells"]), ("vtkImageData", values.size))
            self.assertAlmostEqual(found["fields"]["temp"]["integral"], values.sum(dtype="f8") * volume)

    def test_flash_files_have_all_levels_cells_and_integrals(self):
        """In three dimensions: no FLASH file of two can be read by VTK."""
        blocks = meshes.three_levels(3, [4, 6, 8])
        dens = blocks.field()
        fields = {"dens": dens, "pres": dens}
        for name, file in (("ours.nc", blocks.file(fields)), ("flash.nc", blocks.flash_file(fields))):
            path, = self.made(name, file)
            found, = self.found(path)
            self.check_blocks(blocks, found, "dens", dens)


main((PYTHON, f"{PYTHON} is not there: tools/setup installs ParaView, tools/python_packages the wheel of VTK"))
