#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a program waits for that reads its restart file: FLASH's blocks, S3D's decomposition in three dimensions, ranges of a mesh, through
GLEAN's Input, PnetCDF and HDF5 in turns, from the storage and from the page cache.

  restart.py BUILD_DIR [--directory DIR] [--storage NAME] [--only flash,s3d,mesh] [--ranks 1,4,8,6] [--written-by N]
             [--repetitions N] [--quick] [--json FILE]

The files are written by as many ranks as --written-by says, and read by each number of --ranks.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "examples" / "evaluation"))

import launch   # noqa: E402

PATTERNS = ("flash", "s3d", "mesh")
LIMIT_SECONDS = 500


def run(options, pattern, ranks, *arguments):
    command, environment = launch.mpirun(ranks)
    environment = {name: value for name, value in environment.items() if not name.startswith("GLEAN_")}
    environment["OMPI_MCA_io"] = "^ompio"   # romio: what the others are fast with
    words = [*command, options.build / "bin" / "bench_restart", "--directory", options.directory, "--pattern", pattern, *arguments]
    if options.quick:
        words.append("--quick")
    done = subprocess.run([str(word) for word in words], env=environment, stdout=subprocess.PIPE, text=True, timeout=LIMIT_SECONDS,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"restart: {' '.join(str(word) for word in words)} ended with status {done.returncode}:\n{done.stdout}")
    return done.stdout


def measure(options):
    results = []
    for pattern in options.only.split(","):
        shutil.rmtree(options.directory, ignore_errors=True)
        run(options, pattern, options.written_by, "--write")
        for ranks in options.ranks:
            results.append(json.loads(run(options, pattern, ranks, "--repetitions", options.repetitions)))
        shutil.rmtree(options.directory)
    return results


def print_table(result):
    for each in result["results"]:
        for of_cache in each["caches"]:
            print(f"    {each['pattern']}, {each['bytes'] / 1e6:.1f} MB, {each['recipe']['ranks']} ranks, {of_cache['cache']}, "
                  f"{result['storage']}")
            for one in of_cache["results"]:
                print(f"        {one['reader']:20} {1000 * one['seconds']:8.1f} ms, GLEAN beside it {one['glean_to_this']:5.2f}; "
                      f"processor time {1000 * one['cpu_seconds']:8.1f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--directory", type=pathlib.Path, help="for the files, which are removed (default: BUILD_DIR/bench/files/restart)")
    parser.add_argument("--storage", default="plain disk")
    parser.add_argument("--only", default=",".join(PATTERNS))
    parser.add_argument("--ranks", default="")
    parser.add_argument("--written-by", type=int, default=8)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    unknown = [name for name in options.only.split(",") if name not in PATTERNS]
    if unknown:
        parser.error(f"--only: there is no {', '.join(unknown)}; there are {', '.join(PATTERNS)}")
    options.build = options.build.resolve()
    options.directory = (options.directory or options.build / "bench" / "files").resolve() / "restart"
    options.ranks = [int(ranks) for ranks in (options.ranks or ("2" if options.quick else "1,4,8,6")).split(",")]
    if options.quick:
        options.written_by = 1

    load = [os.getloadavg()[0]]
    results = measure(options)
    load.append(os.getloadavg()[0])
    result = {"benchmark": "restart", "quick": options.quick, "storage": options.storage, "cores": os.cpu_count(),
              "written_by_ranks": options.written_by, "load_averages": load, "results": results}
    print_table(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
