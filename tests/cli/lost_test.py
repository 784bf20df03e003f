# SPDX-License-Identifier: BSD-3-Clause
"""What becomes of the files of a program that knows nothing of GLEAN (lost_writer.c) when its nodes cannot talk to each other."""
import contextlib
import ctypes
import os
import pathlib
import re
import socket
import subprocess
import unittest

from command import CommandTest
from left import MPIRUN, SHARED_MEMORY, wait_for
from recovering import OWN_MOUNTS, main

RANKS, RANKS_PER_NODE = 6, 2
NODES = RANKS // RANKS_PER_NODE
CONTENT = "".join(chr(ord("a") + rank) * 1000 for rank in range(RANKS))
# Where one rank's library, not its MPI, calls listen.
NO_LISTENING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
int listen(int descriptor, int backlog) {
  Dl_info caller;
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (dladdr(__builtin_return_address(0), &caller) && strstr(caller.dli_fname, "libglean") && rank && strcmp(rank, "2") == 0) {
    errno = ENETDOWN;
    return -1;
  }
  return ((int (*)(int, int))dlsym(RTLD_NEXT, "listen"))(descriptor, backlog);
}
"""


LISTENS, IS_CONNECTED = "0A", "01"   # states in /proc/net/tcp


def sockets_of(process, wanted):
    """(own port, the other side's) → descriptor, of the TCP sockets of a process in that state."""
    sockets = {}
    for descriptor in pathlib.Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):   # closed meanwhile
            if found := re.fullmatch(r"socket:\[(\d+)\]", os.readlink(descriptor)):
                sockets[found[1]] = int(descriptor.name)
    found = {}
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            _, here, there, state, *rest = line.split()
            if state == wanted and rest[5] in sockets:
                found[here.rpartition(":")[2], there.rpartition(":")[2]] = sockets[rest[5]]
    return found


def shut_down(process, descriptor):
    pidfd_getfd = 438
    handle = os.pidfd_open(process)
    copy = ctypes.CDLL(None, use_errno=True).syscall(pidfd_getfd, handle, descriptor, 0)
    os.close(handle)
    if copy < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    with socket.socket(fileno=copy) as connection:
        connection.shutdown(socket.SHUT_RDWR)


def cut_a_connection_between(processes, is_for_good=False):
    """As if the network had: both ends notice. For good: the side that was connected to cannot be, either, any more."""
    of_each = {process: sockets_of(process, IS_CONNECTED) for process in processes}
    all_ends = {ends for connections in of_each.values() for ends in connections}
    process, ends = next((process, ends) for process, connections in of_each.items() for ends in connections if ends[::-1] in all_ends)
    for each in processes if is_for_good else ():
        for (port, _), descriptor in sockets_of(each, LISTENS).items():
            if port in ends:
                shut_down(each, descriptor)
    shut_down(process, of_each[process][ends])


@unittest.skipUnless(OWN_MOUNTS, "this user may not mount")
class LostNodes(CommandTest):
    def setUp(self):
        super().setUp()
        self.data = self.directory / "data"
        self.data.mkdir()

    def start(self, *libraries, **settings):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")}
        environment |= {"LD_PRELOAD": ":".join([*libraries, os.environ["LIBRARY"]]), "GLEAN_POOL_BUDGET": "16MiB",
                        "GLEAN_TOPOLOGY_RANKS_PER_NODE": str(RANKS_PER_NODE), **settings}
        program = subprocess.Popen([*MPIRUN, str(RANKS), os.environ["LOST_WRITER"], self.data], env=environment, cwd=self.directory,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(program.kill)
        return program

    def processes(self):
        files = [self.data / f"rank.{rank}" for rank in range(RANKS)]
        wait_for(lambda: all(file.exists() and file.read_text().endswith("\n") for file in files), "ranks that wait")
        return [int(file.read_text()) for file in files]

    def pools(self):
        return list(SHARED_MEMORY.glob("glean.*"))

    def test_the_files_are_there_when_a_connection_was_cut(self):
        (self.data / "hold").touch()
        program = self.start()
        cut_a_connection_between(self.processes())
        (self.data / "hold").unlink()
        text, errors = program.communicate(timeout=100)

        self.assertEqual(program.returncode, 0, errors)
        self.assertNotIn("cannot read", text)
        for name in ("first", "second"):
            self.assertEqual((self.data / name).read_text(), CONTENT)
        self.assertEqual(self.pools(), [])

    def test_what_was_captured_is_completed_by_recovery_when_nodes_are_lost(self):
        (self.data / "hold").touch()
        program = self.start(GLEAN_POOL_DEADLINE="6s")
        cut_a_connection_between(self.processes(), is_for_good=True)
        (self.data / "hold").unlink()
        text, errors = program.communicate(timeout=100)

        self.assertEqual(program.returncode, 0, errors)   # what it makes of errors is the program's own
        self.assertIn("is lost", errors)
        self.assertIn("glean recover", errors)
        self.assertEqual(len(re.findall(r"rank \d cannot read: MPI_ERR_IO", text)), RANKS, text)
        self.assertFalse((self.data / "first").exists())
        self.assertEqual((self.data / "second").read_text(), CONTENT)
        self.assertEqual(len(self.pools()), NODES)

        run = self.glean("recover")
        self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)
        self.assertEqual((self.data / "first").read_text(), CONTENT)
        self.assertEqual(self.pools(), [])

    def test_files_pass_through_when_a_node_cannot_be_reached_at_the_start(self):
        self.write("no_listening.c", NO_LISTENING)
        library = self.directory / "no_listening.so"
        subprocess.run([os.environ["COMPILER"], "-shared", "-fPIC", "-o", library, self.directory / "no_listening.c", "-ldl"], check=True)
        program = self.start(str(library))
        _, errors = program.communicate(timeout=100)

        self.assertEqual(program.returncode, 0, errors)
        self.assertRegex(errors, "(?s)etwork is down.*MPI-IO passes through")
        for name in ("first", "second"):
            self.assertEqual((self.data / name).read_text(), CONTENT)
        self.assertEqual(self.pools(), [])


if __name__ == "__main__":
    main()
