# SPDX-License-Identifier: BSD-3-Clause
"""h5py with MPI: datasets of all kinds, written together and by single ranks, appended to and read."""

import h5py
import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size

with h5py.File("fields.h5", "w", driver="mpio", comm=comm) as file:
    file.attrs["title"] = "an example"
    field = file.create_dataset("fields/temperature", (8 * ranks, 100), dtype="f4")
    field.attrs["units"] = "K"
    with field.collective:
        field[8 * rank:8 * (rank + 1), :] = numpy.arange(800, dtype="f4").reshape(8, 100) + rank
    strided = file.create_dataset("fields/strided", (ranks * 30,), dtype="i8")
    strided[rank::ranks] = numpy.arange(30) * ranks + rank
    single = file.create_dataset("single", (ranks * 3,), dtype="f8")
    if rank == ranks - 1:
        single[...] = numpy.arange(ranks * 3) / 4
    series = file.create_dataset("series", (0, ranks), maxshape=(None, ranks), chunks=(4, ranks), dtype="u2")
    for step in range(5):
        series.resize(step + 1, axis=0)
        series[step, rank] = 10 * step + rank
    record = numpy.dtype([("place", "f8"), ("kind", "i2")])
    records = file.create_dataset("records", (ranks,), dtype=record)
    records[rank] = numpy.array((rank / 2, rank), dtype=record)
    flags = file.create_dataset("flags", (ranks,), dtype=bool)
    flags[rank] = rank % 2 == 0

comm.Barrier()
with h5py.File("fields.h5", "a", driver="mpio", comm=comm) as file:
    total = float(file["fields/temperature"][:].sum())
    later = file.create_dataset("later", (ranks, 2), dtype="f8")
    later[rank] = [rank, total]
with h5py.File("fields.h5", "r", driver="mpio", comm=comm) as file:
    seen = (file["later"][:, 0].tolist(), file["series"].shape, int(file["fields/strided"][:].sum()))
if rank == 0:
    print(total, seen)
    with h5py.File("serial.h5", "w") as file:
        file["alone"] = numpy.arange(10)
