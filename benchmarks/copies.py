#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What files of other formats cost that the drain has made of a checkpoint, beside a checkpoint without them, in turns.

  copies.py BUILD_DIR [--blocks X,Y,Z] [--repetitions N] [--quick] [--json FILE]

Each run of sedov writes two checkpoints, of which the last one counts: from its first capture until it and its copies are durable, and
what the slowest rank was blocked for before it closed the session, which waits for all files.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

RANKS = 2
WAYS = {
    "netcdf": {},
    "netcdf and hdf5": {"GLEAN_ALSO": "hdf5", "GLEAN_SEMANTICS": "none"},
    "netcdf and flash": {"GLEAN_ALSO": "hdf5", "GLEAN_SEMANTICS": "flash"},
    "netcdf and vtkhdf": {"GLEAN_ALSO": "vtkhdf", "GLEAN_SEMANTICS": "flash"},
    "netcdf and plot file": {"GLEAN_PLOT_VARIABLES": "dens,pres,temp", "GLEAN_SEMANTICS": "flash"},
    # Tables of a configuration: a slice and a field that is computed; all in half the bytes; all, compressed within a tolerance.
    "netcdf and slice": {"tables": """run = ["slice nzb=8", "expression ratio = pres / dens"]\nvariables = ["dens"]"""},
    "netcdf and float32": {"tables": """run = ["precision float32"]"""},
    "netcdf and zfp": {"tables": """run = ["tolerance 1e-3"]\nformat = "hdf5" """},
    "hdf5 instead": {"GLEAN_FORMAT": "hdf5", "GLEAN_SEMANTICS": "none"},
}
QUICK_WAYS = ("netcdf", "netcdf and vtkhdf", "netcdf and zfp", "hdf5 instead")   # one of each kind


def measure(build, files, blocks, variables, pool):
    directory = pathlib.Path(tempfile.mkdtemp(dir=files))
    report = directory / "report.json"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")}
    variables = variables | ({"GLEAN_POOL_BUDGET": pool} if pool else {})
    if tables := variables.pop("tables", None):
        (directory / "glean.toml").write_text(f'[[analysis]]\noutput = "*"\n{tables}\n')
        variables["GLEAN_CONFIG"] = str(directory / "glean.toml")
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", RANKS,
               build / "bin" / "sedov", "--blocks", blocks, "--steps", 1, "--plot-every", 1000, "--checkpoint-every", 1000,
               "--directory", directory]
    try:
        subprocess.run([str(word) for word in command], env=environment | variables | {"GLEAN_REPORT_FILE": str(report)}, check=True,
                       stdout=subprocess.DEVNULL)
        result = json.loads(report.read_text())
        last = [output for output in result["outputs"] if "_chk_" in output["path"]][-1]
        failed = [copy["error"] for copy in last["copies"] if copy["error"]]
        if failed:
            sys.exit(f"copies: {failed}")
        return {"bytes": last["bytes"],
                "durable_seconds": last["durable_s"] - last["first_capture_s"],
                "blocked_seconds": max(0, result["blocked_seconds"]["max"] - result["closing_seconds"]),
                "copy_seconds": sum(copy["seconds"] for copy in last["copies"])}
    finally:
        shutil.rmtree(directory)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--blocks", default="12,12,12")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    build = options.build.resolve()
    files = build / "bench" / "files"
    files.mkdir(parents=True, exist_ok=True)
    blocks = "2,2,2" if options.quick else options.blocks

    runs = {way: [] for way in (QUICK_WAYS if options.quick else WAYS)}
    for _ in range(options.repetitions):
        for way, of_way in runs.items():
            of_way.append(measure(build, files, blocks, WAYS[way], "64MiB" if options.quick else None))
    results = []
    for way, each in runs.items():
        of = {name: statistics.median(run[name] for run in each) for name in each[0]}
        reference = statistics.median(run["durable_seconds"] for run in runs["netcdf"])
        results.append({"way": way, **of, "durable_to_reference": of["durable_seconds"] / reference,
                        "each_durable_seconds": [run["durable_seconds"] for run in each],
                        "each_blocked_seconds": [run["blocked_seconds"] for run in each]})
    text = json.dumps({"quick": options.quick, "ranks": RANKS, "blocks": blocks, "repetitions": options.repetitions, "results": results},
                      indent=2)
    if options.json:
        options.json.write_text(text + "\n")
    for one in results:
        print(f"    {one['way']:22} durable after {one['durable_seconds']:6.2f} s ({one['durable_to_reference']:.2f} of netcdf), "
              f"of it copies {one['copy_seconds']:5.2f} s, blocked {1000 * one['blocked_seconds']:7.1f} ms, "
              f"{one['bytes'] / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
