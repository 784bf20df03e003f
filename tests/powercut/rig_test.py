# SPDX-License-Identifier: BSD-3-Clause
"""What the rig is trusted for: that the forgetful disk sees what ext4 flushes, forgets the rest, and leaves nothing."""

import errno
import os
import subprocess
import sys
import unittest

import rig

SECTOR = 4096
OPTIONS = "noatime,commit=600"   # ext4 commits only when it is told to


class ForgetfulFileSystem(unittest.TestCase):
    def setUp(self):
        self.system = rig.FileSystem(self.id(), 32)
        self.addCleanup(self.system.close)
        self.system.mount(OPTIONS)

    def write(self, name, data, sync):
        descriptor = os.open(self.system.directory / name, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, data)
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lose_power(self, seed):
        status = self.system.disk.tell("cut", seed)
        self.system.unmount()
        self.system.disk.tell("on")
        self.system.mount(OPTIONS)
        return status

    def read(self, name):
        path = self.system.directory / name
        return path.read_bytes() if path.exists() else None

    def test_an_fsync_of_a_file_becomes_a_flush_of_the_disk(self):
        before = self.system.disk.tell("status")["flushes"]
        self.write("a", b"a" * SECTOR, sync=False)
        between = self.system.disk.tell("status")["flushes"]
        self.write("b", b"b" * SECTOR, sync=True)

        self.assertEqual(between, before)
        self.assertGreater(self.system.disk.tell("status")["flushes"], between)

    def test_what_was_fsynced_survives_every_cut(self):
        for seed in range(6):
            data = os.urandom(20 * SECTOR + 7)
            self.write(f"safe{seed}", data, sync=True)
            self.write(f"unsafe{seed}", data, sync=False)
            self.lose_power(seed)
            self.assertEqual(self.read(f"safe{seed}"), data)
            self.system.unmount()
            self.system.check()
            self.system.mount(OPTIONS)

    def test_what_was_written_and_not_fsynced_is_lost_whole_or_in_part(self):
        ends = set()
        for seed in range(12):
            name, data = f"unsafe{seed}", os.urandom(16 * SECTOR)
            self.write(name, b"\0" * len(data), sync=True)
            descriptor = os.open(self.system.directory / name, os.O_WRONLY)
            os.write(descriptor, data)
            # Hands the pages to the disk, and flushes nothing.
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            rig.eventually("for write-back", lambda: self.system.disk.tell("status")["unflushed"] >= 16)
            os.close(descriptor)
            status = self.lose_power(seed)
            found = self.read(name)
            kept = sum(found[i:i + SECTOR] == data[i:i + SECTOR] for i in range(0, len(data), SECTOR))
            self.assertLessEqual(16 - kept, status["lost"])
            ends.add("whole" if kept == 16 else "none" if kept == 0 else "part")
        self.assertIn("part", ends)

    def test_nothing_can_be_made_safe_between_the_cut_and_power_on(self):
        descriptor = os.open(self.system.directory / "late", os.O_WRONLY | os.O_CREAT, 0o600)
        self.system.disk.tell("cut", 1)
        with self.assertRaises(OSError) as caught:
            os.write(descriptor, b"late")
            os.fsync(descriptor)
        os.close(descriptor)

        self.assertIn(caught.exception.errno, (errno.EIO, errno.EROFS))
        self.system.unmount()
        self.system.disk.tell("on")
        self.system.mount(OPTIONS)
        self.assertIsNone(self.read("late"))


class Isolation(unittest.TestCase):
    def test_mounts_and_loop_devices_go_with_a_process_that_is_killed(self):
        name = f"held{os.getpid()}"
        environment = {key: value for key, value in os.environ.items() if key != "POWERCUT_ISOLATED"}
        holder = subprocess.Popen([sys.executable, "-B", __file__, "--hold", name], env=environment,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(holder.stdin.close)
        with holder.stdout:
            device, backing = holder.stdout.readline().split()

        def held():
            return subprocess.run(["losetup", "--noheadings", "--list", "--output", "BACK-MAJ:MIN", device],
                                  capture_output=True, text=True).stdout.strip() == backing

        self.assertTrue(held())
        holder.kill()
        holder.wait()
        rig.eventually("for the loop device of a killed process to go", lambda: not held())


def hold(name):
    held = rig.FileSystem(name, 32)
    held.mount(OPTIONS)
    (held.directory / "file").write_bytes(b"x" * 100000)   # dirty when the process is killed
    device = subprocess.run(["findmnt", "--noheadings", "--output", "SOURCE", str(held.directory)], check=True,
                            capture_output=True, text=True).stdout.strip()
    number = held.disk.image.stat().st_dev
    print(device, f"{os.major(number)}:{os.minor(number)}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    rig.isolated()
    if sys.argv[1:2] == ["--hold"]:
        hold(sys.argv[2])
        sys.exit(0)
    unittest.main(argv=sys.argv[:1])
