# SPDX-License-Identifier: BSD-3-Clause
"""What is raised, on which ranks, and what is left of an output then."""

import os
import pickle
import threading
import time
import unittest

import numpy as np
from mpi4py import MPI

import glean
import ranks
from ranks import COMM, LAST, RANK, SIZE


class Interrupted:
    """Values during whose conversion the program is interrupted."""

    def __array__(self, *_, **__):
        raise KeyboardInterrupt


class Errors(ranks.Ranks):
    def output(self, session, name="a.nc"):
        """An output with one block of four elements on each rank, and its variable."""
        output = session.open(self.path(name))
        output.dimension("time"), output.dimension("x", 4 * SIZE)
        return output, output.variable("v", "i2", ["time", "x"], blocks=[np.s_[4 * RANK:4 * RANK + 4]])

    def raises(self, kind, pattern):
        return self.assertRaisesRegex(kind, pattern)

    def test_each_kind_is_what_python_calls_it(self):
        for kind, builtin in ((glean.InvalidArgument, ValueError), (glean.Timeout, TimeoutError), (glean.NotFound, FileNotFoundError),
                              (glean.NotFound, LookupError), (glean.Permission, PermissionError), (glean.NoSpace, OSError),
                              (glean.Unsupported, NotImplementedError)):
            self.assertTrue(issubclass(kind, builtin) and issubclass(kind, glean.Error))
        error = pickle.loads(pickle.dumps(glean.Timeout("waited 3 s (longer)", "longer")))
        self.assertEqual((type(error), str(error), error.hint, error.code), (glean.Timeout, "waited 3 s (longer)", "longer", "timeout"))

    def test_settings_that_do_not_exist_name_the_nearest(self):
        with self.raises(glean.InvalidConfig, "pool.budget"):
            self.session(pool={"bugdet": "1MiB"})
        with self.raises(glean.InvalidConfig, "mode"):
            self.session(mode="thread")

    def test_communicators_are_of_mpi4py(self):
        for comm in (3, MPI.COMM_NULL):
            with self.raises(glean.InvalidArgument, "no communicator"):
                glean.Session(comm)

    def test_files_that_are_not_there(self):
        with self.session() as session:
            with self.assertRaises(FileNotFoundError) as missing:
                session.open_input(self.path("none.nc"))
            self.assertEqual(missing.exception.code, "not_found")
            with self.raises(glean.NotFound, "none"):
                session.open(self.path("none/a.nc"))

    def test_names_of_values_that_do_not_exist(self):
        with self.session() as session:
            with self.raises(glean.InvalidArgument, "format 'cdf3'.*'cdf1', 'cdf2'"):
                session.open(self.path("a.nc"), "cdf3")
            with self.raises(glean.InvalidArgument, "level 'disk'.*'durable'"):
                session.wait("disk")
            with self.raises(glean.InvalidArgument, "way to read 'all'"):
                session.open_input(self.path("a.nc"), "all")

    def test_definitions_that_cannot_be_leave_no_file(self):
        wrong = [
            (glean.InvalidArgument, "dimension 'x' is defined already", lambda o: o.dimension("x", 3)),
            (glean.InvalidArgument, "numbers from 0 on", lambda o: o.dimension("y", -1)),
            (glean.InvalidArgument, "whole numbers", lambda o: o.dimension("y", 1.5)),
            (glean.NotFound, "no dimension 'z'", lambda o: o.variable("w", "f8", ["z"], blocks=[])),
            (glean.InvalidArgument, "no type of NumPy", lambda o: o.variable("w", "number", ["x"], blocks=[])),
            (glean.InvalidArgument, "of type bool", lambda o: o.variable("w", bool, ["x"], blocks=[])),
            (glean.InvalidArgument, "neither dimensions nor a grid", lambda o: o.variable("w", "f8")),
            (glean.InvalidArgument, "has dimensions and a grid", lambda o: o.variable("w", "f8", ["x"], grid=glean.Grid(0, (), ()))),
            (glean.InvalidArgument, "blocks of its own", lambda o: o.variable("w", "f8", grid=glean.Grid(0, (), ()), blocks=[])),
            (glean.InvalidArgument, "does not lie in variable", lambda o: o.variable("w", "f8", ["x"], blocks=[((0,), (999,))])),
            (glean.InvalidArgument, "a step are no block", lambda o: o.variable("w", "f8", ["x"], blocks=[np.s_[::2]])),
            (glean.InvalidArgument, "glean.Box", lambda o: o.variable("w", "f8", ["x"], blocks=[7])),
            (glean.InvalidArgument, "2 indices for 1 dimensions", lambda o: o.variable("w", "f8", ["x"], blocks=[np.s_[:, :]])),
            (glean.InvalidArgument, "defined already", lambda o: o.attrs.update(a=1) or o.attrs.update(a=2)),
            (glean.NotFound, "no attribute 'b' is defined", lambda o: o.attrs.allow_change("b")),
            (glean.InvalidArgument, "attributes have one", lambda o: o.attrs.update(a=[[1, 2], [3, 4]])),
            (glean.InvalidArgument, "of type bool", lambda o: o.attrs.update(a=True)),
            (glean.OutOfRange, "uint8 cannot hold fill=-1", lambda o: o.variable("w", "u1", ["x"], blocks=[], fill=-1)),
            (glean.OutOfRange, "int32 cannot hold fill=1.5", lambda o: o.variable("w", "i4", ["x"], blocks=[], fill=1.5)),
            (glean.OutOfRange, "float32 cannot hold", lambda o: o.variable("w", "f4", ["x"], blocks=[], fill=1e300)),
            (glean.OutOfRange, "int32 cannot hold fill=nan", lambda o: o.variable("w", "i4", ["x"], blocks=[], fill=np.nan)),
            (glean.InvalidArgument, "fill=None", lambda o: o.variable("w", "f8", ["x"], blocks=[], fill=None)),
            (glean.OutOfRange, "cannot hold fill='xy'", lambda o: o.variable("w", "S1", ["x"], blocks=[], fill="xy")),
        ]
        with self.session() as session:
            for kind, pattern, define in wrong:
                with self.subTest(pattern=pattern):
                    output, _ = self.output(session)
                    if RANK == LAST:   # the others hear of it
                        with self.raises(kind, pattern):
                            define(output)
                    with self.raises(kind, f"rank {LAST}: "):
                        output.end_definitions()
                    output.abandon()
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_puts_that_cannot_be_reach_the_other_ranks(self):
        wrong = [
            (glean.InvalidArgument, r"an array of shape \(3,\) for a block of shape \(4,\)", lambda s, v: s.put(v, np.zeros(3))),
            (glean.InvalidArgument, r"an array of shape \(2, 2\)", lambda s, v: s.put(v, np.zeros((2, 2)))),
            (glean.InvalidArgument, "lies outside the blocks", lambda s, v: s.put(v, np.zeros(4), start=[4 * SIZE])),
            (glean.InvalidArgument, "2 dimensions, the variable has 1", lambda s, v: s.put(v, np.zeros((1, 4)), start=[0, 0])),
            (glean.InvalidArgument, "type mismatch", lambda s, v: s.put(v, np.zeros(4, "S1"))),
            (glean.InvalidArgument, "of type complex128", lambda s, v: s.put(v, np.zeros(4, complex))),
            (glean.InvalidArgument, r"selection of shape \(2,\)", lambda s, v: v.__setitem__(np.s_[0:2], np.zeros(3))),
            (glean.InvalidArgument, "with steps", lambda s, v: v.__setitem__(np.s_[0:4:2], np.zeros(2))),
            (glean.InvalidArgument, "index 99", lambda s, v: v.__setitem__(99, 1)),
            (glean.InvalidArgument, "index 'x'", lambda s, v: v.__setitem__("x", 1)),
            (glean.NotFound, "no variable 'w'", lambda s, v: s.put("w", np.zeros(4))),
            (glean.InvalidState, "the step has ended", lambda s, v: (s.end(), s.put(v, np.zeros(4)))),
            (KeyboardInterrupt, "", lambda s, v: s.put(v, Interrupted())),
            (ValueError, "inhomogeneous", lambda s, v: s.put(v, [[1], [2, 3], 4, 5])),
        ]
        with self.session() as session:
            for kind, pattern, put in wrong:
                with self.subTest(pattern=pattern):
                    output, v = self.output(session)
                    step = output.step()
                    if RANK == LAST:
                        with self.raises(kind, pattern):
                            put(step, v)
                    if not step._ended:
                        step.end()
                    with self.raises(glean.Error, f"rank {LAST}: "):
                        output.wait("staged")
                    output.close()
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_a_variable_of_another_output(self):
        with self.session() as session:
            one, v = self.output(session, "one.nc")
            other, _ = self.output(session, "other.nc")
            with self.raises(glean.InvalidArgument, "of '.*one.nc', not of '.*other.nc'"):
                other.step().put(v, np.zeros(4))
            one.abandon(), other.abandon()

    def test_what_the_drain_meets_is_raised_by_wait_on_all_ranks(self):
        with self.session() as session:
            output, v = self.output(session)
            with output.step() as step:
                step.put(v, [1, 2, 3, 70000 if RANK == LAST else 4])
            with self.assertRaises(glean.OutOfRange) as refused:
                output.wait("written")
            self.assertIsInstance(refused.exception, OverflowError)
            output.close()
            with session.open(self.path("b.nc")) as output:
                x = output.dimension("x", 4)
                w = output.variable("w", "i4", [x], blocks=[np.s_[:]] * 2)
                with output.step() as step:
                    step.put(w, [np.zeros(4), np.ones(4)])
                with self.assertRaises(glean.Overlap):
                    output.wait("written")

    def test_calls_at_the_wrong_time(self):
        with self.session() as session:
            output, v = self.output(session)
            with self.raises(glean.InvalidState, "no step is open|not ended"):
                v[...] = np.zeros(4)
            output.abandon()
        with self.session() as session:
            output, v = self.output(session)
            with output.step() as step:
                step.put(v, np.zeros(4))
            with self.raises(glean.InvalidState, "the step has ended"):
                step.put(v, np.zeros(4))
            with self.raises(glean.InvalidState, "definitions of this output have ended"):
                output.dimension("y", 2)
            output.abandon()
        with self.session() as session:
            output, v = self.output(session)
            first = output.step()
            first.end()
            with output.step() as second:
                with self.raises(glean.InvalidState, "it has ended"):
                    first.end()       # not the second one
                second.put(v, np.zeros(4))
            output.close()
        self.assertEqual(session.outputs()[0].steps_ended, 2)

    def test_the_communicator_may_be_freed_before_the_session_ends(self):
        comm = COMM.Dup()
        with glean.Session(comm, **ranks.SMALL) as session:
            comm.Free()
            self.assertEqual(session.comm, MPI.COMM_NULL)
            self.write(session, "a.nc", {"v": np.ones(3)})
        self.assertTrue(self.path("a.nc").exists())

    def test_objects_that_are_closed(self):
        session = self.session()
        output, v = self.output(session)
        with output.step() as step:
            step.put(v, np.zeros(4))
        output.close()
        for call in (output.step, output.close, output.end_definitions, lambda: output.dimension("z", 1)):
            with self.raises(glean.InvalidState, "it is closed"):
                call()
        output.wait("durable")   # allowed
        file = session.open_input(self.path("a.nc"))
        file.close(), file.close()
        for call in (lambda: file["v"][:], lambda: file.attrs, lambda: file["v"].attrs):
            with self.raises(glean.InvalidState, "is closed"):
                call()
        session.close()
        for call in (lambda: session.open(self.path("b.nc")), lambda: session.wait("durable"),
                     lambda: session.open_input(self.path("a.nc"))):
            with self.raises(glean.InvalidState, "closed"):
                call()
        session.close()
        output.wait("durable")
        self.assertEqual(session.outputs()[0].state, "published")

    def test_an_exception_in_a_step_gives_the_output_up_and_the_session_goes_on(self):
        with self.session() as session:
            with self.raises(ZeroDivisionError, ""):
                with session.open(self.path("a.nc")) as output:
                    v = output.variable("v", "f8", [output.dimension("x", SIZE)], blocks=[np.s_[RANK:RANK + 1]])
                    with output.step() as step:
                        step.put(v, [1 / 0])
            for call in (output.step, lambda: output.wait("staged"), lambda: v.__setitem__(..., [1])):
                with self.raises(glean.InvalidState, "given up"):
                    call()
            output.abandon()
            self.assertEqual([status.state for status in session.outputs()], ["abandoned"])
            self.write(session, "b.nc", {"v": np.ones(3)})
        self.assertEqual([path.name for path in self.directory.iterdir()], ["b.nc"])

    def test_one_rank_raises_in_a_with_statement_and_the_others_are_told(self):
        if SIZE < 2:
            self.skipTest("needs two ranks")
        begin = time.monotonic()
        kind, pattern = (KeyError, "mine") if RANK == LAST else (glean.Error, f"rank {LAST} has ")
        with self.raises(kind, pattern):
            with self.session() as session:
                with session.open(self.path("closed.nc")) as output:
                    v = output.variable("v", "f8", [output.dimension("x", SIZE)], blocks=[np.s_[RANK:RANK + 1]])
                    with output.step() as step:
                        step.put(v, [RANK])
                COMM.barrier()
                with session.open(self.path("a.nc")) as output:
                    v = output.variable("v", "f8", [output.dimension("x", SIZE)], blocks=[np.s_[RANK:RANK + 1]])
                    with output.step() as step:
                        step.put(v, [RANK])
                        if RANK == LAST:
                            raise KeyError("mine")
                    output.wait("durable")
        self.assertLess(time.monotonic() - begin, 15)
        with self.raises(glean.InvalidState, "given up|ended"):
            session.open(self.path("b.nc"))
        COMM.barrier()
        self.assertEqual([path.name for path in self.directory.iterdir()], ["closed.nc"])   # which all ranks had closed

    def test_a_timeout_names_who_is_missing(self):
        if SIZE < 2:
            self.skipTest("needs two ranks")
        with self.session() as session:
            output, v = self.output(session)
            step = output.step()
            step.put(v, np.zeros(4))
            if RANK != LAST:
                step.end()
                with self.raises(TimeoutError, f"rank {LAST}"):
                    output.wait("staged", timeout=0.3)
            COMM.barrier()
            if RANK == LAST:
                step.end()
                with self.assertRaises(glean.Timeout):
                    output.wait("staged", timeout=0.3)
            output.wait("staged")
            output.close()

    def test_waiting_lets_other_threads_of_python_run_and_their_calls_wait_for_their_turn(self):
        if SIZE < 2:
            self.skipTest("needs two ranks")
        with self.session() as session:
            output, v = self.output(session)
            counted, waited = [0], threading.Event()

            def count():
                while not waited.wait(0.001):
                    counted[0] += 1

            thread = threading.Thread(target=count)
            thread.start()
            if RANK == LAST:
                time.sleep(0.4)
            output.end_definitions()   # the others wait here
            seen = counted[0]
            waited.set()
            thread.join()
            self.assertGreater(seen, 20)

            with output.step() as step:
                def put(place):
                    step.put(v, np.full(1, place), start=[4 * RANK + place])

                threads = [threading.Thread(target=put, args=[place]) for place in range(4)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            output.close()
            self.assertEqual(session.open_input(self.path("a.nc"))["v"][0].tolist(), [0, 1, 2, 3] * SIZE)

    def test_a_process_that_was_forked_has_no_session(self):
        with self.session() as session:
            self.write(session, "a.nc", {"v": np.ones(3)})
            file = session.open_input(self.path("a.nc"))
            child = os.fork()
            if child == 0:
                refused = 0
                for call in (session.statistics, lambda: file["v"][:]):
                    try:
                        call()
                    except glean.InvalidState as wrong:
                        refused += "belongs to process" in str(wrong)
                del file, session
                os._exit(refused)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 2)
            self.assertEqual(file["v"].shape, (3 * SIZE,))
            self.assertEqual(file["v"][:].sum(), 3 * SIZE)


if __name__ == "__main__":
    ranks.main()
