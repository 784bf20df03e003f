# SPDX-License-Identifier: BSD-3-Clause
"""Sessions: the ranks that write together."""

from __future__ import annotations

import atexit
import itertools
import os
import sys
import warnings
import weakref
from types import TracebackType
from typing import Any, NamedTuple, Optional, Union, get_args

from . import _glean
from ._containers import ContainerInput, TaskFile
from ._errors import Error, InvalidArgument, InvalidState, error
from ._input import Input
from ._output import Output
from ._values import Existing, Format, Level, OutputState, Reading, number_of, settings_of

Path = Union[str, "os.PathLike[str]"]


class Statistics(NamedTuple):
    """What this rank has seen since the session began."""

    blocked_seconds: float          # inside calls of this library
    captured_bytes: int             # taken by puts of this rank
    puts: int
    pool_budget_bytes: int          # of the node
    pool_high_water_bytes: int
    steps_dropped: int              # of all outputs, because the pool was full
    spilled_bytes: int              # of what was captured by this rank: on the way through its spill file
    synchronous_bytes: int          # written by this rank itself


class Message(NamedTuple):
    """What a trigger, or an analysis of the user's own, tells the program."""

    text: str
    output: str              # as the program named it
    step: int


class OutputStatus(NamedTuple):
    """What has become of an output."""

    path: str                # as the program named it
    state: OutputState
    steps_ended: int         # by this rank
    steps_staged: int        # ended by all ranks
    steps_written: int
    steps_durable: int       # of an open or draining output: as far as a rank has asked for it
    steps_dropped: int       # begun by this rank, and left out because the pool was full; not in the counts above
    error: str               # why it has failed


class Session:
    """The ranks of a communicator of mpi4py, or of COMM_WORLD, that write together: settings, the node's pool, drain threads.

    Settings are keys of the configuration file; a section is a mapping: `Session(comm, mode="staged", pool={"budget": "256MiB"})`.
    Collective, blocks. In a `with` statement it is closed at the end; an exception ends it without the other ranks, and what all ranks
    have closed is completed.
    """

    def __init__(self, comm: Any = None, **settings: Any) -> None:
        from mpi4py import MPI   # which initializes MPI, unless the program has

        if MPI.Is_finalized():
            raise error(InvalidState, "MPI is finalized: there can be no session")
        self._given = MPI.COMM_WORLD if comm is None else comm   # which the program may free before the session ends
        if not isinstance(self._given, MPI.Comm) or self._given == MPI.COMM_NULL:
            raise error(InvalidArgument, f"{comm!r} is no communicator", "one of mpi4py, or None for COMM_WORLD")
        self._ranks, self._given_number = self._given.size, self._given.py2f()
        self._closed = True
        self._outputs: weakref.WeakSet[Union[Output, TaskFile]] = weakref.WeakSet()
        self._handle = _glean.open_session(self._given_number, settings_of(settings))
        self._closed = False
        self._number = next(_numbers)
        _open_handles[self._number] = (os.getpid(), self._handle, self._outputs)

    def open(self, path: Path, format: Format = "cdf5", existing: Existing = "replace") -> Output:
        """Opens a new output. The file appears under `path` when it is complete. Collective."""
        refuses = number_of(Existing, existing, "way with existing files") == 1
        handle = self._handle.open(os.fspath(path), number_of(Format, format, "format"), refuses)
        output = Output(self, os.fspath(path), handle)
        self._outputs.add(output)
        return output

    def append(self, path: Path) -> Output:
        """Adds steps to a NetCDF file (CDF-1, CDF-2, CDF-5) that is there, behind the last one. Output.find_variable finds the variables
        of the file, and each rank may put any part of a record. A reader sees the old file or one with more whole steps; a kill, or an
        output that fails, leaves the old one, or those steps that Output.wait("durable") has waited for. What is not per step does not
        change. Raises NotFound where there is no such file, Unsupported for other formats and in the modes passthrough, collective and
        staged. Collective, blocks."""
        handle = self._handle.append(os.fspath(path))
        output = Output(self, os.fspath(path), handle)
        self._outputs.add(output)
        with self.open_input(path, "written") as file:
            output._take_definitions(file)
        return output

    def open_input(self, path: Path, reading: Reading = "published", timeout: Optional[float] = None) -> Input:
        """Opens a NetCDF or HDF5 file for reading on this rank: as it is, or if it is an output of this session when it is `published`, or
        the steps that this rank has ended are `written`. Local, blocks."""
        number = number_of(Reading, reading, "way to read")
        return Input(self, os.fspath(path), self._handle.open_input(os.fspath(path), number, -1 if timeout is None else timeout))

    def restart(self, pattern: Path, timeout: Optional[float] = None) -> Input:
        """Opens the newest complete file whose path matches a shell pattern, such as "run/chk_*.nc", the same on all ranks; Input.path says
        which one. Outputs of this session that are closed and match are waited for. What cannot be opened or was cut short is passed over.
        Raises NotFound if no file matches: the program starts from scratch; Io if some match and none is complete. Collective, blocks.
        """
        handle = self._handle.restart(os.fspath(pattern), -1 if timeout is None else timeout)
        return Input(self, handle.path(), handle)

    def create_container(self, path: Path, *, chunk_bytes: int = 1 << 20, files: int = 1, block_bytes: int = 0, tasks_per_writer: int = 1,
                         name: str = "") -> TaskFile:
        """A new container of task-local files, of which each rank gets its own. `chunk_bytes`: about what this rank writes; `name`: of the
        logical file with which it begins; both may differ from rank to rank. `files`: physical files, 0 for one of each node.
        `block_bytes`: to which chunks are aligned, 0 as the file system says; `tasks_per_writer`: of so many ranks in a row they share
        blocks. Collective, blocks."""
        handle = _glean.create_container(self._handle, os.fspath(path), chunk_bytes, files, block_bytes, tasks_per_writer, name)
        task_file = TaskFile(self, os.fspath(path), handle)
        self._outputs.add(task_file)
        return task_file

    def open_container(self, path: Path) -> ContainerInput:
        """Opens a container for reading on this rank. One that this session has closed is waited for. Local, blocks."""
        return ContainerInput(os.fspath(path), _glean.open_container_in(self._handle, os.fspath(path)))

    @property
    def is_writer(self) -> bool:
        """Whether this rank was set aside to write (mode `dedicated`): the program ends there. Local."""
        return self._handle.is_writer()

    @property
    def comm(self) -> Any:
        """The ranks that compute: the communicator as it was given, or in mode `dedicated` one without the writers (COMM_NULL on
        those). Local."""
        from mpi4py import MPI

        number = self._handle.application_comm()
        return self._given if number == self._given_number else MPI.Intracomm.f2py(number)

    def outputs(self) -> list[OutputStatus]:
        """The outputs whose definitions have ended, oldest first, as this rank sees them now. Also after close(). Local."""
        states = get_args(OutputState)
        return [OutputStatus(path, states[state], *rest) for path, state, *rest in self._handle.outputs()]

    def poll_messages(self) -> list[Message]:
        """What has been told since this rank asked last, in that order: of what the drain of its node has seen, so other nodes may hear
        something else. None in the modes that have no drain on the node, nor from stagers. Local."""
        return [Message(*message) for message in self._handle.poll_messages()]

    def statistics(self) -> Statistics:
        """What this rank has seen since the session began. Also after close(). Local."""
        return Statistics(*self._handle.statistics())

    def wait(self, level: Level, timeout: Optional[float] = None) -> None:
        """Waits until everything put so far into any output is at `level`. Without `timeout`, in seconds, for the configured deadline.
        Collective, blocks."""
        self._handle.wait(number_of(Level, level, "level"), -1 if timeout is None else timeout)

    def close(self) -> None:
        """Waits for the drain of closed outputs, writes the report, frees the pool. Again it does nothing. Collective, blocks."""
        self._handle.close()
        self._end()

    def abandon(self) -> None:
        """Ends the session of this rank as an exception does: outputs that it has not closed are given up, what all ranks have closed is
        completed, and the other ranks are told at their next collective call. Local."""
        for output in list(self._outputs):
            output.abandon()
        self._handle.abandon()
        self._end()

    def _end(self) -> None:
        self._closed = True
        _open_handles.pop(self._number, None)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], thrown: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        if kind is not None:
            self.abandon()
        elif not self._closed:
            self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            warnings.warn(f"{self!r} was not closed: that is done when the program ends", ResourceWarning, source=self)

    def __repr__(self) -> str:
        return f"<glean.Session of {self._ranks} ranks, {'closed' if self._closed else 'open'}>"


# Closing is collective, so it never happens when the memory of a session is collected: that can be at any time on each rank. In the
# order in which the sessions were opened, which is the same on all ranks.
_open_handles: dict[int, tuple[int, _glean.Session, weakref.WeakSet[Union[Output, TaskFile]]]] = {}
_numbers = itertools.count()


# Runs behind the next one: what is registered first runs last.
atexit.register(_glean.keep_other_threads_in_calls)


@atexit.register
def _close_open_sessions() -> None:
    """Before mpi4py finalizes MPI: with the other ranks, or without them when an exception has ended the program. A process that was
    forked has none of its parent's."""
    mine = [(handle, outputs) for process, handle, outputs in _open_handles.values() if process == os.getpid()]
    if not mine:
        return
    from mpi4py import MPI

    # After MPI_Finalize what can be done is the same.
    failed = MPI.Is_finalized() or (not hasattr(sys, "ps1") and getattr(sys, "last_value", None) is not None)
    for handle, outputs in mine:
        try:
            if failed:
                for output in list(outputs):
                    output.abandon()
                handle.abandon()
            else:
                handle.close()
        except Error as wrong:
            print(f"glean: closing the session at the end of the program: {wrong}", file=sys.stderr)
