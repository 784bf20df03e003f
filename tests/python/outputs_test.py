# SPDX-License-Identifier: BSD-3-Clause
"""Every call of sessions and outputs, and what it leaves in the file."""

import unittest

import h5py
import numpy as np
from mpi4py import MPI

import glean
import ranks
from ranks import COMM, LAST, RANK, SIZE


class Outputs(ranks.Ranks):
    def rows(self, count=1):
        """This rank's block of an array whose first dimension has `count` elements of each rank."""
        return np.s_[count * RANK:count * (RANK + 1), ...][:1]

    def test_an_output_appears_when_it_is_complete(self):
        with self.session() as session:
            output = session.open(self.path("a.nc"))
            x = output.dimension("x", 2 * SIZE)
            v = output.variable("v", "f8", [x], blocks=[self.rows(2)])
            output.end_definitions()
            with output.step() as step:
                step.put(v, [1.5, 2.5])
            output.wait("durable")
            self.assertTrue(output.reached("durable"))
            self.assertFalse(self.path("a.nc").exists())
            output.close("durable", timeout=15)
            self.assertTrue(self.path("a.nc").exists())
            self.assertEqual(session.outputs()[-1].state, "published")
        self.assertIn("closed", repr(session))

    def test_definitions_stand_in_the_file(self):
        with self.session() as session:
            with session.open(self.path("a.nc"), format="cdf2") as output:
                output.dimension("time")
                output.dimension("y", 3)
                x = output.dimension("x", 2 * SIZE)
                output.attrs["title"] = "of Python"
                output.attrs.update(version=3, ratios=[0.5, 1.5], empty="", small=np.int8(-7), wide=np.arange(3, dtype="f4"))
                v = output.variable("v", "f4", ["time", "y", x], blocks=[np.s_[:, 2 * RANK:2 * RANK + 2]], fill=-1)
                v.attrs["units"] = "K"
                fixed = output.variable("fixed", np.int16, "x", blocks=[glean.Box((2 * RANK,), (2,))])
                self.assertEqual((v.shape, v.blocks, v.dtype), ((3, 2 * SIZE), (glean.Box((0, 2 * RANK), (3, 2)),), np.float32))
                self.assertEqual(output.find_variable("fixed"), fixed)
                with output.step() as step:
                    step.put("fixed", [RANK, RANK])
                    step.put(v, np.ones((2, 2)), start=(1, 2 * RANK))
                with output.step():
                    v[...] = np.full((3, 2), 2)
                    with self.assertRaises(TypeError):
                        iter(v)
            with session.open_input(self.path("a.nc")) as file:
                self.assertEqual(file.steps, 2)
                self.assertEqual(list(file), ["v", "fixed"])
                self.assertEqual(file["v"].dimensions, ("time", "y", "x"))
                self.assertEqual(file["v"].attrs, {"units": "K", "_FillValue": np.float32(-1)})
                self.assertEqual(file["v"][0, :, 2 * LAST].tolist(), [-1, 1, 1])
                self.assertEqual(file["v"][1].tolist(), [[2] * 2 * SIZE] * 3)
                self.assertEqual(file["fixed"][:].tolist(), [rank for rank in range(SIZE) for _ in range(2)])
                attrs = dict(file.attrs)
                self.assertEqual(attrs.pop("ratios").tolist(), [0.5, 1.5])
                wide = attrs.pop("wide")
                self.assertEqual((wide.dtype, wide.tolist()), (np.float32, [0, 1, 2]))
                self.assertEqual({name: getattr(value, "dtype", str) for name, value in attrs.items()},
                                 {"title": str, "version": np.int32, "empty": str, "small": np.int8})
                self.assertEqual(attrs, {"title": "of Python", "version": 3, "empty": "", "small": -7})

    def test_attributes_may_come_until_the_output_is_closed(self):
        with self.session() as session:
            with session.open(self.path("a.nc"), format="cdf2") as output:
                v = output.variable("v", "i4", [output.dimension("x", SIZE)], blocks=[((RANK,), (1,))])
                output.attrs.update(state="under way", seconds=-1.0, title="a")
                v.attrs["range"] = np.zeros(2, "f4")
                output.attrs.allow_change("state")
                output.attrs.allow_change("seconds")
                v.attrs.allow_change("range")
                with output.step():
                    v[...] = [RANK]
                output.attrs["state"] = "done"
                output.attrs["seconds"] = 3   # a number of Python becomes what was defined
                v.attrs["range"] = np.array([1, 2], "f4")
                self.assertEqual(output.attrs["seconds"], 3)
            with session.open_input(self.path("a.nc")) as file:
                self.assertEqual(dict(file.attrs), {"state": "done", "seconds": 3.0, "title": "a"})
                self.assertEqual(file["v"].attrs["range"].tolist(), [1, 2])

    def test_parts_are_put_where_they_are_selected(self):
        whole = np.arange(8 * SIZE * 5.0).reshape(8 * SIZE, 5)
        mine = whole[8 * RANK:8 * RANK + 8]
        first = 8 * RANK
        with self.session() as session:
            with session.open(self.path("a.nc")) as output:
                output.dimension("y", 8 * SIZE), output.dimension("x", 5)
                v = output.variable("v", "f8", ["y", "x"], blocks=[self.rows(8)])
                with output.step():
                    v[first:first + 2] = mine[:2]
                    v[first + 2, :] = mine[2]
                    v[first + 3, 4] = mine[3, 4]
                    v[first + 3, 0:4] = mine[3, :4]
                    v[first + 4:first + 8, ..., -1] = mine[4:, -1]
                    v[first + 4:first + 8, :4] = mine[4:, :4]

            with session.open_input(self.path("a.nc")) as file:
                np.testing.assert_array_equal(file["v"][:], whole)

    def test_several_blocks_of_a_rank_are_a_sequence_of_arrays(self):
        with self.session() as session:
            with session.open(self.path("a.nc")) as output:
                output.dimension("x", 4 * SIZE)
                blocks = [np.s_[RANK:RANK + 1], np.s_[4 * SIZE - 2 * RANK - 2:4 * SIZE - 2 * RANK]]
                v = output.variable("v", "i4", ["x"], blocks=blocks, fill=True)
                none = output.variable("none", "i4", ["x"], blocks=[], fill=7)
                with output.step() as step:
                    step.put(v, [[RANK], np.array([10, 11]) + RANK])
                    step.put(none, [])
            with session.open_input(self.path("a.nc")) as file:
                found = file["v"][:].tolist()
                self.assertEqual(found[:SIZE], list(range(SIZE)))
                self.assertEqual(found[2 * SIZE:], [value + rank for rank in reversed(range(SIZE)) for value in (10, 11)])
                self.assertEqual(set(file["none"][:]), {7})

    def test_blocks_without_elements_take_empty_arrays(self):
        with self.session() as session:
            with session.open(self.path("a.nc")) as output:
                output.dimension("y", 3), output.dimension("x", 2)
                mine = 2 if RANK == LAST else 0     # the last rank has all columns
                v = output.variable("v", "i4", ["y", "x"], blocks=[np.s_[:, :mine]])
                parts = output.variable("parts", "i4", ["y", "x"], blocks=[np.s_[0:0, :], np.s_[:, :mine]])
                none = output.variable("none", "i4", ["y", "x"], blocks=[], fill=7)
                values = np.arange(6).reshape(3, 2)[:, :mine]
                with output.step() as step:
                    step.put(v, values)
                    step.put(parts, [[], values])
                    step.put(none, np.zeros((3, 0)))
            with session.open_input(self.path("a.nc")) as file:
                for name in ("v", "parts"):
                    self.assertEqual(file[name][:].tolist(), [[0, 1], [2, 3], [4, 5]])
                self.assertEqual(set(file["none"][:].flat), {7})

    def test_without_blocks_one_rank_has_all_and_several_have_to_say(self):
        with self.session() as session, glean.Session(MPI.COMM_SELF, **ranks.SMALL) as own:
            name = self.path(f"{RANK}.nc")
            with own.open(name) as output:
                v = output.variable("v", "f8", [output.dimension("x", 3)])
                scalar = output.variable("scalar", "i8", [])
                with output.step() as step:
                    step.put(v, [1, 2, 3])
                    scalar[...] = 42
            with own.open_input(name) as file:
                self.assertEqual((file["v"][:].tolist(), int(file["scalar"][...])), ([1, 2, 3], 42))

            output = session.open(self.path("all.nc"))
            output.dimension("x", 3)
            if SIZE > 1:
                with self.assertRaisesRegex(glean.InvalidArgument, "has no blocks"):
                    output.variable("v", "f8", ["x"])
            output.abandon()

    def test_a_uniform_grid_has_coordinates(self):
        with self.session() as session:
            with session.open(self.path("a.nc")) as output:
                grid = output.grid(glean.UniformGrid(shape=[2 * SIZE, 4], origin=[0, 10], spacing=[0.5, 2], blocks=[self.rows(2)]))
                self.assertEqual(grid.cells, ((2 * SIZE, 4), (glean.Box((2 * RANK, 0), (2, 4)),)))
                v = output.variable("v", "f4", grid=grid, per_step=True)
                with output.step() as step:
                    step.put(v, np.full((4, 2), RANK, "f4").T)
                with self.assertRaisesRegex(glean.NotFound, "grid"):
                    output.find_variable("y")
            with session.open_input(self.path("a.nc")) as file:
                self.assertEqual(file["v"].dimensions[1:], ("y", "x"))
                self.assertEqual(file["x"][:].tolist(), [11, 13, 15, 17])
                self.assertEqual(file["y"][:2].tolist(), [0.25, 0.75])
                self.assertEqual(file["v"][0, :, 1].tolist(), [rank for rank in range(SIZE) for _ in range(2)])

    def test_an_amr_grid_is_what_flash_has(self):
        mine = RANK + 1   # blocks of this rank
        first, total = RANK * (RANK + 1) // 2, SIZE * (SIZE + 1) // 2
        lower = np.stack([np.arange(first, first + mine)] * 2, 1).astype("f8")
        with self.session() as session:
            with session.open(self.path("a.nc")) as output:
                grid = output.grid(glean.AmrGrid(blocks_total=total, first_block=first, cells_per_block=[2, 3], level=np.full(mine, 2),
                                                 parent=[-1] * mine, lower=lower, upper=lower + 1))
                dens = output.variable("dens", "f8", grid=grid)
                with output.step() as step:
                    step.put(dens, np.broadcast_to(np.arange(first, first + mine)[:, None, None], (mine, 2, 3)))
            with session.open_input(self.path("a.nc")) as file:
                self.assertEqual(file["dens"].shape, (total, 2, 3))
                np.testing.assert_array_equal(file["dens"][:, 1, 2], np.arange(total))
                self.assertEqual(set(file["lrefine"][:]), {2})
                self.assertEqual(set(file["parent"][:].ravel()), {-1})
                np.testing.assert_array_equal(file["bndbox"][:].reshape(total, -1)[:, 0], np.arange(total))
            output = session.open(self.path("b.nc"))
            with self.assertRaisesRegex(glean.InvalidArgument, "1 level, 0 parent"):
                output.grid(glean.AmrGrid(SIZE, RANK, [2, 2], level=[1]))
            output.abandon()

    def test_hdf5_files_have_groups_and_steps(self):
        with self.session() as session:
            with session.open(self.path("a.h5"), "hdf5") as output:
                output.dimension("time"), output.dimension("x", SIZE)
                v = output.variable("fields/v", "f8", ["time", "x"], blocks=[self.rows()])
                for number in range(3):
                    with output.step() as step:
                        step.put(v, [number + RANK])
            session.wait("durable", timeout=15)
        with h5py.File(self.path("a.h5")) as file:
            np.testing.assert_array_equal(file["fields/v"][:], np.add.outer(np.arange(3), np.arange(SIZE)))
        COMM.barrier()
        if RANK == 0:
            with h5py.File(self.path("a.h5"), "a") as file:
                file["text"] = "of variable length"
        COMM.barrier()
        with self.session() as session, session.restart(self.path("*.h5")) as file:
            np.testing.assert_array_equal(file["fields/v"][1:], np.add.outer(np.arange(1, 3), np.arange(SIZE)))
            with self.assertRaisesRegex(glean.Unsupported, "texts of variable length"):
                file["text"]

    def test_settings_have_sections(self):
        with self.session(report={"table": False, "file": str(self.path("report.json"))}, checksums=True, drain={"threads": 2}) as session:
            self.write(session, "a.nc", {"v": np.ones(3)})
        self.assertTrue(self.path("report.json").exists())
        self.assertTrue(list(self.directory.glob("*a.nc*sum*")) or len(list(self.directory.iterdir())) > 2)

    def test_rules_are_a_list_of_mappings(self):
        with self.session(rule=[{"pattern": "*_plt_*", "publish": "in-place"}, {"pattern": "*.nc", "range": "fill"}]) as session:
            with session.open(self.path("b_plt_1")) as plot, session.open(self.path("b_chk_1")) as checkpoint:
                for output in (plot, checkpoint):
                    with output.step():
                        pass
                session.wait("written")
                self.assertTrue(self.path("b_plt_1").exists())
                self.assertFalse(self.path("b_chk_1").exists())
        with self.assertRaisesRegex(glean.InvalidConfig, r"rule\[0\]: a rule needs a pattern"):
            self.session(rule=[{"mode": "threaded"}])
        with self.assertRaisesRegex(glean.InvalidConfig, "unknown key 'mod' of a rule"):
            self.session(rule=[{"pattern": "*", "mod": "threaded"}])

    def test_statistics_and_outputs_say_what_has_happened(self):
        with self.session() as session:
            self.write(session, "a.nc", {"v": np.ones(30)})
            seen = session.statistics()
            self.assertEqual((seen.captured_bytes, seen.puts, seen.pool_budget_bytes), (240, 1, 32 << 20))
            self.assertGreater(seen.blocked_seconds, 0)
            session.wait("durable")
        status, = session.outputs()
        self.assertEqual((status.path, status.state, status.steps_ended, status.error), (str(self.path("a.nc")), "published", 1, ""))
        self.assertEqual(session.statistics().captured_bytes, 240)

    def test_existing_files_are_replaced_or_refused(self):
        with self.session() as session:
            for _ in range(2):
                self.write(session, "a.nc", {"v": np.ones(3)})
                session.wait("durable")
            with self.assertRaises(FileExistsError) as refused:
                session.open(self.path("a.nc"), existing="refuse")
            self.assertIsInstance(refused.exception, glean.Exists)

    def test_communicators_are_those_of_mpi4py(self):
        half = COMM.Split(RANK % 2, RANK)
        with glean.Session(half, **ranks.SMALL) as session:
            self.assertIs(session.comm, half)
            self.assertFalse(session.is_writer)
            with session.open(self.path(f"{RANK % 2}.nc")) as output:
                output.dimension("x", half.size)
                v = output.variable("v", "i4", ["x"], blocks=[np.s_[half.rank:half.rank + 1]])
                with output.step() as step:
                    step.put(v, [half.rank])
            self.assertEqual(session.open_input(self.path(f"{RANK % 2}.nc"))["v"][:].tolist(), list(range(half.size)))
        half.Free()
        with glean.Session(**ranks.SMALL) as session:
            self.assertEqual(session.comm, MPI.COMM_WORLD)

    def test_a_rank_that_is_set_aside_writes_for_the_others(self):
        if SIZE < 2:
            self.skipTest("needs two ranks")
        session = self.session(mode="dedicated")
        if not session.is_writer:
            comm = session.comm
            self.assertEqual(comm.size, SIZE - 1)
            with session.open(self.path("a.nc")) as output:
                output.dimension("x", comm.size)
                v = output.variable("v", "i4", ["x"], blocks=[np.s_[comm.rank:comm.rank + 1]])
                with output.step() as step:
                    step.put(v, [comm.rank])
        else:
            self.assertEqual(session.comm, MPI.COMM_NULL)
        session.close()
        COMM.barrier()
        with glean.Session(MPI.COMM_SELF, mode="passthrough") as reader:
            self.assertEqual(reader.open_input(self.path("a.nc"))["v"][:].tolist(), list(range(SIZE - 1)))

    def test_a_session_that_is_given_up_leaves_what_was_closed_and_nothing_else(self):
        session = self.session()
        self.write(session, "closed.nc", {"v": np.array([1.0])})
        session.wait("durable")
        output = session.open(self.path("open.nc"))
        v = output.variable("v", "i4", [output.dimension("x", SIZE)], blocks=[self.rows()])
        with output.step() as step:
            step.put(v, [RANK])

        session.abandon()

        with self.assertRaises(glean.InvalidState):
            session.open(self.path("more.nc"))
        COMM.barrier()
        self.assertEqual([path.name for path in self.directory.glob("[a-z]*")], ["closed.nc"])

    def test_what_is_not_closed_is_told_as_soon_as_it_is_forgotten(self):
        session = self.session()
        output = session.open(self.path("a.nc"))
        output.dimension("x", SIZE)
        output.variable("v", "i4", ["x"], blocks=[self.rows()]).attrs["units"] = "1"
        with self.assertWarnsRegex(ResourceWarning, "a.nc.* is given up"):
            del output
        with self.assertWarnsRegex(ResourceWarning, "Session.* when the program ends"):
            del session   # with the other ranks: not when its memory is collected
        self.assertFalse(self.path("a.nc").exists())


if __name__ == "__main__":
    ranks.main()
