# SPDX-License-Identifier: BSD-3-Clause
"""Says what differs between what two runs have left: directories of files, and text."""

import difflib
import os

BLOCK = 1 << 20


def data_of(file, size):
    """The places of a file that are not holes."""
    place = 0
    while place < size:
        try:
            start = os.lseek(file, place, os.SEEK_DATA)
        except OSError:   # only a hole is left
            return
        place = os.lseek(file, start, os.SEEK_HOLE)
        yield start, place


def first_difference(one, two):
    """The first byte in which two files of the same size differ. Holes are read as zeros without being read."""
    files = [os.open(path, os.O_RDONLY) for path in (one, two)]
    try:
        size = os.fstat(files[0]).st_size
        for start, end in sorted(extent for file in files for extent in data_of(file, size)):
            for place in range(start, end, BLOCK):
                blocks = [os.pread(file, min(BLOCK, end - place), place) for file in files]
                if blocks[0] != blocks[1]:
                    return place + next(i for i, (a, b) in enumerate(zip(*blocks)) if a != b)
        return None
    finally:
        for file in files:
            os.close(file)


def names(root):
    return {os.path.relpath(os.path.join(folder, name), root)
            for folder, folders, files in os.walk(root) for name in folders + files}


def file_differences(expected, found):
    there, here = names(expected), names(found)
    for name in sorted(there - here):
        yield f"{name} is missing"
    for name in sorted(here - there):
        yield f"{name} should not be there"
    for name in sorted(here & there):
        one, two = os.path.join(expected, name), os.path.join(found, name)
        a, b = os.lstat(one), os.lstat(two)
        if a.st_mode != b.st_mode:
            yield f"{name}: mode {b.st_mode:o}, expected {a.st_mode:o}"
        elif os.path.islink(one):
            if os.readlink(one) != os.readlink(two):
                yield f"{name}: a link to {os.readlink(two)}"
        elif os.path.isfile(one):
            if a.st_size != b.st_size:
                yield f"{name}: {b.st_size} bytes, expected {a.st_size}"
            elif (place := first_difference(one, two)) is not None:
                yield f"{name}: differs from byte {place}"


def text_differences(expected, found, lines_max=8):
    lines = [line for line in difflib.unified_diff(expected.splitlines(), found.splitlines(), lineterm="", n=0)
             if not line.startswith(("---", "+++", "@@"))]
    yield from lines[:lines_max]
    if len(lines) > lines_max:
        yield f"… {len(lines) - lines_max} more lines differ"
