# SPDX-License-Identifier: BSD-3-Clause
"""A room where nothing is but what the harness starts: its own processes and its own /dev/shm.

When the process that made it ends, however it ends, the kernel takes all processes and pools away. Where namespaces are
not allowed, the harness goes without and keeps to the processes and pools that it has started.
"""

import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import sys

SHARED_MEMORY = pathlib.Path("/dev/shm")
IS_OWN = "KILL_ROOM"


def namespaces():
    """The command before a command that gives it namespaces of its own; empty: they are not allowed here."""
    for user in ((), ("--user", "--map-root-user")):
        command = ["unshare", *user, "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
                   "--mount-proc"]
        trial = [*command, "mount", "-t", "tmpfs", "kill", str(SHARED_MEMORY)]
        if shutil.which("unshare") and subprocess.run(trial, capture_output=True).returncode == 0:
            return command
    return []


def start(arguments):
    """Starts this script with other arguments in a room of its own; they talk line by line."""
    command = namespaces()
    return subprocess.Popen([*command, sys.executable, "-B", sys.argv[0], *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True,
                            env={**os.environ, IS_OWN: "1" if command else "0"}, preexec_fn=_die_with_parent)


def enter():
    """At the beginning of what `start` has started."""
    if is_own():
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "kill", str(SHARED_MEMORY)], check=True)


def is_own():
    return os.environ.get(IS_OWN) == "1"


def _die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)   # PR_SET_PDEATHSIG
