# SPDX-License-Identifier: BSD-3-Clause
"""One exception for each code of glean::Errc; the extension raises them through CLASSES."""

from __future__ import annotations


class Error(Exception):
    """What GLEAN raises: what was wrong, where, and what to do."""

    code = ""   # as C++ calls it, such as "timeout"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint   # what to do about it; also the end of the message


class InvalidArgument(Error, ValueError):
    """A shape, type, name or selection that cannot be."""

    code = "invalid_argument"


class InvalidIndex(InvalidArgument, IndexError):
    """An index that is not in the array, as Python calls it."""


class InvalidState(Error, RuntimeError):
    """A call at the wrong time, such as a put outside a step, or of something that is closed."""

    code = "invalid_state"


class InvalidConfig(Error, ValueError):
    """A setting that does not exist, or a value that it cannot have."""

    code = "invalid_config"


class Overlap(Error, ValueError):
    """Two puts of one step cover the same element."""

    code = "overlap"


class OutOfRange(Error, OverflowError):
    """A value that the type in the file, or in the array, cannot hold."""

    code = "out_of_range"


class Timeout(Error, TimeoutError):
    """A deadline passed; the message names the ranks and calls that are missing."""

    code = "timeout"


class NoSpace(Error, OSError):
    """The file system or the shared memory is full."""

    code = "no_space"


class Permission(Error, PermissionError):
    """The file or directory cannot be written, or read."""

    code = "permission"


class Exists(Error, FileExistsError):
    """The file is there and was not to be replaced."""

    code = "exists"


class NotFound(Error, FileNotFoundError, LookupError):
    """No such directory, file, variable, attribute or step."""

    code = "not_found"


class Io(Error, OSError):
    """The storage failed."""

    code = "io"


class Unsupported(Error, NotImplementedError):
    """This library, machine or format cannot do it."""

    code = "unsupported"


# In the order of glean::Errc, which tools/check_api compares.
CLASSES: tuple[type[Error], ...] = (InvalidArgument, InvalidState, InvalidConfig, Overlap, OutOfRange, Timeout, NoSpace,
                                    Permission, Exists, NotFound, Io, Unsupported)


def error(kind: type[Error], what: str, hint: str = "") -> Error:
    """The error whose message ends with the hint, as those of C++ do."""
    return kind(f"{what} ({hint})" if hint else what, hint)
