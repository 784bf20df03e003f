# SPDX-License-Identifier: BSD-3-Clause
"""Containers of task-local files: each rank writes a stream of its own, and all streams are in one file, or in a few."""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

import numpy as np

from . import _glean
from ._errors import InvalidState, error
from ._values import Level, number_of

if TYPE_CHECKING:
    from ._session import Session

Path = Union[str, "os.PathLike[str]"]


class ContainerTask(NamedTuple):
    """What one rank has written of a container."""

    task: int     # the rank
    chunks: int
    bytes: int


class ContainerFile(NamedTuple):
    """A part of a task that has a name."""

    name: str
    task: int
    begin: int    # within the task
    bytes: int


def _in_order(data: Any) -> Any:
    """The bytes of an object with a buffer, or of an array of NumPy with any strides, one behind the other."""
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8) if isinstance(data, np.ndarray) else memoryview(data).cast("B")


class TaskFile:
    """What this rank writes of a container; Session.create_container makes it. In a `with` statement it is closed at the end, and given up
    by an exception. If a write is refused, the container is not published, also where the program goes on."""

    def __init__(self, session: Session, path: str, handle: _glean.TaskFile) -> None:
        self._session, self.path, self._handle = session, path, handle   # which lives as long
        self._closed = False

    def begin_file(self, name: str) -> None:
        """What is written from now on is the logical file of that name, the only one of it in the container. Local."""
        self._handle.begin_file(name)

    def write(self, data: Any) -> int:
        """Appends the bytes of an object that has a buffer, or of an array of NumPy. Returns how many they are. Local."""
        try:
            bytes_in_order = _in_order(data)
        except Exception as wrong:
            self._handle.fail(0, f"cannot write to {self.path!r}: {wrong}")
            raise
        self._handle.write(bytes_in_order)
        return bytes_in_order.nbytes

    def ensure_free_space(self, count: int) -> None:
        """The next `count` bytes will be in one chunk. Local."""
        self._handle.ensure_free_space(count)

    @property
    def bytes_avail_in_block(self) -> int:
        """For how many more bytes this chunk has room. Local."""
        return self._handle.bytes_avail_in_block()

    def tell(self) -> int:
        """How many bytes this rank has written. Local."""
        return self._handle.position()

    def wait(self, level: Level) -> None:
        """Waits until what all ranks have written so far is at `level`. Collective, blocks."""
        self._handle.wait(number_of(Level, level, "level"))

    def close(self, level: Optional[Level] = None) -> None:
        """No more writes: the container is completed and published in the background; with `level` this waits for that. Again it does
        nothing. Collective, blocks for the other ranks."""
        if not self._closed:
            self._closed = True
            self._handle.close()
        if level is not None:
            self.wait(level)

    def abandon(self) -> None:
        """Gives the container up, unless it is closed: nothing is published. Local."""
        if not self._closed:
            self._closed = True
            self._handle.abandon()

    def __enter__(self) -> TaskFile:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], thrown: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        if kind is not None:
            self.abandon()
        else:
            self.close()

    def __repr__(self) -> str:
        return f"<glean.TaskFile of {self.path!r}, {'closed' if self._closed else 'open'}>"


class TaskInput:
    """The bytes of one task, or of one logical file; ContainerInput.open makes it. All calls are Local; reading waits for the storage."""

    def __init__(self, handle: _glean.TaskInput) -> None:
        self._handle = handle

    def read(self, size: int = -1) -> bytes:
        """Reads `size` bytes, or all that follow: fewer than asked for only at the end."""
        rest = self.size - self.tell()
        into = bytearray(rest if size < 0 else min(size, rest))
        return bytes(memoryview(into)[:self._handle.read_into(into)])

    def readinto(self, into: Any) -> int:
        """Reads into an object with a buffer, such as an array of NumPy without gaps, and returns how many bytes there were."""
        return self._handle.read_into(into)

    def seek(self, position: int, chunk: Optional[int] = None) -> int:
        """Goes to a byte, or to one of a chunk. Returns where that is."""
        if chunk is None:
            self._handle.seek(position)
        else:
            self._handle.seek_chunk(chunk, position)
        return self.tell()

    def tell(self) -> int:
        """Where it is."""
        return self._handle.position()

    @property
    def size(self) -> int:
        """How many bytes there are in all."""
        return self._handle.bytes()

    @property
    def eof(self) -> bool:
        """Whether it is at the end."""
        return self.tell() == self.size

    @property
    def bytes_avail_in_block(self) -> int:
        """How many bytes follow in the same chunk; 0 only at the end."""
        return self._handle.bytes_avail_in_block()

    def close(self) -> None:
        """Gives it back. Again it does nothing."""
        self._handle.close()

    def __enter__(self) -> TaskInput:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], thrown: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()


class ContainerInput:
    """A container that this rank reads, GLEAN's or SIONlib's; Session.open_container and open_container make it. All calls are Local."""

    def __init__(self, path: str, handle: _glean.ContainerInput) -> None:
        self._path, self._handle = path, handle
        self._is_open = True

    def _open_handle(self) -> _glean.ContainerInput:
        if not self._is_open:
            raise error(InvalidState, f"{self._path!r} is closed")
        return self._handle

    def tasks(self) -> list[ContainerTask]:
        """By ascending ranks."""
        return [ContainerTask(*task) for task in self._open_handle().tasks()]

    def files(self) -> list[ContainerFile]:
        """The logical files; a task without names is one, "task.00012"."""
        return [ContainerFile(*file) for file in self._open_handle().files()]

    @property
    def is_complete(self) -> bool:
        """Whether it was closed. Of one that was cut off each task has what is in its whole chunks."""
        return self._open_handle().is_complete()

    def open(self, which: Union[int, str]) -> TaskInput:
        """A task, by the rank that has written it, or a logical file, by its name. It outlives the container. Raises NotFound."""
        handle = self._open_handle()
        return TaskInput(handle.open_file(which) if isinstance(which, str) else handle.open_task(which))

    def close(self) -> None:
        """Gives it back. Again it does nothing."""
        self._is_open = False
        self._handle.close()

    def __enter__(self) -> ContainerInput:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], thrown: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<glean.ContainerInput {self._path!r}>"


def open_container(path: Path) -> ContainerInput:
    """Opens a container without a session: also where there is no MPI. Local, blocks."""
    return ContainerInput(os.fspath(path), _glean.open_container(os.fspath(path)))
