# SPDX-License-Identifier: BSD-3-Clause
"""What `glean join --virtual` makes of HDF5 outputs in several files is to h5py, h5dump and h5diff the file that `glean join` makes."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

from place import COMMAND, PlaceTest, main

try:
    import h5py
except ImportError:
    h5py = None

OUTPUTS = ("native.h5", "groups 100%.h5")
RANKS = 3   # in two parts


def run(*command):
    return subprocess.run([*map(str, command)], check=False, capture_output=True, text=True, timeout=100)


def objects(path):
    """Everything that h5py sees: path → type, shape, values, attributes, scales."""
    found = {}

    def note(name, thing):
        attributes = {key: (value.dtype, value.tolist()) if hasattr(value, "tolist") else repr(value)
                      for key in thing.attrs if key not in ("DIMENSION_LIST", "REFERENCE_LIST") for value in [thing.attrs[key]]}
        if isinstance(thing, h5py.Dataset):
            scales = [[scale.name for scale in dimension.values()] for dimension in thing.dims]
            found[name] = (thing.dtype, thing.shape, thing.maxshape, thing[()].tobytes(), scales, attributes)
        else:
            found[name] = attributes

    with h5py.File(path) as file:
        note("/", file)
        file.visititems(note)
    return found


class Virtual(PlaceTest):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.written = directory.name
        environment = os.environ | {"GLEAN_TOPOLOGY_RANKS_PER_NODE": "1", "GLEAN_PLAN_FILES": "2"}
        written = subprocess.run([*os.environ["MPIRUN"].split(), str(RANKS), os.environ["NATIVE"], cls.written], env=environment,
                                 check=False, capture_output=True, text=True, timeout=100)
        if written.returncode != 0:
            raise AssertionError(written.stdout + written.stderr)

    def setUp(self):
        super().setUp()
        self.data = self.place / "data"
        shutil.copytree(self.written, self.data)

    def join(self, *arguments):
        joined = run(COMMAND, "join", *arguments)
        self.assertEqual((joined.returncode, joined.stderr), (0, ""), joined.stdout)
        return joined.stdout

    def assert_same(self, made, whole):
        expected, seen = objects(whole), objects(made)
        self.assertEqual(list(seen), list(expected))
        for name in expected:
            self.assertEqual(seen[name], expected[name], name)
        differences = run("h5diff", "-c", made, whole)
        said = [line for line in differences.stdout.splitlines() if not line.endswith("is a virtual dataset")]
        self.assertEqual((differences.returncode, said, differences.stderr), (0, [], ""))

    def test_is_the_joined_file_for_all_who_read_it(self):
        for name in OUTPUTS:
            with self.subTest(name):
                whole = self.place / f"whole of {name}"
                self.join("-o", whole, self.data / name)

                said = self.join("--virtual", self.data / name)

                self.assertIn(f"{name}: 2 parts, ", said)
                self.assert_same(self.data / name, whole)
                self.assertLess((self.data / name).stat().st_size, 200_000)
                self.assertEqual([path.name for path in self.data.iterdir() if path.name.startswith(".")], [])

    def test_has_its_elements_in_the_parts_which_it_names_from_where_it_is(self):
        self.join("--virtual", self.data / "native.h5")
        moved = self.place / "moved"
        self.data.rename(moved)

        with h5py.File(moved / "native.h5") as file:
            doubles = file["float64 of steps"]
            self.assertTrue(doubles.is_virtual)
            self.assertEqual({source.file_name for source in doubles.virtual_sources()}, {"native.h5.0of2", "native.h5.1of2"})
            self.assertEqual(doubles[2, :, 0].tolist(), [4.0 + 7 * (row % 5) for row in range(5 * RANKS)])
            self.assertEqual(doubles.dims[1]["row"][:].tolist(), [0.5 * (row // 5 + 1) for row in range(5 * RANKS)])
        dump = run("h5dump", "-d", "/int16", moved / "native.h5")
        self.assertEqual((dump.returncode, dump.stderr), (0, ""))
        self.assertRegex(dump.stdout, r"\(14,0\): 29, 30, 31, 32, 33, 34, 35\n")
        self.assertIn("VIRTUAL", run("h5dump", "-p", "-H", moved / "native.h5").stdout)

    def test_may_be_in_another_directory(self):
        there = self.place / "there"
        there.mkdir()
        self.join("--virtual", "-o", there / "by one name.h5", self.data / OUTPUTS[1])
        self.join("-o", self.place / "whole.h5", self.data / OUTPUTS[1])

        self.assert_same(there / "by one name.h5", self.place / "whole.h5")

    def test_leaves_out_the_steps_that_not_all_parts_have(self):
        index = self.data / "native.h5.1of2.index"
        content = json.loads(index.read_text())
        self.assertEqual(content["steps"], 3)
        index.write_text(json.dumps(content | {"steps": 2}))
        run(COMMAND, "join", "-o", self.place / "whole.h5", self.data / "native.h5")

        joined = run(COMMAND, "join", "--virtual", self.data / "native.h5")

        self.assertEqual(joined.returncode, 0)
        self.assertIn("native.h5: 2 parts, 2 records, ", joined.stdout)
        self.assertIn("1 step is left out", joined.stderr)
        self.assert_same(self.data / "native.h5", self.place / "whole.h5")

    def test_is_made_again_when_the_output_was_written_again(self):
        self.join("--virtual", self.data / "native.h5")
        before = (self.data / "native.h5").stat().st_ino

        self.join("--virtual", self.data / "native.h5")

        self.assertNotEqual((self.data / "native.h5").stat().st_ino, before)
        self.join("-o", self.place / "whole.h5", self.data / "native.h5")
        self.assert_same(self.data / "native.h5", self.place / "whole.h5")

    def test_refuses_what_it_cannot_make_and_leaves_nothing(self):
        (self.data / "native.h5.1of2").unlink()
        before = sorted(path.name for path in self.data.iterdir())
        for name, code, text in (("native.nc", 1, "native.nc.0of2' is of format cdf5: only HDF5 has virtual datasets"),
                                 ("native.h5", 1, "a file is missing"), ("--remove", 2, "--remove excludes --virtual")):
            refused = run(COMMAND, "join", "--virtual", *([name] if name == "--remove" else []), self.data / name)
            self.assertEqual(refused.returncode, code, refused.stdout)
            self.assertIn(text, refused.stderr)
        self.assertEqual(sorted(path.name for path in self.data.iterdir()), before)


if __name__ == "__main__":
    main(("" if h5py is None or "NATIVE" not in os.environ else COMMAND, "h5py (tools/setup), and the library with HDF5"))
