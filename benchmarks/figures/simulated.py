#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fits what is not published about the machines, on named rows of what was measured on them.

  simulated.py fit --glean build/bin/glean --machines machines --published docs/figures/published.csv

prints docs/figures/fitted.csv: each parameter with its rows, value and how near the rows come. Figures of the machine files are
rounded to three digits of it by hand; `check` says whether they still are those.

  simulated.py compare … --markdown docs/published-vs-simulated.md --csv docs/figures/simulated.csv

writes every row beside what is simulated. With `--same` it writes nothing, and fails where a file has something else.
"""

import argparse
import csv
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import simulated_rows as rows
import simulated_table

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "kB": 1e3, "MB": 1e6, "GB": 1e9, "s": 1, "ms": 1e-3, "us": 1e-6}


def value_of(text):
    number, unit = re.fullmatch(r"([\d.e+-]+)\s*([A-Za-z]+)(?:/s)?", text).groups()
    return float(number) * UNITS[unit]


class Simulator:
    """`glean simulate`, on copies of the machine files in which figures can be changed."""

    def __init__(self, glean, machines, directory):
        self.glean = glean
        self.directory = pathlib.Path(directory)
        self.texts = {path.stem: path.read_text(encoding="utf-8") for path in pathlib.Path(machines).glob("*.toml")}
        self.known = {}
        for machine in self.texts:
            self.write(machine)

    def write(self, machine):
        (self.directory / f"{machine}.toml").write_text(self.texts[machine], encoding="utf-8")

    def figure(self, machine, key):
        return value_of(re.search(rf'^{key} = "([^"]+)"', self.texts[machine], re.M)[1])

    def set(self, machine, key, value, unit):
        text = f'{key} = "{max(1, round(value))}B"' if unit == "B" else f'{key} = "{value:.9f}{unit}"'
        self.texts[machine], found = re.subn(rf'^{key} = "[^"]+"', text, self.texts[machine], flags=re.M)
        if found != 1:
            raise ValueError(f"{key} is {found} times in {machine}.toml")
        self.write(machine)

    def run(self, machine, strategy, *arguments):
        command = [self.glean, "simulate", "--machine", machine, "--strategy", strategy, "--format", "json", *map(str, arguments)]
        key = (self.texts[machine], *command)
        if key not in self.known:
            done = subprocess.run(command, env=os.environ | {"GLEAN_MACHINES": str(self.directory)}, capture_output=True, text=True,
                                  check=False)
            if done.returncode != 0:
                raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
            self.known[key] = json.loads(done.stdout)[0]["outcomes"][0]
        return self.known[key]


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def misfit(simulator, published, ids):
    return sum(math.log(rows.FITTED_ROWS[each](simulator) / float(published[each]["value"])) ** 2 for each in ids)


def fit_one(simulator, published, machine, key, unit, ids):
    """The least of the sum of squared logarithms of the ratios: a figure that is too large or too small may change nothing, so first
    a look at all of the range, then golden sections of the logarithm of the figure."""
    def at(log_value):
        simulator.set(machine, key, math.exp(log_value), unit)
        return misfit(simulator, published, ids)
    middle, golden = math.log(simulator.figure(machine, key)), (math.sqrt(5) - 1) / 2
    width = math.log(30) / 12
    best = min((middle + i * width for i in range(-12, 13)), key=at)
    low, high = best - width, best + width
    while high - low > 1e-4:
        left, right = high - golden * (high - low), low + golden * (high - low)
        if at(left) < at(right):
            high = right
        else:
            low = left
    simulator.set(machine, key, math.exp((low + high) / 2), unit)


def fit(simulator, published):
    for _ in range(3):     # rows that depend on two figures
        for parameter in rows.PARAMETERS:
            fit_one(simulator, published, *parameter)
            for machine, key, source in rows.SHARED:
                simulator.set(machine, key, simulator.figure(source, key), "s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["fit", "check", "compare"])
    parser.add_argument("--glean", required=True)
    parser.add_argument("--machines", required=True)
    parser.add_argument("--published", required=True)
    parser.add_argument("--fitted", help="check: what fit has printed")
    parser.add_argument("--markdown", help="compare: where the table for people is")
    parser.add_argument("--csv", help="compare: where the table for programs is")
    parser.add_argument("--same", action="store_true", help="compare: the files have to be that already")
    options = parser.parse_args()
    published = read(options.published)
    with tempfile.TemporaryDirectory() as directory:
        simulator = Simulator(options.glean, options.machines, directory)
        if options.what == "check":
            return check(simulator, options.fitted)
        if options.what == "compare":
            lines = simulated_table.table(simulator, published)
            return write({options.markdown: simulated_table.to_markdown(lines), options.csv: simulated_table.to_csv(lines)}, options.same)
        fit(simulator, published)
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(["machine", "parameter", "value", "unit", "fitted_on", "simulated", "published"])
        for machine, key, unit, ids in rows.PARAMETERS:
            writer.writerow([machine, key, f"{simulator.figure(machine, key):.3g}", unit, " ".join(ids),
                             " ".join(f"{rows.FITTED_ROWS[each](simulator):.3g}" for each in ids),
                             " ".join(published[each]["value"] for each in ids)])
    return 0


def write(texts, same):
    wrong = 0
    for path, text in texts.items():
        if same:
            wrong += pathlib.Path(path).read_text(encoding="utf-8") != text
        else:
            pathlib.Path(path).write_text(text, encoding="utf-8")
    if wrong:
        print("not up to date; make figures writes it")
    return 1 if wrong else 0


def check(simulator, fitted):
    wrong = []
    with open(fitted, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            has, was = simulator.figure(row["machine"], row["parameter"]), float(row["value"])
            if abs(has / was - 1) > 0.005:
                wrong.append(f"{row['machine']}.toml: {row['parameter']} is {has:.3g} {row['unit']}, and was fitted as {was:.3g}")
    for machine, key, source in rows.SHARED:
        if simulator.figure(machine, key) != simulator.figure(source, key):
            wrong.append(f"{machine}.toml: {key} is not that of {source}.toml")
    print("\n".join(wrong) or "the machine files have the figures that were fitted")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
