#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What programs of the field wait for when they write: FLASH's checkpoints and plot files, S3D's restart dumps, a mesh as PHASTA has it and
spectral elements as NekCEM has them, through collective HDF5, PnetCDF, MPI-IO and GLEAN in turns, with computing in between.

  patterns.py BUILD_DIR [--directory DIR] [--storage NAME] [--rate MB_PER_S] [--only flash,s3d,phasta,nekcem] [--ranks N]
              [--repetitions N] [--quick] [--json FILE]

The programs are those in examples/: sedov, s3d_io, phasta_like and nekcem_like. `blocked` is what the slowest rank waited for in all that
makes one output; `run` is the whole program under mpirun, from its start until all its files are where they belong.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "examples" / "evaluation"))

import launch   # noqa: E402

POOL = "512MiB"   # room for all outputs of a run: what is compared is what programs wait for that compute long enough in between
UNDER_GLEAN = ("glean", "run", "--")
LIMIT_SECONDS = 500


class Pattern:
    """A program, its problem, and the ways in which it writes, of which the first is what the others are compared with."""

    def __init__(self, program, problem, quick, ways, measure):
        self.program, self.problem, self.quick, self.ways, self.measure = program, problem, quick, ways, measure


def way(*arguments, under=(), **settings):
    return {"arguments": arguments, "under": under, "settings": settings}


# By kind of output: its bytes, and what the slowest rank was blocked for by each output.
def of_sedov(directory, _):
    trace = json.loads((directory / "measured.json").read_text())
    kinds = {}
    for kind, mark in (("FLASH checkpoint", "_chk_"), ("FLASH plot file", "_plt_")):
        files = [file for file in trace["files"] if mark in file["name"]]

        def blocked(rank, file):   # packing cells is a part of writing them: GLEAN's puts have strides
            return sum(end - begin for begin, end, activity, label in rank["intervals"]
                       if activity in ("pack", "output") and label.endswith(file["name"]))

        kinds[kind] = (files[-1]["data_bytes"], [max(blocked(rank, file) for rank in trace["per_rank"]) for file in files])
    return kinds


def of_s3d(directory, said):   # which tells the sum
    dumps = re.search(r"(\d+) dumps of", said)[1]
    blocked = float(re.search(r"blocked ([\d.]+) s", said)[1])
    return {"S3D restart dump": (max(path.stat().st_size for path in directory.iterdir()), [blocked / int(dumps)])}


def of_phasta(directory, _):
    outputs = json.loads((directory / "measured.json").read_text())["outputs"]
    files = sum(path.stat().st_size for path in directory.iterdir() if path.name != "measured.json")
    return {"PHASTA-like mesh": (files // len(outputs), [output["blocked_seconds"] for output in outputs])}


def of_nekcem(directory, _):
    run = json.loads((directory / "measured.json").read_text())
    each_output = zip(*(rank["blocked"] for rank in run["ranks"] if rank["blocked"]), strict=True)
    return {"NekCEM-like elements": (round(run["output_bytes"]), [max(output) for output in each_output])}


PATTERNS = {
    "flash": Pattern("sedov", "--steps 6 --checkpoint-every 2 --plot-every 2 --blocks 6,6,6", "--blocks 2,2,2", {
        "collective HDF5": way("--output", "hdf5"),
        "PnetCDF": way("--output", "pnetcdf"),
        "GLEAN, netcdf": way("--output", "glean"),
        "GLEAN, netcdf made hdf5": way("--output", "glean", GLEAN_FORMAT="hdf5"),
        "GLEAN, netcdf and vtkhdf": way("--output", "glean", GLEAN_ALSO="vtkhdf"),
        "HDF5 under glean run": way("--output", "hdf5", under=UNDER_GLEAN),
        "PnetCDF under glean run": way("--output", "pnetcdf", under=UNDER_GLEAN)}, of_sedov),
    "s3d": Pattern("s3d_io", "--dumps 8 --steps 2", "--dumps 2 --block 4,6,4", {
        "MPI-IO": way("--output", "mpiio"),
        "PnetCDF": way("--output", "pnetcdf"),
        "GLEAN, netcdf": way("--output", "glean"),
        "MPI-IO under glean run": way("--output", "mpiio", under=UNDER_GLEAN)}, of_s3d),
    "phasta": Pattern("phasta_like", "--cubes 16,16,16 --steps 6 --every 2", "--cubes 4,4,4 --steps 2 --every 1", {
        "POSIX, files of parts": way("--output", "posix"),
        "GLEAN, vtkhdf": way("--output", "glean", "--format", "vtkhdf"),
        "GLEAN, vtk": way("--output", "glean", "--format", "vtk")}, of_phasta),
    "nekcem": Pattern("nekcem_like", "--elements 6,4,16 --steps 40 --every 10", "--elements 4,2,8 --steps 4 --every 2", {
        "collective MPI-IO": way("--output", "coio"),
        "rbIO": way("--output", "rbio"),
        "GLEAN, vtk": way("--output", "glean", "--format", "vtk"),
        "GLEAN, vtkhdf": way("--output", "glean", "--format", "vtkhdf")}, of_nekcem),
}


def arguments_of(pattern, quick):
    """Each option once: those of the quick problem take the place of the others."""
    words = pattern.problem.split()
    chosen = dict(zip(words[::2], words[1::2]))
    if quick:
        words = pattern.quick.split()
        chosen |= dict(zip(words[::2], words[1::2]))
    return [word for option in chosen.items() for word in option]


def run(options, pattern, one_way):
    """What one run has measured, and its whole time. Its files go again when the disk has them."""
    shutil.rmtree(options.directory, ignore_errors=True)
    options.directory.mkdir(parents=True)
    binaries = options.build / "bin"
    command, environment = launch.mpirun(options.ranks)
    environment = {name: value for name, value in environment.items() if not name.startswith("GLEAN_")}
    pool = "64MiB" if options.quick else POOL
    environment |= {"GLEAN_POOL_BUDGET": pool, "OMPI_MCA_io": "^ompio", **one_way["settings"]}   # romio: what the others are fast with
    words = [*one_way["under"], *command, binaries / pattern.program, "--directory", options.directory, *one_way["arguments"],
             *arguments_of(pattern, options.quick)]
    if one_way["under"]:
        words[0] = binaries / words[0]
    if pattern.program != "s3d_io":
        words += ["--trace" if pattern.program == "sedov" else "--json", options.directory / "measured.json"]
    begin = time.monotonic()
    done = subprocess.run([str(word) for word in words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=LIMIT_SECONDS, check=False)
    seconds = time.monotonic() - begin
    if done.returncode != 0:
        sys.exit(f"patterns: {' '.join(str(word) for word in words)} ended with status {done.returncode}:\n{done.stdout}")
    measured = pattern.measure(options.directory, done.stdout)
    for path in options.directory.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
    shutil.rmtree(options.directory)
    return measured, seconds


def results_of(runs):
    """By kind of output, each way beside the first one."""
    reference = next(iter(runs))
    patterns = []
    for kind, (size, outputs) in runs[reference][0][0].items():
        blocked = {name: [second for measured, _ in of_way for second in measured[kind][1]] for name, of_way in runs.items()}
        results = []
        for name, of_way in runs.items():
            middle = statistics.median(blocked[name])
            results.append({"way": name, "blocked_seconds": middle, "blocked_shorter_by": statistics.median(blocked[reference]) / middle,
                            "run_seconds": statistics.median(seconds for _, seconds in of_way),
                            "each_blocked_seconds": blocked[name], "each_run_seconds": [seconds for _, seconds in of_way]})
        patterns.append({"pattern": kind, "reference": reference, "bytes": size, "values_per_run": len(outputs), "results": results})
    return patterns


def measure(options):
    """Each way in turn, and then all of them again, so that what else the machine does meets all of them."""
    patterns = []
    for name in options.only.split(","):
        pattern = PATTERNS[name]
        ways = {title: one for title, one in pattern.ways.items() if options.hdf5 or "hdf5" not in f"{title} {one['arguments']}".lower()}
        runs = {title: [] for title in (list(ways)[::2] if options.quick else ways)}
        for repetition in range(options.repetitions):
            turns = list(runs)
            for title in turns[repetition % len(turns):] + turns[:repetition % len(turns)]:
                runs[title].append(run(options, pattern, ways[title]))
        patterns += results_of(runs)
    return patterns


def print_table(result):
    for each in result["patterns"]:
        print(f"    {each['pattern']}, {each['bytes'] / 1e6:.1f} MB, {result['storage']}")
        for one in each["results"]:
            print(f"        {one['way']:26} blocked {1000 * one['blocked_seconds']:8.1f} ms, shorter by {one['blocked_shorter_by']:6.1f}; "
                  f"run {one['run_seconds']:6.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--directory", type=pathlib.Path, help="for the files, which are removed (default: BUILD_DIR/bench/files/patterns)")
    parser.add_argument("--storage", default="plain disk")
    parser.add_argument("--rate", type=float, default=0, help="MB/s to which the storage is limited, for the result; 0: none")
    parser.add_argument("--only", default=",".join(PATTERNS))
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--without-hdf5", dest="hdf5", action="store_false", help="leaves out what needs HDF5")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    unknown = [name for name in options.only.split(",") if name not in PATTERNS]
    if unknown:
        parser.error(f"--only: there is no {', '.join(unknown)}; there are {', '.join(PATTERNS)}")
    options.build = options.build.resolve()
    options.directory = (options.directory or options.build / "bench" / "files").resolve() / "patterns"
    options.ranks = options.ranks or (2 if options.quick else 8)

    load = [os.getloadavg()[0]]
    patterns = measure(options)
    load.append(os.getloadavg()[0])
    result = {"benchmark": "patterns", "quick": options.quick,
              "statement": "medians; blocked: by one output, slowest rank; run: the whole program, GLEAN's until all is durable",
              "storage": options.storage, "rate_mb_per_s": options.rate, "ranks": options.ranks, "cores": os.cpu_count(),
              "repetitions": options.repetitions, "load_averages": load, "patterns": patterns}
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    print_table(result)


if __name__ == "__main__":
    main()
