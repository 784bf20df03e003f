# SPDX-License-Identifier: BSD-3-Clause
"""Arrays arrive as NumPy sees them, however they lie in memory, and nothing of them is copied but what is captured."""

import random
import tracemalloc
import unittest

import h5py
import numpy as np

import glean
import ranks
from ranks import COMM, LAST, RANK, SIZE


def random_view(chance, dtype):
    """An array that looks at another one in some way that NumPy has."""
    shape = tuple(chance.randint(1, 6) for _ in range(chance.randint(1, 4)))
    base = np.arange(np.prod(shape) * 2, dtype=np.int64).astype(dtype).reshape(2, *shape)
    view = base[chance.randint(0, 1)]
    for _ in range(chance.randint(1, 3)):
        way = chance.choice(["reverse", "transpose", "slice", "broadcast", "fortran", "newaxis", "swap bytes", "field"])
        axis = chance.randrange(view.ndim)
        if way == "reverse":
            view = np.flip(view, axis)
        elif way == "transpose":
            view = view.transpose(chance.sample(range(view.ndim), view.ndim))
        elif way == "slice":
            view = view[(slice(None),) * axis + (slice(chance.randint(0, 1) if view.shape[axis] > 1 else 0, None, chance.randint(1, 3)),)]
        elif way == "broadcast" and view.ndim < 4:
            view = np.broadcast_to(view, (chance.randint(1, 3), *view.shape))
        elif way == "fortran":
            view = np.asfortranarray(view)
        elif way == "newaxis" and view.ndim < 4:
            view = np.expand_dims(view, axis)
        elif way == "swap bytes":
            view = view.astype(view.dtype.newbyteorder())
        elif way == "field":   # neighbours of 8 bytes are 12 or 16 bytes apart
            record = np.zeros(view.shape, [("a", view.dtype), ("b", chance.choice(["i4", "i8"]))])
            record["a"] = view
            view = record["a"]
    return view


class Arrays(ranks.Ranks):
    def test_views_of_every_kind_arrive_as_numpy_sees_them(self):
        with self.session() as session, self.session(mode="passthrough") as direct:
            for seed in range(40):
                with self.subTest(seed=seed):
                    chance = random.Random(seed)
                    dtypes = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
                    arrays = {f"v{i}": random_view(chance, chance.choice(dtypes)) for i in range(4)}

                    self.write(session, f"{seed}.nc", arrays)
                    self.write(direct, f"{seed}-direct.nc", arrays)

                    with session.open_input(self.path(f"{seed}.nc")) as file:
                        for name, array in arrays.items():
                            found = file[name][:]
                            self.assertEqual(found.dtype, array.dtype.newbyteorder("="))
                            np.testing.assert_array_equal(found, np.concatenate([array] * SIZE))
                    self.assertTrue(self.same_bytes(f"{seed}.nc", f"{seed}-direct.nc"))

    def test_hdf5_files_have_the_arrays_that_h5py_expects(self):
        chance = random.Random(99)
        arrays = {f"v{i}": random_view(chance, dtype) for i, dtype in enumerate(["float64", "float32", "int16", "uint8"] * 3)}
        with self.session() as session:
            self.write(session, "a.h5", arrays, "hdf5")
            session.wait("durable")
        with h5py.File(self.path("a.h5")) as file:
            for name, array in arrays.items():
                np.testing.assert_array_equal(file[name][:], np.concatenate([array] * SIZE))

    def test_numpys_own_format_is_loaded_by_numpy(self):
        array = np.arange(24.0).reshape(2, 3, 4)[::-1, :, ::2].transpose(2, 0, 1)
        with self.session() as session:
            self.write(session, "a.npy", {"v": array}, "npy")
            session.wait("durable")
        np.testing.assert_array_equal(np.load(self.path("a.npy")), np.concatenate([array] * SIZE))

    def test_values_are_converted_to_the_type_in_the_file(self):
        with self.session() as session:
            with session.open(self.path("a.nc")) as output:
                output.dimension("x", 4 * SIZE)
                mine = [np.s_[4 * RANK:4 * RANK + 4]]
                for name, dtype in (("f", "f4"), ("i", "i2")):
                    output.variable(name, dtype, ["x"], blocks=mine)
                with output.step() as step:
                    step.put("f", np.arange(4))       # int64
                    step.put("i", [1, 2, 3.0, 4])     # a list

            with session.open_input(self.path("a.nc")) as file:
                np.testing.assert_array_equal(file["f"][4 * LAST:], np.arange(4, dtype="f4"))
                self.assertEqual(file["i"][:].dtype, np.int16)
                np.testing.assert_array_equal(file["i"][-4:], [1, 2, 3, 4])

    def test_text_is_put_character_by_character(self):
        with self.session() as session:
            text = np.array([b"dens", b"pres"]).view("S1").reshape(2, 4)
            self.write(session, "a.nc", {"names": text})

            with session.open_input(self.path("a.nc")) as file:
                self.assertEqual(file["names"][-2:].tobytes(), b"denspres")

    def test_a_put_copies_nothing_but_what_is_captured(self):
        wide = np.random.default_rng(1).random((1024, 1024))   # 8 MiB
        view = wide.T[::-1, ::2]
        with self.session(pool={"budget": f"{SIZE * 24}MiB", "deadline": "20s"}) as session:
            with session.open(self.path("a.nc")) as output:
                output.dimension("y", 1024 * SIZE), output.dimension("x", 512)
                variable = output.variable("v", "f8", ["y", "x"], blocks=[np.s_[1024 * RANK:1024 * (RANK + 1), :]])
                with output.step() as step:
                    before = session.statistics().captured_bytes
                    tracemalloc.start()
                    step.put(variable, view)
                    allocated = tracemalloc.get_traced_memory()[1]
                    tracemalloc.stop()

                    self.assertEqual(session.statistics().captured_bytes - before, view.size * 8)
                    self.assertLess(allocated, 16 * 1024)
                    wide[:] = 0   # may be overwritten at once

            with session.open_input(self.path("a.nc")) as file:
                np.testing.assert_array_equal(file["v"][1024 * RANK:1024 * (RANK + 1)],
                                              np.random.default_rng(1).random((1024, 1024)).T[::-1, ::2])

    def test_a_thousand_puts_leave_no_memory_behind(self):
        values = np.arange(16.0)[::-1]
        with self.session() as session, session.open(self.path("a.nc")) as output:
            output.dimension("t"), output.dimension("x", 16 * SIZE)
            variable = output.variable("v", "f8", ["t", "x"], blocks=[np.s_[16 * RANK:16 * (RANK + 1)]])

            def steps(count):
                for _ in range(count):
                    with output.step() as step:
                        step.put(variable, values)

            steps(20)
            tracemalloc.start()
            steps(20)
            first = tracemalloc.get_traced_memory()[0]
            steps(500)
            grown = tracemalloc.get_traced_memory()[0] - first
            tracemalloc.stop()

            self.assertLess(grown, 8 * 1024)

    def test_types_that_files_do_not_hold_are_refused_with_what_to_do(self):
        hints = {"bool": "view('uint8')", "complex128": ".real and .imag", "float16": "astype('float32')", "U3": "encode",
                 "O": "text", "S3": "view('S1')", "datetime64[s]": "text"}
        with self.session() as session:
            for dtype, hint in hints.items():
                with self.subTest(dtype=dtype):
                    output = session.open(self.path("a.nc"))
                    output.dimension("x", SIZE)
                    variable = output.variable("v", "f8", ["x"], blocks=[np.s_[RANK:RANK + 1]])
                    with self.assertRaises(glean.InvalidArgument) as refused:
                        output.step().put(variable, np.zeros(1, dtype))
                    self.assertIn(hint, refused.exception.hint)
                    self.assertIn("put of 'v'", str(refused.exception))
                    output.abandon()
                    COMM.barrier()   # an output of that name is opened again

    def test_masked_arrays_are_refused_because_the_mask_would_be_lost(self):
        with self.session() as session:
            output = session.open(self.path("a.nc"))
            output.dimension("x", SIZE)
            variable = output.variable("v", "f8", ["x"], blocks=[np.s_[RANK:RANK + 1]])
            with self.assertRaises(glean.InvalidArgument) as refused:
                output.step().put(variable, np.ma.masked_array([1.0], [True]))
            self.assertIn("filled", refused.exception.hint)
            output.abandon()


if __name__ == "__main__":
    ranks.main()
