# SPDX-License-Identifier: BSD-3-Clause
"""Programs are killed while they write a file for each rank and step: what a rank had closed is in the container of its step.

kill_test.py BUILD [--kills N] [--first SEED]"""

import argparse
import os
import pathlib
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time

RULES = """pool.budget = "32MiB"
[[rule]]
pattern = "step.{step}.{rank}"
into = "step.{step}.sion"
[[rule]]
pattern = "new_step.{step}.{rank}"
into = "step.{step}.sion"
"""
RANKS = 3


def bytes_of(rank, step):
    """As programs/ranks.c has it. Python takes long for it: the begin, and how many there are."""
    state, size = rank * 1000 + step + 1, 100000 + 4097 * rank + 13 * step
    found = bytearray()
    for _ in range(2000):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        found.append(state >> 24)
    return bytes(found), size


def ranks_of(directory):
    """Processes of the program in this directory."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            is_program = process.name.isdigit() and "file_per_rank_ranks" in os.readlink(process / "exe")
            if is_program and os.readlink(process / "cwd") == str(directory):
                found.append(int(process.name))
        except OSError:
            pass
    return sorted(found)


def kill_one(build, directory, seed):
    draw = random.Random(seed)
    (directory / "glean.toml").write_text(RULES)
    program = [build / "bin" / "file_per_rank_ranks", "loop", str(seed)]
    command = [build / "bin" / "glean", "run", "--", *shlex.split(os.environ["MPIRUN"]), str(RANKS), *program]
    with open(directory / "said", "wb") as said, subprocess.Popen(command, cwd=directory, stdout=said, stderr=said) as job:
        begin = time.time()
        while not (directory / "closed.0").exists() and time.time() - begin < 60:
            time.sleep(0.02)
        time.sleep(draw.uniform(0, 1.5))
        processes = ranks_of(directory)
        for process in processes if draw.random() < 0.5 else [draw.choice(processes)]:   # mpirun ends the others
            os.kill(process, signal.SIGKILL)
        job.wait(timeout=60)
    while ranks_of(directory):
        time.sleep(0.02)
    recovered = subprocess.run([build / "bin" / "glean", "recover"], cwd=directory, capture_output=True, text=True, timeout=60)
    wrong = [] if recovered.returncode == 0 else [recovered.stdout + recovered.stderr]
    (directory / "inside").mkdir()
    for container in directory.glob("*.sion"):
        command = [build / "bin" / "glean", "container", "extract", container, "-C", directory / "inside"]
        subprocess.run(command, check=True, capture_output=True)
    closed = 0
    for rank in range(RANKS):
        note = directory / f"closed.{rank}"
        for step in note.read_text().split() if note.exists() else []:
            path = directory / "inside" / f"step.{step}.{rank}"
            found = path.read_bytes() if path.exists() else b""
            closed += 1
            if (found[:2000], len(found)) != bytes_of(rank, int(step)):
                wrong.append(f"{path.name} was closed, and has {len(found)} bytes")
    wrong += [f"{path} is left" for path in pathlib.Path("/dev/shm").glob("glean*")]
    wrong += [f"{path.name} is left" for path in directory.iterdir() if path.name.startswith(".")]
    return closed, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--first", type=int, default=1)
    options = parser.parse_args()
    closed = 0
    for seed in range(options.first, options.first + options.kills):
        with tempfile.TemporaryDirectory() as directory:
            more, wrong = kill_one(options.build.resolve(), pathlib.Path(directory), seed)
        if wrong:
            print(f"seed {seed}:", *wrong, f"again: kill_test.py BUILD --first {seed} --kills 1", sep="\n")
            return 1
        closed += more
    print(f"{options.kills} kills, {closed} files had been closed")
    return 0 if closed > 0 else 1


sys.exit(main())
