# SPDX-License-Identifier: BSD-3-Clause
"""What tests of `glean recover` have in common: programs that were killed (left.cpp), and mounts of their own.

There, where they may have them: an empty /dev/shm, so that a test sees only its own pools, and a small disk. They are gone
when it ends, however it ends. Elsewhere the tests name their pools, and those that need a full disk are skipped.
"""
import filecmp
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from command import COMMAND, CommandTest
from left import LEFT, MPIRUN, SHARED_MEMORY, Program, helpers_of, lives, wait_for

OWN_MOUNTS = os.environ.get("OWN_MOUNTS")   # the small disk
FILES = ["closed.nc", "open.nc"]
HOST = socket.gethostname()


class RecoverTest(CommandTest):
    @classmethod
    def setUpClass(cls):
        kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(kept.cleanup)
        cls.whole = pathlib.Path(kept.name)
        subprocess.run([*MPIRUN, "2", LEFT, cls.whole, "whole"], check=True, cwd=cls.whole, timeout=100)

    def setUp(self):
        super().setUp()
        self.data = self.directory / "data"

    def killed(self, directory=None, **variables):
        """The name of a pool that was left while its drain was at work."""
        program = Program(self, directory or self.data, **variables)
        program.wait_for("ready")
        pool = program.pool()
        program.kill()
        return pool

    def killed_undrained(self, directory=None, **variables):
        """The name of a pool in which all that was put still waits: its drain was stopped before."""
        directory = directory or self.data
        directory.mkdir(exist_ok=True)
        (directory / "hold").touch()
        program = Program(self, directory, GLEAN_DRAIN_PLACE="process", GLEAN_DRAIN_COMMAND=COMMAND, **variables)
        program.wait_for("opened")
        pool = program.pool()
        (helper,) = helpers_of(pool)
        os.kill(helper, signal.SIGSTOP)
        (directory / "hold").unlink()
        program.wait_for("ready")
        program.kill()
        os.kill(helper, signal.SIGKILL)
        wait_for(lambda: not lives(helper), "end of the helper")
        return pool

    def recover(self, *arguments, pool=None):
        """All pools that there are; the named one where others may have left some."""
        return self.glean("recover", *arguments, *([] if OWN_MOUNTS or pool is None else [pool]))

    def assert_whole(self, directory=None):
        directory = directory or self.data
        for name in FILES:
            self.assertTrue(filecmp.cmp(directory / name, self.whole / name, shallow=False), name)
        self.assertEqual(sorted(file.name for file in directory.iterdir() if ".nc" in file.name), FILES)

    def exists(self, pool):
        return (SHARED_MEMORY / pool).exists()


def enter_own_mounts():
    """Runs this program once more, in mounts of its own."""
    with tempfile.TemporaryDirectory() as disk:
        mount = 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm && mount -t tmpfs -o size=4m tmpfs "$OWN_MOUNTS"'
        environment = os.environ | {"OWN_MOUNTS": disk}
        for way in (["unshare", "--mount"], ["unshare", "--mount", "--user", "--map-root-user"]):
            if subprocess.run([*way, "sh", "-c", mount], env=environment, capture_output=True, check=False).returncode == 0:
                again = [*way, "sh", "-c", mount + ' && exec "$@"', "sh", sys.executable, "-B", *sys.argv]
                return subprocess.run(again, env=environment, check=False).returncode
    return None


def main():
    status = None if OWN_MOUNTS else enter_own_mounts()
    if status is not None:
        sys.exit(status)
    unittest.main()
