# SPDX-License-Identifier: BSD-3-Clause
"""GLEAN: gets the output of a parallel program off its ranks with one memory copy and writes it in the background.

    with glean.Session(comm) as session:
        with session.open("chk_0001.nc") as output:
            x = output.dimension("x", 1000 * comm.size)
            dens = output.variable("dens", "f8", [x], blocks=[np.s_[1000 * comm.rank:1000 * (comm.rank + 1)]])
            with output.step() as step:
                step.put(dens, density)   # one copy; `density` may be overwritten at once

Every call is Local (no other rank is needed) or Collective (all ranks make it in the same order); docs/api.md says which. Errors are
subclasses of glean.Error. Calls of several threads on objects of one session take turns.
"""

from ._containers import ContainerFile, ContainerInput, ContainerTask, TaskFile, TaskInput, open_container
from ._errors import (Error, Exists, InvalidArgument, InvalidConfig, InvalidIndex, InvalidState, Io, NoSpace, NotFound, OutOfRange, Overlap,
                      Permission, Timeout, Unsupported)
from ._glean import lagrange_hexahedron_point, version
from ._grids import AmrGrid, CellType, CurvilinearGrid, RectilinearGrid, UniformGrid, UnstructuredMesh
from ._input import Input, InputVariable
from ._output import Attributes, Dimension, Grid, Output, Step, Variable
from ._session import Message, OutputStatus, Session, Statistics
from ._values import Box, Centring, Existing, Format, Level, OutputState, Reading

__version__ = version()

__all__ = ["AmrGrid", "Attributes", "Box", "CellType", "Centring", "ContainerFile", "ContainerInput", "ContainerTask", "CurvilinearGrid",
           "Dimension", "Error", "Existing", "Exists", "Format", "Grid", "Input", "InputVariable", "InvalidArgument", "InvalidConfig",
           "InvalidIndex", "InvalidState", "Io", "Level", "Message", "NoSpace", "NotFound", "OutOfRange", "Output", "OutputState",
           "OutputStatus", "Overlap", "Permission", "Reading", "RectilinearGrid", "Session", "Statistics", "Step", "TaskFile", "TaskInput",
           "Timeout",
           "UniformGrid", "UnstructuredMesh", "Unsupported", "Variable", "lagrange_hexahedron_point", "open_container", "version"]
