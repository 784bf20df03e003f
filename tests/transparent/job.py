# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program under mpirun, with or without the library under test."""

import dataclasses
import os
import pathlib
import re
import shlex
import signal
import subprocess


@dataclasses.dataclass
class Result:
    code: int   # of mpirun; None if it had to be killed
    out: str
    err: str


@dataclasses.dataclass
class Under:
    """What stands between a program and its MPI library: nothing, by default."""
    prefix: list = dataclasses.field(default_factory=list)        # before mpirun, as in `glean run -- mpirun …`
    environment: dict = dataclasses.field(default_factory=dict)   # of the ranks

    @staticmethod
    def add_options(parser):
        parser.add_argument("--under", metavar="PREFIX", default="", help="command before mpirun, such as 'glean run --'")
        parser.add_argument("--preload", metavar="LIBRARY", help="LD_PRELOAD of the ranks")
        parser.add_argument("--env", metavar="NAME=VALUE", action="append", default=[], help="environment of the ranks")

    @staticmethod
    def of(arguments):
        environment = dict(pair.split("=", 1) for pair in arguments.env)
        if arguments.preload:
            environment["LD_PRELOAD"] = os.path.abspath(arguments.preload)
        return Under(shlex.split(arguments.under), environment)

    def is_there(self):
        return bool(self.prefix or self.environment)

    def options(self):
        """The same on the command line."""
        prefix = ["--under", shlex.quote(shlex.join(self.prefix))] if self.prefix else []
        return prefix + [f"--env {shlex.quote(f'{name}={value}')}" for name, value in self.environment.items()]


def pools_of(command):
    """Of the ranks that run exactly this. A pool's name has the process that made it: glean.<user>.<process>.<time>."""
    def makes(pool):
        try:
            return pathlib.Path("/proc", pool.name.split(".")[2], "cmdline").read_text().split("\0")[:-1] == command
        except OSError:
            return False
    return [pool for pool in pathlib.Path("/dev/shm").glob(f"glean.{os.getuid()}.*") if makes(pool)]


class Mpi:
    def __init__(self, ranks):
        self.mpiexec = os.environ.get("MPIEXEC", "mpirun")
        self.ranks = ranks
        version = subprocess.run([self.mpiexec, "--version"], capture_output=True, text=True).stdout
        self.is_open_mpi = "Open MPI" in version or "OpenRTE" in version

    def implementations(self):
        """Those of MPI-IO that a run can choose from; the first one is the more reliable."""
        if not self.is_open_mpi:
            return ["romio"]
        components = subprocess.run(["ompi_info", "--parsable"], capture_output=True, text=True, check=True).stdout
        return sorted(set(re.findall(r"mca:io:(\w+)", components)), reverse=True)   # romio321, or of another version, and ompio

    def command(self, io, under):
        variables = [f"{name}={value}" for name, value in under.environment.items()]
        if not self.is_open_mpi:
            return [*under.prefix, self.mpiexec, "-n", str(self.ranks), *(["env", *variables] if variables else [])]
        exported = [word for variable in variables for word in ("-x", variable)]
        return [*under.prefix, self.mpiexec, "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1",
                "--mca", "io", io, *exported, "-n", str(self.ranks)]

    def run(self, command, io, under, seconds, options=()):
        environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        process = subprocess.Popen([*self.command(io, under), *options, *map(str, command)], env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                   start_new_session=True)
        try:
            out, err = process.communicate(timeout=seconds)
            return Result(process.returncode, out, err)
        except subprocess.TimeoutExpired:
            pools = pools_of([str(word) for word in command])
            # mpirun ends its ranks when it is asked to; they are of groups of their own.
            os.killpg(process.pid, signal.SIGTERM)
            try:
                out, err = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
            # The library leaves them for `glean recover`; of a program that hangs the output is of no use.
            for pool in pools:
                pool.unlink(missing_ok=True)
            return Result(None, out, err)
