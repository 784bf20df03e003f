# SPDX-License-Identifier: BSD-3-Clause
"""The plain PnetCDF and HDF5 ways, bare and under `glean run`: nothing of the program changes."""

import pathlib
import subprocess

from . import compare, measures, runs


def ways(sedov, launcher="mpirun"):
    """Those that the program was built with."""
    command, environment = runs.mpirun(1, launcher)
    usage = subprocess.run([*command, str(sedov), "--output", "?"], env=environment, capture_output=True, text=True, check=False)
    return [way for way in ("pnetcdf", "hdf5") if way in usage.stderr.split("not '?'")[0]]


def run(sedov, glean, problem, into, say=print, launcher="mpirun"):
    """Returns, for each way, the blocked time of the slowest rank both ways, what differs, and GLEAN's report."""
    found = {}
    for way in ways(sedov, launcher):
        bare, under = pathlib.Path(into) / f"bare_{way}", pathlib.Path(into) / f"under_{way}"
        trace, _ = runs.run(sedov, problem, way, bare, say=say, launcher=launcher)
        runs.settle(bare)
        other, report = runs.run(sedov, problem, way, under, say=say, launcher=launcher, under=(str(glean), "run", "--"))
        if report is None:
            raise runs.Failed(f"glean run has left no report of sedov --output {way}")
        runs.settle(under)
        entries = compare.compare(bare, under, say)
        found[way] = {
            "files": len(entries), "data_bytes": measures.total_bytes(trace),
            "different": [entry["name"] for entry in entries if entry["problems"]],
            "bare_blocked_seconds": measures.slowest(trace, "output"),
            "blocked_seconds": measures.slowest(other, "output"),
            "datasets": report["datasets"], "report": report,
        }
    return found


def lines(found):
    """What a user should see of it."""
    names = {"pnetcdf": "PnetCDF", "hdf5": "HDF5"}
    for way, one in found.items():
        bare, under = one["bare_blocked_seconds"], one["blocked_seconds"]
        share = f", 1/{bare / under:.1f} of it" if 0 < under < bare else ""
        yield (f"Plain {names[way]}, unmodified: {measures.seconds(bare)} in output bare, {measures.seconds(under)} under "
               f"glean run{share}; {one['files'] - len(one['different'])} of {one['files']} files are the same.")
