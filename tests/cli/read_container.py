# SPDX-License-Identifier: BSD-3-Clause
"""Reads containers of task-local files by docs/formats/container.md alone. Nothing of GLEAN is used."""

import os
import struct


class File:
    """One physical file: its tasks by their global ranks, and what META1 and META2 say."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        assert self.data[:4] == b"sion"
        self.order = ">" if self.data[4] & 1 else "<"
        (self.version, _, self.format, self.block, tasks, self.files, self.number, flag1, _) = self.numbers(8, "iiiiiiiqq")
        assert self.format == 5
        self.key_values = flag1 >> 32
        self.prefix = self.data[52:1076].split(b"\0")[0].decode()
        self.is_marked = self.data[1060:1068] == b"GLEANTLF"
        self.ranks = self.numbers(1076, f"{tasks}q")
        self.chunk_bytes = self.numbers(1076 + 8 * tasks, f"{tasks}q")
        most, self.index_begin = self.numbers(1076 + 16 * tasks, "iq")
        begin = -(-(1088 + 16 * tasks) // self.block) * self.block
        stride = sum(self.chunk_bytes)
        assert self.index_begin == begin + most * stride
        chunks = self.numbers(self.index_begin, f"{tasks}q")
        used = [self.numbers(self.index_begin + 8 * tasks * (1 + chunk), f"{tasks}q") for chunk in range(most)]
        at = self.index_begin + 8 * tasks * (1 + most)
        mapped = self.numbers(at, "i")[0] if at < len(self.data) else 0
        pairs = self.numbers(at + 4, f"{2 * mapped}i") if mapped else ()
        self.mapping = list(zip(pairs[::2], pairs[1::2]))
        self.meta2_end = at + 4 + 8 * mapped
        self.tasks = {}
        for task, rank in enumerate(self.ranks):
            places = [begin + sum(self.chunk_bytes[:task]) + chunk * stride for chunk in range(chunks[task])]
            self.tasks[rank] = b"".join(self.data[place:place + used[chunk][task]] for chunk, place in enumerate(places))
            assert all(place % self.block == 0 for place in places) or not self.is_marked

    def numbers(self, offset, kinds):
        return struct.unpack_from(self.order + kinds, self.data, offset)

    def names(self):
        """Name → global rank, first byte, bytes."""
        at = -(-self.meta2_end // 8) * 8
        magic, version, _, _, _, count, _ = struct.unpack_from("<8s6Q", self.data, at)
        assert (magic, version) == (b"GLEANIDX", 1)
        at, names = at + 56, {}
        for _ in range(count):
            rank, begin, size, length = struct.unpack_from("<4Q", self.data, at)
            names[self.data[at + 32:at + 32 + length].decode()] = (rank, begin, size)
            at += 32 + length
        return names


def read(path):
    """All physical files of a container."""
    files = [File(path)]
    files += [File(f"{os.fspath(path)}.{number:06d}") for number in range(1, files[0].files)]
    ranks = [rank for file in files for rank in file.ranks]
    assert sorted(ranks) == list(range(len(ranks)))
    for rank, (number, local) in enumerate(files[0].mapping):
        assert files[number].ranks[local] == rank
    return files


def tasks(path):
    """The bytes of each task, by global ranks."""
    found = {}
    for file in read(path):
        found |= file.tasks
    return [found[rank] for rank in sorted(found)]
