# SPDX-License-Identifier: BSD-3-Clause
"""What is read is what NumPy would select, through the drain too, and xarray takes it."""

import concurrent.futures
import pickle
import random
import resource
import threading
import unittest
import warnings

import numpy as np
import xarray

import glean
import ranks
from glean import _session
from glean.xarray_backend import GleanBackendEntrypoint
from ranks import COMM, RANK, SIZE


def random_key(chance, shape):
    key = []
    for length in shape[:chance.randint(0, len(shape))]:
        if chance.random() < 0.3 and length:
            key.append(chance.randrange(-length, length))
        else:
            ends = [chance.choice([None, chance.randint(-length - 1, length + 1)]) for _ in range(2)]
            key.append(slice(*ends, chance.choice([None, 1, 2, 3, -1, -2])))
    if chance.random() < 0.3:
        key.insert(chance.randint(0, len(key)), ...)
    return tuple(key) if len(key) != 1 or chance.random() < 0.5 else key[0]


class Inputs(ranks.Ranks):
    def series(self, session, name="a.nc", steps=4):
        """An output that is open, with a record variable of shape (steps, 2 SIZE, 5); and all of its values."""
        output = session.open(self.path(name))
        output.dimension("time"), output.dimension("y", 2 * SIZE), output.dimension("x", 5)
        mine = slice(2 * RANK, 2 * RANK + 2)
        v = output.variable("v", "f8", ["time", "y", "x"], blocks=[np.s_[mine, :]])
        fixed = output.variable("fixed", "i4", ["y"], blocks=[np.s_[mine]])
        v.attrs.update(units="K", factors=[1.0, 2.0])
        output.attrs["title"] = "a series"
        values = np.arange(steps * 2 * SIZE * 5.0).reshape(steps, 2 * SIZE, 5)
        for number in range(steps):
            with output.step() as step:
                step.put(v, values[number, mine])
                if number == 0:
                    step.put(fixed, np.arange(2 * SIZE)[mine])
        return output, values

    def test_selections_are_those_of_numpy(self):
        with self.session() as session:
            output, values = self.series(session)
            output.close()
            file = session.open_input(self.path("a.nc"))
            self.assertEqual(np.asarray(file["v"]).tolist(), values.tolist())
            for seed in range(300):
                key = random_key(random.Random(seed), values.shape)
                with self.subTest(key=key):
                    try:
                        values[key]
                    except IndexError:
                        with self.assertRaises(IndexError):
                            file["v"][key]
                        continue
                    found = file["v"][key]
                    np.testing.assert_array_equal(found, values[key])
                    self.assertEqual(np.shape(found), np.shape(values[key]))
            self.assertEqual(file["fixed"][::-2].tolist(), np.arange(2 * SIZE)[::-2].tolist())
            self.assertEqual([step.tolist() for step in file["v"]], values.tolist())
            for key in (99, (0, 0, 0, 0), "x", [0, 1], 1.5):
                with self.subTest(key=key), self.assertRaises(glean.InvalidArgument):
                    file["v"][key]

    def test_a_step_that_is_not_selected_is_not_read(self):
        with self.session() as session:
            output, values = self.series(session)
            output.close()
            with session.open_input(self.path("a.nc")) as file:
                v, steps = file["v"], []

                class Recorded:
                    def read(self, variable, step, *rest):
                        steps.append(step)
                        handle.read(variable, step, *rest)

                handle, file._file.handle = file._file.handle, Recorded()
                np.testing.assert_array_equal(v[::-3, 0, ::2], values[::-3, 0, ::2])
                file._file.handle = handle
            self.assertEqual(steps, [3, 0])

    def test_ranks_read_together_what_each_selects(self):
        with self.session() as session:
            output, values = self.series(session)
            output.close()
            file = session.open_input(self.path("a.nc"))
            v = file["v"]
            np.testing.assert_array_equal(v.read_all(np.s_[1:3, 2 * RANK:2 * RANK + 2, ::2]), values[1:3, 2 * RANK:2 * RANK + 2, ::2])
            nothing = v.read_all(np.s_[0, 0:0] if RANK == 0 else np.s_[0], dtype="f4")
            np.testing.assert_array_equal(nothing, values[0, 0:0] if RANK == 0 else values[0])
            with self.assertRaises(glean.Error):
                v.read_all((0, 99) if RANK == 0 else 0)
            np.testing.assert_array_equal(v.read_all(3), values[3])

    def test_what_a_selection_needs_is_prefetched(self):
        with self.session() as session:
            output, values = self.series(session)
            output.close()
            with session.open_input(self.path("a.nc")) as file:
                v, asked = file["v"], []

                class Recorded:
                    def prefetch(self, *arguments):
                        asked.append(arguments)
                        handle.prefetch(*arguments)

                handle, file._file.handle = file._file.handle, Recorded()
                v.prefetch(np.s_[1:3, 0, 1:4])
                v.prefetch(-1)
                v.prefetch(4)   # behind the last one
                file["fixed"].prefetch()
                file._file.handle = handle
                with self.assertRaises(glean.InvalidArgument):
                    v.prefetch((0, 99))
                np.testing.assert_array_equal(v[2], values[2])
            self.assertEqual(asked, [(v.id, 1, [0, 1], [1, 3]), (v.id, 2, [0, 1], [1, 3]), (v.id, 3, [0, 0], [2 * SIZE, 5]),
                                     (file["fixed"].id, 0, [0], [2 * SIZE])])

    def test_a_file_that_xarray_cannot_decode_leaves_no_session_open(self):
        with self.session() as session:
            with session.open(self.path("a.nc")) as output:
                time = output.variable("time", "f8", [output.dimension("time", SIZE)], blocks=[np.s_[RANK:RANK + 1]])
                time.attrs["units"] = "days since never"
                with output.step() as step:
                    step.put(time, [1])
            session.wait("durable")
            with warnings.catch_warnings(), self.assertRaises(ValueError):
                warnings.simplefilter("error", ResourceWarning)
                xarray.open_dataset(self.path("a.nc"), engine=GleanBackendEntrypoint)
            self.assertEqual([handle for _, handle, _ in _session._open_handles.values()], [session._handle])

    def test_steps_are_read_while_the_output_is_open(self):
        with self.session() as session:
            output, values = self.series(session)
            with session.open_input(self.path("a.nc"), "written", timeout=15) as file:
                self.assertGreaterEqual(file.steps, 4)
                np.testing.assert_array_equal(file["v"][:4], values)
            with self.assertRaises(glean.InvalidState):
                session.open_input(self.path("a.nc"))
            self.assertFalse(self.path("a.nc").exists())
            COMM.barrier()
            output.close()

    def test_a_file_may_be_closed_while_threads_read_it(self):
        with self.session() as session:
            output, values = self.series(session)
            output.close()
            for _ in range(20):
                file = session.open_input(self.path("a.nc"))
                v, met, began = file["v"], [], threading.Barrier(4)

                def read():
                    began.wait()
                    try:
                        while True:
                            v[:]
                    except glean.Error as wrong:
                        met.append(wrong.code)

                threads = [threading.Thread(target=read) for _ in range(3)]
                for thread in threads:
                    thread.start()
                began.wait()
                v[:]
                file.close()
                for thread in threads:
                    thread.join()
                self.assertEqual(met, ["invalid_state"] * 3)

    def test_values_are_converted_to_the_type_that_is_asked_for(self):
        with self.session() as session:
            output, values = self.series(session)
            output.close()
            with session.open_input(self.path("a.nc")) as file:
                found = file["v"].read(np.s_[1], dtype="i2")
                self.assertEqual((found.dtype, found.tolist()), (np.int16, values[1].tolist()))
                self.assertEqual(np.asarray(file["fixed"], "f4").dtype, np.float32)
                with self.assertRaises(glean.OutOfRange):
                    session.open_input(self.big(session))["v"].read(dtype="i1")
                with self.assertRaisesRegex(glean.InvalidArgument, "bool"):
                    file["v"].read(dtype=bool)

    def big(self, session):
        self.write(session, "big.nc", {"v": np.array([1000.0])})
        return self.path("big.nc")

    def test_a_file_maps_names_to_variables(self):
        with self.session() as session:
            output, values = self.series(session)
            output.close()
            file = session.open_input(str(self.path("a.nc")))
            self.assertEqual((list(file), len(file), "v" in file, "w" in file), (["v", "fixed"], 2, True, False))
            v = file["v"]
            self.assertEqual((v.name, v.shape, v.ndim, v.size, len(v)), ("v", values.shape, 3, values.size, 4))
            self.assertEqual((v.dimensions, v.dtype, v.per_step, file["fixed"].per_step), (("time", "y", "x"), np.float64, True, False))
            self.assertIn("'time': 4", repr(v))
            self.assertEqual((v.attrs["units"], v.attrs["factors"].tolist(), file.attrs["title"]), ("K", [1, 2], "a series"))
            with self.assertRaisesRegex(LookupError, "no variable 'w'.*'v', 'fixed'"):
                file["w"]
            file.close()

    def test_xarray_reads_what_it_is_asked_for(self):
        with self.session() as session:
            output, values = self.series(session)
            output.close("durable")
            file = xarray.open_dataset(self.path("a.nc"), engine=GleanBackendEntrypoint, session=session)
            self.assertEqual(dict(file.sizes), {"time": 4, "y": 2 * SIZE, "x": 5})
            self.assertEqual((file.attrs["title"], file["v"].attrs["units"]), ("a series", "K"))
            np.testing.assert_array_equal(file["v"].isel(time=-1, x=slice(None, None, -2)), values[-1, :, ::-2])
            np.testing.assert_array_equal(file["v"].isel(time=[2, 0], x=[4, 1]), values[[2, 0]][:, :, [4, 1]])
            np.testing.assert_allclose(file["v"].mean("time"), values.mean(0))
            file.close()
            with self.assertRaises(glean.InvalidState):
                file["fixed"].load()

            with xarray.open_dataset(self.path("a.nc"), engine=GleanBackendEntrypoint) as alone:   # a session of its own
                np.testing.assert_array_equal(alone["v"], values)
            with self.assertRaises(FileNotFoundError):
                xarray.open_dataset(self.path("none.nc"), engine=GleanBackendEntrypoint)

    def test_more_datasets_can_be_open_than_a_process_may_have_files(self):
        with self.session() as session:
            output, values = self.series(session)
            output.close("durable")
            before = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (250, before[1]))
            self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, before)
            datasets = [xarray.open_dataset(self.path("a.nc"), engine=GleanBackendEntrypoint) for _ in range(300)]
            with concurrent.futures.ThreadPoolExecutor(4) as threads:
                self.assertEqual(set(threads.map(lambda each: float(each["v"].sum()), datasets)), {values.sum()})
            for each in datasets:
                each.close()
            self.assertEqual([handle for _, handle, _ in _session._open_handles.values()], [session._handle])
            with self.assertRaisesRegex(OSError, "ulimit -n"):
                files = []
                while True:
                    files.append(session.open_input(self.path("a.nc")))
            for each in files:
                each.close()

    def test_a_dataset_can_be_pickled_unless_it_is_of_a_session(self):
        with self.session() as session:
            output, values = self.series(session)
            output.close("durable")
            with xarray.open_dataset(self.path("a.nc"), engine=GleanBackendEntrypoint) as data:
                again = pickle.loads(pickle.dumps(data["v"][1:]))
                np.testing.assert_array_equal(again, values[1:])
            with xarray.open_dataset(self.path("a.nc"), engine=GleanBackendEntrypoint, session=session) as data:
                with self.assertRaises(TypeError):
                    pickle.dumps(data)

    def test_xarray_reads_through_the_drain_and_decodes_conventions(self):
        with self.session() as session:
            output = session.open(self.path("a.nc"))
            output.dimension("time"), output.dimension("x", SIZE)
            time = output.variable("time", "f8", ["time"], blocks=[((), ())] if RANK == 0 else [])
            time.attrs["units"] = "days since 2000-01-01"
            v = output.variable("v", "i2", ["time", "x"], blocks=[np.s_[RANK:RANK + 1]], fill=-9)
            v.attrs["scale_factor"] = 0.5
            for number in range(2):
                with output.step() as step:
                    if RANK == 0:
                        step.put(time, float(number))
                    step.put(v, [-9 if number else 4])
            with xarray.open_dataset(self.path("a.nc"), engine=GleanBackendEntrypoint, session=session, reading="written") as file:
                self.assertEqual(file["v"].isel(time=0).values.tolist(), [2.0] * SIZE)
                self.assertTrue(np.isnan(file["v"].isel(time=1)).all())
                self.assertEqual(str(file["time"].values[1])[:10], "2000-01-02")
            COMM.barrier()
            output.close()


if __name__ == "__main__":
    ranks.main()
