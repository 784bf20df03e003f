#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `glean simulate` foretells of a run on this machine, beside what happens.

  forecast.py BUILD_DIR [--only plain,slow200,slow50,hosts,hosts-slow] [--step-mib N] [--repetitions N] [--duration TIME] [--check]
              [--quick] [--json FILE] [--keep DIR]

In each case `glean calibrate` measures the machine, bench_steps writes checkpoints in every mode in turns, and the report of the run in
mode `threaded`, on the file that was calibrated, says what all modes would do: `glean simulate --from`. It prints for each mode what
was measured, foretold and the ratio of the two: of `blocked`, `staged` (of mode staged only) and `durable`.

plain, slow200, slow50   8 ranks on this host, on its disk and on stores of 200 and 50 MB/s; mode staged with one stager beside them
hosts, hosts-slow        4 hosts of 2 ranks and 2 hosts of a stager each, whose links carry 400 Mbit/s; on the disk, on a store of 50 MB/s

The slow stores need tools/slowstore, the hosts tools/hosts; elsewhere they are left out, with a message. With --check it returns 1 where
two modes are foretold in the wrong order of what they block: pairs count of which one has always taken twice as long as the other, or
longer. 77: nothing could run.
"""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys

import staging

MODES = ("passthrough", "collective", "threaded", "dedicated", "staged")
CASES = {"plain": (False, None), "slow200": (False, 200), "slow50": (False, 50), "hosts": (True, None), "hosts-slow": (True, 50)}
RANKS, HOSTS, RANKS_OF_HOST, LINK = 8, 4, 2, "400mbit"
APART = 2.0      # measured values that are nearer have no order
AIM = 0.25       # of a ratio, from 1


class Place:
    """Where a case runs: the directory that it writes to, how its processes are started, its stagers."""

    def __init__(self, bench, files, hosts=None):
        self.bench, self.files, self.hosts = bench, files, hosts
        self.stagers = 2 if hosts else 1

    def launch(self):
        if not self.hosts:
            return staging.mpirun(RANKS)
        where = ",".join(f"{self.hosts}{host}:{RANKS_OF_HOST}" for host in range(HOSTS))
        variables = [word for name in ("GLEAN_STAGING_ADDRESS", "GLEAN_STAGING_KEY", "GLEAN_REPORT_FILE") for word in ("-x", name)]
        return [staging.HOSTS, "run", self.hosts, 0, *staging.mpirun(HOSTS * RANKS_OF_HOST), "--host", where, "--mca", "plm", "rsh",
                "--mca", "plm_rsh_agent", f"{staging.HOSTS} agent {self.hosts}", "--mca", "pml", "ob1", "--mca", "btl", "self,vader,tcp",
                "--mca", "btl_tcp_if_include", "10.77.0.0/24", "--mca", "oob_tcp_if_include", "10.77.0.0/24", *variables]

    def on_stager(self, index):
        return [staging.HOSTS, "run", self.hosts, HOSTS + index] if self.hosts else []


def ran(command, environment, seconds=600):
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, timeout=seconds, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(str(word) for word in command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def slow_store(bench, rate):
    mount = bench.file("slow")
    mount.mkdir()
    subprocess.run([staging.SLOWSTORE, "up", mount, str(rate), "2G"], env=os.environ | {"TMPDIR": str(bench.place)}, check=True)
    try:
        yield mount / "files"
    finally:
        subprocess.run([staging.SLOWSTORE, "down", mount], check=False)
        mount.rmdir()


@contextlib.contextmanager
def played_hosts():
    name = f"fore{os.getpid() % 10000}h"
    subprocess.run([staging.HOSTS, "up", name, str(HOSTS + 2), LINK], check=True)
    try:
        yield name
    finally:
        subprocess.run([staging.HOSTS, "down", name], check=False)


@contextlib.contextmanager
def place_of(bench, case):
    """None where this machine cannot have it."""
    over_hosts, rate = CASES[case]
    if (over_hosts and not bench.can(staging.HOSTS)) or (rate and not bench.can(staging.SLOWSTORE)):
        yield None
        return
    with contextlib.ExitStack() as stack:
        files = stack.enter_context(slow_store(bench, rate)) if rate else bench.file("files")
        files.mkdir()
        yield Place(bench, files, stack.enter_context(played_hosts()) if over_hosts else None)
        shutil.rmtree(files)


def write(place, mode, options, report):
    """What bench_steps says of one run."""
    result = place.bench.file("steps.json")
    result.unlink(missing_ok=True)
    for path in place.files.iterdir():
        path.unlink()
    os.sync()
    command = [*place.launch(), place.bench.build / "bin" / "bench_steps", "--mode", mode, "--directory", place.files, "--json", result,
               "--step-mib", options.step_mib]
    if options.quick:
        command.append("--quick")
    # ROMIO: ompio moves ten times the bytes between hosts, and is no MPI-IO in two phases as it is simulated.
    ran(command, place.bench.environment(GLEAN_REPORT_FILE=str(report), OMPI_MCA_io="^ompio"))
    return json.loads(result.read_text())


def measured(place, options, reports):
    """Of each mode what all steps of all runs have taken, in turns."""
    of = {mode: {"blocked": [], "staged": [], "durable": []} for mode in MODES}
    for repetition in range(options.repetitions):
        turn = repetition % len(MODES)
        for mode in MODES[turn:] + MODES[:turn]:
            with contextlib.ExitStack() as stack:
                if mode == "staged":
                    stack.enter_context(place.bench.stagers(place.stagers, place.files, 3 * options.step_mib, place.on_stager))
                said = write(place, mode, options, reports / f"{mode}.json")
            for quantity, each in of[mode].items():
                each += said[f"{quantity}_seconds"]
    return of


def foretold(bench, report, machine, stagers):
    """Of each mode, as `glean simulate --from` says it; staged with as many stagers as there were. No step waits for the one before."""
    said = json.loads(ran([bench.build / "bin" / "glean", "simulate", "--from", report, "--machine", machine, "--stagers", stagers,
                           "--interval", "1h", "--format", "json"], bench.environment()))
    return {mode["mode"]: mode for mode in said["modes"] if "blocked_seconds" in mode}


def rows_of(case, took, said):
    rows = []
    for mode in MODES:
        for quantity in ("blocked", "staged", "durable") if mode == "staged" else ("blocked", "durable"):
            values, forecast = took[mode][quantity], said[mode][f"{quantity}_seconds"]
            middle = statistics.median(values)
            rows.append({"case": case, "mode": mode, "quantity": quantity, "measured_seconds": middle, "least": min(values),
                         "most": max(values), "foretold_seconds": forecast, "ratio": forecast / middle,
                         "waits_for": said[mode]["waits_for"]})
    return rows


def orderings_of(rows):
    """Pairs of modes of a case of which one was always longer by APART or more; whether it is foretold as the longer one."""
    pairs = []
    for slow in rows:
        for fast in rows:
            same = all(slow[key] == fast[key] for key in ("case", "quantity"))
            if same and slow["least"] >= APART * fast["most"]:
                pairs.append({"case": slow["case"], "quantity": slow["quantity"], "slower": slow["mode"], "faster": fast["mode"],
                              "measured_ratio": slow["measured_seconds"] / fast["measured_seconds"],
                              "foretold_ratio": slow["foretold_seconds"] / fast["foretold_seconds"],
                              "right": slow["foretold_seconds"] > fast["foretold_seconds"]})
    return pairs


def run_case(bench, case, options, kept):
    with place_of(bench, case) as place:
        if place is None:
            return None
        print(f"--- forecast: {case}", file=sys.stderr, flush=True)
        machine, reports = kept / f"{case}.toml", kept / case
        reports.mkdir(parents=True, exist_ok=True)
        ran([*place.launch(), bench.build / "bin" / "glean", "calibrate", place.files, "--duration", options.duration, "--name", case,
             "--output", machine], bench.environment(GLEAN_REPORT_FILE=""))
        took = measured(place, options, reports)
        return rows_of(case, took, foretold(bench, reports / "threaded.json", machine, place.stagers))


def print_table(rows, pairs):
    print(f"{'case':12}{'mode':13}{'quantity':10}{'measured':>12}{'foretold':>12}{'ratio':>8}  waits for", file=sys.stderr)
    for row in rows:
        print(f"{row['case']:12}{row['mode']:13}{row['quantity']:10}{1000 * row['measured_seconds']:9.1f} ms"
              f"{1000 * row['foretold_seconds']:9.1f} ms{row['ratio']:8.2f}  {row['waits_for']}", file=sys.stderr)
    for pair in pairs:
        if not pair["right"]:
            print(f"wrong order: {pair}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--step-mib", type=int, default=128, help="bytes of a step, of all ranks together")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--duration", default="20s", help="of each calibration")
    parser.add_argument("--check", action="store_true", help="returns 1 where an order of what modes block is wrong")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run? The figures mean nothing")
    parser.add_argument("--json", type=pathlib.Path, help="write the result here, not to standard output")
    parser.add_argument("--keep", type=pathlib.Path, help="machine files and reports stay here")
    options = parser.parse_args()
    unknown = [case for case in options.only.split(",") if case not in CASES]
    if unknown:
        parser.error(f"--only: there is no {', '.join(unknown)}; there are {', '.join(CASES)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))   # what was mounted and started is ended
    bench = staging.Bench(options)
    load, rows = [os.getloadavg()[0]], []
    try:
        kept = (options.keep or bench.file("kept")).resolve()
        kept.mkdir(parents=True, exist_ok=True)
        for case in options.only.split(","):
            rows += run_case(bench, case, options, kept) or []
    finally:
        bench.close()
    load.append(os.getloadavg()[0])
    if not rows:
        return 77
    pairs = orderings_of(rows)
    near = sum(1 / (1 + AIM) <= row["ratio"] <= 1 + AIM for row in rows)
    result = {"benchmark": "forecast", "quick": options.quick, "repetitions": options.repetitions, "cores": os.cpu_count(),
              "load_averages": load, "step_mib": options.step_mib, "rows": rows, "within_25_percent": near, "of": len(rows),
              "orderings": pairs, "orderings_right": sum(pair["right"] for pair in pairs)}
    text = json.dumps(result, indent=1) + "\n"
    if options.json:
        options.json.write_text(text)
    else:
        print(text, end="")
    print_table(rows, pairs)
    return 1 if options.check and not all(pair["right"] for pair in pairs if pair["quantity"] == "blocked") else 0


if __name__ == "__main__":
    sys.exit(main())
