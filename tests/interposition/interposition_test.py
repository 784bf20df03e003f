#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A program that looks for a file that drains finds it finished; none waits for what is not closed, or for another file.

interposition_test.py PUBLISHER LOOKER LIBRARY"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PUBLISHER, LOOKER, LIBRARY = sys.argv[1:]


def run(directory, when, *command):
    """The command's exit code, with {} in it replaced by the path; afterwards nothing is left."""
    path = os.path.join(os.path.realpath(directory), "a file.nc")
    done = subprocess.run([PUBLISHER, LIBRARY, path, when, *[part.replace("{}", path) for part in command]],
                          capture_output=True, text=True, timeout=60, check=False, cwd=directory)
    for left in pathlib.Path(directory).glob("a file.nc*"):
        left.unlink()
    return done.returncode, done.stdout + done.stderr


def expect(found, *arguments):
    code, said = run(*arguments)
    assert (code == 0) == found, f"{arguments}: {code}, {said}"


def main():
    calls = re.findall(r'^  CALL\("(\w+)"', pathlib.Path(__file__).with_name("looker.c").read_text(encoding="utf-8"), re.M)
    assert len(calls) > 30
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as elsewhere:
        for call in calls:
            expect(True, directory, "closed", LOOKER, call, "{}")
        for call in ("open", "stat", "opendir"):
            expect(True, directory, "alone", LOOKER, call, "{}")
            expect(False, directory, "open", LOOKER, call, "{}")
            expect(False, directory, "absent", LOOKER, call, "{}")

        # What says that the file is complete does not say so earlier, and not at all where it cannot be completed.
        expect(False, directory, "open", LOOKER, "marker_open", "{}")
        expect(False, directory, "closed", LOOKER, "configured", "{}")
        for patterns in ("*.flag", "DONE,*/a?file.nc.fl[a-z]g"):
            expect(True, directory, "closed", "sh", "-c", 'GLEAN_RUN_POOL="$GLEAN_RUN_POOL $0" exec "$@"', patterns, LOOKER, "configured",
                   "{}")
        for call in ("marker_open", "marker_of_stem", "marker_rename", "marker_symlink"):
            code, said = run(directory, "failed", LOOKER, call, "{}")
            assert code == 1 and "could not be completed" in said, f"{call}: {code}, {said}"

        # By other names.
        os.symlink(directory, os.path.join(elsewhere, "link"))
        os.symlink(os.path.join(directory, "a file.nc"), os.path.join(elsewhere, "to the file"))
        for name in ("a file.nc", "./a file.nc", f"../{os.path.basename(directory)}//a file.nc", f"{elsewhere}/link/a file.nc",
                     f"{elsewhere}/to the file"):
            expect(True, directory, "closed", LOOKER, "open", name)
        expect(False, directory, "closed", LOOKER, "open", f"{elsewhere}/link/another")

        # What users run.
        expect(True, directory, "closed", "sh", "-c", "test -s 'a file.nc' && cat *.nc | grep -q 'all of it'")
        expect(True, directory, "closed", "cp", "{}", f"{elsewhere}/copy")
        expect(True, directory, "closed", "sh", "-c", "test -n \"$(find . -name 'a file.nc')\"")
        expect(True, directory, "closed", "sh", "-c", f"test -n \"$(find ../'{os.path.basename(directory)}'/ -name 'a file.nc')\"")
        expect(True, directory, "closed", sys.executable, "-c",
               "import os, sys; p = sys.argv[1]; assert os.path.getsize(p) == 10; os.replace(p, p + '.old')", "{}")
        expect(True, directory, "closed", sys.executable, "-c", "import os; assert 'a file.nc' in os.listdir('.')")
    print(f"{len(calls)} calls")


main()
