# SPDX-License-Identifier: BSD-3-Clause
"""What was computed, and how writing disturbs the ranks that write."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt   # noqa: E402
import numpy as np   # noqa: E402

from . import model   # noqa: E402

INK, QUIET = "#22303c", "#8a97a3"
WORKER, WRITER = "#2e86ab", "#d1495b"

plt.rcParams.update({
    "font.family": "DejaVu Sans", "font.size": 10, "axes.edgecolor": QUIET, "axes.labelcolor": INK, "axes.titlecolor": INK,
    "axes.titlesize": 12, "axes.titleweight": "bold", "axes.titlelocation": "left", "xtick.color": INK, "ytick.color": INK,
    "axes.spines.top": False, "axes.spines.right": False, "figure.dpi": 120, "savefig.dpi": 160, "legend.frameon": False,
})


def faces_on(file, axis, height):
    """The faces of cells that lie in a plane through points of the mesh: the numbers of their points."""
    corners = {0: ((0, 3, 7, 4), (1, 2, 6, 5)), 1: ((0, 1, 5, 4), (3, 2, 6, 7)), 2: ((0, 1, 2, 3), (4, 5, 6, 7))}[axis]
    level = np.abs(file.points[:, axis] - height) < 1e-6
    found = [file.cells[:, face][level[file.cells[:, face]].all(axis=1)] for face in corners]
    if not any(len(part) for part in found):
        raise ValueError(f"no points of the mesh are at {height} along axis {axis}")
    return np.concatenate(found)


def draw_plane(axes, file, axis, height, across, up, values, colours):
    """Values at points, smoothly, and the edges of spectral elements."""
    faces = faces_on(file, axis, height)
    triangles = np.concatenate([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]])
    reach = np.abs(values[np.unique(faces)]).max()
    low = -reach if values.min() < 0 else 0
    x, y = file.points[:, across], file.points[:, up]
    return axes.tripcolor(x, y, triangles, values, shading="gouraud", cmap=colours, vmin=low, vmax=reach)


def draw_elements(axes, file, order, across, up):
    per_element = (order + 1) ** 3
    for which, line in ((across, axes.axvline), (up, axes.axhline)):
        for place in np.unique(np.round(file.points[::per_element, which], 6)):
            line(place, color=INK, linewidth=0.4, alpha=0.5)
    axes.set(xlim=(0, file.points[:, across].max()), ylim=(0, file.points[:, up].max()), aspect="equal")


def field_slice(file, order, picture):
    """The electric field along the guide, in its middle, and across it where it begins."""
    electric, time = file.fields["E"].astype(float), float(file.title.split()[4])
    middle = file.points[:, 1].max() / 2
    figure, (along, across) = plt.subplots(2, 1, figsize=(9.6, 7.6), constrained_layout=True)
    try:
        shown = draw_plane(along, file, 1, middle, 2, 0, electric[:, 0], "RdBu_r")
        along.set(title="x component of E along the guide", xlabel=f"z; y = {middle:g}", ylabel="x")
    except ValueError:   # no points of the mesh in the middle
        shown = draw_plane(along, file, 1, 0, 2, 0, electric[:, 1], "RdBu_r")
        along.set(title="y component of E along a wall", xlabel="z; y = 0", ylabel="x")
    figure.colorbar(shown, ax=along, shrink=0.8)
    draw_elements(along, file, order, 2, 0)

    size = np.hypot(electric[:, 0], electric[:, 1])
    shown = draw_plane(across, file, 2, 0, 0, 1, size, "magma")
    figure.colorbar(shown, ax=across, shrink=0.8)
    points = np.unique(faces_on(file, 2, 0))[::3]
    where, arrows = file.points[points], electric[points]
    across.quiver(where[:, 0], where[:, 1], arrows[:, 0], arrows[:, 1], color="white", width=0.0022, scale=32)
    error = max(np.abs(file.fields[name] - file.fields["sol" + name]).max() for name in ("E", "H"))
    across.set(title="E across the guide", ylabel="y")
    across.set_xlabel(f"x; z = 0, t = {time:.3f}. Lines: spectral elements of order {order}. "
                      f"Largest difference to the exact solution in the file of floats: {error:.0e}")
    draw_elements(across, file, order, 0, 1)
    figure.savefig(picture)
    plt.close(figure)


def jitter(runs, picture):
    """Figure 6 of the paper: what steps take on each rank, without waiting, with a thread that writes and without."""
    figure, rows = plt.subplots(len(runs), 1, figsize=(9.6, 3.1 * len(runs)), sharex=True, sharey=True, constrained_layout=True,
                                squeeze=False)
    top = max(np.percentile(rank["computed"], 95) for _, run in runs for rank in run["ranks"] if rank["elements"])
    for axes, (name, run) in zip(rows[:, 0], runs):
        for rank in run["ranks"]:
            if not rank["elements"]:
                axes.text(rank["rank"], 0, "only writes", rotation=90, ha="center", va="bottom", color=WRITER, fontsize=8)
                continue
            colour = WRITER if rank["writes"] else WORKER
            steps = 1e3 * np.array(rank["computed"])
            spread = np.random.default_rng(rank["rank"]).uniform(-0.28, 0.28, len(steps))
            axes.plot(rank["rank"] + spread, steps, ".", color=colour, markersize=2.5, alpha=0.5)
            axes.plot([rank["rank"] - 0.36, rank["rank"] + 0.36], [steps.mean()] * 2, color=INK, linewidth=1.6)
        lag = model.lag_of_writers(run)
        note = f": ranks that write lag {1e3 * np.mean(lag):.3f} ms per step" if lag else ""
        axes.set(title=name + note, ylabel="computing, ms per step")
    rows[0, 0].set_ylim(0, 1e3 * top * 1.15)
    rows[-1, 0].set_xlabel("rank (red: writes files; dots: steps; bars: their mean)")
    rows[-1, 0].set_xticks([rank["rank"] for rank in runs[-1][1]["ranks"]])
    figure.savefig(picture)
    plt.close(figure)
