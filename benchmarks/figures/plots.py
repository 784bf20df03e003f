#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The papers' figures, simulated, with what the papers say of them in numbers.

  plots.py --glean build/bin/glean --machines machines --published docs/figures/published.csv --directory docs/figures/plots [--same]
           [--cost]

writes a picture for each panel and plots.md, which shows all; with --same it writes nothing and fails where a file has something else.
--cost also draws what simulations cost here, which is another number each time and not compared.
"""

import argparse
import concurrent.futures
import pathlib
import subprocess
import sys
import tempfile
import time

import drawing
import panels
import simulated

HEAD = """# The papers' figures, simulated

Made by `make figures` with `benchmarks/figures/plots.py`; not to be edited. Lines are simulated, circles are published: only
what a paper says in a number, in its text or in a table, is one. A stroke at a circle says "more than" or "less than" this. How
near they are is in [published-vs-simulated.md](../../published-vs-simulated.md), row by row, which also says what was fitted.
"""

COST = """
## What simulations cost

![Seconds of a simulation by its ranks](cost.svg)

Whole runs of `glean simulate`, measured where `make figures` ran last: other numbers each time. A test holds 131,072 ranks to 10 s and
4 GiB, and 1,048,576 that are staged to 60 s.
"""


def simulated_lines(panel, simulator):
    return {name: [(x, value(simulator, x)) for x in xs] for name, xs, value in panel.lines}


def pictures_of(simulator, published):
    """By file name; the simulations run two at a time."""
    texts, markdown, paper = {}, HEAD, None
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        made = list(panels.all_panels(published))
        for panel, lines in zip(made, pool.map(lambda panel: simulated_lines(panel, simulator), made)):
            texts[f"{panel.name}.svg"] = drawing.picture(panel, lines)
            if panel.paper != paper:
                paper = panel.paper
                markdown += f"\n## {paper}\n"
            markdown += f"\n![{panel.title}]({panel.name}.svg)\n"
            if panel.note:
                markdown += f"\n{panel.note}\n"
    return texts | {"plots.md": markdown + COST}


def cost_picture(simulator):
    lines = {}
    simulator.known.clear()   # what has been simulated before costs nothing
    ranks = [1 << power for power in range(10, 21, 2)] + [131072]
    for strategy in panels.strategies(simulator.glean):
        lines[strategy] = []
        for each in sorted(ranks):
            if each > 131072 and strategy != "glean-staged":
                continue
            machine, more = ("intrepid", ()) if each <= 131072 else ("mira", ("--ranks-per-node", 64))
            stagers = ("--stagers", 1024) if machine == "mira" else ()
            begin = time.monotonic()
            try:
                simulator.run(machine, strategy, "--ranks", each, "--pattern", "flash-checkpoint", *more, *stagers)
            except RuntimeError:   # a strategy that this machine cannot have
                continue
            lines[strategy].append((each, time.monotonic() - begin))
    lines = {name: line for name, line in lines.items() if line}
    panel = panels.Panel("cost", "", "Seconds of a simulation by its ranks: Intrepid, and Mira's nodes with 64 ranks", "ranks", "seconds",
                         [], [])
    return drawing.picture(panel, lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--glean", required=True)
    parser.add_argument("--machines", required=True)
    parser.add_argument("--published", required=True)
    parser.add_argument("--directory", required=True, type=pathlib.Path)
    parser.add_argument("--same", action="store_true")
    parser.add_argument("--cost", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        simulator = simulated.Simulator(options.glean, options.machines, directory)
        texts = pictures_of(simulator, simulated.read(options.published))
        if options.cost:
            texts["cost.svg"] = cost_picture(simulator)
    if not options.same:
        options.directory.mkdir(exist_ok=True)
    status = simulated.write({options.directory / name: text for name, text in texts.items()}, options.same)
    left = {path.name for path in options.directory.iterdir()} - set(texts) - {"cost.svg"}
    if left:
        print(f"no figure makes {', '.join(sorted(left))}")
    return 1 if left else status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.SubprocessError as error:
        sys.exit(str(error))
