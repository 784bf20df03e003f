# SPDX-License-Identifier: BSD-3-Clause
"""Starts sedov under mpirun and collects what it leaves."""

import json
import os
import pathlib
import shutil
import subprocess
import threading

from .launch import LIMIT_SECONDS, Failed, mpirun


class Problem:
    """What is simulated, and how often it is written."""

    def __init__(self, ranks=8, blocks="6,6,6", steps=600, every=100, form="cdf5"):
        self.ranks, self.blocks, self.steps, self.every, self.form = ranks, blocks, steps, every, form

    def arguments(self):
        return ["--blocks", self.blocks, "--steps", str(self.steps), "--checkpoint-every", str(self.every),
                "--plot-every", str(self.every), "--format", self.form]


def run(sedov, problem, way, directory, extra=(), say=print, launcher="mpirun", under=()):
    """Runs one way of output into an empty `directory`, mpirun `under` another command.

    Returns the trace, and GLEAN's report or None.
    """
    directory = pathlib.Path(directory)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    trace_file, report_file = directory / "trace.json", directory / "glean_report.json"
    command, environment = mpirun(problem.ranks, launcher)
    environment["GLEAN_REPORT_FILE"] = str(report_file.resolve())
    # One checkpoint with its plot file takes about 100 MiB; touching the default of up to 1 GiB would cost seconds.
    environment.setdefault("GLEAN_POOL_BUDGET", "256MiB")
    command = [*under, *command, str(sedov), "--output", way, "--directory", str(directory), "--trace", str(trace_file),
               *problem.arguments(), *extra]

    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as process:
        timer = threading.Timer(LIMIT_SECONDS, process.kill)
        timer.start()
        try:
            for line in process.stdout:
                say(line.rstrip())
        finally:
            timer.cancel()
            status = process.wait()
    if status != 0:
        raise Failed(f"sedov --output {way} ended with status {status}: {' '.join(command)}")

    trace = json.loads(trace_file.read_text())
    report = json.loads(report_file.read_text()) if report_file.exists() else None
    return trace, report


def settle(directory):
    """Waits until the disk has the files of a run, so that the next one does not pay for it.

    Not by sync, which waits for every file system of the machine.
    """
    for path in pathlib.Path(directory).iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
