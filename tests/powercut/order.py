# SPDX-License-Identifier: BSD-3-Clause
"""The order of system calls that strace has recorded, and whether it keeps published files safe."""

import dataclasses
import os
import re

CHANGING = {"write", "writev", "pwrite64", "pwritev", "pwritev2", "ftruncate", "fallocate", "copy_file_range",
            "sendfile", "splice"}
TRACED = sorted(CHANGING | {"open", "openat", "openat2", "creat", "truncate", "fsync", "fdatasync", "sync_file_range",
                            "rename", "renameat", "renameat2", "link", "linkat", "mmap", "io_uring_setup",
                            "io_uring_enter"})

COMPLETE = re.compile(r"^(\d+) +(\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+|\?)(.*)$")
UNFINISHED = re.compile(r"^(\d+) +(\w+)\((.*?) *<unfinished \.\.\.>$")
RESUMED = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>(.*)$")
DESCRIPTOR = re.compile(r"\b\d+<([^>]*)>")
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclasses.dataclass
class Call:
    name: str
    arguments: str
    result: int | None
    begin: int   # line where it began and line where it ended: calls of several threads overlap
    end: int

    @property
    def path(self):
        """Of the file that the first descriptor stands for."""
        found = DESCRIPTOR.match(self.arguments)
        return found.group(1) if found else None

    @property
    def names(self):
        return QUOTED.findall(self.arguments)


def read_trace(lines):
    """Of `strace -f -y -o`. A call that never returned has no result, and ends with the trace."""
    calls, open_calls = [], {}
    number = 0
    for number, line in enumerate(lines):
        line = line.rstrip("\n")
        if match := UNFINISHED.match(line):
            open_calls[match[1]] = (match[2], match[3], number)
            continue
        begin = number
        if match := RESUMED.match(line):
            if match[1] not in open_calls:
                raise ValueError(f"line {number + 1} resumes a call that has not begun: {line}")
            name, arguments, begin = open_calls.pop(match[1])
            if name != match[2]:
                raise ValueError(f"line {number + 1} resumes {match[2]}, but {name} has begun")
            line = f"{match[1]} {name}({arguments}{match[3]}"
        if match := COMPLETE.match(line):
            result = None if match[4] == "?" else int(match[4], 0)
            calls.append(Call(match[2], match[3].rstrip(), result, begin, number))
    for name, arguments, begin in open_calls.values():
        calls.append(Call(name, arguments, None, begin, number + 1))
    return sorted(calls, key=lambda call: call.begin)


@dataclasses.dataclass
class Findings:
    problems: list
    renames: int = 0
    fsyncs: int = 0
    writes: int = 0
    ring_submissions: int = 0
    bytes_written: int = 0


def gaps(writes, size):
    """What has not been written of a file of `size` bytes."""
    end = 0
    for begin, length in sorted(writes):
        if begin > end:
            yield end, begin
        end = max(end, begin + length)
    if end < size:
        yield end, size


def check(calls, directory, contents=None, alone=False):
    """Whether no file of `directory` got its final name before all of it was safe, and every name was made safe.

    contents: name → bytes, for traces where every write is seen (no io_uring): every byte must be seen written; only
    zeros may have come by allocating space (formats leave such gaps to align data).
    alone: one file is written at a time, so that every submission to io_uring is of that file.
    """
    findings = Findings([])
    problem = findings.problems.append
    publishing = [call for call in calls if call.name in ("rename", "renameat", "renameat2", "link", "linkat")
                  and call.result == 0 and os.path.dirname(call.names[-1]) == directory]
    finals = {call.names[-1] for call in publishing}
    for call in publishing:
        findings.renames += 1
        check_one(calls, call, contents, alone, findings)
    for call in calls:
        opened = call.name in ("open", "openat", "openat2", "creat", "truncate") and call.names[:1]
        if opened and opened[0] in finals and re.search("O_WRONLY|O_RDWR|O_TRUNC|O_CREAT", call.arguments):
            problem(f"{opened[0]} is opened for writing under its final name")
        if call.name in CHANGING and call.path in finals:
            problem(f"{call.path} is changed under its final name by {call.name}")
        if call.name == "mmap" and "MAP_SHARED" in call.arguments and "PROT_WRITE" in call.arguments:
            if any(path.startswith(directory + "/") for path in DESCRIPTOR.findall(call.arguments)):
                problem(f"a file is written through a mapping, which the trace does not show: {call.arguments}")
    return findings


def check_one(calls, rename, contents, alone, findings):
    problem = findings.problems.append
    working, final = rename.names
    syncs = [call for call in calls if call.name == "fsync" and call.path == working and call.result == 0]
    before = [call for call in syncs if call.end < rename.begin]
    if not before:
        problem(f"{final}: renamed without an fsync of {working} before")
        return
    sync = before[-1]
    findings.fsyncs += len(syncs)
    changes = [call for call in calls if call.name in CHANGING and call.path == working]
    findings.writes += len(changes)
    for call in changes:
        if call.end > sync.begin:
            problem(f"{final}: {call.name} has not ended before the last fsync before the rename began")
    submissions = [call for call in calls if call.name == "io_uring_enter" and submitted(call) > 0]
    if alone:
        findings.ring_submissions += sum(submitted(call) for call in submissions if call.end < sync.begin)
        if any(call.end > sync.begin and call.begin < rename.end for call in submissions):
            problem(f"{final}: a write was given to io_uring between its fsync and its rename")
    if contents is not None:
        content = contents[os.path.basename(final)]
        findings.bytes_written += len(content)
        writes = [placed(call) for call in changes if call.name in ("pwrite64", "pwritev") and (call.result or 0) > 0]
        for begin, end in gaps(writes, len(content)):
            findings.bytes_written -= end - begin
            if content[begin:end].strip(b"\0"):
                problem(f"{final}: no process was seen to write bytes {begin} to {end}")
    directory = os.path.dirname(final)
    after = [call for call in calls if call.name == "fsync" and call.path == directory and call.result == 0
             and call.begin > rename.end]
    if not after:
        problem(f"{final}: no fsync of the directory after the rename")
        return
    # A program may be told that the file is durable only when both are done.
    version = sum(call.names[-1] == final and call.begin <= rename.begin for call in calls if "rename" in call.name)
    said = f'"durable {os.path.basename(final)} {version}\\n"'
    for call in calls:
        if call.name == "write" and said in call.arguments and call.begin < after[0].end:
            problem(f"{final}: version {version} was called durable before its directory was safe")


def submitted(enter):
    return int(enter.arguments.split(", ")[1])


def placed(pwrite):
    """Where it began, and how many bytes it wrote."""
    return int(pwrite.arguments.rsplit(", ", 1)[1]), pwrite.result
