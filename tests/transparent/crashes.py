# SPDX-License-Identifier: BSD-3-Clause
"""Random programs are killed, or meet a full disk: what they had closed and still had is there in the end, whole.

`random/survivors.hpp` says what has to be there. Needs a user who may mount, and a /dev/shm of its own (tests/in_own_shared_memory)."""

import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

from job import Under

DISK = "8m"   # all files that there are before, and the rest is taken (--room)
LINES_MAX = 250   # of the ranks' witnesses, when a program is killed
READY_SECONDS = 60


class Crash:
    """One program, drawn from a seed, which is killed or has little room."""

    def __init__(self, build, mpi, kind, seed, also):
        self.program, self.glean = build / "bin" / "transparent_random", build / "bin" / "glean"
        self.mpi, self.kind, self.seed, self.also = mpi, kind, seed, also
        self.draw = random.Random(f"{kind} {seed}")
        self.io = self.draw.choice(mpi.implementations())
        self.environment = {"GLEAN_POOL_BUDGET": "64MiB", "GLEAN_POOL_DEADLINE": "20s", "GLEAN_READ_BACK": "capture",
                            "GLEAN_LOG_LEVEL": os.environ.get("GLEAN_LOG_LEVEL", "off"),
                            "GLEAN_DRAIN_PLACE": self.draw.choice(["threads", "threads", "process"])}
        if kind == "kill" and mpi.ranks > 2 and self.draw.random() < 0.25:
            self.environment["GLEAN_TOPOLOGY_RANKS_PER_NODE"] = "2"

    def __str__(self):
        settings = " ".join(f"{name}={value}" for name, value in self.environment.items())
        return f"{self.kind}, seed {self.seed} ({self.io}, {settings})"

    def run(self):
        """Returns what is wrong; None: nothing."""
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="glean-crash-"))
        self.data, self.witness = self.directory / "data", self.directory / "witness"
        self.data.mkdir()
        self.options = ["--names", "--no-nonblocking-collective", *self.also, "--seed", str(self.seed)]
        try:
            return self.killed() if self.kind == "kill" else self.on_full_disk()
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)

    def start(self, *more):
        command = [*self.mpi.command(self.io, Under([str(self.glean), "run", "--"])), self.program, self.data, *self.options,
                   "--witness", self.witness, *more]
        return subprocess.Popen(command, cwd=self.data, env=self.all_variables(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                start_new_session=True)

    def all_variables(self):
        return {**os.environ, **self.environment, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def recover(self):
        done = subprocess.run([self.glean, "recover", "--wait=60s"], cwd=self.data, env=self.all_variables(), capture_output=True,
                              text=True, timeout=120, check=False)
        return f"recover: {done.returncode}\n{done.stdout}{done.stderr}"

    def problems(self, *more):
        done = subprocess.run([self.program, self.data, *self.options, "--check", self.witness, "--of", str(self.mpi.ranks), *more],
                              env=self.all_variables(), capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            return [f"the check ends with {done.returncode}: {done.stderr}"]
        return done.stdout.splitlines()

    def story(self, problems, out, recovered=""):
        listing = subprocess.run(["ls", "-li", self.data / f"seed-{self.seed}"], capture_output=True, text=True, check=False).stdout
        ends = {path.name: path.read_text().splitlines()[-3:] for path in sorted(self.directory.glob("witness.*"))}
        return "\n".join(["", *problems, *self.problems("--print"), out, recovered, listing, str(ends)])

    def lines(self):
        return sum(path.read_bytes().count(b"\n") for path in self.directory.glob("witness.*"))

    def killed(self):
        run = self.start()
        enough, deadline = self.draw.randint(1, LINES_MAX), time.monotonic() + READY_SECONDS
        while run.poll() is None and self.lines() < enough and time.monotonic() < deadline:
            time.sleep(0.0005)
        time.sleep(self.draw.uniform(0, self.draw.choice((0.001, 0.01, 0.05))))
        victims = ranks_of(self.program.resolve(), self.witness)
        self.came = bool(victims)
        if victims and self.draw.random() < 0.3:
            victims = [self.draw.choice(victims)]
        for victim in victims:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass
        out = run.communicate(timeout=120)[0].decode(errors="replace")
        recovered = self.recover()
        problems = self.problems() + pools_left()
        return self.story(problems, out, recovered) if problems else None

    def on_full_disk(self):
        self.came = False
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", self.data], check=True)
        try:
            room = self.draw.choice([0, 4096, 16384, 65536, 131072])
            run = self.start("--room", str(room))
            out = run.communicate(timeout=180)[0].decode(errors="replace")
            lost = [problem for problem in self.problems() if problem.startswith("lost ")]
            self.came = bool(lost)
            if lost and run.returncode == 0:
                return self.story(["these are not there, and the status is 0:", *lost], out)
            silent = [each for each in lost if re.split(r"[ :]", each)[1] not in out]
            (self.data / "ballast").unlink()
            recovered = self.recover()
            problems = self.problems() + pools_left() + [f"no line names it: {each}" for each in silent]
            return self.story(problems, out, recovered) if problems else None
        finally:
            subprocess.run(["umount", "-l", self.data], check=True)


def ranks_of(program, witness):
    """Processes of the program that write this witness."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if (entry.name.isdigit() and os.readlink(entry / "exe") == str(program)
                    and str(witness).encode() in (entry / "cmdline").read_bytes()):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def pools_left():
    return [f"left behind: {name}" for name in os.listdir("/dev/shm") if name.startswith("glean")]


def crash(build, mpi, kind, seed, count, also):
    """Returns how many of these programs have lost something."""
    failed = came = 0
    for each in range(seed, seed + count):
        trial = Crash(build, mpi, kind, each, also)
        problem = trial.run()
        came += trial.came
        if problem:
            failed += 1
            print(f"{trial}: {problem}", flush=True)
            for pool in pathlib.Path("/dev/shm").glob("glean*"):
                pool.unlink()
    what = "killed before their end" if kind == "kill" else "with less than they needed"
    print(f"{kind}: {count} programs from seed {seed} on, {came} {what}, {failed} wrong", flush=True)
    return failed
