# SPDX-License-Identifier: BSD-3-Clause
"""Random programs that write files for each rank: every call returns with GLEAN what it returns without, and so are the files.

random_test.py BUILD [--first SEED] [--seconds S] [--calls N]"""

import argparse
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

RULES = """pool.budget = "{budget}"
[[rule]]
pattern = "f{{field}}.{{rank}}"
into = "all.sion"
[[rule]]
pattern = "f2.{{rank}}"
into = "two.sion"
"""
RANKS = 2


def run(directory, build, under, seed, calls):
    mpirun = shlex.split(os.environ.get("MPIRUN", "mpirun --oversubscribe -n"))
    command = [*under, *mpirun, str(RANKS), str(build / "bin" / "file_per_rank_random"), str(seed), str(calls)]
    result = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=120)
    return result.stdout + result.stderr if result.returncode else ""


def files_of(directory, build):
    """Also those in containers, where none of that name is beside them."""
    files = {path.name: path.read_bytes() for path in directory.iterdir() if path.suffix not in (".sion", ".toml")}
    for container in directory.glob("*.sion"):
        with tempfile.TemporaryDirectory() as inside:
            subprocess.run([build / "bin" / "glean", "container", "extract", container, "-C", inside], check=True, capture_output=True)
            files = {path.name: path.read_bytes() for path in pathlib.Path(inside).iterdir()} | files
    return files


def differences(build, seed, calls):
    with tempfile.TemporaryDirectory() as bare, tempfile.TemporaryDirectory() as gathered:
        bare, gathered = pathlib.Path(bare), pathlib.Path(gathered)
        (gathered / "glean.toml").write_text(RULES.format(budget="1MiB" if seed % 3 == 0 else "32MiB"))
        for part in range(2):   # the second program finds what the first one has left
            wrong = run(bare, build, [], seed * 2 + part, calls)
            wrong += run(gathered, build, [build / "bin" / "glean", "run", "--"], seed * 2 + part, calls)
            if wrong:
                return [wrong]
        expected, found = files_of(bare, build), files_of(gathered, build)
        found_in_memory = [path.name for path in pathlib.Path("/dev/shm").glob("glean*")]
        wrong = [f"{name} is left in shared memory" for name in found_in_memory]
        for name in sorted({*expected, *found}):
            if expected.get(name) != found.get(name):
                wrong.append(f"{name} differs: {len(expected.get(name, b''))} and {len(found.get(name, b''))} bytes")
                if name.startswith("told"):
                    pairs = zip(expected[name].decode().splitlines(), found[name].decode().splitlines())
                    wrong += next(([f"  line {i + 1}: {a!r} and {b!r}"] for i, (a, b) in enumerate(pairs) if a != b), [])
        return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--programs", type=int, default=10**9)
    parser.add_argument("--calls", type=int, default=150)
    options = parser.parse_args()
    options.build = options.build.resolve()
    begin, seed = time.time(), options.first
    while (time.time() - begin < options.seconds or seed == options.first) and seed - options.first < options.programs:
        wrong = differences(options.build, seed, options.calls)
        if wrong:
            print(f"seed {seed}:", *wrong, f"again: random_test.py BUILD --first {seed} --programs 1", sep="\n")
            return 1
        seed += 1
    print(f"{seed - options.first} programs, each twice")
    return 0


sys.exit(main())
