#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""reductions_test.py [PYTHON]: what operators make of files, against NumPy on the whole file; PYTHON has hdf5plugin, for what zfp makes."""

import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import unittest

import h5py
import numpy

import cdf
from place import COMMAND, HERE, PlaceTest, convert

sys.path.insert(0, str(HERE.parents[1] / "examples/sedov"))
from evaluation import cdf as reading

FILL = 9.969209968386869e36
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
PYTHON = sys.argv[1] if len(sys.argv) > 1 else ""


def grid(random_numbers, lengths=(7, 5, 9), records=3, dtype="f4"):
    """A file with coordinates, two fields with records and one without, and what the fields are."""
    file = cdf.File(random_numbers.choice((1, 2, 5)))
    file.dimension("time", None)
    for name, length in zip("zyx", lengths):
        file.dimension(name, length)
        file.variable(name, (name,), numpy.arange(length) * 0.5 + 0.25)
    made = numpy.random.default_rng(random_numbers.randrange(1 << 30))
    values = {"dens": made.normal(size=(records, *lengths)).astype(dtype), "temp": made.normal(size=(records, *lengths)),
              "mask": made.integers(-9, 9, size=lengths, dtype="i4"), "time": numpy.arange(records) * 0.1}
    file.variable("time", ("time",), values["time"])
    file.variable("dens", ("time", "z", "y", "x"), values["dens"], {"units": "g/cm^3"})
    file.variable("temp", ("time", "z", "y", "x"), values["temp"])
    file.variable("mask", ("z", "y", "x"), values["mask"])
    return file, values


def contents(path):
    """Variables and attributes of a result, and their dimensions where a reader finds them."""
    if path.suffix == ".h5":
        with h5py.File(path) as file:
            return ({name: data[()] for name, data in file.items()}, {name: dict(data.attrs) for name, data in file.items()})
    file = reading.File(path)
    raw = path.read_bytes()
    records = int.from_bytes(raw[4:12] if raw[3] == 5 else raw[4:8], "big")
    lengths = [length for _, length in file.dimensions]
    size = {name: int(numpy.prod([lengths[d] for d in dims if lengths[d]], dtype=int)) * kind.itemsize
            for name, (dims, kind, _, _) in file.variables.items()}
    of_steps = [name for name, (dims, *_) in file.variables.items() if dims and lengths[dims[0]] == 0]
    stride = sum(size[name] + (-size[name] % 4 if len(of_steps) > 1 else 0) for name in of_steps)
    found = {}
    for name, (dims, kind, offset, _) in file.variables.items():
        shape = tuple(lengths[d] for d in dims if lengths[d])
        if name in of_steps:
            parts = [raw[offset + r * stride:offset + r * stride + size[name]] for r in range(records)]
            found[name] = numpy.frombuffer(b"".join(parts), kind).reshape(records, *shape)
        else:
            found[name] = numpy.frombuffer(raw[offset:offset + size[name]], kind).reshape(shape)
    return found, {name: attributes for name, (_, _, _, attributes) in file.variables.items()}


def rounded(values, bits):
    """The nearest number with so many bits, the even one of two."""
    whole, stored = (numpy.uint32, 23) if values.dtype == "f4" else (numpy.uint64, 52)
    if bits >= stored:
        return values
    dropped = whole(stored - bits)
    pattern = values.view(whole)
    one = whole(1)
    return ((pattern + ((one << (dropped - one)) - one) + ((pattern >> dropped) & one)) >> dropped << dropped).view(values.dtype)


class Reductions(PlaceTest):
    def reduced(self, file, *options, to="hdf5", name="a.nc"):
        path, = self.made(name, file, "--to", to, *options)
        return contents(path)

    def refused(self, file, *options, code=1):
        source = file.write(self.place / "refused.nc")
        before = sorted(self.place.iterdir())
        run = convert(*options, source, code=code)
        self.assertEqual(sorted(self.place.iterdir()), before)
        return run.stderr

    def test_random_pipelines_are_what_numpy_makes_of_the_whole_file(self):
        chosen = random.Random(SEED)
        for trial in range(40):
            with self.subTest(seed=SEED, trial=trial):
                lengths = tuple(chosen.randrange(1, 40) for _ in range(3))
                file, values = grid(chosen, lengths, chosen.randrange(1, 5), chosen.choice(("f4", "f8")))
                operators, index = [], {"time": slice(None), "z": slice(None), "y": slice(None), "x": slice(None)}
                picks = {name: numpy.arange(n) for name, n in zip(("time", "z", "y", "x"), (len(values["time"]), *lengths))}
                for _ in range(chosen.randrange(1, 5)):
                    name = chosen.choice(list(picks))
                    if picks[name].ndim == 0:
                        continue
                    length, kind = len(picks[name]), chosen.choice(("region", "slice", "subsample", "coordinates"))
                    if kind == "region":
                        begin = chosen.randrange(length)
                        end = chosen.randrange(begin, length) + 1
                        operators.append(f"region {name}={begin}:{end}")
                        picks[name] = picks[name][begin:end]
                    elif kind == "slice":
                        at = chosen.randrange(-length, length)
                        operators.append(f"slice {name}={at}")
                        picks[name] = picks[name][at]
                    elif kind == "subsample":
                        stride = chosen.randrange(1, 9)
                        operators.append(f"subsample {name}={stride}")
                        picks[name] = picks[name][::stride]
                    elif name != "time":
                        low = chosen.uniform(0, picks[name][-1] * 0.5 + 0.2)
                        where = picks[name] * 0.5 + 0.25 >= low
                        operators.append(f"region {name}@{low!r}:")
                        picks[name] = picks[name][where]
                del index

                def taken(array, dimensions):
                    for axis, name in reversed(list(enumerate(dimensions))):
                        array = numpy.take(array, picks[name], axis=axis)
                    return array

                expected = {name: taken(values[name], dimensions)
                            for name, dimensions in (("dens", ("time", "z", "y", "x")), ("temp", ("time", "z", "y", "x")),
                                                     ("mask", ("z", "y", "x")), ("time", ("time",)))}
                if chosen.random() < 0.5:
                    operators.append("expression both = sqrt(dens^2 + temp^2) / (1 + time)")
                    times = expected["time"]
                    if times.ndim:
                        times = times.reshape(times.shape + (1,) * (expected["temp"].ndim - 1))
                    wide = expected["dens"].astype("f8")
                    expected["both"] = numpy.sqrt(wide * wide + expected["temp"] * expected["temp"]) / (1 + times)
                if chosen.random() < 0.5:
                    operators.append("threshold temp=-0.5:0.75 mask=0:")
                    expected["temp"] = numpy.where((expected["temp"] >= -0.5) & (expected["temp"] <= 0.75), expected["temp"], FILL)
                    expected["mask"] = numpy.where(expected["mask"] >= 0, expected["mask"], -2147483647)
                if chosen.random() < 0.5:
                    bits = chosen.randrange(1, 30)
                    operators.append(f"bits {bits} dens")
                    expected["dens"] = rounded(numpy.ascontiguousarray(expected["dens"]), bits)
                if chosen.random() < 0.3:
                    operators.append("precision float32")
                    expected = {name: array.astype("f4") if array.dtype == "f8" and name != "time" else array
                                for name, array in expected.items()}
                to = chosen.choice(("hdf5", "netcdf"))
                if to == "hdf5" and chosen.random() < 0.3:
                    operators.append("deflate 2")

                found, _ = self.reduced(file, *sum((["--run", one] for one in operators), []), to=to)

                for name, array in expected.items():
                    self.assertEqual(found[name].dtype.newbyteorder("="), array.dtype, (operators, name))
                    numpy.testing.assert_array_equal(found[name], array, f"{to} {operators}: {name}")

    def test_a_slice_loses_its_dimension_and_keeps_where_it_is(self):
        file, values = grid(random.Random(SEED))

        for to in ("hdf5", "netcdf"):
            found, attributes = self.reduced(file, "--slice", "z=2", "--variables", "dens", to=to)

            self.assertEqual(set(found), {"dens", "time", "z", "y", "x"})
            self.assertEqual(found["z"].shape, ())
            numpy.testing.assert_array_equal(found["dens"], values["dens"][:, 2])
            self.assertIn("units", attributes["dens"])
            at_place, _ = self.reduced(file, "--slice", "z@1.2", to=to)
            numpy.testing.assert_array_equal(at_place["dens"], values["dens"][:, 2])
            self.assertEqual(at_place["z"][()], 1.25)

    def test_points_are_places_and_values(self):
        file, values = grid(random.Random(SEED))

        for to in ("hdf5", "netcdf"):
            found, _ = self.reduced(file, "--region", "y=1:4", "--points", "temp=1:", "--variables", "temp", to=to)

            inside = numpy.zeros(values["temp"].shape, bool)
            inside[:, :, 1:4] = True
            expected = numpy.flatnonzero((values["temp"] >= 1) & inside)
            numpy.testing.assert_array_equal(found["temp_place"], expected)
            numpy.testing.assert_array_equal(found["temp"], values["temp"].ravel()[expected])
            none, _ = self.reduced(file, "--points", "temp=1e9:", to=to)
            self.assertEqual(none["temp_place"].tolist(), [-1])

    def test_the_result_says_how_exact_it_is(self):
        file, values = grid(random.Random(SEED))

        for options in (("--precision", "float32"), ("--digits", "3"), ("--bits", "7")):
            for to in ("hdf5", "netcdf"):
                found, attributes = self.reduced(file, *options, to=to)

                error = numpy.abs(found["temp"].astype("f8") - values["temp"]).max()
                self.assertGreater(error, 0)
                self.assertEqual(float(numpy.asarray(attributes["temp"]["glean_maximum_error"]).ravel()[0]), error)
        relative = numpy.abs(self.reduced(file, "--digits", "3")[0]["temp"] / values["temp"] - 1).max()
        self.assertLessEqual(relative, 0.5e-3)

    def test_a_uniform_grid_becomes_a_smaller_one_of_vtkhdf(self):
        file, values = grid(random.Random(SEED), (8, 6, 10), 1)

        path, = self.made("a.nc", file, "--to", "vtkhdf", "--subsample", "2", "--expression", "twice = 2 * temp")

        self.assertEqual(path.name, "a_reduced.vtkhdf")
        with h5py.File(path) as made:
            names = []
            made.visititems(lambda name, node: names.append(node) if isinstance(node, h5py.Dataset) and name.endswith("twice") else None)
            numpy.testing.assert_array_equal(names[0][()].ravel(), 2 * values["temp"][0, ::2, ::2, ::2].ravel())
        self.assertEqual(sorted(found.name for found in self.place.iterdir()), ["a.nc", "a_reduced.vtkhdf"])

    def test_division_by_zero_is_what_numpy_makes_of_it_and_is_said(self):
        file, values = grid(random.Random(SEED))
        source = file.write(self.place / "a.nc")

        said = convert("--expression", "ratio = temp / (mask - mask)", source).stdout

        with numpy.errstate(divide="ignore"):
            expected = values["temp"] / numpy.zeros_like(values["temp"])
        with h5py.File(self.place / "a_reduced.h5") as made:
            numpy.testing.assert_array_equal(made["ratio"][()], expected)
            self.assertEqual(made["ratio"].attrs["glean_not_finite"], expected.size)
        self.assertIn(f"{expected.size} values of 'ratio' are infinite or no numbers", said)

    def test_fill_values_stay_fill_values(self):
        file, values = grid(random.Random(SEED))

        found, attributes = self.reduced(file, "--run", "threshold dens=0:", "--run", "expression more = dens + 1", "--run", "digits 2")

        below = values["dens"] < 0
        self.assertTrue((found["dens"][below] == numpy.float32(FILL)).all())
        self.assertTrue((found["more"][below] == FILL).all())
        self.assertEqual(attributes["more"]["_FillValue"], FILL)
        self.assertEqual(attributes["dens"]["_FillValue"], numpy.float32(FILL))

    def test_all_that_is_wrong_is_said_at_once(self):
        file, _ = grid(random.Random(SEED))

        said = self.refused(file, "--region", "q=1:2", "--region", "x=5:99", "--slice", "y@77", "--expression", "a = sqrt(den) + tmp",
                            "--expression", "b = sqrt(dens", "--threshold", "none=1:2", "--variables", "dns")

        for part in ("no dimension 'q'", "[5, 99) is not in 'x'", "77 is outside of the coordinates 'y'",
                     "character 6: there is no variable 'den'",
                     "character 13: there is no variable 'tmp'", "'sqrt(dens', character", "no variable 'none'", "no variable 'dns'"):
            self.assertIn(part, said)
        said = self.refused(file, "--run", "regoin x=1:2; slice z; digits 99", "--tolerance", "-1", code=2)
        for part in ("no operator 'regoin' (nearest: 'region')", "'z' is no dimension with '=' or '@'", "'99' cannot be", "'-1' cannot be"):
            self.assertIn(part, said)
        self.assertIn("is for --to hdf5", self.refused(file, "--to", "netcdf", "--tolerance", "1e-3", code=2))

    def test_memory_does_not_depend_on_the_size_of_the_file(self):
        source = self.place / "large.nc"
        file = cdf.File(5)
        for name, length in zip("zyx", (100, 500, 500)):
            file.dimension(name, length)
        file.variable("dens", ("z", "y", "x"), dtype="f8")
        file.write(source)
        with open(source, "r+b") as large:
            large.truncate(os.path.getsize(source) + 200_000_000)
        for options in (("--run", "subsample 2; expression more = dens + 1; digits 3"), ("--run", "slice x=7"),
                        ("--deflate", "1", "--region", "z=3:50")):
            run = subprocess.run([sys.executable, "-c", "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
                                  "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)", COMMAND, "convert", *options, source],
                                 check=True, capture_output=True, text=True)
            self.assertLess(int(run.stdout.split()[-1]), 64 << 10)   # KiB, of a file of 200 MB

    @unittest.skipUnless(PYTHON and os.path.exists(PYTHON), "no Python with hdf5plugin: tools/python_packages makes one")
    def test_what_zfp_compresses_others_read_within_the_tolerance(self):
        chosen = random.Random(SEED)
        for lengths, records in (((40, 30, 50), 2), ((9, 1, 3), 1), ((1, 1, 70000), 1)):
            file, values = grid(chosen, lengths, records)
            values["temp"].ravel()[3] = numpy.nan if lengths[0] == 9 else 0
            file.variables["temp"] = (*file.variables["temp"][:2], values["temp"], {})

            path, = self.made("zfp.nc", file, "--tolerance", "1e-3", "--deflate", "4")

            arrays = self.place / "arrays.npz"
            script = ("import sys, hdf5plugin, h5py, numpy; file = h5py.File(sys.argv[1]); "
                      "assert file['dens'].id.get_create_plist().get_filter(0)[0] == 32013; "
                      "numpy.savez(sys.argv[2], **{name: data[()] for name, data in file.items()}, "
                      "**{name + '_error': data.attrs['glean_maximum_error'] for name, data in file.items() if name in ('dens', 'temp')})")
            run = subprocess.run([PYTHON, "-c", script, path, arrays], check=False, capture_output=True, text=True)
            if "No module named 'hdf5plugin'" in run.stderr:
                self.skipTest("no hdf5plugin")
            self.assertEqual(run.returncode, 0, run.stderr)
            found = numpy.load(arrays)
            for name in ("dens", "temp"):
                self.assertEqual(found[name].shape, values[name].shape)
                error = numpy.nanmax(numpy.abs(found[name].astype("f8") - values[name]))
                self.assertLessEqual(error, 1e-3)
                self.assertEqual(found[name + "_error"], error)
            numpy.testing.assert_array_equal(found["mask"], values["mask"])

    def test_storage_that_takes_no_more_leaves_nothing_of_a_result(self):
        def take_little():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

        source = grid(random.Random(SEED), (40, 40, 40))[0].write(self.place / "a.nc")
        for option in (("--deflate", "1"), ("--tolerance", "1e-9"), ("--digits", "3"), ("--to", "vtkhdf", "--subsample", "x=2")):
            run = subprocess.run([COMMAND, "convert", *option, source], check=False, capture_output=True, text=True, preexec_fn=take_little)

            self.assertEqual(run.returncode, 1, run.stderr)
            self.assertIn("a_reduced.", run.stderr)
            self.assertNotIn(".part", run.stderr)
            self.assertEqual([path.name for path in self.place.iterdir()], ["a.nc"])

    def test_sizes_shrink(self):
        file, _ = grid(random.Random(SEED), (40, 40, 40))
        source = file.write(self.place / "a.nc")
        sizes = {}
        for option in (("--deflate", "4"), ("--run", "digits 2; deflate 4"), ("--tolerance", "1e-2")):
            made = json.loads(convert("--json", *option, source).stdout)[0]
            sizes[option] = made["bytes"]
            self.assertEqual(os.path.getsize(made["path"]), made["bytes"])
        self.assertLess(sizes["--run", "digits 2; deflate 4"], 0.6 * sizes["--deflate", "4"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
