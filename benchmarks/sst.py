# SPDX-License-Identifier: BSD-3-Clause
"""ADIOS2's SST, one writer and one reader that copies each step away: sst.py STREAM STEP_MIB STEPS. The writer prints JSON."""
import json
import subprocess
import sys
import time

import adios2
import numpy


def stream_of(name):
    io = adios2.Adios().declare_io("sst")
    io.set_engine("SST")
    io.set_parameters({"QueueLimit": "0", "RendezvousReaderCount": "1", "OpenTimeoutSecs": "60"})
    return io, name


def write(name, step_mib, steps):
    reader = subprocess.Popen([sys.executable, __file__, name, str(step_mib), str(steps), "reads"])
    cells = step_mib * (1 << 20) // 8
    data = numpy.arange(cells, dtype=numpy.float64)
    io, _ = stream_of(name)
    variable = io.define_variable("v", data, [cells], [0], [cells])
    engine = io.open(name, adios2.bindings.Mode.Write)   # waits for the reader
    begin = time.monotonic()
    blocked = 0.0
    for _ in range(steps):
        called = time.monotonic()
        engine.begin_step()
        engine.put(variable, data)
        engine.end_step()
        blocked += time.monotonic() - called
    engine.close()   # when the reader has all of it
    staged = time.monotonic() - begin
    if reader.wait() != 0:
        raise RuntimeError("the reader has failed")
    print(json.dumps({"bytes": steps * cells * 8, "blocked_seconds": blocked, "staged_seconds": staged}))


def read(name, steps):
    io, _ = stream_of(name)
    engine = io.open(name, adios2.bindings.Mode.Read)
    for _ in range(steps):
        engine.begin_step()
        variable = io.inquire_variable("v")
        variable.set_selection([[0], variable.shape()])
        values = numpy.empty(variable.shape()[0])
        engine.get(variable, values)
        engine.end_step()
    engine.close()


if __name__ == "__main__":
    if len(sys.argv) == 5:
        read(sys.argv[1], int(sys.argv[3]))
    else:
        write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
