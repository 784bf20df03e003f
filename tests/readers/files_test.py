# SPDX-License-Identifier: BSD-3-Clause
"""What `glean convert` makes, seen by h5py, h5dump and h5diff; and what it refuses."""

import json
import os
import subprocess
import time
import unittest

import cdf
import meshes
import numpy
from place import COMMAND, PlaceTest, convert, main

try:
    import h5py
except ImportError:
    h5py = None


def run(*command):
    return subprocess.run([*map(str, command)], check=False, capture_output=True, text=True, timeout=100)


def parameters(file, name):
    return {row["name"].decode().strip(): row["value"] for row in file[name]}


class Arrays(PlaceTest):
    def test_every_type_arrives_bit_by_bit(self):
        for version in (1, 2, 5):
            file = cdf.File(version)
            file.dimension("x", 6)
            file.dimension("step", None)
            bits = numpy.array([0, 1, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000123, 0x7ff4000000000001], "u8")
            types = [name for name in cdf.TYPES if name != "S1" and (version == 5 or name not in ("u1", "u2", "u4", "i8", "u8"))]
            values = {}
            for name in types:
                values[name] = bits.view("f8") if name == "f8" else (bits >> 32).astype("u4").view("f4") if name == "f4" else \
                    (numpy.arange(6) * 77777777777777 - 99).astype(name)
                file.variable(name, ["x"], values[name])
                file.variable(name + "s", ["step", "x"], numpy.stack([values[name], values[name][::-1]]))
            file.variable("letters", ["x"], numpy.array([b"a", b"\xc3", b"\xbc", b"", b" ", b"z"], "S1"))
            file.variable("scalar", [], numpy.array(2.5))
            path, = self.made("a.nc", file)
            with h5py.File(path) as made:
                for name in types:
                    self.assertEqual(made[name][:].tobytes(), values[name].tobytes(), name)
                    self.assertEqual(made[name + "s"][1].tobytes(), values[name][::-1].tobytes(), name)
                self.assertEqual(made["letters"][:].tobytes(), b"a\xc3\xbc\x00 z")
                self.assertEqual(made["scalar"][()], 2.5)

    def test_attributes_and_dimension_scales_arrive(self):
        file = cdf.File()
        file.dimension("x", 4)
        file.variable("x", ["x"], numpy.arange(4.0))
        file.variable("v", ["x"], numpy.arange(4.0), {"units": "µm", "range": numpy.array([1, 2, 3], "i2"), "none": ""})
        file.attributes = {"title": "Grüße, 世界", "number": numpy.float32(1.5)}
        path, = self.made("a.nc", file)
        with h5py.File(path) as made:
            self.assertEqual(made.attrs["title"].decode(), "Grüße, 世界")
            self.assertEqual(made.attrs["number"], numpy.float32(1.5))
            self.assertEqual(made["v"].attrs["range"].tolist(), [1, 2, 3])
            self.assertEqual(made["v"].attrs["units"].decode(), "µm")
            self.assertEqual(made["v"].dims[0]["x"][:].tolist(), [0, 1, 2, 3])
        self.assertEqual(run("h5dump", path).returncode, 0)

    def test_variables_are_chosen_and_the_mesh_comes_along(self):
        file = cdf.File()
        file.dimension("x", 4)
        file.variable("x", ["x"], numpy.arange(4.0))
        for name in ("dens", "pres", "temp"):
            file.variable(name, ["x"], numpy.arange(4.0))
        path, = self.made("a.nc", file, "--variables", "pres,dens", "--single")
        with h5py.File(path) as made:
            self.assertEqual(sorted(made), ["dens", "pres", "x"])
            self.assertEqual((made["dens"].dtype, made["x"].dtype), (numpy.float32, numpy.float64))
        said = convert("--variables", "denss,x,dens,tmp", self.place / "a.nc", code=1).stderr
        self.assertIn("has no fields 'denss' (nearest: 'dens'); 'x'", said)
        self.assertIn("'tmp' (nearest: 'temp')", said)

    def test_single_precision_keeps_infinity_and_tells_what_became_infinite(self):
        file = cdf.File()
        file.dimension("x", 5)
        file.variable("v", ["x"], numpy.array([1.1, numpy.inf, numpy.nan, -1e300, 1e-60]), {"_FillValue": -1.0})
        run_ = convert("--single", file.write(self.place / "a.nc"))
        self.assertIn("1 values of 'v' are too large for single precision", run_.stdout)
        with h5py.File(self.place / "a.h5") as made:
            numpy.testing.assert_array_equal(made["v"][:], numpy.array([1.1, numpy.inf, numpy.nan, -numpy.inf, 0], "f4"))
            self.assertEqual(made["v"].attrs["_FillValue"].dtype, numpy.float32)

    def test_more_than_2_to_the_31_elements_stay_a_hole(self):
        file = cdf.File()
        file.dimension("y", 1 << 16)
        file.dimension("x", (1 << 16) + 3)
        file.variable("sparse", ["y", "x"], dtype="f8")
        file.variable("last", ["x"], numpy.arange((1 << 16) + 3, dtype="i4"))
        begin = time.monotonic()
        path, = self.made("a.nc", file)
        self.assertLess(time.monotonic() - begin, 30)
        status = path.stat()
        self.assertGreater(status.st_size, 8 << 32)
        self.assertLess(status.st_blocks * 512, 32 << 20)
        with h5py.File(path) as made:
            self.assertEqual(made["sparse"].shape, (1 << 16, (1 << 16) + 3))
            self.assertEqual(made["sparse"][-1, -3:].tolist(), [0, 0, 0])
            self.assertEqual(made["last"][-1], (1 << 16) + 2)

    def test_records_beyond_the_room_in_the_header_arrive(self):
        file = cdf.File()
        file.dimension("step", None)
        file.dimension("x", 3)
        values = numpy.arange(3000.0).reshape(1000, 3)
        file.variable("v", ["step", "x"], values)
        path, = self.made("a.nc", file)
        with h5py.File(path) as made:
            numpy.testing.assert_array_equal(made["v"][:], values)

    @unittest.skipUnless("NATIVE" in os.environ, "the library is not built with HDF5")
    def test_h5diff_finds_no_difference_to_an_output_of_the_library(self):
        command = [*os.environ["MPIRUN"].split(), "2", os.environ["NATIVE"], self.place]
        native = run(*command)
        self.assertEqual(native.returncode, 0, native.stdout + native.stderr)
        convert("-o", self.place / "made.h5", self.place / "native.nc")
        differences = run("h5diff", "-c", self.place / "made.h5", self.place / "native.h5")
        self.assertEqual((differences.returncode, differences.stdout, differences.stderr), (0, "", ""))
        dumps = [run("h5dump", "-p", "-H", self.place / name).stdout.splitlines()[1:] for name in ("made.h5", "native.h5")]
        self.assertEqual(*dumps)


class Flash(PlaceTest):
    def test_has_all_that_flash_writes(self):
        for dimensions, cells in ((3, [4, 6, 8]), (2, [4, 6]), (1, [8])):
            blocks = meshes.three_levels(dimensions, cells)
            dens = blocks.field()
            attributes = {"time": 1.5, "step": numpy.int32(12), "gamma": 1.4, "geometry": "cartesian", "title": "Grüße",
                          "two": numpy.zeros(2)}
            path, = self.made("a.nc", blocks.file({"dens": dens, "pres": dens.astype("f4")}, attributes=attributes))
            self.assertEqual(run("h5dump", path).returncode, 0)
            padded = cells + [1] * (3 - dimensions)
            with h5py.File(path) as made:
                self.assertEqual(made["sim info"].dtype["file format version"], numpy.int32)
                self.assertEqual(made["sim info"][0]["file format version"], 9)
                self.assertEqual(made["unknown names"][:].tolist(), [[b"dens"], [b"pres"]])
                self.assertEqual(made["refine level"][:].tolist(), blocks.levels)
                self.assertEqual(made["node type"][:].tolist(), [1 if b in blocks.leaves() else 2 for b in range(len(blocks.levels))])
                numpy.testing.assert_array_equal(made["gid"][:], blocks.gid())
                children = 2 ** dimensions
                expected = [-1 if parent < 0 else 1 + (b - 2) % children for b, parent in enumerate(blocks.parents)]
                self.assertEqual(made["which child"][:].tolist(), expected)
                bounds = blocks.bounds()
                numpy.testing.assert_array_equal(made["bounding box"][:, :dimensions], bounds)
                beyond = numpy.broadcast_to([0, 1], (len(bounds), 3 - dimensions, 2))
                numpy.testing.assert_array_equal(made["bounding box"][:, dimensions:], beyond)
                numpy.testing.assert_allclose(made["coordinates"][:, :dimensions], bounds.mean(axis=-1))
                numpy.testing.assert_allclose(made["block size"][:, :dimensions], bounds[..., 1] - bounds[..., 0])
                self.assertEqual(made["dens"].shape, (len(blocks.levels), *reversed(padded)))
                self.assertEqual((made["dens"].dtype, made["pres"].dtype), (numpy.float64, numpy.float32))
                self.assertEqual(made["dens"][:].tobytes(), dens.tobytes())
                integers, reals = parameters(made, "integer scalars"), parameters(made, "real scalars")
                self.assertEqual([integers[name] for name in ("nxb", "nyb", "nzb")], padded)
                self.assertEqual([integers[name] for name in ("dimensionality", "globalnumblocks", "nstep")], [dimensions, len(bounds), 12])
                self.assertEqual(reals["time"], 1.5)
                runtime = parameters(made, "integer runtime parameters")
                self.assertEqual([runtime["nblock" + axis] for axis in "xyz"], [2, 1, 1])
                self.assertEqual((runtime["lrefine_min"], runtime["lrefine_max"]), (1, 3))
                self.assertEqual(parameters(made, "real runtime parameters")["gamma"], 1.4)
                texts = parameters(made, "string runtime parameters")
                self.assertEqual((texts["geometry"].decode().strip(), texts["title"].decode().strip()), ("cartesian", "Grüße"))
                self.assertEqual(len(made["logical scalars"]), 0)

    def test_of_flash_s_own_pnetcdf_files_has_their_tables_and_parameters(self):
        blocks = meshes.three_levels(2, [4, 6])
        path, = self.made("a.nc", blocks.flash_file({"dens": blocks.field(), "c12_": blocks.field()}), "--semantics", "flash")
        with h5py.File(path) as made:
            numpy.testing.assert_array_equal(made["gid"][:], blocks.gid())
            self.assertEqual(made["processor number"][:].tolist(), [block // 2 for block in range(len(blocks.levels))])
            self.assertEqual(made["unknown names"][:].tolist(), [[b"dens"], [b"c12 "]])
            self.assertEqual(made["sim info"][0]["flash version"].decode().strip(), "FLASH 4.6.2")
            self.assertEqual(made["sim info"][0]["setup call"].decode().strip(), "./setup Sedov -auto")
            self.assertEqual(list(parameters(made, "real scalars"))[-1], "time")   # for VTK, to which `timestepper` is one too
            self.assertEqual(parameters(made, "string runtime parameters")["run_comment"].decode().strip(), "a run")
            self.assertEqual(made["dens"].attrs["maximum"], blocks.field().max())

    def test_records_become_files(self):
        blocks = meshes.one_cell()
        file = blocks.file({})
        file.dimension("time", None)
        file.variable("time", ["time"], numpy.array([0.5, 0.75]))
        file.variable("dens", ["time", "blocks", "nzb", "nyb", "nxb"], numpy.array([3.0, 4.0]).reshape(2, 1, 1, 1, 1))
        paths = self.made("run.nc", file)
        self.assertEqual([path.name for path in paths], ["run_0000.h5", "run_0001.h5"])
        for path, moment, value in zip(paths, (0.5, 0.75), (3.0, 4.0)):
            with h5py.File(path) as made:
                self.assertEqual((parameters(made, "real scalars")["time"], made["dens"][0, 0, 0, 0]), (moment, value))

    def test_plain_arrays_are_there_for_the_asking(self):
        blocks = meshes.three_levels(2, [2, 2])
        path, = self.made("a.nc", blocks.file({"dens": blocks.field()}), "--semantics", "none")
        with h5py.File(path) as made:
            self.assertEqual(sorted(made), ["bndbox", "dens", "lrefine", "parent"])

    def test_everything_that_is_missing_for_flash_is_named(self):
        file = cdf.File()
        file.dimension("x", 4)
        file.variable("lrefine", ["x"], numpy.arange(4, dtype="i4"))
        file.variable("bndbox", ["x"], numpy.arange(4.0))
        said = convert("--semantics", "flash", file.write(self.place / "a.nc"), code=1).stderr
        for part in ("'bndbox' is no variable bndbox(blocks, dimensions, 2)", "neither a variable parent(blocks) nor a variable gid"):
            self.assertIn(part, said)

    def test_all_defects_of_a_mesh_are_one_error_and_nothing_is_published(self):
        blocks = meshes.three_levels(2, [2, 2])
        file = blocks.file({"dens": blocks.field()})
        bounds, parents = blocks.bounds(), numpy.array(blocks.parents, "i4")
        bounds[3, 1, 0] = numpy.nan
        bounds[4] += 0.1
        parents[7] = 8
        parents[8] = 7
        parents[9] = 77
        file.variable("bndbox", ["blocks", "ndim", "lo_hi"], bounds)
        file.variable("parent", ["blocks"], parents)
        source = file.write(self.place / "a.nc")
        for options in ([], ["--to", "vtkhdf"]):
            said = convert(*options, source, code=1).stderr
            self.assertEqual(said.count("its mesh is inconsistent"), 1)
            for part in ("block 3: its bounding box along y is from nan", "block 4: its bounding box along x",
                         "block 9: its parent 77 is no block", "block 7: its parent 8 is of level 3",
                         "a cycle of parents: 7, 8", "--semantics none"):
                self.assertIn(part, said)
        self.assertEqual(os.listdir(self.place), ["a.nc"])

    def test_a_domain_of_no_whole_blocks_is_refused(self):
        blocks = meshes.Blocks(1, [2])
        for x in range(3):
            blocks.add(2, [x])
        source = blocks.file({"dens": blocks.field()}).write(self.place / "a.nc")
        self.assertIn("along x its domain is 1.5 blocks of level 1 wide", convert(source, code=1).stderr)


class Command(PlaceTest):
    def source(self, name="a.nc"):
        file = cdf.File()
        file.dimension("x", 1000)
        file.variable("v", ["x"], numpy.arange(1000.0))
        return file.write(self.place / name)

    def test_says_what_it_made_and_how_fast(self):
        source = self.source()
        self.assertRegex(convert(source).stdout, rf"^{source}: {self.place}/a.h5: HDF5, 1 variable, [\d.]+ KiB in [\d.]+ s, [\d.]+ .B/s\n$")
        made, = json.loads(convert("--json", source).stdout)
        self.assertEqual((made["source"], made["path"], made["kind"], made["variables"], made["error"]),
                         (str(source), f"{self.place}/a.h5", "HDF5", 1, None))

    def test_names_what_it_makes_after_its_source(self):
        for name, made in (("a.nc", "a.h5"), ("b.cdf", "b.h5"), ("run.0001", "run.0001.h5"), ("plain", "plain.h5"), ("c.x.nc4", "c.x.h5")):
            convert(self.source(name))
            self.assertTrue((self.place / made).exists(), made)
        self.assertEqual([name for name in os.listdir(self.place) if ".glean-" in name], [])

    def test_takes_the_place_of_a_file_with_its_permissions(self):
        target = self.place / "out.h5"
        target.write_text("old")
        target.chmod(0o640)
        convert("-o", target, self.source())
        self.assertEqual(target.stat().st_mode & 0o777, 0o640)
        self.assertEqual(target.read_bytes()[:4], b"\x89HDF")

    def test_refuses_command_lines_that_cannot_be(self):
        source, other = self.source(), self.source("a.cdf")
        self.assertIn("would both become", convert(source, other, code=2).stderr)
        self.assertIn("there are several", convert("-o", "x.h5", source, other, code=2).stderr)
        self.assertIn("--image is for --to vtkhdf", convert("--image", source, code=2).stderr)
        self.assertIn("the place of the file that it is made of", convert("-o", source, source, code=1).stderr)
        convert("--to", "xml", source, code=2)

    def test_refuses_what_is_no_whole_netcdf_file_and_goes_on_with_the_others(self):
        good = self.source()
        cut = self.source("cut.nc")
        os.truncate(cut, cut.stat().st_size - 100)
        for name, content in (("text.nc", b"hello"), ("empty.nc", b""), ("hdf5.nc", b"\x89HDF\r\n\x1a\n" + bytes(100)),
                              ("bad.nc", b"CDF\x05" + b"\x7f" * 60)):
            (self.place / name).write_bytes(content)
        names = ("cut.nc", "text.nc", "empty.nc", "hdf5.nc", "bad.nc", "none.nc")
        said = convert(*(self.place / name for name in names), good, code=1)
        for part in ("it ends 100 bytes before", "text.nc': it is no classic NetCDF file", "empty.nc': the header", "it is an HDF5 file",
                     "is damaged", "none.nc': No such file"):
            self.assertIn(part, said.stderr)
        self.assertTrue((self.place / "a.h5").exists())
        self.assertEqual(len([name for name in os.listdir(self.place) if name.endswith(".h5")]), 1)

    def test_says_what_vtkhdf_would_need(self):
        said = convert("--to", "vtkhdf", self.source(), code=1).stderr
        for part in ("there is no variable lrefine(blocks)", "'v' has the dimension 'x', of which there is no coordinate 'x(x)'",
                     "needed are blocks"):
            self.assertIn(part, said)
        said = convert("--to", "vtkhdf", "--semantics", "none", self.source(), code=1).stderr
        self.assertIn("it says of no mesh", said)

    def test_uneven_coordinates_are_no_uniform_grid(self):
        file = cdf.File()
        file.dimension("x", 4)
        file.variable("x", ["x"], numpy.array([0, 1, 2.5, 3]))
        file.variable("v", ["x"], numpy.arange(4.0))
        said = convert("--to", "vtkhdf", file.write(self.place / "b.nc"), code=1).stderr
        self.assertIn("coordinate 'x' is not evenly spaced: value 2 is 2.5, and 2 would be", said)

    def test_memory_does_not_grow_with_the_file(self):
        file = cdf.File()
        file.dimension("x", 50_000_000)
        file.variable("v", ["x"], numpy.ones(50_000_000))
        source = file.write(self.place / "a.nc")
        used = run("bash", "-c", f"ulimit -v 400000; exec {COMMAND} convert {source}")
        self.assertEqual(used.returncode, 0, used.stderr)


main((__file__ if h5py else "", "there is no h5py: tools/setup installs it"))
