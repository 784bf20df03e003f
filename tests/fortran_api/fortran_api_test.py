# SPDX-License-Identifier: BSD-3-Clause
"""The Fortran module beside C: files, what is printed, what does not compile.

Environment: MPIRUN (followed by the number of ranks), PROGRAMS (a directory with the programs), MODULES, FORTRAN (the compiler).
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAMS = pathlib.Path(os.environ["PROGRAMS"])
CDF1, CDF2, CDF5 = 0, 1, 2


def run(ranks, program, *arguments):
    command = [*os.environ["MPIRUN"].split(), str(ranks), str(PROGRAMS / program), *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


class FortranModule(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def test_files_are_those_that_c_writes(self):
        for ranks, form in ((1, CDF1), (2, CDF2), (3, CDF5)):
            with self.subTest(ranks=ranks, format=form):
                written = []
                for program in ("fortran_api_same_in_c", "fortran_api_same_in_fortran"):
                    path = self.directory / f"{program}_{ranks}.nc"
                    result = run(ranks, program, path, form)
                    self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                    written.append(path.read_bytes())
                self.assertIn(b"the same in both", written[0])
                self.assertEqual(written[0], written[1])

    def test_wrong_calls_end_nothing_and_say_why_once(self):
        result = run(2, "fortran_api_wrong_calls", self.directory)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        lines = result.stderr.splitlines()
        wanted = "glean: error: glean_output_put: the array has the shape (3), this rank's block (4)"
        self.assertEqual(lines.count(wanted), 2, result.stderr)   # once on each rank, of 100 puts
        self.assertEqual(sum("glean_output_open: cannot find '/no/such/directory/kept.nc'" in line for line in lines), 2)
        # What was asked for with `stat` is not printed.
        self.assertEqual(sum(line.startswith("glean: error: glean_") for line in lines), 2 * 4, result.stderr)

    def compile(self, statement):
        source = self.directory / "program.f90"
        source.write_text(f"""
            program p
              use glean
              implicit none
              type(glean_output) :: out
              type(glean_variable) :: v
              {statement}
            end program""")
        command = [os.environ["FORTRAN"], "-fsyntax-only", "-I", os.environ["MODULES"], str(source)]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)

    def test_kinds_that_no_file_has_do_not_compile(self):
        for kind in ("complex", "logical", "real(kind=16)", "type(glean_variable)"):
            with self.subTest(kind=kind):
                result = self.compile(f"{kind} :: values(3)\n call glean_output_put(out, v, values)")
                self.assertNotEqual(result.returncode, 0)
                self.assertIn("There is no specific subroutine for the generic", result.stdout)
        result = self.compile("real :: values(3)\n call glean_output_put(out, v, values)")
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_a_fortran_2008_program_can_use_it(self):
        source = self.directory / "old.f90"
        source.write_text("program p\n use glean\n print '(a)', glean_version()\nend program\n")
        result = subprocess.run([os.environ["FORTRAN"], "-std=f2008", "-fsyntax-only", "-I", os.environ["MODULES"], str(source)],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual((result.returncode, result.stdout), (0, ""))


if __name__ == "__main__":
    unittest.main()
