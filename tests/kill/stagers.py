# SPDX-License-Identifier: BSD-3-Clause
"""The stagers of one job, which are no part of it: processes of this host that may write below the job's directory."""

import json
import os
import signal
import subprocess

from job import DEADLINE, MARK, Process, eventually, program

GRACE = "2s"   # for jobs that run when a stager is told to end


class Stagers:
    def __init__(self, count, directory, job_memory, restart="0", spill_directory=None):
        """`restart`: for how long the job waits for a stager that was killed. `spill_directory`: none: they do not spill."""
        self.count = count
        beside = [directory.with_name(f"{directory.name}.{each}") for each in ("stage.json", "key", "stagers")]
        self.address_file, key, self.log_path = beside
        key.touch(mode=0o600)
        key.write_text(os.urandom(32).hex() + "\n")
        self.command = [str(program("glean")), "stage", "--listen", "127.0.0.1:0", "--directory", str(directory), "--grace", GRACE,
                        "--address-file", str(self.address_file), "--key", str(key), "--memory", "256MiB", "--job-memory", job_memory]
        self.command += ["--spill", str(spill_directory), "--spill-budget", "64MiB"] if spill_directory else []
        self.settings = {"GLEAN_MODE": "staged", "GLEAN_STAGING_ADDRESS": str(self.address_file), "GLEAN_STAGING_KEY": str(key),
                         "GLEAN_STAGING_RESTART": restart}
        # As under a launcher: they share the address file.
        self.environment = {**os.environ, "OMPI_COMM_WORLD_SIZE": str(count), MARK: "stagers"}
        self.log_path.write_text("")
        self.started = [self._start() for _ in range(count)]
        self.were_started = set(self.pids)
        eventually("all stagers are there", self._are_there)

    def _start(self):
        with self.log_path.open("a") as log:
            return subprocess.Popen(self.command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                    cwd=self.log_path.parent, start_new_session=True)

    def start_again(self, killed):
        """Those of these processes, which may not be gone for good yet."""
        self.started = [self._start() if stager.pid in killed else stager for stager in self.started]
        self.were_started |= self.pids

    def _are_there(self):
        if any(stager.poll() is not None for stager in self.started):
            raise RuntimeError(f"the stagers do not start:\n{self.log}")
        try:
            return len(json.loads(self.address_file.read_text())["stagers"]) == self.count
        except (OSError, ValueError, KeyError):
            return False

    @property
    def log(self):
        return self.log_path.read_text(errors="replace")

    @property
    def pids(self):
        return {stager.pid for stager in self.started}

    @property
    def processes(self):
        return [Process(stager.pid) for stager in self.started]

    def end(self):
        """As a user tells them to. The exit codes of those that were not killed; a stager that does not end is a TimeoutExpired."""
        left = [stager for stager in self.started if stager.poll() != -signal.SIGKILL]
        for stager in left:
            stager.send_signal(signal.SIGTERM)
        return [stager.wait(timeout=DEADLINE) for stager in left]

    def kill(self):
        for stager in self.started:
            stager.kill()
            stager.wait()
