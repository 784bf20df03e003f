# SPDX-License-Identifier: BSD-3-Clause
"""What docs/restart.md shows compiles, and restarts."""

import os
import re
import shutil
import sys
import unittest

import page
from page import BUILD, SOURCE

PAGE = (SOURCE / "docs/restart.md").read_text(encoding="utf-8")

AROUND = {
    "c": ("""#include <glean/glean.h>
#include <stdio.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  glean_session *session = NULL;
  if (glean_session_open(MPI_COMM_WORLD, NULL, 0, &session, NULL, 0) != GLEAN_OK) return 1;
""", """
  glean_input_free(chk);
  if (glean_session_close(session) != GLEAN_OK) return 1;
  glean_session_free(session);
  MPI_Finalize();
}
"""),
    "fortran": ("""program page
use mpi_f08
use glean
type(glean_session) :: session
type(glean_input) :: chk
integer :: stat
character(len=400) :: errmsg
call MPI_Init()
call glean_session_open(MPI_COMM_WORLD, session)
""", """
call glean_input_free(chk)
call glean_session_close(session)
call glean_session_free(session)
call MPI_Finalize()
end program page
"""),
    "python": ("import glean\nwith glean.Session() as session:\n", "\n"),
}


def snippet(language):
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.S)[1]


class Page(page.PageTest):
    def in_cxx(self):
        return self.compiled("in_cxx.cpp", snippet("cpp"), ["mpicxx", "-std=c++20", "-Wall"], "-lglean")

    def goes_on(self, *command, **variables):
        """What a language says before there is a file, and then."""
        self.assertIn("starts from scratch", self.job(1, *command, **variables))
        self.job(2, self.in_cxx())
        self.assertIn("goes on from chk_1.nc", self.job(1, *command, **variables))

    def test_a_program_goes_on_where_it_has_ended_on_any_number_of_ranks(self):
        program = self.in_cxx()
        self.assertIn("starts from scratch", self.job(2, program))
        self.assertIn("goes on from chk_1.nc", self.job(3, program))
        self.assertIn("goes on from chk_2.nc", self.job(1, program))
        values = (self.directory / "chk_3.nc").read_bytes()[-8:]
        self.assertEqual(values, b"\x40\x20\0\0\0\0\0\0")   # 8 = 2 * 2 * 2

    def test_it_does_so_in_c(self):
        self.goes_on(self.compiled("in_c.c", snippet("c").join(AROUND["c"]), ["mpicc", "-Wall"], "-lglean"))

    @unittest.skipUnless((BUILD / "lib/libglean_fortran.so").exists(), "no Fortran compiler")
    def test_it_does_so_in_fortran(self):
        text = snippet("fortran").join(AROUND["fortran"])
        self.goes_on(self.compiled("in_fortran.f90", text, ["mpifort", f"-I{BUILD / 'fortran'}"], "-lglean_fortran", "-lglean"))

    @unittest.skipUnless((BUILD / "python/glean/__init__.py").exists() and os.environ.get("PYTHON"), "no package")
    def test_it_does_so_in_python(self):
        before, behind = AROUND["python"]
        (self.directory / "page.py").write_text(before + re.sub("^", "    ", snippet("python"), flags=re.M) + behind)
        self.goes_on(os.environ["PYTHON"], "-B", "page.py", PYTHONPATH=str(BUILD / "python"))


if __name__ == "__main__":
    if not shutil.which("mpicxx"):
        sys.exit(77)
    unittest.main()
