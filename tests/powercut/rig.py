# SPDX-License-Identifier: BSD-3-Clause
"""A file system whose power can be cut: ext4 on a loop device on the one file of forgetful_disk.

Everything lives in namespaces of its own (mounts, processes, /dev/shm): when the process that called `isolated` ends,
however it ends, the kernel takes mounts, processes and loop devices away.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BUILD", HERE.parents[1] / "build")).resolve()
ROOM = pathlib.Path("/dev/shm")   # private: nothing outside sees what is in it
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def program(name):
    return str(BUILD / "bin" / name)


def obstacle():
    """Why this machine cannot do it; None: it can."""
    if os.geteuid() != 0:
        return "mounting needs root"
    for device in ("/dev/fuse", "/dev/loop-control"):
        if not os.access(device, os.R_OK | os.W_OK):
            return f"{device} is missing or cannot be used"
    for tool in ("unshare", "losetup", "mount", "umount", "mkfs.ext4", "e2fsck", "ncvalidator"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    if not pathlib.Path(program("forgetful_disk")).exists():
        return f"{program('forgetful_disk')} is not built (it needs libfuse3-dev)"
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True).returncode != 0:
        return "no namespaces of one's own are allowed here"
    if subprocess.run(["losetup", "-f"], capture_output=True).returncode != 0:
        return "there is no free loop device"
    return None


def die_with_parent():
    """The kernel's part of it: holds even when this process gets no chance to clean up."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)   # PR_SET_PDEATHSIG


def isolated():
    """Returns in a process of its own namespaces; the caller only waits for it. Skips where that cannot work."""
    if os.environ.get("POWERCUT_ISOLATED") == "1":
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "powercut", str(ROOM)], check=True)
        os.environ["TMPDIR"] = str(ROOM)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        return
    reason = obstacle()
    if reason is not None:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    child = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc",
         sys.executable, "-B", *sys.argv],
        env={**os.environ, "POWERCUT_ISOLATED": "1"}, preexec_fn=die_with_parent, start_new_session=True)

    received = []

    def stop(number, _frame):
        received.append(number)
        child.kill()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    status = child.wait()
    sys.exit(128 + received[0] if received else status)


def eventually(what, condition, seconds=30):
    limit = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > limit:
            raise TimeoutError(f"waited {seconds} s: {what}")
        time.sleep(0.01)
    return result


class ForgetfulDisk:
    def __init__(self, name, megabytes):
        self.directory = ROOM / name
        self.directory.mkdir()
        self.image = self.directory / "image"
        self.process = subprocess.Popen([program("forgetful_disk"), str(self.directory), str(megabytes << 20)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.tell("status")
        eventually("for forgetful_disk to be mounted", self.image.exists)

    def tell(self, *command):
        self.process.stdin.write(" ".join(map(str, command)) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"forgetful_disk has ended with {self.process.wait()}")
        return json.loads(line)

    @contextlib.contextmanager
    def loop(self):
        """The disk as a block device."""
        device = subprocess.run(
            ["losetup", "--find", "--show", "--sector-size", "4096", str(self.image)],
            check=True, capture_output=True, text=True).stdout.strip()
        try:
            yield device
        finally:
            # When it is in use, as soon as it is not any more.
            subprocess.run(["losetup", "--detach", device], check=True, capture_output=True)

    def close(self):
        subprocess.run(["umount", str(self.directory)], check=True)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class FileSystem:
    """ext4 on a forgetful disk. Errors of its own code: RuntimeError, CalledProcessError."""

    def __init__(self, name="disk", megabytes=96):
        self.disk = ForgetfulDisk(name, megabytes)
        self.directory = ROOM / f"{name}.mounted"
        self.directory.mkdir()
        subprocess.run(["mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "nodiscard,lazy_itable_init=0",
                        str(self.disk.image)], check=True)

    def mount(self, options):
        with self.disk.loop() as device:
            subprocess.run(["mount", "-t", "ext4", "-o", options, device, str(self.directory)], check=True)

    def unmount(self):
        def done():
            return subprocess.run(["umount", str(self.directory)], capture_output=True).returncode == 0

        eventually(f"to unmount {self.directory}", done)
        # Only when the loop device has gone nothing can reach the disk any more.
        eventually("for the loop device to go", lambda: not self._loops())

    def _loops(self):
        return subprocess.run(["losetup", "--list", "--noheadings", "--output", "NAME", "--associated",
                               str(self.disk.image)], check=True, capture_output=True, text=True).stdout.strip()

    def check(self):
        """Whether ext4 itself is consistent. Of the unmounted file system; raises if it is not."""
        run = subprocess.run(["e2fsck", "-f", "-n", str(self.disk.image)], capture_output=True, text=True)
        if run.returncode != 0:
            raise RuntimeError(f"e2fsck: {run.stdout}{run.stderr}")

    def close(self):
        if os.path.ismount(self.directory):
            self.unmount()
        self.disk.close()


def mpi_command(ranks):
    mpiexec = os.environ.get("MPIEXEC", "mpirun")
    version = subprocess.run([mpiexec, "--version"], capture_output=True, text=True).stdout
    open_mpi = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
    return [mpiexec, *(open_mpi if "Open MPI" in version or "OpenRTE" in version else []), "-n", str(ranks)]
