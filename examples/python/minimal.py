# SPDX-License-Identifier: BSD-3-Clause
"""Every rank holds a slab of a 64 x 64 x 64 grid and writes its temperature, in four steps, into one NetCDF file: the same file, byte for
byte, as examples/minimal in C++.

    mpirun -n 4 python3 minimal.py [DIRECTORY]
"""

import sys

import numpy as np
from mpi4py import MPI

import glean

comm = MPI.COMM_WORLD
first, end = 64 * comm.rank // comm.size, 64 * (comm.rank + 1) // comm.size
directory = sys.argv[1] if len(sys.argv) > 1 else "."

with glean.Session(comm) as session:
    with session.open(f"{directory}/heat.nc") as output:
        grid = output.grid(glean.UniformGrid(shape=[64, 64, 64], origin=[0, 0, 0], spacing=[0.1, 0.1, 0.1],
                                             blocks=[np.s_[first:end, :, :]]))
        temperature = output.variable("temperature", "f4", grid=grid, per_step=True)
        temperature.attrs["units"] = "K"

        for number in range(4):
            values = np.full((end - first, 64, 64), 300.0 + number)   # computed here, in a real program
            with output.step() as step:
                step.put(temperature, values)   # one copy; `values` may be overwritten at once
    # The output is closed, which does not wait for the disk.
# The session is, which does: the file is complete, durable and visible.
