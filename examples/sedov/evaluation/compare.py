# SPDX-License-Identifier: BSD-3-Clause
"""Holds the files of two directories against each other: bytes, values, and the rules of the format."""

import pathlib
import shutil
import subprocess

from .runs import Failed

TOOLS = ("cmp", "ncmpidiff", "ncvalidator")
# By suffix: commands that complain of two files that should be the same.
CHECKS = {
    ".nc": lambda one, two: (["cmp", one, two], ["ncmpidiff", "-q", one, two], ["ncvalidator", "-q", two]),
    ".h5": lambda one, two: (["h5diff", one, two],),
}


def check_tools():
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise Failed(f"not in PATH: {', '.join(missing)} (Debian packages: diffutils, pnetcdf-bin)")


def complaint(command):
    """None if the command is content, otherwise what it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    said = (done.stdout + done.stderr).strip().splitlines()
    return f"{command[0]} status {done.returncode}: " + " / ".join(said[:4])


def compare(expected, actual, say=print):
    """Returns one entry per file: name, bytes, and the problems found: an empty list if all is well."""
    check_tools()
    expected, actual = pathlib.Path(expected), pathlib.Path(actual)
    names = sorted({path.name for directory in (expected, actual) for path in directory.iterdir() if path.suffix in CHECKS})
    entries = []
    for name in names:
        first, second = expected / name, actual / name
        problems = [f"{path} is not there" for path in (first, second) if not path.exists()]
        if not problems:
            checks = {command[0]: complaint(command) for command in CHECKS[first.suffix](str(first), str(second))}
            problems = [f"{tool}: {text}" for tool, text in checks.items() if text]
        size = second.stat().st_size if second.exists() else 0
        entries.append({"name": name, "bytes": size, "problems": problems})
        for problem in problems:
            say(f"DIFFERENT {name}: {problem}")
    extra = [path.name for path in actual.iterdir()
             if path.suffix not in CHECKS and path.name not in ("trace.json", "glean_report.json")]
    for name in extra:
        entries.append({"name": name, "bytes": 0, "problems": [f"{actual / name} is left over"]})
        say(f"LEFT OVER {actual / name}")
    return entries
