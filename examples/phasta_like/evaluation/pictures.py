# SPDX-License-Identifier: BSD-3-Clause
"""The mesh and the temperature where a plane cuts the box."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt   # noqa: E402
import numpy as np   # noqa: E402
from matplotlib.collections import LineCollection, PolyCollection   # noqa: E402

INK, QUIET = "#22303c", "#8a97a3"
PARTS = ("#2e86ab", "#edae49", "#66a182", "#d1495b", "#8d96a3", "#7768ae", "#00798c", "#c08552")

plt.rcParams.update({
    "font.family": "DejaVu Sans", "font.size": 9, "axes.edgecolor": QUIET, "axes.labelcolor": INK, "axes.titlecolor": INK,
    "axes.titlesize": 10, "axes.titlelocation": "left", "xtick.color": INK, "ytick.color": INK, "figure.dpi": 120, "savefig.dpi": 160,
})


def cut(part, height):
    """Polygons (in x and y) in which the plane z = height cuts cells, and the temperature in their middle."""
    above = part.points[part.cells][:, :, 2] > height
    polygons, values = [], []
    for cell, up in zip(part.cells, above):
        if up.all() or not up.any():
            continue
        crossings, temperatures = [], []
        for a in cell[up]:
            for b in cell[~up]:
                share = (height - part.points[b, 2]) / (part.points[a, 2] - part.points[b, 2])
                crossings.append(part.points[b] + share * (part.points[a] - part.points[b]))
                temperatures.append(part.temperature[b] + share * (part.temperature[a] - part.temperature[b]))
        crossings = np.array(crossings)[:, :2]
        around = crossings - crossings.mean(axis=0)
        polygons.append(crossings[np.argsort(np.arctan2(around[:, 1], around[:, 0]))])
        values.append(np.mean(temperatures))
    return polygons, np.array(values)


def outputs(found, height, picture):
    """One column for each output: the temperature, and which part has which cells."""
    cuts = [[cut(part, height) for part in output.parts] for output in found]
    lowest = min(values.min() for of_output in cuts for _, values in of_output if len(values))
    extent = np.max([part.points.max(axis=0) for part in found[0].parts], axis=0)
    figure, rows = plt.subplots(2, len(found), figsize=(3.3 * len(found) + 0.8, 6.6), constrained_layout=True, squeeze=False)
    shown = None
    for (top, bottom), output, of_output in zip(rows.T, found, cuts):
        cells = sum(len(part.cells) for part in output.parts)
        for number, (polygons, values) in enumerate(of_output):
            shown = PolyCollection(polygons, array=values, cmap="viridis", edgecolors="face", linewidths=0.1)
            shown.set_clim(lowest, 1)
            top.add_collection(shown)
            edges = [np.vstack([polygon, polygon[:1]]) for polygon in polygons]
            bottom.add_collection(PolyCollection(polygons, facecolors=PARTS[number % len(PARTS)], alpha=0.55, linewidths=0))
            bottom.add_collection(LineCollection(edges, colors=INK, linewidths=0.25))
        top.set_title(f"t = {output.time:.2f}: {cells:,} tetrahedra")
        for axes in (top, bottom):
            axes.set(xlim=(0, extent[0]), ylim=(0, extent[1]), aspect="equal")
            axes.tick_params(labelsize=7)
    rows[0, 0].set_ylabel("temperature")
    rows[1, 0].set_ylabel("the mesh; colours: parts")
    rows[1, 0].set_xlabel(f"the plane z = {height:g}")
    figure.colorbar(shown, ax=rows[0], shrink=0.7)
    figure.savefig(picture)
    plt.close(figure)
