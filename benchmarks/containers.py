#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""As many task-local files as a machine has ranks: each a file of its own, all in one shared file, all in one container, and files of an
unmodified program that become one container under `glean run`; in turns.

  containers.py BUILD_DIR [--figures 5,6,7] [--tasks N] [--bytes N] [--task-bytes N] [--ranks N] [--tasks-per-writer N] [--repetitions N]
                [--quick] [--no-slow] [--json FILE]

As figures 5, 6 and 7 of seed 004: 5, many small tasks, what creating them costs; 6, the bandwidth of writing and reading when each rank has
one task of --task-bytes: in a file for each, in one shared file, in containers of 1, 2, 4 ... physical files; 7, the same in one container
when 1, 2, 4 ... ranks share a writer.

On the plain disk; on a store of 200 MB/s (tools/slowstore, which needs root); and for figure 5 where making a file takes 2 ms longer
(slow_creates, which is built where libfuse 3 is). What cannot be had here is left out, with a message.
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
BANDWIDTHS = ("observed", "write", "read")


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


def measure(build, files, way, options, tasks, size, tasks_per_writer=1, physical_files=1):
    directory = pathlib.Path(tempfile.mkdtemp(dir=files))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")}
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n",
               options.ranks, build / "bin" / "bench_containers", way, directory, tasks, size, tasks_per_writer, physical_files]
    if way == "gathered":
        rules = directory / "glean.toml"
        rules.write_text(f'pool.budget = "{4 * tasks * max(size, 4096) + (64 << 20)}"\n'
                         '[[rule]]\npattern = "task.{rank}"\ninto = "task.sion"\n', encoding="utf-8")
        environment |= {"GLEAN_CONFIG": str(rules)}
        command = [build / "bin" / "glean", "run", "--", *command]
    try:
        ran = subprocess.run([str(word) for word in command], env=environment | {"GLEAN_REPORT_TABLE": "false"}, check=True,
                             stdout=subprocess.PIPE, text=True)
        return json.loads(ran.stdout.splitlines()[-1])
    finally:
        shutil.rmtree(directory)


def creation(build, files, options):
    """Figure 5."""
    runs = {way: [] for way in WAYS}
    for _ in range(options.repetitions):
        for way, each in runs.items():
            each.append(measure(build, files, way, options, options.tasks, options.bytes, options.tasks_per_writer))
    return [{"way": way, "creates": each[0]["creates"],
             "blocked_seconds": statistics.median(run["blocked_seconds"] for run in each),
             "durable_seconds": statistics.median(run["durable_seconds"] for run in each),
             "read_seconds": statistics.median(run["read_seconds"] for run in each),
             "each_blocked_seconds": [run["blocked_seconds"] for run in each],
             "each_durable_seconds": [run["durable_seconds"] for run in each]} for way, each in runs.items()]


def doubled(most):
    return [1 << power for power in range(most.bit_length())]


def bandwidths(build, files, options, cases):
    """MB/s of each case, medians, and its ratio to the first case; `cases` has the arguments of `measure` by the name of the case."""
    seen = {name: [] for name in cases}
    total = options.ranks * options.task_bytes / 1e6
    for _ in range(options.repetitions):
        for name, (way, arguments) in cases.items():
            run = measure(build, files, way, options, options.ranks, options.task_bytes, **arguments)
            seen[name].append({"observed": total / run["blocked_seconds"], "write": total / run["durable_seconds"],
                               "read": total / run["read_seconds"]})
    medians = {name: {kind: statistics.median(run[kind] for run in runs) for kind in BANDWIDTHS} for name, runs in seen.items()}
    first = medians[next(iter(cases))]
    return [{"case": name, "mb_per_s": medians[name], "to_first": {kind: medians[name][kind] / first[kind] for kind in BANDWIDTHS},
             "each_mb_per_s": seen[name]} for name in cases]


def physical_files(build, files, options):
    """Figure 6."""
    cases = {"a file for each task": ("files", {}), "one shared file": ("shared", {})}
    for number in doubled(options.ranks):
        cases[f"a container of {number} physical files" if number > 1 else "a container of 1 physical file"] = (
            "container", {"physical_files": number})
    return bandwidths(build, files, options, cases)


def writers(build, files, options):
    """Figure 7."""
    return bandwidths(build, files, options, {
        f"{number} {'tasks' if number > 1 else 'task'} per writer": ("container", {"tasks_per_writer": number})
        for number in doubled(options.ranks)})


def print_creation(store, rows, options):
    print(f"{store}: {options.tasks} tasks of {options.bytes} B on {options.ranks} ranks")
    for one in rows:
        print(f"    {one['way']:10} {one['creates']:5} creates, in the calls {one['blocked_seconds']:8.3f} s, durable after "
              f"{one['durable_seconds']:8.3f} s" + (f", read in {one['read_seconds']:8.3f} s" if one["read_seconds"] else ""))


def print_bandwidths(store, rows, options):
    print(f"{store}: {options.ranks} tasks of {options.task_bytes} B; MB/s, and the ratio to the first row")
    for one in rows:
        print(f"    {one['case']:32}" + ", ".join(f"{kind} {one['mb_per_s'][kind]:7.1f} ({one['to_first'][kind]:.2f})"
                                                  for kind in BANDWIDTHS))


FIGURES = {5: (creation, print_creation), 6: (physical_files, print_bandwidths), 7: (writers, print_bandwidths)}


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--figures", default="5,6,7", help="which figures of seed 004")
    parser.add_argument("--tasks", type=int, default=4096, help="of figure 5")
    parser.add_argument("--bytes", type=int, default=64 * 1024, help="of each task of figure 5")
    parser.add_argument("--task-bytes", type=int, default=8 << 20, help="of each task of figures 6 and 7, one task for each rank")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--tasks-per-writer", type=int, default=1, help="of figure 5: ranks whose chunks share blocks of the container")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--no-slow", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if options.quick:
        options.tasks, options.bytes, options.task_bytes, options.ranks = 16, 4096, 65536, 2
    try:
        options.figures = [int(figure) for figure in options.figures.split(",")]
    except ValueError:
        options.figures = [0]
    if not set(options.figures) <= set(FIGURES):
        parser.error("--figures takes numbers of " + ", ".join(map(str, FIGURES)) + ", with commas between them")
    return options


def main():
    options = parsed()
    build = options.build.resolve()
    files = build / "bench" / "files"
    files.mkdir(parents=True, exist_ok=True)
    stores = {"plain disk": contextlib.nullcontext(files)}
    creates = f"{CREATE_MICROSECONDS / 1000:g} ms for each create"
    if not options.no_slow:
        stores[f"{SLOW_RATE} MB/s store"] = slow_store(build / "bench" / "slow")
    if not options.no_slow and 5 in options.figures:
        stores[creates] = slow_creates(
            build / "bin" / "slow_creates", build / "bench" / "behind_creates", build / "bench" / "slow_creates")
    load = os.getloadavg()[0]
    results = []
    for name, store in stores.items():
        with store as there:
            for figure in options.figures if there else []:
                if figure == 5 or name != creates:
                    results.append({"figure": figure, "store": name, "results": FIGURES[figure][0](build, there, options)})
                    FIGURES[figure][1](name, results[-1]["results"], options)
    if options.json:
        options.json.write_text(json.dumps({"quick": options.quick, "tasks": options.tasks, "bytes": options.bytes,
                                            "task_bytes": options.task_bytes, "ranks": options.ranks,
                                            "tasks_per_writer": options.tasks_per_writer, "repetitions": options.repetitions,
                                            "cores": os.cpu_count(), "load_before": load, "load_after": os.getloadavg()[0],
                                            "figures_of_seed_004": results}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
