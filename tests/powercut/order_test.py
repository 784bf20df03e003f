# SPDX-License-Identifier: BSD-3-Clause
"""No rename before every byte of the file is fsynced; an fsync of the directory after every rename."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import order
import rig

RANKS = 3
# What every good trace of the pretended runs holds, one call per line.
WRITE = '1 pwrite64(9</d/.f.part>, "x", 1, 0) = 1'
SEGMENTS = '1 pwritev(9</d/.f.part>, [{iov_base="x", iov_len=1}], 1, 0) = 1'
FSYNC = '1 fsync(9</d/.f.part>) = 0'
RENAME = '1 rename("/d/.f.part", "/d/f") = 0'
DIRECTORY = '1 fsync(8</d>) = 0'
DURABLE = '1 write(7</r>, "durable f 1\\n", 12) = 12'


def problems(*lines, **options):
    return order.check(order.read_trace(lines), "/d", **options).problems


class PretendedRuns(unittest.TestCase):
    """The check itself."""

    def rejects(self, text, *lines, **options):
        found = problems(*lines, **options)
        self.assertTrue(any(text in problem for problem in found), found)

    def test_accepts_write_fsync_rename_and_fsync_of_the_directory(self):
        for write in (WRITE, SEGMENTS):
            self.assertEqual(problems(write, FSYNC, RENAME, DIRECTORY, DURABLE, contents={"f": b"x\0\0"}), [])

    def test_rejects_a_rename_without_an_fsync(self):
        self.rejects("without an fsync", WRITE, RENAME, DIRECTORY)

    def test_rejects_an_fsync_that_failed_or_is_of_another_file(self):
        self.rejects("without an fsync", WRITE, FSYNC.replace("= 0", "= -1 EIO (Input/output error)"), RENAME)
        self.rejects("without an fsync", WRITE, FSYNC.replace(".f.", ".g."), RENAME)

    def test_rejects_a_write_after_the_fsync(self):
        self.rejects("has not ended", FSYNC, WRITE, RENAME, DIRECTORY)
        self.rejects("under its final name", WRITE, FSYNC, RENAME, DIRECTORY, WRITE.replace(".f.part", "f"))

    def test_rejects_a_write_that_another_thread_ends_while_the_fsync_runs(self):
        self.rejects("has not ended", '2 pwrite64(9</d/.f.part>, "x", 1, 0 <unfinished ...>', FSYNC,
                     "2 <... pwrite64 resumed>) = 1", RENAME, DIRECTORY)

    def test_rejects_an_fsync_that_ends_after_the_rename(self):
        self.rejects("without an fsync", WRITE, "2 fsync(9</d/.f.part> <unfinished ...>", RENAME,
                     "2 <... fsync resumed>) = 0", DIRECTORY)

    def test_rejects_a_rename_without_an_fsync_of_the_directory_after_it(self):
        self.rejects("no fsync of the directory", WRITE, FSYNC, DIRECTORY, RENAME)

    def test_rejects_durable_before_the_directory_is_safe(self):
        self.rejects("called durable", WRITE, FSYNC, RENAME, DURABLE, DIRECTORY)

    def test_rejects_a_submission_to_io_uring_after_the_fsync(self):
        enter = "1 io_uring_enter(5<anon_inode:[io_uring]>, 1, 0, 0, NULL, 8) = 1"
        self.assertEqual(problems(enter, FSYNC, RENAME, DIRECTORY, alone=True), [])
        self.rejects("io_uring", FSYNC, enter, RENAME, DIRECTORY, alone=True)

    def test_rejects_bytes_that_were_not_seen_to_be_written(self):
        self.rejects("bytes 1 to 3", WRITE, FSYNC, RENAME, DIRECTORY, contents={"f": b"x\0y"})

    def test_rejects_a_shared_mapping(self):
        self.rejects("mapping", "1 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 9</d/.f.part>, 0) = 0x7f00",
                     WRITE, FSYNC, RENAME, DIRECTORY)

    def test_rejects_a_file_opened_for_writing_under_its_final_name(self):
        self.rejects("opened for writing", WRITE, FSYNC, RENAME, DIRECTORY,
                     '1 openat(AT_FDCWD</>, "/d/f", O_WRONLY) = 3</d/f>')


class RecordedRuns(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.room = pathlib.Path(holder.name).resolve()
        self.directory = self.room / "files"
        self.directory.mkdir()

    def record(self, program, files, rounds, *options, **settings):
        trace = self.room / "trace"
        command = ["strace", "-f", "-y", "-s", "64", "-o", str(trace), "-e", "trace=" + ",".join(order.TRACED),
                   *options, *rig.mpi_command(RANKS), rig.program(program), str(self.directory), str(self.room / "report"),
                   "1", "1", str(rounds), *files]
        environment = {**os.environ, **rig.MPI_ENVIRONMENT, "GLEAN_POOL_BUDGET": "64MiB",
                       "GLEAN_DRAIN_REQUEST": "64KiB", "GLEAN_REPORT_TABLE": "false", **settings}
        subprocess.run(command, check=True, env=environment, timeout=120)
        with trace.open(errors="replace") as lines:
            return order.read_trace(lines)

    def check(self, calls, **options):
        return order.check(calls, str(self.directory), **options)

    def test_with_plain_writes_every_byte_is_seen_to_be_safe_before_its_rename(self):
        for direct_io in ("off", "auto"):
            calls = self.record("powercut_writer", ["small.nc:700", "middle.nc:30000", "large.nc:60000"], 3,
                                "-e", "inject=io_uring_setup:error=ENOSYS",
                                GLEAN_DRAIN_DIRECT_IO=direct_io, GLEAN_DRAIN_THREADS="2")
            contents = {path.name: path.read_bytes() for path in self.directory.iterdir()}
            found = self.check(calls, contents=contents)

            self.assertEqual(found.problems, [])
            self.assertEqual(found.renames, 9)
            self.assertGreater(found.bytes_written, 3 * sum(map(len, contents.values())) - 9 * 512)

    def test_with_io_uring_nothing_is_submitted_between_fsync_and_rename(self):
        calls = self.record("powercut_writer", ["large.nc:60000"], 1)
        if not any(call.name == "io_uring_setup" and (call.result or -1) >= 0 for call in calls):
            self.skipTest("the kernel or the build has no io_uring")
        found = self.check(calls, alone=True)

        self.assertEqual(found.problems, [])
        self.assertEqual(found.renames, 1)
        self.assertGreater(found.ring_submissions, 0)

    def test_a_writer_without_fsync_is_caught(self):
        found = self.check(self.record("powercut_writer_without_fsync", ["small.nc:700"], 2))

        self.assertEqual(found.renames, 2)
        self.assertEqual(sum("without an fsync" in problem for problem in found.problems), 2)


def obstacle():
    if shutil.which("strace") is None:
        return "strace is not installed"
    if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode != 0:
        return "strace cannot trace here"
    return None


if __name__ == "__main__":
    reason = obstacle()
    if reason is not None:
        print(f"skipped: {reason}")
        sys.exit(rig.SKIPPED)
    unittest.main()
