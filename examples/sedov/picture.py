#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the density next to the plane z = 0 of a file of sedov, mirrored, with the blocks of all levels: picture.py FILE.nc PICTURE.png"""

import sys

sys.dont_write_bytecode = True

import matplotlib.pyplot as plt   # noqa: E402
import numpy as np   # noqa: E402
from matplotlib.colors import Normalize   # noqa: E402
from matplotlib.patches import Rectangle   # noqa: E402

from evaluation import cdf, pictures   # noqa: E402,F401  (its style)


def draw(path, picture):
    file = cdf.File(path)
    boxes, levels = np.asarray(file["bndbox"], float), np.asarray(file["lrefine"])
    cut = [block for block in cdf.leaves(file) if boxes[block, 2, 0] == 0]
    planes = [np.asarray(file["dens"][block][0], float) for block in cut]
    norm = Normalize(0, max(plane.max() for plane in planes))
    reach = boxes[:, :2, 1].max(axis=0)

    figure, axes = plt.subplots(figsize=(8.2, 7.2), constrained_layout=True)
    for block, plane in zip(cut, planes):
        (left, right), (low, high) = boxes[block, :2]
        for x, y in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
            image = axes.imshow(plane[::y, ::x], origin="lower", cmap="inferno", norm=norm, interpolation="nearest",
                                extent=(*sorted((x * left, x * right)), *sorted((y * low, y * high))))
            axes.add_patch(Rectangle((min(x * left, x * right), min(y * low, y * high)), right - left, high - low, fill=False,
                                     edgecolor="white", alpha=0.45, linewidth=0.6))
    axes.set(xlim=(-reach[0], reach[0]), ylim=(-reach[1], reach[1]), ylabel="y",
             title=f"Density through the centre at t = {file.attributes['time']:.4f}")
    counts = ", ".join(f"{np.count_nonzero(levels[cdf.leaves(file)] == level)} of level {level}" for level in range(1, levels.max() + 1))
    axes.set_xlabel(f"x\none octant, mirrored; lines: blocks of {file['dens'].shape[1]}³ cells; leaves: {counts}")
    figure.colorbar(image, ax=axes, label="density (ambient = 1)", shrink=0.85)
    figure.savefig(picture)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    draw(*sys.argv[1:])
