# SPDX-License-Identifier: BSD-3-Clause
"""Figures of merit of a run, from its trace and GLEAN's report. Times in seconds, sizes in bytes."""


def slowest(trace, activity):
    return max(rank[f"{activity}_seconds"] for rank in trace["per_rank"])


def total_bytes(trace):
    return sum(file["data_bytes"] for file in trace["files"])


def intervals(trace, activity, rank=None):
    """[begin, end, label] of one rank, or of all."""
    chosen = trace["per_rank"] if rank is None else [trace["per_rank"][rank]]
    return [[begin, end, label] for r in chosen for begin, end, kind, label in r["intervals"]
            if kind == activity]


def union(spans):
    """Disjoint spans that cover the same time."""
    joined = []
    for begin, end in sorted((span[0], span[1]) for span in spans):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    return joined


def length(spans):
    return sum(end - begin for begin, end in spans)


def step_spans(trace):
    """Of each step, from when its last rank began to when its last rank ended.

    Ranks that come back early from an output call wait in their first step for the others; that is blocked
    time of those, not a slower computation.
    """
    steps = {}
    for begin, end, label in intervals(trace, "compute"):
        low, high = steps.get(int(label), (begin, end))
        steps[int(label)] = (max(low, begin), max(high, end))
    return steps


def overlaps(span, spans):
    return any(begin < span[1] and span[0] < end for begin, end in spans)


def on_trace_clock(report, trace):
    """The drain's busy spans and, per output, [first capture, durable], on the clock of the trace."""
    shift = report["epoch_realtime_s"] - trace["epoch_realtime_s"]
    busy = [[begin + shift, end + shift] for begin, end in report["drain"]["intervals"]]
    outputs = [[out["first_capture_s"] + shift, out["durable_s"] + shift] for out in report["outputs"]
               if out["first_capture_s"] is not None and out["durable_s"] is not None]
    return union(busy), outputs


def spans_of_files(trace):
    """By file name, from the first rank that began to write it to the last that returned."""
    files = {}
    for begin, end, label in intervals(trace, "pack") + intervals(trace, "output"):
        name = label.rsplit("/", 1)[-1]
        low, high = files.get(name, (begin, end))
        files[name] = (min(low, begin), max(high, end))
    return files


def disturbed_steps(trace, spans):
    """The steps that are computed while one of `spans` lasts."""
    return {step for step, span in step_spans(trace).items() if overlaps(span, spans)}


def slow_down(trace, disturbed, undisturbed_each=20):
    """What the `disturbed` steps took longer than those that follow; None without any.

    All steps cost the same, so the steps right after a disturbance are the fairest measure: the machine is
    then as busy with other things as during it.
    """
    spans = step_spans(trace)
    duration = {step: end - begin for step, (begin, end) in spans.items()}
    taken = expected = 0.0
    count = 0
    for group in groups(disturbed & duration.keys()):
        after = [step for step in range(group[-1] + 1, group[-1] + 1 + undisturbed_each)
                 if step in duration and step not in disturbed]
        if after:
            taken += sum(duration[step] for step in group)
            expected += len(group) * sum(duration[step] for step in after) / len(after)
            count += len(group)
    if count == 0:
        return None
    return {"steps": count, "fraction": taken / expected - 1,
            "fraction_of_all_steps": (taken - expected) / sum(duration.values())}


def groups(steps):
    """Runs of consecutive numbers."""
    runs = []
    for step in sorted(steps):
        if runs and step == runs[-1][-1] + 1:
            runs[-1].append(step)
        else:
            runs.append([step])
    return runs


def of_run(trace):
    """What every way of output has."""
    data = total_bytes(trace)
    blocked = slowest(trace, "output")
    return {
        "data_bytes": data,
        "files": len(trace["files"]),
        "start_seconds": slowest(trace, "start"),
        "blocked_seconds": blocked,
        "blocked_seconds_per_rank": [rank["output_seconds"] for rank in trace["per_rank"]],
        "packing_seconds": slowest(trace, "pack"),
        "finish_seconds": slowest(trace, "finish"),
        "observed_bytes_per_second": data / blocked if blocked > 0 else None,
        "run_seconds": trace["run_seconds"],
        "compute_seconds": slowest(trace, "compute"),
        "cpu_seconds": sum(rank["cpu_seconds"] for rank in trace["per_rank"]),
        "checks": trace["checks"],
    }


def of_pnetcdf(trace, durable_trace, drained_steps):
    """`durable_trace`: of a run that wrote as much with --fsync, when PnetCDF's bytes are as safe as GLEAN's.

    `drained_steps`: those that GLEAN's drain overlapped. Here the kernel may be writing in the same steps.
    """
    calls = sum(rank["write_calls"] for rank in trace["per_rank"])
    size = sum(rank["written_bytes"] for rank in trace["per_rank"])
    writing = length(union(spans_of_files(durable_trace).values()))
    return of_run(trace) | {
        "raw_bytes_per_second": total_bytes(durable_trace) / writing,
        "blocked_with_fsync_seconds": slowest(durable_trace, "output"),
        "drain_slow_down": slow_down(trace, drained_steps),
        "pool_high_water_bytes": None,
        "pool_budget_bytes": None,
        "requests": [{"kind": "write", "count": calls, "bytes": size}],
    }


def of_glean(trace, report):
    busy, outputs = on_trace_clock(report, trace)
    return of_run(trace) | {
        "raw_bytes_per_second": total_bytes(trace) / length(union(outputs)) if outputs else None,
        "drain_slow_down": slow_down(trace, disturbed_steps(trace, busy)),
        "drained_steps": sorted(disturbed_steps(trace, busy)),
        "drain_busy_seconds": report["drain"]["busy_seconds"],
        "drain_cpu_seconds": report["drain"]["cpu_seconds"],
        "pool_high_water_bytes": report["pool"]["high_water_bytes"],
        "pool_budget_bytes": report["pool"]["budget_bytes"],
        "requests": report["drain"]["requests"],
    }


# --- the table

def seconds(value):
    return "-" if value is None else f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"


def size(value):
    if value is None:
        return "-"
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.2f} GiB"


def rate(value):
    return "-" if value is None else f"{value / 2**20:,.0f} MiB/s"


def percent(value):
    return "-" if value is None else f"{100 * value:+.1f} %"


def slowed(found, which=""):
    return "-" if found is None else f"{percent(found['fraction'])} of {which}{found['steps']} steps"


def requests(entries):
    """Number and mean size, by kind."""
    used = [e for e in entries if e["count"] > 0]
    return [f"{e['count']:,} {e['kind']}, {size(e['bytes'] / e['count'])} each" for e in used] or ["-"]


def table(direct, glean):
    """The comparison as lines of text."""
    rows = [("data in files", size(direct["data_bytes"]) + f" in {direct['files']}",
             size(glean["data_bytes"]) + f" in {glean['files']}")]

    def row(label, form, key, instead=None):
        rows.append((label, instead or form(direct.get(key)), form(glean.get(key))))

    row("blocked time, slowest rank", seconds, "blocked_seconds")
    row("  packing before the calls", seconds, "packing_seconds")
    row("  start of the session", seconds, "start_seconds")
    row("  wait at the end for the disk", seconds, "finish_seconds")
    row("observed throughput", rate, "observed_bytes_per_second")
    row("raw throughput, to durable", rate, "raw_bytes_per_second",
        rate(direct["raw_bytes_per_second"]) + " (with fsync)")
    row("run time", seconds, "run_seconds")
    row("  of it computing", seconds, "compute_seconds")
    row("CPU time, all ranks", seconds, "cpu_seconds")
    rows.append(("slow-down of steps while draining", slowed(direct["drain_slow_down"], "the same "),
                 slowed(glean["drain_slow_down"])))
    rows.append(("  of all steps", *(percent((way["drain_slow_down"] or {}).get("fraction_of_all_steps"))
                                     for way in (direct, glean))))
    row("pool high-water mark", size, "pool_high_water_bytes")
    row("  of a budget of", size, "pool_budget_bytes")
    left, right = requests(direct["requests"]), requests(glean["requests"])
    for i in range(max(len(left), len(right))):
        rows.append(("requests to the file system" if i == 0 else "", left[i] if i < len(left) else "",
                     right[i] if i < len(right) else ""))

    heads = ("", "PnetCDF direct", "GLEAN")
    widths = [max(len(cells[i]) for cells in [heads, *rows]) for i in range(3)]
    rule = "  ".join("-" * width for width in widths)
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()
             for cells in [heads, *rows]]
    ratio = direct["blocked_seconds"] / glean["blocked_seconds"] if glean["blocked_seconds"] > 0 else None
    closing = [f"Blocked time: 1/{ratio:.1f} of PnetCDF's."] if ratio and ratio > 1 else []
    return [lines[0], rule, *lines[1:], rule, *closing]
