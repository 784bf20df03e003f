# SPDX-License-Identifier: BSD-3-Clause
"""A job under mpirun whose processes can be found, watched and killed."""

import array
import contextlib
import functools
import os
import pathlib
import re
import signal
import subprocess
import time
import uuid

from room import SHARED_MEMORY

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BUILD", HERE.parents[1] / "build")).resolve()
MPIEXEC = os.environ.get("MPIEXEC", "mpirun")
# No process waits so long, even on a machine that does something else.
DEADLINE = 90
MARK = "KILL_JOB"   # in the environment of all that a job starts


def program(name):
    return BUILD / "bin" / name


def eventually(what, condition, seconds=DEADLINE, pause=0.001):
    limit = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > limit:
            raise TimeoutError(f"after {seconds} s still not: {what}")
        time.sleep(pause)
    return result


@functools.cache
def mpirun_options():
    version = subprocess.run([MPIEXEC, "--version"], capture_output=True, text=True).stdout
    if "Open MPI" in version or "OpenRTE" in version:
        return ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
    return []


def mpirun(ranks):
    return [MPIEXEC, *mpirun_options(), "-n", str(ranks)]


class Process:
    """What /proc says of a process that lives; a zombie does not."""

    def __init__(self, pid):
        self.pid = pid

    def _read(self, name):
        try:
            return pathlib.Path(f"/proc/{self.pid}/{name}").read_bytes()
        except OSError:
            return b""

    def _status(self):
        """From the state on (proc(5)); empty: it is not there."""
        return self._read("stat").rpartition(b")")[2].split()

    @property
    def lives(self):
        """Its first thread may be a zombie while others still hold its files and locks."""
        status = self._status()
        return bool(status) and (status[0] not in (b"Z", b"X") or int(status[17]) > 1)

    @property
    def parent(self):
        return int((self._status() + [b"0", b"0"])[1])

    @property
    def words(self):
        return self._read("cmdline").decode(errors="replace").split("\0")[:-1]

    @property
    def number(self):
        """Of a rank, as the launcher has told it."""
        for name in (b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK=", b"PMIX_RANK="):
            for variable in self._read("environ").split(b"\0"):
                if variable.startswith(name):
                    return int(variable[len(name):])
        return self.pid   # in the order in which they were started

    @property
    def leads_its_session(self):
        return int((self._status() + [b"0"] * 4)[3]) == self.pid

    def runs(self, path):
        try:
            return os.readlink(f"/proc/{self.pid}/exe") == str(path)
        except OSError:
            return False

    def has(self, variable):
        return variable.encode() in self._read("environ").split(b"\0")

    def signal(self, number):
        """Whether it lived until now."""
        lived = self.lives
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)
        return lived

    def kill(self):
        return self.signal(signal.SIGKILL)


class Job:
    """One mpirun. `place`: "threads" or "process"."""

    def __init__(self, directory, name, ranks, arguments, place="threads", witness=None, **settings):
        self.directory = directory          # of the files that it writes
        self.files_before = self._files()
        self.ranks_count = ranks
        self.name = name
        self.place = place
        self.witness_path = witness
        self.mark = f"{MARK}={uuid.uuid4().hex}"
        self.log_path = directory.with_name(directory.name + ".log")
        place_to_run = directory.with_name(directory.name + ".run")   # where a helper leaves what it has to say
        place_to_run.mkdir()
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                       "TMPDIR": str(SHARED_MEMORY), "GLEAN_REPORT_TABLE": "false", **settings,
                       MARK: self.mark.partition("=")[2]}
        if place == "process":
            environment |= {"GLEAN_DRAIN_PLACE": "process", "GLEAN_DRAIN_COMMAND": str(program("glean"))}
        with self.log_path.open("w") as log:
            self.mpirun = subprocess.Popen([*mpirun(ranks), str(program(name)), *map(str, arguments)], env=environment,
                                           stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                           cwd=place_to_run)
        self.ranks = []
        self.pids = set()   # of ranks that ever were: pools are called by them

    @property
    def log(self):
        logs = [self.log_path, *sorted(self.directory.with_name(self.directory.name + ".run").iterdir())]
        return "".join(path.read_text(errors="replace") for path in logs)

    def processes(self):
        """All that live, however they came to be."""
        found = (Process(int(entry)) for entry in os.listdir("/proc") if entry.isdigit())
        return [process for process in found if process.has(self.mark) and process.lives]

    def wait_for_ranks(self):
        def ranks():
            if self.mpirun.poll() is not None:
                raise RuntimeError(f"mpirun ended with {self.mpirun.returncode}:\n{self.log}")
            found = [process for process in self.processes()
                     if process.runs(program(self.name)) and process.parent == self.mpirun.pid]
            return sorted(found, key=lambda rank: rank.number) if len(found) == self.ranks_count else None

        self.ranks = eventually("all ranks are there", ranks, pause=0.02)   # to look at all processes takes time, too
        self.pids |= {rank.pid for rank in self.ranks}
        self.witness_path.with_name(self.witness_path.name + ".go").touch()

    def process_of_mpirun(self):
        return Process(self.mpirun.pid)

    @contextlib.contextmanager
    def held(self):
        """Meanwhile the ranks live and do nothing."""
        for rank in self.ranks:
            rank.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for rank in self.ranks:
                rank.signal(signal.SIGCONT)

    def helper(self):
        """The process that drains; None: there is none now."""
        for process in self.processes():
            if process.runs(program("glean")) and "drain" in process.words and process.leads_its_session:
                return process
        return None

    def wait_for_helper(self):
        return eventually("a helper or the end", lambda: self.helper() or self.mpirun.poll() is not None) and self.helper()

    def wait_for_ranks_to_go(self):
        """A rank that lost another one is taken away by mpirun, or ends because mpirun has gone."""
        eventually("all ranks are gone", lambda: not any(rank.lives for rank in self.ranks), pause=0.005)
        self.mpirun.kill()   # it has nothing more to do, and needs a second for that
        self.mpirun.wait()

    def wait_for_all_to_go(self):
        eventually("all processes of the job are gone", lambda: not self.processes(), pause=0.02)

    def end(self):
        """Takes all away that is left."""
        for process in self.processes():
            process.kill()
        self.mpirun.kill()
        self.mpirun.wait()

    def pools(self):
        """Those that a rank of this job has made: /dev/shm/glean.UID.PID.TIME."""
        return sorted(path.name for path in SHARED_MEMORY.glob("glean.*.*.*") if int(path.name.split(".")[2]) in self.pids)

    def witness(self):
        return Witness.read(self.witness_path, self.ranks_count)

    def published(self):
        """Files that have got their final names so far: with inodes, so that one that is replaced counts."""
        return self._files() - self.files_before

    def begun(self):
        """Names of all files that were begun."""
        return {re.sub(r"^\.(.*)\.glean-.*$", r"\1", entry) for entry in os.listdir(self.directory)}

    def _files(self):
        with os.scandir(self.directory) as entries:
            return {(entry.name, entry.inode()) for entry in entries if not entry.name.startswith(".")}


class Witness:
    """What each rank has written down (witness.hpp)."""

    IN_SESSION, ALL_CLOSED, SESSION_CLOSED = 2, 3, 4

    def __init__(self, words):
        self.words = words   # of each rank; empty: it has not begun

    @classmethod
    def read(cls, path, ranks):
        words = []
        for rank in range(ranks):
            own = array.array("I")
            try:
                own.frombytes(path.with_name(f"{path.name}.{rank}").read_bytes())
            except FileNotFoundError:
                pass
            words.append(own)
        return cls(words)

    @property
    def phase(self):
        """That all have reached."""
        return min((own[0] if own else 0) for own in self.words)

    def steps(self, file):
        """(steps that all ranks had ended, steps that all ranks were at least ending)."""
        ended = min((own[2 + 2 * file] if own else 0) for own in self.words)
        entered = min((own[1 + 2 * file] if own else 0) for own in self.words)
        return ended, entered

    def progress_in(self, file):
        """Of each rank: (steps begun, steps ended)."""
        return [(own[1 + 2 * file], own[2 + 2 * file]) if own else (0, 0) for own in self.words]

    @property
    def progress(self):
        return sum(sum(own[2::2]) for own in self.words)
