# SPDX-License-Identifier: BSD-3-Clause
"""What runs, what it writes when nothing disturbs it, and whether what is there can be after it was disturbed."""

import dataclasses

import bytes_files
import files
from job import BUILD

SEDOV_ARGUMENTS = ["--blocks", "1,1,2", "--steps", "8", "--checkpoint-every", "1", "--plot-every", "1"]


@dataclasses.dataclass
class Program:
    """Files of steps."""

    name: str
    ranks: int
    seed: int
    files: list

    is_of_bytes = False
    settings = {}

    @property
    def witnesses(self):
        return self.name != "sedov"

    @property
    def progress_max(self):
        return self.ranks * sum(file.steps for file in self.files)

    def arguments(self, directory, witness):
        if self.witnesses:
            return [directory, witness, self.seed]
        return ["--directory", directory, *SEDOV_ARGUMENTS]

    def begin(self, draw, directory):
        """Puts older files there; their names."""
        names = []
        if self.witnesses:
            names = [each for each in sorted({file.name for file in self.files}) if draw.random() < 0.3]
        for each in names:
            (directory / each).write_bytes(files.OLD)
        return names

    def bounds(self, job):
        """(at least, at most) that are in each file, read when no rank is alive any more."""
        if self.witnesses:
            witness = job.witness()
            return [witness.steps(i) for i in range(len(self.files))]
        # A file is begun by all ranks together, so all have ended the one before the one before.
        order = sorted(range(len(self.files)), key=lambda i: (self.files[i].name[-7:], self.files[i].name))
        names = job.begun()
        last = max((position for position, i in enumerate(order) if self.files[i].name in names), default=-1)
        bounds = {i: (1 if position <= last - 2 else 0, 1) for position, i in enumerate(order)}
        return [bounds[i] for i in range(len(self.files))]

    def bounds_of_whole(self):
        return [(file.steps, file.steps) for file in self.files]

    def problems_of(self, job, bounds, recovered):
        return files.problems_of(job.directory, self.files, bounds, job.old_names, recovered)

    def holds(self, path, steps):
        held = path.exists() and files.digest(path.read_bytes())
        return any(file.contents.get(held) == steps for file in self.files if file.name == path.name)

    def are_cut(self, directory):
        """For each file that is there, whether it has less in it than the program would have written."""
        there = [(file, directory / file.name) for file in self.files if (directory / file.name).exists()]
        return [file.contents.get(files.digest(path.read_bytes()), file.steps) < file.steps for file, path in there]

    def must_be_named(self, _bounds):
        return []


class BytesProgram(Program):
    """Raw outputs, under a library that is preloaded."""

    is_of_bytes = True
    # What a program reads itself must not make its files pass through.
    settings = {"LD_PRELOAD": str(BUILD / "lib" / "libglean_preload.so"), "GLEAN_READ_BACK": "capture"}

    @property
    def progress_max(self):
        return sum(generation.steps * len(generation.members) for generation in self.files)

    def begin(self, draw, directory):
        names = [name for name in sorted({each.name for each in self.files if each.may_find_old}) if draw.random() < 0.3]
        names += {each.name for each in self.files} & {bytes_files.ALWAYS_OLD}
        for each in names:
            (directory / each).write_bytes(files.OLD)
        return names

    def bounds(self, job):
        witness = job.witness()
        return [witness.progress_in(i) for i in range(len(self.files))]

    def bounds_of_whole(self):
        return [[(each.steps, each.steps)] * self.ranks for each in self.files]

    def problems_of(self, job, bounds, recovered):
        return bytes_files.problems_of(job.directory, self, bounds, job.old_names, recovered)

    def holds(self, path, steps):
        # What was there before stays in a file that is opened, and not cut until all have closed it again.
        held = path.read_bytes()
        return steps == 1 and (held == files.OLD or files.digest(held) in {each.digest for each in self.files if each.name == path.name})

    def are_cut(self, directory):
        whole = {each.digest for each in self.files}
        return [files.digest((directory / name).read_bytes()) not in whole
                for name in {each.name for each in self.files} if (directory / name).exists()]

    def must_be_named(self, bounds):
        """Those that all ranks that write them had opened, and not all were closing."""
        return [each.name for each, progress in zip(self.files, bounds) if each.is_open(progress)]


class Programs:
    """Makes the references of each program once."""

    def __init__(self, seed, directory):
        self.seed = seed
        self.directory = directory
        self.made = {}

    def get(self, name, variant, by_all=False):
        """`by_all`: of raw outputs, all ranks open all of them: only then several nodes capture them."""
        if name == "sedov":
            variant %= 2
        key = (name, variant, by_all)
        if key not in self.made:
            directory = self.directory / f"{name}.{variant}.{by_all}"
            ranks, seed = 2 + variant, self.seed % 100_000 + variant
            if name == "files_writer":
                seed = f"all:{seed}" if by_all else seed
                self.made[key] = BytesProgram(name, ranks, seed, bytes_files.of_writer(directory, seed, ranks))
            else:
                made = (files.of_writer(directory, seed, ranks) if name == "kill_writer"
                        else files.of_sedov(directory, ranks, SEDOV_ARGUMENTS))
                self.made[key] = Program(name, ranks, seed, made)
        return self.made[key]
