# SPDX-License-Identifier: BSD-3-Clause
"""The corpus makes every MPI_File call that mpi.h declares, in C and in Fortran.

  calls_test.py INCLUDE_DIRECTORY…
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
# Not of Fortran: handles are integers there; error handlers are the same entry points for all languages.
C_ONLY = {"c2f", "f2c", "create_errhandler", "set_errhandler", "get_errhandler", "call_errhandler", "iread_all", "iwrite_all",
          "iread_at_all", "iwrite_at_all"}
MPI_5 = {"fromint", "toint"}   # f2c and c2f of its binary interface


def calls_in(text):
    return {name.lower() for name in re.findall(r"\bMPI_File_(\w+)\s*\(", text, re.IGNORECASE)}


declared = set()
for directory in map(pathlib.Path, sys.argv[1:]):
    for header in directory.glob("mpi*.h"):
        declared |= calls_in(header.read_text(errors="replace"))
declared = {name for name in declared if not name.startswith("errhandler")} - MPI_5
in_c = set().union(*(calls_in(path.read_text()) for path in HERE.glob("corpus/*.[ch]")))
in_fortran = calls_in((HERE / "programs" / "fortran.F90").read_text())
# Fortran has large counts as another kind of integer, not as other names.
of_fortran = {name for name in declared - C_ONLY if not name.endswith("_c")}
missing = [f"{name} in C" for name in sorted(declared - in_c)] + [f"{name} in Fortran" for name in sorted(of_fortran - in_fortran)]
print(f"{len(declared)} calls; not made: {', '.join(missing) or 'none'}")
sys.exit(1 if missing or len(declared) < 50 else 0)
