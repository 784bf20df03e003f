# SPDX-License-Identifier: BSD-3-Clause
"""yt finds in FLASH files that we have made what was in their sources: yt_test.py PYTHON (one that has yt)"""

import pathlib
import sys
import tempfile

import meshes
import numpy
from place import PlaceTest, convert, main

PYTHON = sys.argv.pop(1)


class Yt(PlaceTest):
    def found(self, file, kind="chk", *options):
        """By a name that yt knows FLASH's files by: it fails at any other, unless it is told where particles are. What it has once loaded
        it keeps by its path."""
        source = file.write(self.place / "a.nc")
        path = pathlib.Path(tempfile.mkdtemp(dir=self.place)) / f"a_hdf5_{kind}_0000"
        convert(*options, "-o", path, source)
        return self.read([PYTHON], "read_yt.py", path)[0]

    def check(self, blocks, found, values, name="dens"):
        self.assertEqual(found["class"], "FLASHDataset")
        self.assertEqual((found["dimensions"], found["grids"]), (blocks.dimensions, len(blocks.levels)))
        self.assertEqual(found["levels"], sorted({level - 1 for level in blocks.levels}))
        self.assertEqual(found["children"], sum(parent >= 0 for parent in blocks.parents))
        field = found["fields"][name]
        self.assertEqual(field["cells"], len(blocks.leaves()) * blocks.cells_per_block())
        self.assertAlmostEqual(field["integral"] / blocks.integral(values), 1.0, 10)
        self.assertAlmostEqual(field["all"], values.sum())

    def test_finds_levels_children_cells_time_and_integral(self):
        for blocks in (meshes.three_levels(3, [4, 6, 8]), meshes.three_levels(2, [4, 6]), meshes.one_cell()):
            dens = blocks.field()
            found = self.found(blocks.file({"dens": dens, "pres": dens}, attributes={"time": 1.5, "step": numpy.int32(4)}))
            self.check(blocks, found, dens)
            self.assertEqual((found["time"], found["nstep"]), (1.5, 4))
            low, high = blocks.bounds()[..., 0].min(axis=0), blocks.bounds()[..., 1].max(axis=0)
            numpy.testing.assert_allclose(found["bounds"][0][:blocks.dimensions], low)
            numpy.testing.assert_allclose(found["bounds"][1][:blocks.dimensions], high)

    def test_reads_plot_files(self):
        blocks = meshes.three_levels(3, [4, 4, 4])
        found = self.found(blocks.file({"dens": blocks.field()}), "plt_cnt", "--single")
        self.check(blocks, found, blocks.field())

    def test_reads_what_flash_has_written_with_pnetcdf(self):
        for blocks in (meshes.three_levels(3, [4, 4, 4]), meshes.three_levels(2, [4, 6])):
            found = self.found(blocks.flash_file({"dens": blocks.field()}))
            self.check(blocks, found, blocks.field())
            self.assertEqual((found["time"], found["nstep"]), (0.25, 17))

    def test_knows_short_and_long_names_by_four_characters(self):
        blocks = meshes.three_levels(3, [2, 2, 2])
        dens = blocks.field()
        found = self.found(blocks.file({"density": dens, "densities": 2 * dens, "c12": 3 * dens}))
        self.assertEqual(sorted(found["fields"]), ["c12 ", "den1", "dens"])
        self.check(blocks, found, 2 * dens, "den1")
        self.check(blocks, found, 3 * dens, "c12 ")

    def test_reads_a_mesh_of_which_a_level_is_empty(self):
        blocks = meshes.with_empty_levels()
        found = self.found(blocks.file({"dens": blocks.field()}))
        self.assertEqual((found["grids"], found["levels"], found["roots"]), (5, [1, 3], [4, 4, 1]))
        self.assertAlmostEqual(found["fields"]["dens"]["all"], blocks.field().sum())


main((PYTHON, f"{PYTHON} is not there: tools/python_packages makes it, with yt"))
