# SPDX-License-Identifier: BSD-3-Clause
"""What raw outputs must hold: each time that a name is opened and closed is a generation of it."""

import dataclasses
import pathlib
import re
import subprocess

import files
from job import Job, program

ALWAYS_OLD = "state_0"   # files_program.hpp
# Open MPI's shared pointers leave these, when it opens a file while its own shared memory is already cleared away: a dying bare job
# leaves them, too.
OPEN_MPI_LOCK = re.compile(r"-\d+-\d+\.lock$")


@dataclasses.dataclass
class Generation:
    name: str
    index: int
    manner: str     # fresh, replace, remove, update, append (files_program.hpp)
    members: range  # ranks
    steps: int
    syncs: list     # those steps
    whole: pathlib.Path   # what it is, bare
    digest: bytes

    @property
    def is_in_place(self):
        return self.manner in ("update", "append")

    @property
    def may_find_old(self):
        return self.manner in ("replace", "remove")

    @property
    def opening(self):
        """The step."""
        return 1 if self.manner == "remove" else 0

    # For every rank: (steps that it had begun, steps that it had ended).

    def is_closed(self, progress):
        return all(progress[rank][1] == self.steps for rank in self.members)

    def may_be_closed(self, progress):
        return all(progress[rank][0] == self.steps for rank in self.members)

    def is_begun(self, progress):
        return any(progress[rank][0] > 0 for rank in self.members)

    def is_opened(self, progress):
        """By one rank, and so by all: the one before is under its name."""
        return any(progress[rank][1] > self.opening for rank in self.members)

    def is_open(self, progress):
        """Certainly: for `replace` it is another one once it was cut to nothing."""
        first = self.opening + (self.manner == "replace")
        return all(progress[rank][1] > first for rank in self.members) and not self.may_be_closed(progress)

    def synced(self, progress):
        """How many steps were safe: all ranks had come out of a sync after them."""
        return max((step for step in self.syncs if all(progress[rank][1] > step for rank in self.members)), default=0)

    def may_be_synced(self, progress):
        return any(progress[rank][0] > step for step in self.syncs for rank in self.members)

    def is_removing(self, progress):
        return self.manner == "remove" and progress[self.members[0]][0] > 0


def of_writer(directory, seed, ranks):
    lines = subprocess.run([str(program("files_writer")), "--list", str(seed), str(ranks)], check=True, capture_output=True, text=True)
    directory.mkdir(parents=True)
    for name in (ALWAYS_OLD, ".old"):
        (directory / name).write_bytes(files.OLD)
    files.finish(Job(directory, "files_writer", ranks, ["--references", directory, seed]))
    generations = []
    for index, line in enumerate(lines.stdout.splitlines()):
        name, manner, first, members, steps, *syncs = line.split()
        whole = directory / f".{index}"
        generations.append(Generation(name, index, manner, range(int(first), int(first) + int(members)), int(steps),
                                      [int(step) for each in syncs for step in each.split(",") if step], whole,
                                      files.digest(whole.read_bytes())))
    return generations


class Name:
    """One name, and what may be under it."""

    def __init__(self, directory, which, name, bounds, had_old):
        self.which = which
        self.path = directory / name
        self.generations = [each for each in which.files if each.name == name]
        self.progress = {each.index: bounds[each.index] for each in self.generations}
        self.had_old = had_old
        self.old = which.files[0].whole.with_name(".old")

    def newest(self):
        """The place of the last one that all had closed; -1: none."""
        return max((i for i, each in enumerate(self.generations) if each.is_closed(self.progress[each.index])), default=-1)

    def problem(self, recovered):
        """Of the name, and of what lies beside it because not all had closed it."""
        newest = self.newest()
        following = self.generations[newest + 1] if newest + 1 < len(self.generations) else None
        beside = self.path.with_name(self.path.name + ".unclosed")
        problem = self._problem_under_the_name(recovered)
        if beside.exists():
            if following is None or following.is_in_place or not following.may_be_synced(self.progress[following.index]):
                return problem or f"was never synchronized, and there is {beside.name}"
            return problem or self._problem_unclosed(newest + 1, beside)
        if problem or not recovered or following is None or following.is_in_place:
            return problem
        progress = self.progress[following.index]
        if following.synced(progress) == 0 or following.is_closed(progress):
            return ""
        held = self.path.read_bytes() if self.path.exists() else b""
        if following.may_be_closed(progress) and files.digest(held) == following.digest:
            return ""
        why = self._problem_unclosed(newest + 1, self.path) if self.path.exists() else "there is none"
        return why and f"was synchronized, and is nowhere: {why}"

    def _problem_under_the_name(self, recovered):
        newest = self.newest()
        following = self.generations[newest + 1] if newest + 1 < len(self.generations) else None
        if not self.path.exists():
            return "" if self._may_be_missing(newest, recovered) else "is missing"
        held = self.path.read_bytes()
        digest = files.digest(held)
        if held == files.OLD and self.had_old and (newest < 0 or not recovered):
            return ""
        last = newest + (following is not None and following.may_be_closed(self.progress[following.index]))
        first = max(newest, 0) if recovered else 0
        if any(each.digest == digest for each in self.generations[first:last + 1]):
            return ""
        why = "holds nothing that it can hold"
        in_place = [newest + 1] if recovered else [newest, newest + 1]
        for place in in_place:
            if 0 <= place < len(self.generations) and self.generations[place].is_in_place:
                why = self._problem_in_place(place, recovered)
                if not why:
                    return ""
        if following is not None and not following.is_in_place and self._nothing_was_there(newest, following):
            why = self._problem_unclosed(newest + 1, self.path)
        return why

    def _nothing_was_there(self, newest, following):
        return (newest < 0 and not self.had_old) or following.is_removing(self.progress[following.index])

    def _problem_unclosed(self, place, path):
        """Of a file that not all had closed, which was synchronized: what was captured is in it, or, if it has failed, what was safe."""
        generation = self.generations[place]
        progress = self.progress[generation.index]
        if not generation.may_be_synced(progress):
            return "was never synchronized"
        safe = generation.synced(progress)
        all_of_it = self._check(generation, path, "", True, progress)
        return all_of_it and self._check(generation, path, "", True, [(begun, min(ended, safe)) for begun, ended in progress])

    def _may_be_missing(self, newest, recovered):
        if any(each.is_removing(self.progress[each.index]) for each in self.generations[max(newest + 1, 0):]):
            return True
        if newest >= 0 and self._was_taken_back(newest):
            return True
        if recovered and newest >= 0:
            return False
        opened = max((i for i, each in enumerate(self.generations) if each.is_opened(self.progress[each.index])), default=-1)
        removed = any(each.is_removing(self.progress[each.index]) for each in self.generations)
        return (not self.had_old and opened < 1) or (removed and not recovered)

    def _was_taken_back(self, newest):
        """A file that was closed without a byte, and not synchronized: it becomes the working file of the next one of its name."""
        generation = self.generations[newest]
        following = self.generations[newest + 1] if newest + 1 < len(self.generations) else None
        is_empty = generation.digest == files.digest(b"") and not generation.syncs
        return is_empty and following is not None and following.is_begun(self.progress[following.index])

    def _problem_in_place(self, place, recovered):
        generation = self.generations[place]
        base = self.generations[place - 1].whole if place > 0 else self.old
        why = self._check(generation, self.path, str(base), recovered, self.progress[generation.index])
        return why and f"in place: {why}"

    def _check(self, generation, path, base, captured, progress):
        run = subprocess.run([str(program("files_writer")), "--check", str(path), base, str(generation.index),
                              str(self.which.seed), str(self.which.ranks), "captured" if captured else "begun",
                              *(f"{begun}:{ended}" for begun, ended in progress)], capture_output=True, text=True)
        return "" if run.returncode == 0 else f"{run.stdout.strip()}{run.stderr.strip()}"


def problems_of(directory, which, bounds, old_names, recovered):
    """Looks at each name. `bounds`: for each generation (steps begun, steps ended) of each rank."""
    problems = []
    names = {each.name: None for each in which.files}
    for name in names:
        mine = Name(directory, which, name, bounds, name in old_names)
        if why := mine.problem(recovered):
            states = "; ".join(f"{each.index} ({each.manner}, {each.steps} steps of ranks {list(each.members)}): " +
                               " ".join(f"{begun}:{ended}" for begun, ended in mine.progress[each.index])
                               for each in mine.generations)
            problems.append(f"{name} {why}; begun and ended were {states}")
    surplus = {path.name for path in directory.iterdir() if not path.name.startswith(".")} - names.keys()
    surplus -= {name + ".unclosed" for name in names}   # were looked at
    surplus = {name for name in surplus if not OPEN_MPI_LOCK.search(name)}
    return problems + [f"{name} should not be there" for name in sorted(surplus)]
