# SPDX-License-Identifier: BSD-3-Clause
"""What docs/containers.md shows compiles, and writes containers that a program without MPI reads."""

import os
import re
import sys
import unittest

import page
from page import BUILD, SOURCE

sys.path.insert(0, str(SOURCE / "tests/cli"))
import read_container   # noqa: E402

PAGES = {name: (SOURCE / "docs" / name).read_text(encoding="utf-8") for name in ("containers.md", "fortran.md")}

IN_C = ("""#include <glean/glean.h>
#include <stdio.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  glean_session *session = NULL;
  if (glean_session_open(MPI_COMM_WORLD, NULL, 0, &session, NULL, 0) != GLEAN_OK) return 1;
  double particles[] = {1, 2, 3};
  const size_t bytes = sizeof particles;
""", """
  if (glean_session_close(session) != GLEAN_OK) return 1;
  glean_session_free(session);
  MPI_Finalize();
}
""")
IN_FORTRAN = ("""program page
use mpi_f08
use glean
use, intrinsic :: iso_fortran_env, only: int64, real64
type(glean_session) :: session
type(glean_task_file) :: mine
type(glean_container) :: all
type(glean_task_input) :: in
real(real64) :: particles(3)
integer :: rank
call MPI_Init()
call MPI_Comm_rank(MPI_COMM_WORLD, rank)
call glean_session_open(MPI_COMM_WORLD, session)
particles = [1d0, 2d0, 3d0]
""", """
if (any(particles /= [1d0, 2d0, 3d0])) error stop 'something else is read'
call glean_task_input_free(in)
call glean_container_free(all)
call glean_session_close(session)
call glean_session_free(session)
call MPI_Finalize()
end program page
""")
IN_PYTHON = ("""import glean
import numpy as np
from mpi4py import MPI
rank, particles = MPI.COMM_WORLD.rank, np.arange(3.0)
with glean.Session() as session:
""", """
    assert (back == particles).all()
""")
SERIAL = """#include <glean/glean.hpp>
#include <iostream>
int main(int, char **argv) {
  const glean::ContainerInput all = glean::open_container(argv[1]);
  for (const glean::ContainerTask &task : all.tasks()) {
    glean::TaskInput in = all.open(task.task);
    double first = -1;
    in.read(std::span(&first, 1));
    std::cout << task.task << ' ' << task.bytes << ' ' << first << '\\n';
  }
}
"""


def snippet(name, language, number=0):
    return re.findall(rf"```{language}\n(.*?)```", PAGES[name], re.S)[number]


class Page(page.PageTest):
    def test_it_does_so_in_cxx_and_a_serial_program_reads_it(self):
        said = self.job(3, self.compiled("in_cxx.cpp", snippet("containers.md", "cpp"), ["mpicxx", "-std=c++20", "-Wall"], "-lglean"))
        self.assertNotIn("something else", said)
        serial = self.compiled("serial.cpp", SERIAL, ["mpicxx", "-std=c++20", "-Wall"], "-lglean")
        self.assertEqual(self.run_command(serial, "restart.sion").splitlines(), ["0 8000 0", "1 8080 1", "2 8160 2"])

    def test_it_does_so_in_c(self):
        self.job(2, self.compiled("in_c.c", snippet("containers.md", "c").join(IN_C), ["mpicc", "-Wall"], "-lglean"))
        self.assertEqual([len(task) for task in read_container.tasks(self.directory / "restart.sion")], [24, 24])

    @unittest.skipUnless((BUILD / "lib/libglean_fortran.so").exists(), "no Fortran compiler")
    def test_it_does_so_in_fortran(self):
        shown = next(text for text in re.findall(r"```fortran\n(.*?)```", PAGES["fortran.md"], re.S) if "glean_container_create" in text)
        text = shown.replace("...\n", "").join(IN_FORTRAN)
        self.job(2, self.compiled("in_fortran.f90", text, ["mpifort", f"-I{BUILD / 'fortran'}"], "-lglean_fortran", "-lglean"))
        self.assertEqual([len(task) for task in read_container.tasks(self.directory / "restart.sion")], [24, 24])

    @unittest.skipUnless((BUILD / "python/glean/__init__.py").exists() and os.environ.get("PYTHON"), "no package")
    def test_it_does_so_in_python(self):
        before, behind = IN_PYTHON
        (self.directory / "page.py").write_text(before + re.sub("^", "    ", snippet("containers.md", "python"), flags=re.M) + behind)
        self.job(2, os.environ["PYTHON"], "-B", "page.py", PYTHONPATH=str(BUILD / "python"))
        self.assertEqual([len(task) for task in read_container.tasks(self.directory / "restart.sion")], [24, 24])


if __name__ == "__main__":
    unittest.main()
