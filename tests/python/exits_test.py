# SPDX-License-Identifier: BSD-3-Clause
"""How programs end that have not closed everything: no crash, nothing that hangs, and what all ranks have closed is there."""

import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

MPIRUN = os.environ["MPIRUN"].split()

OPENING = """
import sys
import numpy as np
import glean
from mpi4py import MPI
comm = MPI.COMM_WORLD

def write(session, name):
    output = session.open(name)
    v = output.variable("v", "f8", [output.dimension("x", comm.size)], blocks=[np.s_[comm.rank:comm.rank + 1]])
    with output.step() as step:
        step.put(v, [comm.rank])
    return output, v

session = glean.Session(comm, pool={"budget": "32MiB", "deadline": "10s"})
"""


class Exits(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def run_program(self, text, ranks=2, opening=OPENING):
        program = self.directory / "program.py"
        program.write_text(opening + textwrap.dedent(text))
        # faulthandler tells of signals; a segmentation fault is not -9 of mpirun only.
        run = subprocess.run([*MPIRUN, str(ranks), sys.executable, "-B", "-X", "faulthandler", str(program)], cwd=self.directory,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        for crash in ("Segmentation", "Fatal Python error", "MPI_ERRORS_ARE_FATAL", "leaked", "not been finalized", "terminate called"):
            self.assertNotIn(crash, run.stdout)
        return run

    def files(self):
        return sorted(path.name for path in self.directory.glob("*.nc"))

    def test_a_session_that_is_not_closed_is_closed_with_the_other_ranks(self):
        run = self.run_program("""
            output, v = write(session, "closed.nc")
            output.close()
            given_up, _ = write(session, "open.nc")
            file = session.open_input("closed.nc")
            keeps = [file["v"], given_up.attrs, output.step]
            """)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(self.files(), ["closed.nc"])

    def test_a_session_that_a_function_has_forgotten_is_closed_at_the_end(self):
        run = self.run_program("""
            def compute():
                own = glean.Session(comm, pool={"budget": "32MiB"})
                write(own, "own.nc")[0].close()

            compute()
            write(session, "other.nc")[0].close()
            session.close()
            print("end", comm.rank)
            """)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(run.stdout.count("end"), 2)
        self.assertEqual(self.files(), ["other.nc", "own.nc"])

    def test_daemon_threads_may_be_in_calls_when_the_interpreter_ends(self):
        run = self.run_program("""
            import threading, time

            def loop():
                while True:
                    session.statistics()

            for _ in range(3):
                threading.Thread(target=loop, daemon=True).start()
            write(session, "closed.nc")[0].close()
            time.sleep(0.2)   # in which they are in and out of calls
            """)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(self.files(), ["closed.nc"])

    def test_an_exception_of_one_rank_ends_the_program_of_all(self):
        run = self.run_program("""
            write(session, "closed.nc")[0].close()
            comm.barrier()
            output = session.open("open.nc")
            v = output.variable("v", "f8", [output.dimension("x", comm.size)], blocks=[np.s_[comm.rank:comm.rank + 1]])
            step = output.step()
            step.put(v, [comm.rank])
            if comm.rank == comm.size - 1:
                raise KeyError("of one rank")
            step.end()
            output.wait("durable")   # which returns on no rank
            """, ranks=3)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("KeyError: 'of one rank'", run.stdout)
        self.assertEqual(self.files(), ["closed.nc"])

    def test_a_rank_that_an_exception_ends_does_not_wait_for_ranks_that_compute(self):
        endings = {"at the end of the program": "raise KeyError(1)", "with": "with session: raise KeyError(1)"}
        for where, ending in endings.items():
            with self.subTest(where=where):
                run = self.run_program(f"""
                    output, v = write(session, "open.nc")
                    comm.barrier()
                    begin = time.monotonic()
                    def left():
                        with open(f"left{{comm.rank}}", "w") as file:
                            file.write(str(time.monotonic() - begin))

                    atexit_before_gleans.append(left)
                    if comm.rank == comm.size - 1:
                        {ending}
                    time.sleep(4)   # computes
                    output.wait("staged")
                    """, opening="import atexit, time\natexit_before_gleans = []\n"
                                 "atexit.register(lambda: [one() for one in atexit_before_gleans])\n" + OPENING)
                self.assertLess(float((self.directory / "left1").read_text()), 3, run.stdout)
                self.assertNotEqual(run.returncode, 0)
                self.assertEqual(self.files(), [])

    def test_a_forked_process_that_an_exception_ends_says_that_and_no_more(self):
        run = self.run_program("""
            import os
            import traceback
            from glean import _session
            with session:
                output, v = write(session, "a.nc")
                child = os.fork()
                if child == 0:
                    try:
                        with session, output:
                            raise KeyError("of the child")
                    except KeyError:
                        traceback.print_exc()
                    _session._close_open_sessions()   # as the program's end does, before mpi4py finalizes MPI
                    os._exit(0)
                os.waitpid(child, 0)
                output.close()
            """)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(run.stdout.count("KeyError: 'of the child'"), 2)
        self.assertNotIn("belongs to process", run.stdout)
        self.assertEqual(self.files(), ["a.nc"])

    def test_mpi_may_be_finalized_before(self):
        run = self.run_program("""
            output, v = write(session, "open.nc")
            MPI.Finalize()
            """)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(self.files(), [])

    def test_without_mpi4py_in_the_program_none_is_all_ranks(self):
        run = self.run_program("""
            import glean
            import sys
            assert "mpi4py" not in sys.modules   # to import the package starts nothing
            with glean.Session(pool={"budget": "32MiB"}) as session:
                with session.open("a.nc") as output:
                    v = output.variable("v", "f8", [output.dimension("x", 3)], blocks=[np.s_[:]] if session.comm.rank == 0 else [])
                    with output.step() as step:
                        step.put(v, [1, 2, 3] if session.comm.rank == 0 else [])
            """, opening="import numpy as np\n")
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(self.files(), ["a.nc"])


if __name__ == "__main__":
    unittest.main()
