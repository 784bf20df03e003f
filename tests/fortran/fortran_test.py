#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every call of a Fortran program reaches the C function of its name exactly once, and does what it does without GLEAN.

fortran_test.py MPIEXEC COUNTING_LIBRARY GLEAN_LIBRARY PROGRAM..."""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MPIEXEC, COUNTING, GLEAN, *PROGRAMS = sys.argv[1:]
RANKS = 2


def expected_calls():
    source = pathlib.Path(__file__).with_name("calls.F90").read_text(encoding="utf-8")
    calls = collections.Counter(name.lower() for name in re.findall(r"^ *call MPI_(FILE_\w+|INIT\w*|BARRIER)\(", source, re.M))
    calls["init"] += calls.pop("init_thread")
    return calls


def run(program, path, library):
    options = []
    version = subprocess.run([MPIEXEC, "--version"], capture_output=True, text=True, check=False).stdout
    environment = dict(os.environ, LC_ALL="C")
    if "Open MPI" in version or "OpenRTE" in version:
        options = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = [MPIEXEC, *options, "-n", str(RANKS)]
    command += ["env", f"LD_PRELOAD={library}"] if library else []
    done = subprocess.run([*command, program, path], env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and "all is well" in done.stdout, f"{program} with {library}: {done.stdout}{done.stderr}"
    return done.stdout


def main():
    assert PROGRAMS, "no program"
    calls = expected_calls()
    assert len(calls) > 55, calls
    with tempfile.TemporaryDirectory() as directory:
        for program in PROGRAMS:
            files = {}
            for library in ("", COUNTING, GLEAN):
                path = os.path.join(directory, "file")
                printed = run(program, path, library)
                files[library] = pathlib.Path(path).read_bytes()
                os.unlink(path)
                if library == COUNTING:
                    counted = {name.lower(): int(count)
                               for name, count in re.findall(r"^count MPI_(\w+) (\d+)$", printed, re.M)}
                    counted["file_delete"] = counted.pop("file_delete_file", counted.get("file_delete", 0))
                    wrong = {name: (count, calls[name]) for name, count in counted.items() if count != calls[name]}
                    assert not wrong, f"{program}: calls that arrived, and calls that were made: {wrong}"
                    assert set(calls) == set(counted), set(calls) ^ set(counted)
            assert files[COUNTING] == files[""] and files[GLEAN] == files[""], f"{program}: files differ"
            print(f"{os.path.basename(program)}: {sum(calls.values())} calls of {len(calls)} functions")


main()
