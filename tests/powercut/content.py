# SPDX-License-Identifier: BSD-3-Clause
"""What the files of powercut_writer must hold, byte for byte.

Header and places of the data are taken from a file that PnetCDF itself has written (passthrough), the data from the
formula that writer.cpp has too.
"""

import array
import struct
import sys

STEPS = 2
WORD = 2**64 - 1


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return x ^ (x >> 31)


def part(seed, file, version, index, cells):
    """Variable `fixed` (index 0) or a step of `field` (1 + step), as it stands in the file."""
    key = mix((mix((mix(seed) + file) & WORD) + version) & WORD)
    base = mix((key + index) & WORD) >> 3
    values = array.array("q", range(base, base + cells * 1048583, 1048583))
    if sys.byteorder == "little":
        values.byteswap()
    return values.tobytes()


class Expected:
    """All versions of one file."""

    def __init__(self, reference, seed, file, cells, version=1):
        """reference: the bytes of `version`, written by PnetCDF."""
        self.seed, self.file, self.cells = seed, file, cells
        self.template = bytearray(reference)
        name = reference.index(b"version\0")   # the attribute: name, type, number of values, value
        self.version_at = name + 8 + 4 + 8
        self.places = []
        for index in range(1 + STEPS):
            data = part(seed, file, version, index, cells)
            self.places.append(reference.index(data))
        if self.version_in(reference) != version or self.of(version) != reference:
            raise AssertionError("the formula of content.py is not that of writer.cpp")

    def version_in(self, data):
        """What the file says of itself; None: not even that."""
        if len(data) < self.version_at + 8:
            return None
        return struct.unpack_from(">q", data, self.version_at)[0]

    def of(self, version):
        whole = bytearray(self.template)
        struct.pack_into(">q", whole, self.version_at, version)
        for index, place in enumerate(self.places):
            data = part(self.seed, self.file, version, index, self.cells)
            whole[place:place + len(data)] = data
        return bytes(whole)
