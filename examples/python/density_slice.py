# SPDX-License-Identifier: BSD-3-Clause
"""Draws a variable of a file of examples/sedov, the density by default, in the plane through the centre of the blast.

    python3 density_slice.py FILE PICTURE [VARIABLE]
"""

import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from mpi4py import MPI

import glean


def lowest_plane(file, name):
    """The plane of the lowest z, [y][x], and its extent in x and y. Of the file only the blocks that touch it are read, and of them one
    layer."""
    box = file["bndbox"][...]                       # [block][x, y, z][lower, upper]
    lower, upper = box[:, :, 0], box[:, :, 1]
    floor = np.flatnonzero(np.isclose(lower[:, 2], lower[:, 2].min()))
    cells = np.array(file[name].shape[:1:-1])       # of a block: x, y
    width = (upper[0] - lower[0])[:2] / cells
    corner = lower[floor].min(axis=0)[:2]
    places = np.rint((lower[floor, :2] - corner) / width).astype(int)
    plane = np.full(tuple(places.max(axis=0) + cells)[::-1], np.nan)
    for block, (x, y) in zip(floor, places):
        plane[y:y + cells[1], x:x + cells[0]] = file[name][int(block), 0]
    return plane, (corner[0], upper[:, 0].max(), corner[1], upper[:, 1].max())


def draw(plane, extent, title, label, picture):
    figure, axes = plt.subplots(figsize=(6.6, 5.6), constrained_layout=True)
    image = axes.imshow(plane, origin="lower", extent=extent, cmap="inferno", interpolation="nearest", vmin=0)
    axes.set(title=title, xlabel="x", ylabel="y")
    figure.colorbar(image, ax=axes, label=label, shrink=0.9)
    figure.savefig(picture, dpi=160)
    plt.close(figure)


def main(path, picture, name="dens"):
    # This program alone reads: no pool, no drain.
    with glean.Session(MPI.COMM_SELF, mode="passthrough") as session, session.open_input(path) as file:
        plane, extent = lowest_plane(file, name)
        title = f"{name} in the lowest plane at t = {file.attrs['time']:.4f}"
    draw(plane, extent, title, name, picture)
    print(f"{path}: {name} from {np.nanmin(plane):.4g} to {np.nanmax(plane):.4g}, {plane.shape[0]} x {plane.shape[1]} cells")


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
