# SPDX-License-Identifier: BSD-3-Clause
"""The three pictures of the demo: what was computed, whether it is right, and which rank waited when."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Patch

from . import cdf, measures

INK, QUIET = "#22303c", "#8a97a3"
COMPUTE, BLOCKED, START, DRAIN, DURABLE = "#cfdbe4", "#d1495b", "#edae49", "#2e86ab", "#1b4965"

plt.rcParams.update({
    "font.family": "DejaVu Sans", "font.size": 10, "axes.edgecolor": QUIET, "axes.labelcolor": INK,
    "axes.titlecolor": INK, "axes.titlesize": 12, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "xtick.color": INK, "ytick.color": INK, "axes.spines.top": False, "axes.spines.right": False,
    "figure.dpi": 120, "savefig.dpi": 160, "legend.frameon": False,
})


def full_plane(octant):
    """A plane through the centre, from the quarter of it that was computed."""
    half = np.concatenate([octant[:, ::-1], octant], axis=1)
    return np.concatenate([half[::-1], half], axis=0)


def density_slice(path, picture):
    file = cdf.File(path)
    density, width = cdf.whole_domain(file, "dens")
    plane = full_plane(density[0])
    reach = density.shape[2] * width

    figure, axes = plt.subplots(figsize=(7.4, 6.6), constrained_layout=True)
    image = axes.imshow(plane, origin="lower", extent=(-reach, reach, -reach, reach), cmap="inferno",
                        interpolation="nearest", vmin=0)
    for line in np.arange(-reach, reach + width, 16 * width):   # the blocks
        axes.axhline(line, color="white", alpha=0.10, linewidth=0.5)
        axes.axvline(line, color="white", alpha=0.10, linewidth=0.5)
    axes.set(title=f"Density through the centre at t = {file.attributes['time']:.4f}", ylabel="y")
    axes.set_xlabel(f"x\n{density.shape[0]}³ cells of one octant, mirrored; faint lines: blocks of 16³ cells")
    figure.colorbar(image, ax=axes, label="density (ambient = 1)", shrink=0.85)
    figure.savefig(picture)
    plt.close(figure)


def radial_profile(path, trace, picture):
    file = cdf.File(path)
    names = ("dens", "pres", "velx", "vely", "velz")
    data = {name: cdf.whole_domain(file, name) for name in names}
    width = data["dens"][1]
    z, y, x = (np.indices(data["dens"][0].shape) + 0.5) * width
    radius = np.sqrt(x * x + y * y + z * z)
    velocity = (data["velx"][0] * x + data["vely"][0] * y + data["velz"][0] * z) / radius
    exact, checks = trace["exact"], trace["checks"]
    shock, far = checks["exact_shock_radius"], 1.35 * checks["exact_shock_radius"]

    inside = radius.ravel() < far
    some = np.random.default_rng(1).permutation(np.flatnonzero(inside))[:40000]
    shells = np.arange(0, far, width)
    shell = np.digitize(radius.ravel()[inside], shells) - 1
    counts = np.bincount(shell, minlength=len(shells))

    figure, panels = plt.subplots(3, 1, figsize=(7.6, 8.6), sharex=True, constrained_layout=True)
    rows = (("density", data["dens"][0], exact["density"], file.attributes["ambient_density"]),
            ("radial velocity", velocity, exact["velocity"], 0.0),
            ("pressure", data["pres"][0], exact["pressure"], file.attributes["ambient_pressure"]))
    for axes, (label, cells, curve, ambient) in zip(panels, rows):
        values = cells.ravel()
        axes.scatter(radius.ravel()[some], values[some], s=1.2, color=DRAIN, alpha=0.20, linewidths=0,
                     rasterized=True, label="cells")
        mean = np.bincount(shell, values[inside], minlength=len(shells)) / np.maximum(counts, 1)
        axes.plot((shells + 0.5 * width)[counts > 0], mean[counts > 0], color=INK, linewidth=1.0,
                  label="mean of cells")
        axes.plot([0, *exact["radius"], shock, far], [curve[0], *curve, ambient, ambient], color=BLOCKED,
                  linewidth=1.6, label="Sedov–Taylor, exact")
        axes.set(ylabel=label, xlim=(0, far))
        axes.set_ylim(bottom=0)
    panels[0].set_title(f"Blast wave at t = {trace['time']:.4f}: shock at {checks['shock_radius']:.4f}, "
                        f"exact {shock:.4f} ({100 * (checks['shock_radius'] / shock - 1):+.2f} %)")
    panels[0].legend(loc="upper left", markerscale=6)
    panels[-1].set_xlabel("distance from the centre")
    figure.savefig(picture)
    plt.close(figure)


def lanes(axes, trace, begin, end):
    """One lane per rank: computing, or standing in output calls. Returns their number."""
    ranks = len(trace["per_rank"])
    for rank in range(ranks):
        # An edge makes the shortest visible.
        for activities, colour, edge in ((("compute",), COMPUTE, 0), (("start",), START, 0),
                                         (("output", "pack", "finish"), BLOCKED, 0.7)):
            spans = measures.union([s for a in activities for s in measures.intervals(trace, a, rank)])
            bars = [(low, high - low) for low, high in spans if high > begin and low < end]
            axes.broken_barh(bars, (rank - 0.31, 0.62), facecolors=colour, edgecolors=colour, linewidth=edge)
    return ranks


def drain_lanes(axes, busy, outputs, lane):
    axes.broken_barh([(low, high - low) for low, high in busy], (lane - 0.31, 0.62), facecolors=DRAIN,
                     edgecolors=DRAIN, linewidth=0.7)
    for begin, durable in outputs:
        axes.plot([begin, durable], [lane + 1, lane + 1], color=DURABLE, linewidth=1.2, solid_capstyle="butt")
    axes.plot([durable for _, durable in outputs], [lane + 1] * len(outputs), "|", color=DURABLE,
              markersize=9)


def timeline(direct, glean, report, picture):
    """Both runs from their start, and the output in the middle of each enlarged."""
    busy, outputs = measures.on_trace_clock(report, glean)
    end = 1.01 * max(direct["run_seconds"], glean["run_seconds"])
    # A checkpoint; its plot file follows it.
    middle = direct["files"][len(direct["files"]) // 2 & ~1]["name"]
    starts, window = [], 0.1
    for trace in (direct, glean):
        files = measures.spans_of_files(trace)
        starts.append(files[middle][0])
        after = [high for low, high in files.values() if starts[-1] <= low < starts[-1] + 1.0]
        window = max(window, 1.4 * (max(after) - starts[-1]))

    figure, grid = plt.subplots(2, 2, figsize=(13, 7.2), sharey="row", constrained_layout=True,
                                gridspec_kw={"width_ratios": [2.1, 1]})
    for row, (name, trace) in enumerate((("PnetCDF direct", direct), ("GLEAN", glean))):
        start = starts[row] - 0.1 * window
        for axes, low, high in ((grid[row][0], -0.01 * end, end), (grid[row][1], start, start + window)):
            ranks = lanes(axes, trace, low, high)
            if row == 1:
                drain_lanes(axes, busy, outputs, ranks)
            axes.set_xlim(low, high)
            axes.tick_params(axis="y", length=0)
            axes.spines["left"].set_visible(False)
        labels = [f"rank {rank}" for rank in range(ranks)] + (["drain", "durable"] if row == 1 else [])
        grid[row][0].set_yticks(range(len(labels)), labels)
        grid[row][0].invert_yaxis()
        grid[row][0].set_title(f"{name}: blocked {measures.seconds(measures.slowest(trace, 'output'))}"
                               f" of {trace['run_seconds']:.1f} s")
        grid[row][1].set_title("one checkpoint and its plot file")
        grid[row][0].axvspan(start, start + window, color=QUIET, alpha=0.18, linewidth=0)
    for axes in grid[1]:
        axes.set_xlabel("seconds since the start")
    figure.legend(handles=[Patch(color=COMPUTE, label="compute"),
                           Patch(color=BLOCKED, label="blocked in output"),
                           Patch(color=START, label="start of the session"),
                           Patch(color=DRAIN, label="drain threads write"),
                           Patch(color=DURABLE, label="file, from first capture to durable")],
                  loc="upper center", bbox_to_anchor=(0.5, 0.0), ncol=5)
    figure.savefig(picture, bbox_inches="tight")
    plt.close(figure)


def staged_timeline(direct, direct_report, staged, staged_report, picture):
    """Both runs from their start, and the way of each file: captured, at the stagers, durable."""
    end = 1.01 * max(direct["run_seconds"], staged["run_seconds"])
    figure, rows = plt.subplots(2, 1, figsize=(13, 7.2), sharex=True, constrained_layout=True)
    for axes, name, trace, report in ((rows[0], "drained by its own node", direct, direct_report),
                                      (rows[1], "staged", staged, staged_report)):
        ranks = lanes(axes, trace, -0.01 * end, end)
        shift = report["epoch_realtime_s"] - trace["epoch_realtime_s"]
        labels = [f"rank {rank}" for rank in range(ranks)]
        left = "at the stagers" if name == "staged" else "written"
        for key, label, colour in (("written_s", left, DRAIN), ("durable_s", "durable", DURABLE)):
            spans = [(out["first_capture_s"] + shift, out[key] + shift) for out in report["outputs"]
                     if None not in (out["first_capture_s"], out[key])]
            axes.broken_barh([(low, high - low) for low, high in spans], (len(labels) - 0.31, 0.62), facecolors=colour, alpha=0.7)
            labels.append(label)
        axes.set_yticks(range(len(labels)), labels)
        axes.invert_yaxis()
        axes.set_xlim(-0.01 * end, end)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_title(f"{name}: blocked {measures.seconds(measures.slowest(trace, 'output'))} of {trace['run_seconds']:.1f} s")
    rows[1].set_xlabel("seconds since the start")
    figure.legend(handles=[Patch(color=COMPUTE, label="compute"), Patch(color=BLOCKED, label="blocked in output"),
                           Patch(color=START, label="start of the session"),
                           Patch(color=DRAIN, label="file, from first capture until it has left the pool"),
                           Patch(color=DURABLE, label="until it is durable")],
                  loc="upper center", bbox_to_anchor=(0.5, 0.0), ncol=5)
    figure.savefig(picture, bbox_inches="tight")
    plt.close(figure)
