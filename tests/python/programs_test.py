# SPDX-License-Identifier: BSD-3-Clause
"""Users' own analyses, in processes of their own: what they see and find, and what becomes of the others and of the files when one crashes,
hangs, allocates, prints or cannot be loaded."""

import csv
import json
import os
import pathlib
import sys
import textwrap
import time
import unittest

import numpy as np

import ranks
from ranks import COMM, RANK, SIZE

ROWS, COLUMNS, STEPS = 5, 700, 4
IS_STAGED = "GLEAN_STAGING_ADDRESS" in os.environ
GOOD = """
    import numpy
    join = {"mass": "sum", "least": "min", "most": "max", "values": "sum"}
    def analyse(step):
        dens = step["dens"]
        parts = numpy.concatenate([piece.array.ravel() for piece in dens.pieces])
        assert dens.shape == dens.array().shape and "note" in step
        assert dens.units == "g/cm3" and step.attributes["run"] == "S"
        assert all((dens.array()[piece.place] == piece.array).all() for piece in dens.pieces)
        assert sum(piece.array.nbytes for piece in dens.pieces) <= dens.array().nbytes
        assert not dens.pieces[0].array.flags.writeable
        return {"mass": parts.sum(), "least": parts.min(), "most": parts.max(), "values": parts.size, "own": step.number + .5}
"""


class Programs(ranks.Ranks):
    def program(self, name, text):
        path = self.path(name)
        if RANK == 0:
            path.write_text(textwrap.dedent(text))
        COMM.barrier()
        return str(path)

    def put_random(self, name, programs, steps=STEPS, columns=COLUMNS, fault="", **settings):
        """All that was put: an array (steps, SIZE * ROWS, columns), the same on all ranks."""
        values = np.random.default_rng(7).normal(1e3, 2.5, (steps, SIZE * ROWS, columns))
        mine = np.s_[RANK * ROWS:(RANK + 1) * ROWS, :]
        settings = {"analyse_with": programs, "analyse_python": sys.executable, "log": {"level": "warning"}} | settings
        with self.session(**settings) as session, session.open(self.path(name)) as output:
            output.dimension("time")
            output.dimension("y", SIZE * ROWS)
            output.dimension("x", columns)
            output.attrs["run"] = "S"
            output.attrs["fault"] = fault
            dens = output.variable("dens", "f8", ["time", "y", "x"], blocks=[mine])
            dens.attrs["units"] = "g/cm3"
            output.variable("note", "S1", ["x"], blocks=[np.s_[:]] if RANK == 0 else [])
            for number in range(steps):
                with output.step() as step:
                    step.put("dens", values[number][mine])
                    if RANK == 0 and number == 0:
                        step.put("note", np.full(columns, b"n"))
        COMM.barrier()
        self.expect_file(name, values)
        return values

    def expect_file(self, name, values):
        with self.session() as session, session.open_input(self.path(name)) as file:
            for number, array in enumerate(values):
                mine = np.s_[RANK * ROWS:(RANK + 1) * ROWS, :]
                np.testing.assert_array_equal(file["dens"][(number, *mine)], array[mine])

    def table(self, name, program):
        path = self.path(f"{name}.{program}.csv")
        if not path.exists():
            return None
        with open(path, newline="") as file:
            return list(csv.DictReader(file))

    def values(self, name, program):
        """By step and name, of what is joined."""
        return {(int(line["step"]), line["name"]): float(line["value"]) for line in self.table(name, program) if line["node"] == ""}

    def expect_good(self, name, values, program="good"):
        found = self.values(name, program)
        self.assertEqual(len(found), 4 * len(values))
        for number, array in enumerate(values):
            np.testing.assert_allclose(found[number, "mass"], array.sum(), rtol=1e-12)
            self.assertEqual(found[number, "least"], array.min())
            self.assertEqual(found[number, "most"], array.max())
            self.assertEqual(found[number, "values"], array.size)

    def test_python_finds_what_numpy_finds(self):
        values = self.put_random("a.nc", [self.program("good.py", GOOD)])

        self.expect_good("a.nc", values)
        own = [line for line in self.table("a.nc", "good") if line["name"] == "own"]
        nodes = {line["node"] for line in own}
        self.assertEqual(len(own), STEPS * len(nodes))
        self.assertTrue(all(float(line["value"]) == int(line["step"]) + .5 for line in own))

    def expect_fault(self, text, steps_looked_at, **settings):
        """One program does that, another one goes on as if it were not there."""
        programs = [self.program("bad.py", text), self.program("good.py", GOOD)]
        begin = time.monotonic()

        values = self.put_random("a.nc", programs, **settings)

        self.expect_good("a.nc", values)
        steps = sorted({int(line["step"]) for line in self.table("a.nc", "bad") or []})
        self.assertEqual(steps, steps_looked_at)
        return time.monotonic() - begin

    def test_a_crash_costs_the_step(self):
        self.expect_fault("""
            import ctypes
            def analyse(step):
                if step.number == 1:
                    ctypes.string_at(0)
                return {"x": 1}
        """, [0, 2, 3])

    def test_an_exit_costs_the_step(self):
        self.expect_fault("""
            import os
            def analyse(step):
                if step.number == 2:
                    os._exit(3)
                return {"x": 1}
        """, [0, 1, 3])

    def test_it_is_started_again_only_so_often(self):
        self.expect_fault("""
            import os, signal
            def analyse(step):
                if step.number != 3:
                    os.kill(os.getpid(), signal.SIGSEGV)
                return {"x": 1}
        """, [], analyse_restarts=1)

    def test_a_loop_ends_at_the_deadline(self):
        seconds = self.expect_fault("""
            def analyse(step):
                while step.number == 1:
                    pass
                return {"x": 1}
        """, [0, 2, 3], analyse_deadline="2s")
        self.assertLess(seconds, 40)

    def test_a_program_gets_no_more_memory_than_it_may_have(self):
        self.expect_fault("""
            import numpy
            kept = []
            def analyse(step):
                while step.number == 1:
                    kept.append(numpy.ones(1 << 24))
                return {"x": 1}
        """, [0, 2, 3], analyse_memory="256MiB")

    def test_an_exception_costs_the_step(self):
        self.expect_fault("""
            def analyse(step):
                return {"x": 1 / (step.number - 1)}
        """, [0, 2, 3])

    def test_what_it_prints_is_cut(self):
        self.expect_fault("""
            import sys
            def analyse(step):
                for _ in range(1 << 8 if step.number == 1 else 0):
                    sys.stdout.write("x" * (1 << 20))
                    sys.stderr.write("a line\\n")
                return {"x": 1}
        """, [0, 1, 2, 3])

    def test_a_syntax_error_is_told_once(self):
        self.expect_fault("def analyse(step) return 1", [])

    def test_what_is_no_number_is_refused(self):
        self.expect_fault("""
            def analyse(step):
                return {"x": "many"} if step.number == 1 else 17 if step.number == 2 else {"x": 1}
        """, [0, 3])

    def test_the_examples_find_what_numpy_finds(self):
        examples = pathlib.Path(__file__).resolve().parents[2] / "examples/analysis"
        script, plugin = self.path("in_python.py"), os.environ["PLUGIN"]
        if RANK == 0:
            script.write_text((examples / "mass.py").read_text())   # another name, as each has a table
        COMM.barrier()

        values = self.put_random("a.nc", [str(script), plugin])

        for program in ("in_python", "mass"):
            found = self.values("a.nc", program)
            for number, array in enumerate(values):
                np.testing.assert_allclose(found[number, "mass"], array.sum(), rtol=1e-12)
                self.assertEqual((found[number, "least"], found[number, "most"]), (array.min(), array.max()))

    def test_what_a_plugin_does_costs_a_step_at_most(self):
        plugin, good = os.environ["FAULTY_PLUGIN"], self.program("good.py", GOOD)
        for fault in ("none", "crash", "write", "exit", "loop", "allocate", "fail", "print"):
            with self.subTest(fault=fault):
                name = f"{fault}.nc"
                values = self.put_random(name, [plugin, good], fault=fault, analyse_deadline="5s", analyse_memory="256MiB")

                self.expect_good(name, values)
                found = self.values(name, "faulty_plugin")
                left_out = [] if fault in ("none", "print") else [1]
                self.assertEqual([number for number, _ in found], [number for number in range(STEPS) if number not in left_out])
                for number, _ in found:
                    np.testing.assert_allclose(found[number, "mass"], values[number].sum(), rtol=1e-12)

    @unittest.skipIf(IS_STAGED, "the report of a job does not know what stagers look at")
    def test_the_report_has_what_became_of_it(self):
        report = self.path("report.json")
        program = self.program("half.py", """
            def analyse(step):
                return {"x": 1 / (step.number % 2)}
        """)

        self.put_random("a.nc", [program], report={"file": str(report)})

        outputs = json.loads(report.read_text())["outputs"]
        (half,) = outputs[0]["analyses"]
        self.assertEqual((half["name"], half["steps"], half["steps_left_out"]), ("half", 2, 2))
        self.assertIn("ZeroDivisionError", half["why"])

    def test_what_is_no_plugin_is_given_up(self):
        values = self.put_random("a.nc", [self.program("libbad.so", "no library"), self.program("good.py", GOOD)])

        self.expect_good("a.nc", values)
        self.assertFalse(self.table("a.nc", "bad"))

    def put_wrong(self, **settings):
        """Three steps, of which the second has a NaN, and what each rank is told until it closes."""
        told = []
        with self.session(analyse_python=sys.executable, **settings) as session:
            with session.open(self.path("w.nc")) as output:
                output.dimension("time")
                output.dimension("x", SIZE * COLUMNS)
                output.variable("dens", "f8", ["time", "x"], blocks=[np.s_[RANK * COLUMNS:(RANK + 1) * COLUMNS]])
                for number in range(3):
                    with output.step() as step:
                        step.put("dens", np.full(COLUMNS, np.nan if number == 1 else 1.0 + number))
            session.wait("durable", timeout=60)
            told += session.poll_messages()
            self.assertEqual(session.poll_messages(), [])
        COMM.barrier()
        return [message._replace(output=os.path.basename(message.output)) for message in told]

    def wait_for(self, path, lines):
        """What a command has written, when it is all there."""
        begin = time.monotonic()
        while not path.exists() or len(path.read_text().splitlines()) < lines:
            self.assertLess(time.monotonic() - begin, 30, path)
            time.sleep(0.05)
        return path.read_text()

    @unittest.skipIf(IS_STAGED, "stagers send no messages")
    def test_a_trigger_tells_the_program(self):
        told = self.put_wrong(trigger="dens.nan > 0", trigger_tell="stop")

        self.assertEqual(told, [("stop", "w.nc", 1)])

    @unittest.skipIf(IS_STAGED, "stagers send no messages")
    def test_an_analysis_tells_the_program_and_fires_a_trigger(self):
        program = self.program("sum.py", """
            def analyse(step):
                total = sum(piece.array.sum() for piece in step["dens"].pieces)
                if total != total:
                    step.message("wrong")
                return {"first": step["dens"].pieces[0].array[0]}
        """)

        told = self.put_wrong(analyse_with=[program], trigger="sum.first == 3", trigger_tell="three")

        self.assertEqual(told, [("wrong", "w.nc", 1), ("three", "w.nc", 2)])

    def test_a_trigger_runs_a_command_and_makes_a_file(self):
        ran, mark = self.path("ran"), self.path("mark")

        self.put_wrong(trigger="max(dens) > 2.5 or dens.nan > 0", trigger_mark=str(mark),
                       trigger_run=f"echo $GLEAN_TRIGGER_STEP $GLEAN_TRIGGER_NUMBER $GLEAN_TRIGGER_VALUE >> {ran}")

        *wrong, high = sorted(set(self.wait_for(ran, 2).splitlines()))   # of each node
        self.assertEqual(high, "2 dens.max 3")
        self.assertTrue(all(line.startswith("1 dens.nan ") for line in wrong), wrong)
        self.assertIn("step 1", self.wait_for(mark, 2))

    SLOW = """
        import time
        def analyse(step):
            time.sleep(0.3)
            return {"x": 1}
    """

    def steps_of_slow(self, **settings):
        """Which steps a slow program has looked at, of twelve that are more than its budget together."""
        values = self.put_random("a.nc", [self.program("slow.py", self.SLOW)], steps=12, columns=20_000 // SIZE, analyse_budget="3MiB",
                                 **settings)
        steps = {int(line["step"]) for line in self.table("a.nc", "slow") or []}
        self.assertLessEqual(len(steps), len(values))
        return len(steps)

    @unittest.skipIf(IS_STAGED, "stagers have a larger pool")
    def test_steps_beyond_the_budget_are_left_out_of_the_analysis_and_not_of_the_file(self):
        self.assertLess(self.steps_of_slow(), 12)

    @unittest.skipIf(IS_STAGED, "stagers have a larger pool")
    def test_they_are_waited_for_where_that_is_wanted(self):
        self.assertEqual(self.steps_of_slow(analyse_wait="30s"), 12)


if __name__ == "__main__":
    ranks.main()
