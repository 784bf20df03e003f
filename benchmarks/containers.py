#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""As many task-local files as a machine has ranks: each a file of its own, all in one shared file, all in one container, and files of an
unmodified program that become one container under `glean run`; in turns.

  containers.py BUILD_DIR [--tasks N] [--bytes N] [--ranks N] [--tasks-per-writer N] [--repetitions N] [--quick] [--no-slow] [--json FILE]

On the plain disk; on a store of 200 MB/s (tools/slowstore, which needs root); and where making a file takes 2 ms longer (slow_creates,
which is built where libfuse 3 is). What cannot be had here is left out, with a message.
"""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SLOWSTORE = HERE.parent / "tools" / "slowstore"
WAYS = ("files", "shared", "container", "gathered")
SLOW_RATE, CREATE_MICROSECONDS = 200, 2000


@contextlib.contextmanager
def slow_store(directory):
    if subprocess.run([SLOWSTORE, "check"], check=False).returncode != 0:
        yield None
        return
    subprocess.run([SLOWSTORE, "up", directory, str(SLOW_RATE), "4G"], check=True)
    try:
        yield directory
    finally:
        subprocess.run([SLOWSTORE, "down", directory], check=False)


@contextlib.contextmanager
def slow_creates(program, source, directory):
    if not program.exists() or not os.access("/dev/fuse", os.W_OK):
        print("containers: there is no libfuse 3 or no /dev/fuse", file=sys.stderr)
        yield None
        return
    for each in (source, directory):
        each.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen([program, source, str(CREATE_MICROSECONDS), directory, "-f"]) as file_system:
        try:
            while not os.path.ismount(directory) and file_system.poll() is None:
                time.sleep(0.01)
            yield directory if os.path.ismount(directory) else None
        finally:
            if os.path.ismount(directory):
                subprocess.run(["umount", "-l", directory], check=False)
            file_system.wait()


def measure(build, files, way, options):
    directory = pathlib.Path(tempfile.mkdtemp(dir=files))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")}
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n",
               options.ranks, build / "bin" / "bench_containers", way, directory, options.tasks, options.bytes, options.tasks_per_writer]
    if way == "gathered":
        rules = directory / "glean.toml"
        rules.write_text(f'pool.budget = "{4 * options.tasks * max(options.bytes, 4096) + (64 << 20)}"\n'
                         '[[rule]]\npattern = "task.{rank}"\ninto = "task.sion"\n', encoding="utf-8")
        environment |= {"GLEAN_CONFIG": str(rules)}
        command = [build / "bin" / "glean", "run", "--", *command]
    try:
        ran = subprocess.run([str(word) for word in command], env=environment | {"GLEAN_REPORT_TABLE": "false"}, check=True,
                             stdout=subprocess.PIPE, text=True)
        return json.loads(ran.stdout.splitlines()[-1])
    finally:
        shutil.rmtree(directory)


def on_store(build, files, options):
    runs = {way: [] for way in WAYS}
    for _ in range(options.repetitions):
        for way, each in runs.items():
            each.append(measure(build, files, way, options))
    return [{"way": way, "creates": each[0]["creates"],
             "blocked_seconds": statistics.median(run["blocked_seconds"] for run in each),
             "durable_seconds": statistics.median(run["durable_seconds"] for run in each),
             "read_seconds": statistics.median(run["read_seconds"] for run in each),
             "each_blocked_seconds": [run["blocked_seconds"] for run in each],
             "each_durable_seconds": [run["durable_seconds"] for run in each]} for way, each in runs.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--tasks", type=int, default=4096)
    parser.add_argument("--bytes", type=int, default=64 * 1024)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--tasks-per-writer", type=int, default=1, help="ranks whose chunks share blocks of the container")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--no-slow", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if options.quick:
        options.tasks, options.bytes, options.ranks = 16, 4096, 2
    build = options.build.resolve()
    files = build / "bench" / "files"
    files.mkdir(parents=True, exist_ok=True)
    stores = {"plain disk": contextlib.nullcontext(files)}
    if not options.no_slow:
        stores[f"{SLOW_RATE} MB/s store"] = slow_store(build / "bench" / "slow")
        stores[f"{CREATE_MICROSECONDS / 1000:g} ms for each create"] = slow_creates(
            build / "bin" / "slow_creates", build / "bench" / "behind_creates", build / "bench" / "slow_creates")
    results = []
    for name, store in stores.items():
        with store as there:
            if there:
                results.append({"store": name, "results": on_store(build, there, options)})
    if options.json:
        options.json.write_text(json.dumps({"quick": options.quick, "tasks": options.tasks, "bytes": options.bytes, "ranks": options.ranks,
                                            "tasks_per_writer": options.tasks_per_writer,
                                            "repetitions": options.repetitions, "stores": results}, indent=2) + "\n")
    for store in results:
        print(f"{store['store']}: {options.tasks} tasks of {options.bytes} B on {options.ranks} ranks")
        for one in store["results"]:
            print(f"    {one['way']:10} {one['creates']:5} creates, in the calls {one['blocked_seconds']:8.3f} s, durable after "
                  f"{one['durable_seconds']:8.3f} s" + (f", read in {one['read_seconds']:8.3f} s" if one["read_seconds"] else ""))


if __name__ == "__main__":
    main()
