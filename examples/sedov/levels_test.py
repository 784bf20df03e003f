# SPDX-License-Identifier: BSD-3-Clause
"""Three levels are as near to the exact solution as a uniform mesh of the finest cells, with far fewer of them; and a picture of it."""

import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import numpy as np   # noqa: E402

from evaluation import cdf, runs   # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


def last_checkpoint(directory, trace):
    return directory / max(file["name"] for file in trace["files"] if file["kind"] == "checkpoint")


def density_error(path, trace):
    """The mean over the domain of how far the density of a cell is from the exact solution at its centre."""
    file, exact = cdf.File(path), trace["exact"]
    radii, values = [0, *exact["radius"]], [exact["density"][0], *exact["density"]]
    error, volume = 0.0, 0.0
    for block in cdf.leaves(file):
        (x, y, z), width = cdf.cells_of(file, block)
        radius = np.sqrt(z[:, None, None] ** 2 + y[None, :, None] ** 2 + x[None, None, :] ** 2)
        right = np.interp(radius, radii, values, right=file.attributes["ambient_density"])
        error += np.abs(file["dens"][block] - right).sum() * width**3
        volume += radius.size * width**3
    assert abs(volume - 0.125) < 1e-12, f"the blocks without children cover {volume}, not the domain"
    return error / volume


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sedov", required=True)
    parser.add_argument("--launcher", default="mpirun")
    options = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as name:
        for title, blocks, levels in (("coarse", "2,2,2", 1), ("fine", "4,4,4", 1), ("levels", "1,1,1", 3)):
            directory = pathlib.Path(name) / title
            trace, _ = runs.run(options.sedov, runs.Problem(2, blocks, steps=0, every=0), "pnetcdf", directory,
                                ("--levels", str(levels)), launcher=options.launcher)
            path = last_checkpoint(directory, trace)
            found[title] = {"error": density_error(path, trace), "radius": trace["checks"]["shock_radius"],
                            "cells": trace["mean_blocks"] * 16**3}
            print(f"{title}: {found[title]['cells']:.0f} cells, shock at {found[title]['radius']:.5f}, "
                  f"mean error of density {found[title]['error']:.5f}")
        picture = directory / "slice.png"
        subprocess.run([sys.executable, HERE / "picture.py", path, picture], check=True)
        assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 20000
    coarse, fine, levels = (found[title] for title in ("coarse", "fine", "levels"))
    assert levels["error"] < 1.02 * fine["error"] < 0.8 * coarse["error"], found
    assert abs(levels["radius"] / fine["radius"] - 1) < 1e-3, found
    assert levels["cells"] < 0.6 * fine["cells"], found


if __name__ == "__main__":
    main()
