# SPDX-License-Identifier: BSD-3-Clause
"""glean run: the command runs as without it, its MPI-IO is captured, and if it is not, it is said why."""

import os
import shutil
import signal
import subprocess
import unittest

from command import COMMAND, CommandTest

MPIRUN = os.environ["MPIRUN"].split()
WRITER = os.environ["WRITER"]
COMPILER = os.environ["COMPILER"]
NOT_CAPTURED = "MPI-IO was not captured"

PLAIN = "int main(void) { return 5; }\n"
# As much of another MPI as a program needs that only starts it.
OTHER_MPI = """
#include <string.h>
int PMPI_Init(int* a, char*** b) { (void)a; (void)b; return 0; }
int PMPI_Init_thread(int* a, char*** b, int c, int* d) { (void)a; (void)b; *d = c; return 0; }
int PMPI_Finalize(void) { return 0; }
int PMPI_Get_library_version(char* text, int* length) {
  strcpy(text, "MPICH Version:      4.0.2\\nMPICH Release date: then\\n");
  *length = (int)strlen(text);
  return 0;
}
int MPI_Init(int* a, char*** b) { return PMPI_Init(a, b); }
int MPI_Init_thread(int* a, char*** b, int c, int* d) { return PMPI_Init_thread(a, b, c, d); }
int MPI_Finalize(void) { return PMPI_Finalize(); }
"""
OTHER_PROGRAM = "int MPI_Init(int*, char***); int MPI_Finalize(void); int main(void) { return MPI_Init(0, 0) + MPI_Finalize(); }\n"


class Run(CommandTest):
    def glean(self, *arguments, **variables):
        """With a small pool, where no file says how large it is."""
        small = {} if "--config" in arguments else {"GLEAN_POOL_BUDGET": "16MiB"}
        return super().glean(*arguments, **small | variables)

    def compile(self, name, text, *options):
        self.write(name + ".c", text)
        subprocess.run([COMPILER, "-o", self.directory / name, self.directory / (name + ".c"), *options], check=True)
        return self.directory / name

    def test_a_program_is_captured_and_says_so_in_one_line(self):
        run = self.glean("run", "--", *MPIRUN, "2", WRITER, "file")

        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stderr, r"(?m)^glean: 2 ranks, MPI-IO captured \(.*\), pool .*, .*report.*$")
        self.assertNotIn(NOT_CAPTURED, run.stderr)
        self.assertEqual((self.directory / "file").read_bytes(), b"a" * 1000 + b"b" * 1000)

    def test_the_mode_and_the_file_of_the_configuration_reach_the_program(self):
        self.write("some.toml", "mode = 'threaded'\n[pool]\nbudget = '64MiB'\n")
        run = self.glean("run", "--config", "some.toml", "--", *MPIRUN, "2", WRITER, "file")
        self.assertIn("pool 64 MiB", run.stderr)
        run = self.glean("run", "--config", "some.toml", "--mode", "passthrough", "--", *MPIRUN, "2", WRITER, "file")
        self.assertIn("MPI-IO passes through", run.stderr)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_the_helper_process_is_the_command_that_was_built_with_the_library(self):
        run = self.glean("run", "--", *MPIRUN, "2", WRITER, "file", GLEAN_DRAIN_PLACE="process")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("MPI-IO captured", run.stderr)
        self.assertEqual((self.directory / "file").read_bytes(), b"a" * 1000 + b"b" * 1000)

    def test_with_publish_in_place_a_file_has_its_name_as_soon_as_it_is_open(self):
        # The last rank writes three seconds after it has opened the file; a process looks that is not led to captured files.
        look = "(while ! test -e file; do sleep 0.05; done; touch seen) &"
        job = f"{' '.join(MPIRUN)} 2 {WRITER} file 3; touch ended; wait"
        run = self.glean("run", "--", "sh", "-c", f"env -u LD_PRELOAD sh -c '{look} wait' & {job}", GLEAN_PUBLISH="in-place")
        self.assertEqual(run.returncode, 0, run.stderr)
        seen, ended = ((self.directory / name).stat().st_mtime for name in ("seen", "ended"))
        self.assertGreater(ended - seen, 2, "it was seen while the last rank slept")
        self.assertEqual(run.stderr.count("what a kill leaves there may be half-written"), 1, run.stderr)
        self.assertEqual((self.directory / "file").read_bytes(), b"a" * 1000 + b"b" * 1000)

    def test_the_exit_code_is_that_of_the_command(self):
        self.assertEqual(self.glean("run", "--", "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(self.glean("run", "--", "sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)
        self.assertEqual(self.glean("run", "--", "./is-not-there").returncode, 127)

    def test_the_output_of_the_command_is_left_alone(self):
        run = self.glean("run", "--", "sh", "-c", "echo one; echo two >&2; cat")
        self.assertEqual(run.stdout, "one\n")
        self.assertTrue(run.stderr.startswith("two\n"), run.stderr)

    def test_arguments_stay_as_they_are(self):
        words = ["[1,2]", "", "--", "--mode", "a b", "-x"]
        run = self.glean("run", "--", "printf", "%s|", *words)
        self.assertEqual(run.stdout, "".join(word + "|" for word in words))

    def test_a_command_needs_no_dashes_before_it(self):
        self.assertEqual(self.glean("run", "printf", "%s|", "--mode", "--", "-x").stdout, "--mode|--|-x|")
        run = self.glean("run", "--chek", "--", "touch", "was-run")
        self.assertEqual((run.returncode, list(self.directory.iterdir())), (2, []))
        self.assertIn("--chek", run.stderr)

    def test_a_check_of_what_is_not_there_fails(self):
        for command in (["./is-not-there"], [*MPIRUN, "2", "./is-not-there"]):
            run = self.glean("run", "--check", "--", *command)
            self.assertEqual((run.returncode, run.stdout), (2, ""))
            self.assertIn("no program", run.stderr)

    def test_a_command_that_fails_before_is_not_said_to_be_on_other_hosts(self):
        run = self.glean("run", "--", *MPIRUN, "2", "./is-not-there")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("no process on this host has initialized MPI before the command failed", run.stderr)
        self.assertNotIn("-x LD_PRELOAD", run.stderr)

    def test_a_program_of_address_sanitizer_is_captured(self):
        program = self.compile("sanitized", PLAIN, "-fsanitize=address")
        run = self.glean("run", "--", program, ASAN_OPTIONS="detect_leaks=0")
        self.assertEqual(run.returncode, 5, run.stderr)
        self.assertIn(f"'{program}' ran with the library", run.stderr)

    def test_a_library_that_cannot_be_preloaded_is_named(self):
        place = self.directory / "my software"
        (place / "lib").mkdir(parents=True)
        (place / "bin").mkdir()
        shutil.copy(COMMAND, place / "bin/glean")
        (place / "lib/libglean_preload.so").touch()
        run = subprocess.run([place / "bin/glean", "run", "--", "touch", "was-run"], cwd=self.directory,
                             capture_output=True, text=True, check=False, timeout=100)
        self.assertEqual(run.returncode, 2)
        self.assertIn(f"'{place}/lib/libglean_preload.so' cannot be preloaded", run.stderr)
        self.assertFalse((self.directory / "was-run").exists())

    def test_what_is_preloaded_already_stays(self):
        run = self.glean("run", "--", "sh", "-c", 'echo "$LD_PRELOAD"', LD_PRELOAD="/lib/libother.so")
        self.assertRegex(run.stdout, r"libglean_preload\.so:/lib/libother\.so")

    def test_a_wrong_configuration_is_found_before_the_command_runs(self):
        run = self.glean("run", "--mode", "fast", "--", "touch", "was-run")
        self.assertEqual(run.returncode, 2)
        self.assertIn("mode", run.stderr)
        run = self.glean("run", "--", "touch", "was-run", GLEAN_POOL_BUDGE="1GiB")
        self.assertEqual(run.returncode, 2)
        self.assertIn("GLEAN_POOL_BUDGET", run.stderr)
        self.assertFalse((self.directory / "was-run").exists())
        self.assertEqual(self.glean("run").returncode, 2)

    def test_a_signal_reaches_the_command(self):
        script = "trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
        with subprocess.Popen([COMMAND, "run", "--", "sh", "-c", script],
                              cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
            self.assertEqual(run.stdout.readline(), "ready\n")
            run.send_signal(signal.SIGTERM)
            self.assertEqual(run.stdout.readline(), "caught\n")
            self.assertEqual(run.wait(60), 3)

    def test_nothing_of_the_run_is_left(self):
        self.glean("run", "--", "true", TMPDIR=str(self.directory))
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_a_statically_linked_program_is_named(self):
        program = self.compile("static", PLAIN, "-static")
        for options, code in (([], 5), (["--check"], 1)):
            run = self.glean("run", *options, "--", *MPIRUN, "1", program)
            self.assertEqual(run.returncode, code, run.stderr)
            self.assertIn(f"'{program}' is statically linked", run.stderr)
            self.assertIn("link it dynamically", run.stderr)

    def test_what_is_known_before_is_said_before(self):
        program = self.compile("shallow_water", PLAIN, "-static")   # does not only begin as a shell
        run = self.glean("run", "--", "sh", "-c", f"echo starts >&2; {WRITER} file", program)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn(f"'{program}' is statically linked", run.stderr.split("starts")[0])
        run = self.glean("run", "--", WRITER, "file", HDF5_DRIVER="subfiling", TMPDIR="/not/there")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("subfiling", run.stderr.split("MPI-IO captured")[0])

    def test_a_program_without_mpi_is_named(self):
        program = self.compile("plain", PLAIN)
        run = self.glean("run", "--", program)
        self.assertEqual(run.returncode, 5)
        self.assertIn(NOT_CAPTURED, run.stderr)
        self.assertIn(f"'{program}' ran with the library, and did not initialize MPI", run.stderr)

    def test_a_program_with_another_mpi_runs_and_is_named(self):
        self.compile("libmpich.so.12", OTHER_MPI, "-shared", "-fPIC", "-Wl,-soname,libmpich.so.12")
        program = self.compile("other", OTHER_PROGRAM, self.directory / "libmpich.so.12", f"-Wl,-rpath,{self.directory}")
        run = self.glean("run", "--", program)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("the program's MPI is MPICH", run.stderr)
        self.assertIn("build GLEAN with the MPI of the program", run.stderr)
        check = self.glean("run", "--check", "--", program)
        self.assertEqual(check.returncode, 1, check.stderr)
        self.assertIn(f"'{program}' uses MPICH", check.stderr)

    def test_a_script_that_clears_the_environment_is_named(self):
        self.write("job.sh", f"#!/bin/sh\nunset LD_PRELOAD\nexec {WRITER} file\n")
        (self.directory / "job.sh").chmod(0o755)
        run = self.glean("run", "--", "./job.sh")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("the script './job.sh' started nothing that initialized MPI", run.stderr)
        self.assertIn("LD_PRELOAD", run.stderr)

    def test_a_job_of_which_some_ranks_lack_the_library_says_so_and_ends(self):
        without = ["env", "-u", "LD_PRELOAD", WRITER, "file"]
        for first, second in (([WRITER, "file"], without), (without, [WRITER, "file"])):
            run = self.glean("run", "--", *MPIRUN, "1", *first, ":", "-n", "1", *second, GLEAN_POOL_DEADLINE="6s")
            self.assertNotEqual(run.returncode, 0)
            self.assertIn("glean: error: MPI_Init: not all ranks have come for 6 s: the library has to be in LD_PRELOAD", run.stderr)

    def test_ranks_that_others_wait_for_are_named(self):
        run = self.glean("run", "--", *MPIRUN, "2", WRITER, "file", "6")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("file': rank 0 has waited 5 s for rank 1 to come to its last collective call", run.stderr)
        self.assertEqual((self.directory / "file").read_bytes(), b"a" * 1000 + b"b" * 1000)

    def test_files_that_not_all_nodes_open_pass_through_which_is_said_once(self):
        for opening in ("alone", "last"):
            run = self.glean("run", "--", *MPIRUN, "4", WRITER, "file", opening, GLEAN_TOPOLOGY_RANKS_PER_NODE="2")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(run.stderr.count("files pass through that are not opened on all"), 1, run.stderr)
            self.assertEqual((self.directory / "file.3").read_bytes(), b"d" * 1000)

    def test_a_file_that_is_left_open_is_said_to_be_closed_only_if_it_appears(self):
        run = self.glean("run", "--", *MPIRUN, "2", WRITER, "file", "open")
        self.assertEqual(run.stderr.count("file' was not closed before MPI_Finalize: closed now"), 1, run.stderr)
        self.assertEqual((self.directory / "file").read_bytes(), b"a" * 1000 + b"b" * 1000)
        (self.directory / "full").mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", self.directory / "full"]
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            self.skipTest("this user may not mount")
        self.addCleanup(subprocess.run, ["umount", self.directory / "full"], check=True)
        self.write("full/other", "x" * 4096)
        run = self.glean("run", "--", *MPIRUN, "2", WRITER, "full/file", "open")
        self.assertIn("file' was not closed before MPI_Finalize, and does not appear", run.stderr)
        self.assertNotIn("closed now", run.stderr)
        self.assertFalse((self.directory / "full/file").exists())

    def launcher_of_other_hosts(self, before):
        """An `srun` that does `before`, and then runs the command."""
        self.write("srun", f"#!/bin/sh\n{before}\nexec \"$@\"\n")
        (self.directory / "srun").chmod(0o755)
        return ["./srun", WRITER, "file"]

    def test_what_hosts_without_this_temporary_directory_capture_is_seen(self):
        (self.directory / "tmp").mkdir()
        run = self.glean("run", "--", *self.launcher_of_other_hosts("rm -rf $TMPDIR/glean-run.*"), TMPDIR=str(self.directory / "tmp"))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("MPI-IO captured", run.stderr)
        self.assertNotIn(NOT_CAPTURED, run.stderr)
        self.assertEqual(list(self.directory.glob(".glean-run*")), [])

    def test_what_hosts_capture_that_can_leave_no_word_is_not_said_to_be_lost(self):
        run = self.glean("run", "--", *self.launcher_of_other_hosts("unset GLEAN_RUN_DIRECTORY"))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotIn(NOT_CAPTURED, run.stderr)
        self.assertIn("it could not be seen from here whether MPI-IO was captured", run.stderr)

    def test_subfiling_is_seen_in_the_environment(self):
        self.assertIn("subfiling", self.glean("run", "--check", "--", WRITER, HDF5_DRIVER="subfiling").stderr)
        self.assertIn("subfiling", self.glean("run", "--check", "--", WRITER, H5FD_SUBFILING_STRIPE_SIZE="1").stderr)

    def test_hints_that_make_pnetcdf_write_past_mpi_io_are_seen_in_the_environment(self):
        said = "nc_driver=gio: PnetCDF from 1.15 on writes past MPI-IO"
        self.assertIn(said, self.glean("run", "--check", "--", WRITER, PNETCDF_HINTS="nc_driver=gio").stderr)
        self.assertNotIn(said, self.glean("run", "--check", "--", WRITER, PNETCDF_HINTS="nc_driver=mpiio").stderr)

    def test_a_check_finds_nothing_wrong_with_a_program_of_this_mpi(self):
        check = self.glean("run", "--check", "--", *MPIRUN, "2", WRITER, "file")
        self.assertEqual((check.returncode, check.stderr), (0, ""))
        self.assertRegex(check.stdout, r"^LD_PRELOAD=/.*libglean_preload\.so\n$")
        self.assertFalse((self.directory / "file").exists())


if __name__ == "__main__":
    unittest.main()
