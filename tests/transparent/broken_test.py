# SPDX-License-Identifier: BSD-3-Clause
"""A library that loses writes, or says wrong positions, is found by the corpus and by random programs; one that does
nothing is not.

  broken_test.py BUILD
"""

import pathlib
import re
import subprocess
import sys

from job import Mpi

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(sys.argv[1])
LIBRARY = BUILD / "lib" / "libtransparent_broken.so"
FIRST_IO = Mpi(4).implementations()[0]


def run(script, broken, *arguments):
    process = subprocess.run([sys.executable, "-B", HERE / script, "--build", BUILD, "--preload", LIBRARY, "--env", f"BROKEN={broken}",
                              "--io", FIRST_IO, *arguments], capture_output=True, text=True)
    return process.returncode, process.stdout + process.stderr


def expect(what, condition, output):
    if not condition:
        sys.exit(f"{what}:\n{output}")


code, output = run("run", "nothing", "--only", "patterns_tiny_writes", "--only", "pointers_*")
expect("a library that does nothing was found wrong", code == 0, output)
code, output = run("run", "loses", "--only", "patterns_tiny_writes")
expect("lost writes were not found by the corpus", code == 1 and "data: differs from byte" in output, output)
code, output = run("run", "counts", "--only", "pointers_blocking")
expect("wrong positions were not found by the corpus", code == 1 and "after write: at" in output, output)

code, output = run("differential", "loses", "--seed", "1000", "--cases", "30", "--seconds", "100", "--explain", "1")
expect("lost writes were not found by random programs", code == 1, output)
smallest = min((block.count("\n  step ") for block in output.split("made smaller:")[1:]), default=99)
expect("a program that loses a write was not made smaller", smallest <= 2, output)
expect("no program is printed with the call that is wrong", re.search(r"step \d+, file \d: MPI_File_write_at$", output, re.M), output)
print("found")
