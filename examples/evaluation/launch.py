# SPDX-License-Identifier: BSD-3-Clause
"""Starts an example under mpirun and collects what it leaves."""

import json
import os
import pathlib
import shutil
import subprocess

LIMIT_SECONDS = 280


class Failed(Exception):
    """A run that ended with an error; the text is what it said."""


def mpirun(ranks, launcher="mpirun"):
    """The command that starts `ranks` processes, on fewer cores and as root too, and its environment."""
    environment = dict(os.environ)
    try:
        version = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        raise Failed(f"there is no {launcher} in PATH") from None
    options = []
    if "Open MPI" in version or "OpenRTE" in version:
        options = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return [launcher, *options, "-n", str(ranks)], environment


def run(program, ranks, arguments, directory, launcher="mpirun"):
    """Runs it into an empty `directory`; returns what it has measured, and under `report` what GLEAN has, if it has written."""
    directory = pathlib.Path(directory)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    command, environment = mpirun(ranks, launcher)
    measured, report = directory / "run.json", directory / "glean_report.json"
    environment["GLEAN_REPORT_FILE"] = str(report.resolve())
    # Outputs of these examples have some 20 MB: touching the default of up to 1 GiB would only cost time.
    environment.setdefault("GLEAN_POOL_BUDGET", "256MiB")
    done = subprocess.run([*command, str(program), "--directory", str(directory), "--json", str(measured), *arguments], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_SECONDS, check=False)
    if done.returncode != 0:
        raise Failed(f"{pathlib.Path(program).name} {' '.join(arguments)} on {ranks} ranks ended with status {done.returncode}:\n"
                     f"{done.stdout}")
    found = json.loads(measured.read_text(encoding="utf-8"))
    return found | ({"report": json.loads(report.read_text(encoding="utf-8"))} if report.exists() else {})
