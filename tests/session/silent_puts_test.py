# SPDX-License-Identifier: BSD-3-Clause
"""A put makes no system call, so it sends no message and waits for nobody, and it allocates nothing.

    silent_puts_test.py PROGRAM DIRECTORY MPIEXEC [OPTION ...]

Runs two ranks under strace and looks at what each rank's own thread asks of the kernel between two marks.
"""
import pathlib
import shutil
import subprocess
import sys

program, directory, *mpiexec = sys.argv[1:]
if shutil.which("strace") is None:
    print("strace is not installed")
    sys.exit(77)
work = pathlib.Path(directory)
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
subprocess.run([*mpiexec, "-np", "2", "strace", "-ff", "-o", str(work / "trace"), program, str(work)], check=True)

MARK = "getppid()"
ranks = 0
for trace in sorted(work.glob("trace.*")):
    calls = trace.read_text(errors="replace").splitlines()
    marks = [i for i, call in enumerate(calls) if call.startswith(MARK)]
    if not marks:
        continue   # another thread, or another process
    ranks += 1
    assert len(marks) == 2, f"{trace}: {len(marks)} marks"
    between = calls[marks[0] + 1:marks[1]]
    assert not between, f"{trace}: 400 puts made {len(between)} system calls:\n" + "\n".join(between[:20])
assert ranks == 2, f"{ranks} ranks have left marks"
assert (work / "silent.nc").exists(), "the file was not published"
print("400 puts of each of 2 ranks made no system call and allocated nothing")
