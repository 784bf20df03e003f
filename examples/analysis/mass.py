# SPDX-License-Identifier: BSD-3-Clause
"""A user's own analysis: the sum and the extremes of the density of each step, while it moves (docs/analysis.md).

GLEAN_ANALYSE_WITH=$PWD/mass.py glean run -- mpirun -n 8 ./program
"""

import math

join = {"mass": "sum", "least": "min", "most": "max"}


def analyse(step):
    if "dens" not in step:
        return None
    arrays = [piece.array for piece in step["dens"].pieces]   # no copy: they are in the pool
    if not arrays:
        return None
    mass = math.fsum(array.sum() for array in arrays)
    if not math.isfinite(mass):
        step.message("the density has gone wrong")
    return {"mass": mass, "least": min(array.min() for array in arrays), "most": max(array.max() for array in arrays)}
