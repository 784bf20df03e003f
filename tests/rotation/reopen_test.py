#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs open again what a full disk has refused after they had closed it: they are told, and lose nothing.

reopen_test.py --build DIR [--ranks N] [WAY …]

Needs root, or a user who may mount."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

SIZE, FILLER, BYTES, SMALL = 2 << 20, 1_750_000, 200_000, 1000   # of the disk, and of each rank
WAYS = ["left", "left on two nodes", "goes-on", "in-place", "overwrites", "removes"]


def changed(ranks, size, before, after):
    return (before * (size // 2) + after * (size // 2)) * ranks


def expected(way, ranks):
    return {"left": b"a" * BYTES * ranks, "goes-on": changed(ranks, BYTES, b"a", b"b"), "in-place": changed(ranks, BYTES, b"a", b"b"),
            "overwrites": b"e" * BYTES * ranks, "removes": changed(ranks, SMALL, b"b", b"c")}[way]


def problem_of(build, way, implementation, place, ranks):
    nodes = 2 if way.endswith("nodes") else 1
    way = way.split()[0]
    if nodes == 2:
        ranks = 4
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_io=implementation,
                       GLEAN_POOL_BUDGET="64MiB", GLEAN_POOL_DEADLINE="20s", GLEAN_DRAIN_PLACE=place)
    if nodes == 2:
        environment["GLEAN_TOPOLOGY_RANKS_PER_NODE"] = "2"
    with tempfile.TemporaryDirectory(prefix="glean-reopen-") as name:
        disk = pathlib.Path(name)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", disk], check=True)
        try:
            (disk / "filler").write_bytes(bytes(FILLER))
            if way == "in-place":
                (disk / "data").write_bytes(b"was here")
            run = subprocess.run([build / "bin/glean", "run", "--", "mpirun", "--oversubscribe", "--bind-to", "none", "--mca",
                                  "mpi_yield_when_idle", "1", "-n", str(ranks), build / "bin/reopen", way, str(BYTES)],
                                 cwd=disk, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
                                 check=False)
            out = run.stdout
            if "all of it was so" not in out or run.returncode != (1 if way == "left" else 0):
                return f"status {run.returncode}\n{out}"
            if way == "left":
                subprocess.run(["mount", "-o", "remount,size=200m", disk], check=True)
                out += subprocess.run([build / "bin/glean", "recover", "--wait=60s"], cwd=disk, env=environment, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, timeout=120, check=False).stdout
            content = (disk / "data").read_bytes() if (disk / "data").exists() else b""
            if content != expected(way, ranks):
                found = {chr(letter): content.count(letter) for letter in set(content)}
                return f"'data' has {len(content)} bytes, {found}\n{out}"
            left = [pool for pool in os.listdir("/dev/shm") if pool.startswith("glean")]
            left += [file for file in os.listdir(disk) if file.startswith(".")]
            return f"left behind: {left}\n{out}" if left else None
        finally:
            subprocess.run(["umount", "-l", disk], check=True)


TOLD_EARLY = "told by the close"   # instead of later, which is what the way is about


def problem_when_told_later(*arguments):
    for _ in range(5):
        problem = problem_of(*arguments)
        if problem is None or TOLD_EARLY not in problem:
            break
    return problem


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("ways", nargs="*", default=WAYS)
    arguments = parser.parse_args()
    failed = 0
    for number, way in enumerate(arguments.ways):
        for implementation in ("romio321", "ompio"):
            place = "threads" if way.endswith("nodes") or (number + (implementation == "ompio")) % 2 == 0 else "process"
            problem = problem_when_told_later(arguments.build.resolve(), way, implementation, place, arguments.ranks)
            failed += problem is not None
            print(f"{way}, {implementation}, drain in {place}: {problem or 'as it should be'}", flush=True)
    return 1 if failed else 0


sys.exit(main())
