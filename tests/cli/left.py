# SPDX-License-Identifier: BSD-3-Clause
"""left.cpp under mpirun, for tests that kill it: its ranks, its pool and the helper that drains that."""
import os
import pathlib
import shlex
import signal
import subprocess
import time

LEFT, MPIRUN = os.environ["LEFT"], shlex.split(os.environ["MPIRUN"])
SHARED_MEMORY = pathlib.Path("/dev/shm")


def wait_for(condition, what, seconds=60, pause=0.01):
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            raise AssertionError(f"no {what} after {seconds} s")
        time.sleep(pause)


def lives(process):
    """Its first thread may be a zombie while others still hold its files and locks."""
    try:
        status = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()   # from the state on (proc(5))
        return status[0] not in ("Z", "X") or int(status[17]) > 1
    except (FileNotFoundError, ProcessLookupError):
        return False


def helpers_of(pool):
    found = []
    for command in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if command.read_bytes().split(b"\0")[1:3] == [b"drain", f"/{pool}".encode()]:
                found.append(int(command.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


class Program:
    """left.cpp on two ranks."""

    def __init__(self, test, directory, what="killed", **variables):
        self.directory, self.processes = directory, []
        directory.mkdir(exist_ok=True)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")}
        environment |= {"GLEAN_POOL_BUDGET": "16MiB"} | variables
        self.process = subprocess.Popen([*MPIRUN, "2", LEFT, directory, what], cwd=test.directory, env=environment,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        test.addCleanup(self.end)

    def wait_for(self, mark):
        wait_for(lambda: (self.directory / mark).exists() or self.process.poll() is not None, mark)
        if not (self.directory / mark).exists():
            raise AssertionError(self.process.stderr.read())
        self.processes = self.ranks()

    def ranks(self):
        return [int((self.directory / f"rank.{rank}").read_text()) for rank in range(2)]

    def pool(self):
        (pool,) = self.pools()
        return pool

    def pools(self):
        """Of all nodes, in their order; an aggregator's process is in the name."""
        return [pool.name for rank in self.processes for pool in SHARED_MEMORY.glob(f"glean.{os.getuid()}.{rank}.*")]

    def kill(self):
        """All ranks at once; the launcher may end before they have."""
        for rank in self.ranks():
            try:
                os.kill(rank, signal.SIGKILL)
            except ProcessLookupError:
                pass   # the launcher was quicker
        self.process.wait(60)
        wait_for(lambda: not any(map(lives, self.ranks())), "end of the ranks")

    def end(self):
        pools = [SHARED_MEMORY / pool for pool in self.pools()]
        for pool in pools:
            for helper in helpers_of(pool.name):   # first, or it would write a message into a directory that goes
                os.kill(helper, signal.SIGKILL)
                wait_for(lambda helper=helper: not lives(helper), "end of the helper")
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)
        self.process.stderr.close()
        for pool in pools:
            pool.unlink(missing_ok=True)
