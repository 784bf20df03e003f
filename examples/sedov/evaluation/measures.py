# SPDX-License-Identifier: BSD-3-Clause
"""Figures of merit of a run, from its trace and GLEAN's report. Times in seconds, sizes in bytes."""


def slowest(trace, activity):
    return max(rank[f"{activity}_seconds"] for rank in trace["per_rank"])


def total_bytes(trace):
    return sum(file["data_bytes"] for file in trace["files"])


def intervals(trace, activity, rank=None):
    """[begin, end, label] of one rank, or of all."""
    chosen = trace["per_rank"] if rank is None else [trace["per_rank"][rank]]
    return [[begin, end, label] for r in chosen for begin, end, kind, label in r["intervals"] if kind == activity]


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


def step_seconds(trace):
    """Of each step: from its first to its last rank, and the span itself."""
    steps = {}
    for begin, end, label in intervals(trace, "compute"):
        low, high = steps.get(int(label), (begin, end))
        steps[int(label)] = (min(low, begin), max(high, end))
    return steps


def overlaps(span, spans):
    return any(begin < span[1] and span[0] < end for begin, end in spans)


def on_trace_clock(report, trace):
    """The drain's busy spans and, per output, [first capture, durable], on the clock of the trace."""
    shift = report["epoch_realtime_s"] - trace["epoch_realtime_s"]
    busy = [[begin + shift, end + shift] for begin, end in report["drain"]["intervals"]]
    outputs = [[out["first_capture_s"] + shift, out["durable_s"] + shift] for out in report["outputs"]
               if out["state"] in ("durable", "published")]
    return union(busy), outputs


def spans_of_files(trace):
    """By file name, from the first rank that began to write it to the last that returned."""
    files = {}
    for begin, end, label in intervals(trace, "pack") + intervals(trace, "output"):
        name = label.rsplit("/", 1)[-1]
        low, high = files.get(name, (begin, end))
        files[name] = (min(low, begin), max(high, end))
    return files


def slow_down(trace, baseline, spans=None):
    """How much longer steps took than in the run without output, as a fraction; only those that `spans` touch."""
    own, reference = step_seconds(trace), step_seconds(baseline)
    chosen = [step for step in own if step in reference and (spans is None or overlaps(own[step], spans))]
    if not chosen:
        return None
    taken = sum(own[step][1] - own[step][0] for step in chosen)
    expected = sum(reference[step][1] - reference[step][0] for step in chosen)
    return taken / expected - 1


def of_run(trace, baseline):
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
        "computation_slow_down": slow_down(trace, baseline),
        "checks": trace["checks"],
    }


def of_pnetcdf(trace, durable_trace, baseline):
    """`durable_trace`: of the same run with --fsync, which is when PnetCDF's bytes are as safe as GLEAN's."""
    calls = sum(rank["write_calls"] for rank in trace["per_rank"])
    size = sum(rank["written_bytes"] for rank in trace["per_rank"])
    return of_run(trace, baseline) | {
        "raw_bytes_per_second": total_bytes(durable_trace) / length(union(spans_of_files(durable_trace).values())),
        "blocked_with_fsync_seconds": slowest(durable_trace, "output"),
        "run_with_fsync_seconds": durable_trace["run_seconds"],
        "drain_slow_down": None,
        "pool_high_water_bytes": None,
        "pool_budget_bytes": None,
        "requests": [{"kind": "write", "count": calls, "bytes": size}],
    }


def of_glean(trace, report, baseline):
    busy, outputs = on_trace_clock(report, trace)
    return of_run(trace, baseline) | {
        "raw_bytes_per_second": total_bytes(trace) / length(union(outputs)) if outputs else None,
        "drain_slow_down": slow_down(trace, baseline, busy),
        "drain_busy_seconds": report["drain"]["busy_seconds"],
        "drain_cpu_seconds": report["drain"]["cpu_seconds"],
        "pool_high_water_bytes": report["pool"]["high_water_bytes"],
        "pool_budget_bytes": report["pool"]["budget_bytes"],
        "requests": report["drain"]["requests"],
    }


# --- the table ---------------------------------------------------------------------------------------------------

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
    row("CPU time, all ranks", seconds, "cpu_seconds")
    row("computation, against no output", percent, "computation_slow_down")
    row("  while draining", percent, "drain_slow_down")
    row("pool high-water mark", size, "pool_high_water_bytes")
    row("  of a budget of", size, "pool_budget_bytes")
    left, right = requests(direct["requests"]), requests(glean["requests"])
    for i in range(max(len(left), len(right))):
        rows.append(("requests to the file system" if i == 0 else "", left[i] if i < len(left) else "",
                     right[i] if i < len(right) else ""))

    heads = ("", "PnetCDF direct", "GLEAN")
    widths = [max(len(cells[i]) for cells in [heads, *rows]) for i in range(3)]
    rule = "  ".join("-" * width for width in widths)
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip() for cells in [heads, *rows]]
    ratio = direct["blocked_seconds"] / glean["blocked_seconds"] if glean["blocked_seconds"] > 0 else None
    closing = [f"Blocked time: 1/{ratio:.1f} of PnetCDF's."] if ratio and ratio > 1 else []
    return [lines[0], rule, *lines[1:], rule, *closing]
