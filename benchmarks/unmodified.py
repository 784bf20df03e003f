# SPDX-License-Identifier: BSD-3-Clause
"""What a program measured by itself, beside what it measured under `glean run`."""
import filecmp
import pathlib
import shutil
import statistics
import subprocess

import targets


def same_content(one, other):
    """HDF5 files have times in them."""
    if one.suffix == ".h5":
        return bool(shutil.which("h5diff")) and subprocess.run(["h5diff", one, other], capture_output=True, check=False).returncode == 0
    return filecmp.cmp(one, other, shallow=False)


def merged(without, with_glean, storage, rate, quick):
    """One result of the runs of each side. The files of the last of each are still there."""
    def each(runs, index, what):
        return [seconds for run in runs for seconds in run["results"][index][f"{what}_seconds"]]

    rows = []
    for index, (bare, glean) in enumerate(zip(without[-1]["results"], with_glean[-1]["results"], strict=True)):
        times = {(side, what): each(runs, index, what)
                 for side, runs in (("without", without), ("with", with_glean)) for what in ("blocked", "durable")}
        if "past_seconds" in glean:   # measured in turns within one process, which says more than another run
            times["without", "blocked"] = times["without", "durable"] = each(with_glean, index, "past")
        seconds = {f"{side}_{what}_seconds": statistics.median(all_of_it) for (side, what), all_of_it in times.items()}
        rows.append({
            "case": bare["case"], "bytes": bare["bytes"], **seconds,
            "blocked_shorter_by": seconds["without_blocked_seconds"] / seconds["with_blocked_seconds"],
            "durable_to_reference": seconds["with_durable_seconds"] / seconds["without_durable_seconds"],
            "each_without_seconds": times["without", "blocked"], "each_with_seconds": times["with", "blocked"],
            "identical_files": all(same_content(pathlib.Path(bare["directory"], file), pathlib.Path(glean["directory"], file))
                                   for file in bare["files"])})
    return {"benchmark": "unmodified", "recipe": without[-1]["recipe"], "quick": quick,
            "statement": "medians; blocked: from the first open to the last close, slowest rank; without and with GLEAN in turns, "
                         "the program is the same; read: means of turns in one process, through GLEAN and past it",
            "storage": storage, "rate_mb_per_s": rate or 0, "results": rows}


def wanted_of(case, rate):
    """How much shorter the program is to be blocked, by what it does; never slower by more than 5 %."""
    if " doubles, " in case:
        return 1
    if rate is not None:
        return {200: 20, 50: 60}[rate]
    if "read" in case:
        return 0.95
    if "4 KiB" in case and "64 KiB" not in case:
        return 10 if "collective" in case else 0.95
    return 5


def add_rows(rows, programs):
    for (interface, store, layer), result in programs.items():
        if not result:
            continue
        rate = None if store == "plain" else store
        where = f"plain disk, {layer}" if rate is None else f"{rate} MB/s store"
        for r in result["results"]:
            targets.at_least(rows, f"{interface}, {where}: {r['case']}: blocked shorter by", wanted_of(r["case"], rate),
                             r["blocked_shorter_by"],
                             f"{r['blocked_shorter_by']:.2f} ({r['with_blocked_seconds']:.3f} s, {r['without_blocked_seconds']:.3f} s)")
        same = all(r["identical_files"] for r in result["results"])
        if result["results"]:
            targets.row(rows, f"{interface}, {where}: files identical", "yes", "yes" if same else "no", same)
