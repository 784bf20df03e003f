# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py: files by all that MPI.File has for the purpose, of NumPy arrays."""

import os
import subprocess
import sys

import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size


def collective_rows(name):
    """A matrix by rows, as a subarray of it."""
    mine = numpy.arange(5 * 40, dtype="f8").reshape(5, 40) + 1000 * rank
    view = MPI.DOUBLE.Create_subarray([5 * ranks, 40], [5, 40], [5 * rank, 0]).Commit()
    file = MPI.File.Open(comm, name, MPI.MODE_CREATE | MPI.MODE_RDWR)
    file.Set_view(0, MPI.DOUBLE, view)
    file.Write_all(mine)
    file.Sync()
    comm.Barrier()
    back = numpy.empty_like(mine)
    file.Seek(0)
    file.Read_all(back)
    assert (back == mine).all()
    file.Close()
    view.Free()


def columns_and_pieces(name):
    """Interleaved by a vector; then by explicit offsets, nonblocking and shared."""
    file = MPI.File.Open(comm, name, MPI.MODE_CREATE | MPI.MODE_WRONLY)
    vector = MPI.INT.Create_vector(50, 2, 2 * ranks).Commit()
    file.Set_view(2 * rank * MPI.INT.Get_size(), MPI.INT, vector)
    file.Write_all(numpy.full(100, rank, dtype="i4"))
    file.Set_view(0, MPI.BYTE)
    end = 400 * ranks
    requests = [file.Iwrite_at(end + 64 * (ranks * i + rank), bytes([65 + i]) * 64) for i in range(4)]
    MPI.Request.Waitall(requests)
    comm.Barrier()
    end += 256 * ranks
    file.Seek_shared(end)
    file.Write_ordered(bytes([97 + rank]) * (rank + 1))
    file.Sync()
    comm.Barrier()
    assert file.Get_size() == end + ranks * (ranks + 1) // 2
    file.Close()
    vector.Free()


def per_group(name):
    """Files of halves of the ranks, and one of each rank; then appended to by all."""
    half = comm.Split(rank % 2, rank)
    file = MPI.File.Open(half, f"{name}-{rank % 2}", MPI.MODE_CREATE | MPI.MODE_WRONLY)
    file.Write_at_all(8 * half.rank, numpy.array([rank], dtype="i8"))
    file.Close()
    half.Free()
    own = MPI.File.Open(MPI.COMM_SELF, f"{name}-of-{rank}", MPI.MODE_CREATE | MPI.MODE_WRONLY)
    own.Write(b"mine\n" * rank)
    own.Close()
    comm.Barrier()
    file = MPI.File.Open(comm, f"{name}-0", MPI.MODE_WRONLY | MPI.MODE_APPEND)
    file.Write_ordered(f"rank {rank}\n".encode())
    file.Close()


def seen_by_children(name):
    """Which get an environment that is older than MPI_Init: os.environ is a copy."""
    bytes_each = 16 << 20
    file = MPI.File.Open(comm, name, MPI.MODE_CREATE | MPI.MODE_WRONLY)
    file.Write_at_all(bytes_each * rank, bytes(bytes_each))
    file.Close()
    if rank == ranks - 1:
        child = subprocess.run(["wc", "-c", name], env={**os.environ, "MORE": "1"}, capture_output=True, check=True)
        assert int(child.stdout.split()[0]) == bytes_each * ranks
    comm.Barrier()


def mistakes(name):
    try:
        MPI.File.Open(comm, "missing/" + name, MPI.MODE_RDONLY)
    except MPI.Exception as error:
        kind = error.Get_error_class()
    assert kind == MPI.ERR_NO_SUCH_FILE
    file = MPI.File.Open(comm, name, MPI.MODE_CREATE | MPI.MODE_WRONLY)
    try:
        file.Write_at(-1, b"x")
        kind = None
    except MPI.Exception as error:
        kind = error.Get_error_class()
    file.Close()
    return kind


collective_rows("rows")
columns_and_pieces("pieces")
per_group("group")
seen_by_children("large")
found = mistakes("empty")
if rank == 0:
    print("a negative offset:", "refused" if found else "taken")
    for path in sorted(os.listdir()):
        if os.path.isfile(path):
            print(path, os.path.getsize(path))
sys.stdout.flush()
