# SPDX-License-Identifier: BSD-3-Clause
"""What the files of a program must hold, from runs that were not disturbed; and whether they do."""

import dataclasses
import hashlib
import subprocess

from job import Job, program

OLD = b"an older file that has nothing to do with it\n" * 50


def digest(data):
    return hashlib.blake2b(data, digest_size=16).digest()


@dataclasses.dataclass
class File:
    name: str
    steps: int
    contents: dict   # digest of the file → steps in it


def validate(path):
    begin = path.read_bytes()[:14]
    if begin == b"# vtk DataFile":   # its readers are too large for this: tests/meshes has them
        return
    command = ["h5dump", "-H"] if begin[:4] == b"\x89HDF" else ["ncvalidator"]
    run = subprocess.run([*command, str(path)], capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(f"{command[0]} on {path}: {run.stdout}{run.stderr}")


def finish(job):
    if job.mpirun.wait() != 0:
        raise RuntimeError(f"{job.name} ended with {job.mpirun.returncode}:\n{job.log}")


def of_writer(directory, seed, ranks):
    """The files in the order in which they are opened under one name; PnetCDF itself writes the references."""
    lines = subprocess.run([str(program("kill_writer")), "--list", str(seed)], check=True, capture_output=True, text=True)
    directory.mkdir(parents=True)
    finish(Job(directory, "kill_writer", ranks, ["--references", directory, seed], GLEAN_MODE="passthrough"))
    files = []
    for index, line in enumerate(lines.stdout.splitlines()):
        name, steps = line.split()
        paths = [directory / f"{index}@{step}" for step in range(1, int(steps) + 1)]
        for path in paths:
            validate(path)
        files.append(File(name, int(steps), {digest(path.read_bytes()): step for step, path in enumerate(paths, 1)}))
    return files


def of_sedov(directory, ranks, arguments):
    directory.mkdir(parents=True)
    finish(Job(directory, "sedov", ranks, ["--output", "pnetcdf", "--directory", directory, *arguments]))
    for path in sorted(directory.iterdir()):
        validate(path)
    return [File(path.name, 1, {digest(path.read_bytes()): 1}) for path in sorted(directory.iterdir())]


def problems_of(directory, files, steps, old_names, recovered):
    """Looks at each name. `steps` of a file: (at least, at most) that are in it once all is `recovered`."""
    problems = []
    for name in {file.name: None for file in files}:
        mine = [(file, *steps[i]) for i, file in enumerate(files) if file.name == name]
        # The newest one of which a step was whole must be there, not one before it.
        newest = max((i for i, (_, least, _) in enumerate(mine) if least > 0), default=-1)
        path = directory / name
        if not path.exists():
            if recovered and newest >= 0:
                problems.append(f"{name} is missing, and {mine[newest][1]} of its steps were complete")
            elif name in old_names:
                problems.append(f"{name} was there before and is gone")
            continue
        data = path.read_bytes()
        if data == OLD:
            if name not in old_names or (recovered and newest >= 0):
                problems.append(f"{name} is still the old file, and {mine[newest][1]} steps of a new one were complete")
            continue
        found = [(i, file.contents[digest(data)]) for i, (file, _, _) in enumerate(mine) if digest(data) in file.contents]
        wanted = "; ".join(f"{least} to {most} of {file.steps} steps" for file, least, most in mine)
        if not found:
            problems.append(f"{name} ({len(data)} bytes) holds nothing that it can hold; complete were {wanted}")
        elif not any((not recovered or i >= newest) and mine[i][1] <= held <= mine[i][2] for i, held in found):
            problems.append(f"{name} holds {found} (file, steps); complete were {wanted}")
    surplus = {path.name for path in directory.iterdir() if not path.name.startswith(".")} - {file.name for file in files}
    return problems + [f"{name} should not be there" for name in sorted(surplus)]


def leftovers(directory):
    """Working files. Checksums beside a published file are no leftover."""
    return sorted(path.name for path in directory.iterdir() if path.name.endswith(".part"))
