# SPDX-License-Identifier: BSD-3-Clause
"""What each figure of the papers shows: its lines as functions of a Simulator, and its published points, by the rows of published.csv."""

import dataclasses
import subprocess

import simulated_rows as rows

SIZES = [1 << power for power in range(1, 13)]            # KiB: figures 3, 6 and 7 of seed 000
RACKS = [4096, 8192, 16384, 32768]
GLEAN, COLLECTIVE, POSIX = "GLEAN", "MPI collective, PnetCDF", "POSIX"
STAGERS = {4096: 12, 8192: 24, 16384: 36, 32768: 72}      # seed 000, 6.1


@dataclasses.dataclass
class Panel:
    name: str
    paper: str
    title: str
    x_label: str
    y_label: str
    lines: list            # (name, x of each point, function of a Simulator and x)
    points: list           # (name of its line, x, y, "" or "<" or ">")
    log_x: bool = True
    log_y: bool = True
    note: str = ""


def strategies(glean):
    said = subprocess.run([glean, "simulate", "--list"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in said.splitlines()]


def kib(size):
    return f"{size}KiB"


def io_node_rate(strategy, ranks, *more):
    def at(simulator, size):
        return simulator.run("intrepid", strategy, "--ranks", ranks, "--bytes-per-rank", kib(size), "--to", "io-nodes",
                             *more)["raw_bytes_per_second"] / rows.GIB
    return at


def to_io_nodes(published):
    of = "Seed 000: GLEAN on Intrepid, to the I/O nodes"
    value = {key: float(row["value"]) for key, row in published.items() if key in ("G01", "G02", "G03", "G04", "G05", "G06", "G07", "G08")}
    for part, ranks, ids in (("a", 4096, ("G01", "G03", "G02", "G04")), ("b", 32768, ("G05", "G07", "G06", "G08"))):
        def share(strategy, ranks=ranks):
            return lambda simulator, size: rows.share_of_peak(strategy, ranks, kib(size))(simulator)
        yield Panel(f"000-3{part}", of, f"Figure 3 ({part}): share of the peak, {ranks:,} cores", "KiB of a rank", "% of peak",
                    [(COLLECTIVE, SIZES, share("collective")), (POSIX, SIZES, share("posix"))],
                    [(name, size, value[key], "") for key, size, name in
                     zip(ids, (4, 64, 4, 64), (COLLECTIVE, COLLECTIVE, POSIX, POSIX))])
    yield Panel("000-6", of, "Figure 6: aggregators of a pset, 1,024 cores", "KiB of a rank", "GiB/s",
                [(f"GLEAN, {count} aggregator{'s' if count > 1 else ''}", SIZES, io_node_rate("glean", 1024, "--aggregators", count))
                 for count in (1, 2, 4, 8, 16)] +
                [(POSIX, SIZES, io_node_rate("posix", 1024)), (COLLECTIVE, SIZES, io_node_rate("collective", 1024))], [],
                note="The paper says that four are best (row G10), and no number.")
    for part, ranks in zip("abc", (4096, 16384, 65536)):
        yield Panel(f"000-7{part}", of, f"Figure 7 ({part}): throughput, {ranks:,} cores", "KiB of a rank", "GiB/s",
                    [(name, SIZES, io_node_rate(strategy, ranks)) for name, strategy in
                     ((GLEAN, "glean"), (POSIX, "posix"), (COLLECTIVE, "collective"))], [],
                    note="The paper says how many times faster GLEAN is (rows G11, G12), and no throughput." if part == "c" else "")

    def strong(strategy):
        return lambda simulator, ranks: simulator.run(
            "intrepid", strategy, "--ranks", ranks, "--bytes-per-rank", f"{(1 << 30) // ranks}B", "--to",
            "io-nodes")["raw_bytes_per_second"] / rows.GIB
    every = [1 << power for power in range(8, 17)]
    yield Panel("000-8", of, "Figure 8: strong scaling, 1 GiB in all", "cores", "GiB/s",
                [(name, every, strong(strategy)) for name, strategy in ((GLEAN, "glean"), (POSIX, "posix"), (COLLECTIVE, "collective"))],
                [], note="No number in the paper: \"nearly perfect\" of GLEAN (row G14).")


def to_staging_nodes(published):
    of = "Seed 000: GLEAN on Intrepid, to staging nodes"
    plateau = float(published["G15"]["value"])
    yield Panel("000-9", of, "Figure 9: staging nodes, 16,384 cores", "staging nodes", "GiB/s (of 1000 MiB)",
                [(GLEAN, list(range(4, 49, 4)), lambda simulator, count: rows.staged(16384, count)(simulator))],
                [(GLEAN, 36, plateau, ""), (GLEAN, 48, plateau, "")], log_x=False, log_y=False)
    table = {4096: 12, 8192: 24, 16384: 36, 32768: 64, 65536: 90, 131072: 96}
    yield Panel("000-10", of, "Figure 10, table 1: to 12 … 96 staging nodes", "cores", "GiB/s (of 1000 MiB)",
                [(GLEAN, list(table), lambda simulator, ranks: rows.staged(ranks, table[ranks])(simulator))],
                [(GLEAN, ranks, float(published[f"G{16 + i}"]["value"]), "") for i, ranks in enumerate(table)], log_y=False)


def program_panel(name, title, pattern, steps, of_ranks, points, synchronous=False):
    def staged(simulator, ranks):
        return rows.program(ranks, STAGERS[ranks], *pattern, *of_ranks(ranks), steps=steps)[0](simulator)

    def durable(strategy, *more):
        return lambda simulator, ranks: rows.simulated(rows.GIB, "durable", "intrepid", strategy, "--ranks", ranks, *pattern,
                                                       *of_ranks(ranks), *more)(simulator)

    def written(simulator, ranks):
        return durable("glean-staged-sync", "--stagers", STAGERS[ranks])(simulator, ranks)
    lines = [(GLEAN, RACKS, staged), (COLLECTIVE, RACKS, durable("collective"))]
    if synchronous:
        lines.append(("GLEAN, synchronous", RACKS, written))
    return Panel(name, "Seed 000: programs on Intrepid", title, "cores", "GiB/s", lines, points)


def programs(published):
    value = {key: float(row["value"]) for key, row in published.items() if key[0] == "G" and row["value"].replace(".", "").isdigit()}

    def beside(ranks, own, **times):
        """GLEAN's throughput, and what it is so many times faster than."""
        return [(GLEAN, ranks, value[own], "")] + [(name, ranks, value[own] / value[key], "") for name, key in times.items()]

    def same(_):
        return ()

    def total(size):
        return lambda ranks: rows.of_each(size, ranks)
    yield program_panel("000-11a", "Figure 11 (a): FLASH's checkpoint, weak scaling", rows.FLASH_CHECKPOINT, rows.CHECKPOINTS, same,
                        [(GLEAN, 32768, value["G22"], ""), (COLLECTIVE, 32768, value["G24"], ""),
                         ("GLEAN, synchronous", 32768, value["G25"], ""), ("HDF5, not simulated", 32768, value["G23"], "")], True)
    yield program_panel("000-11b", "Figure 11 (b): FLASH's plot file, weak scaling", rows.FLASH_PLOT, rows.PLOTS, same,
                        beside(32768, "G26", **{COLLECTIVE: "G28"}))
    yield program_panel("000-12a", "Figure 12 (a): FLASH's plot file, 3.4 GiB, strong scaling", rows.FLASH_PLOT, rows.PLOTS,
                        total(3.4 * rows.GIB),
                        beside(32768, "G33", **{COLLECTIVE: "G31"}))
    yield program_panel("000-12b", "Figure 12 (b): FLASH's checkpoint, 24 GiB, strong scaling", rows.FLASH_CHECKPOINT,
                        rows.CHECKPOINTS, total(24 * rows.GIB), beside(32768, "G34"))
    yield program_panel("000-13a", "Figure 13 (a): S3D, weak scaling", rows.S3D, rows.DUMPS, same,
                        beside(4096, "G35", **{COLLECTIVE: "G36", "PnetCDF": "G37"}) +
                        beside(32768, "G38", **{COLLECTIVE: "G39", "PnetCDF": "G40"}))
    yield program_panel("000-13b", "Figure 13 (b): S3D, 512 x 512 x 512, strong scaling", rows.S3D, rows.DUMPS, total(16 * rows.GIB),
                        [(GLEAN, 4096, value["G41"], "")] + beside(32768, "G42", **{COLLECTIVE: "G43", "PnetCDF": "G44"}))


def nekcem(published):
    of = "Seed 001: NekCEM"
    value = {key: float(published[key]["value"]) for key in ("R01", "R02", "R03", "R04", "R05", "R06", "R07", "R08", "R09", "R10")}
    ranks = [8192, 16384, 32768]
    ways = (("coIO, one file", "collective", "durable"), ("coIO, 64:1", "coio", "durable"), ("rbIO, 64:1", "rbio", "durable"),
            ("threaded rbIO, raw", "threaded-rbio", "durable"), ("threaded rbIO, perceived", "threaded-rbio", "blocked"))
    for machine, rate_figure, time_figure in (("intrepid", 2, 3), ("jaguar", 4, 5)):
        def value_of(unit, strategy, quantity, machine=machine):
            return lambda simulator, count: rows.nekcem(unit, quantity, machine, strategy, count)(simulator)
        if machine == "intrepid":
            rates = [("threaded rbIO, perceived", 32768, value["R01"], ""), ("threaded rbIO, raw", 32768, value["R02"], ""),
                     ("coIO, one file", 32768, 52 / value["R03"], "<")]
            times = [("coIO, one file", 32768, value["R03"], ">"), ("threaded rbIO, perceived", 32768, value["R04"], "<")]
        else:
            rates = [("threaded rbIO, perceived", 8192, value["R05"], ""), ("threaded rbIO, perceived", 32768, value["R06"], ""),
                     ("rbIO, 64:1", 16384, value["R07"], ""), ("threaded rbIO, raw", 32768, value["R08"], ""),
                     ("coIO, 64:1", 32768, value["R09"], ""), ("coIO, one file", 32768, 52 / value["R10"], "")]
            times = [("coIO, one file", 32768, value["R10"], "")]
        yield Panel(f"001-{rate_figure}", of, f"Figure {rate_figure}: write bandwidth on {machine.capitalize()}", "ranks", "GB/s",
                    [(name, ranks, value_of(1e9, strategy, quantity)) for name, strategy, quantity in ways], rates)
        yield Panel(f"001-{time_figure}", of, f"Figure {time_figure}: what a checkpoint is waited for on {machine.capitalize()}", "ranks",
                    "seconds", [(name, ranks, value_of(1, strategy, "blocked" if "threaded" in name else quantity))
                                for name, strategy, quantity in ways if name != "threaded rbIO, raw"], times,
                    note="Computing, which the paper's figure has below, is not published in numbers.")


def task_local(published):
    of = "Seed 004: SIONlib on JUGENE"
    tasks = [1 << power for power in range(12, 19)]
    every, one = "a file per task", "a container per I/O node"

    def creating(key, files):
        return lambda simulator, count: simulator.figure("jugene", key) * files(count)
    yield Panel("004-5", of, "Figure 5: creating files in one directory", "tasks", "seconds",
                [(every, tasks, creating("directory_create_time", lambda count: count)),
                 (one, tasks, creating("create_time", lambda count: count / 512))],
                [(every, 262144, 60 * float(published["S01"]["value"]), ""), (one, 262144, float(published["S02"]["value"]), "<")])
    nodes = [1, 4, 8, 16, 32, 64]   # partitions of JUGENE

    def of_io_node(strategy):
        return lambda simulator, count: simulator.run("jugene", strategy, "--ranks", 512 * count, "--bytes-per-rank",
                                                      "64MiB")["raw_bytes_per_second"] / 1e6 / count

    def writing(strategy):   # Files are there: creating them is figure 5.
        def at(simulator, count):
            outcome = simulator.run("jugene", strategy, "--ranks", 512 * count, "--bytes-per-rank", "64MiB")
            created = simulator.figure("jugene", "directory_create_time") * 512 * count
            return 512 * 64 * rows.MIB / (outcome["durable_seconds"] - created) / 1e6
        return at
    yield Panel("004-6", of, "Figure 6: bandwidth of an I/O node", "I/O nodes", "MB/s of each",
                [(every, nodes, writing("file-per-process")), (one, nodes, of_io_node("container")),
                 ("one shared file", nodes, of_io_node("posix"))], [], log_y=False,
                note="No number in the paper. It shows that one shared file is slower with more I/O nodes; JUGENE's file has no time of a "
                     "lock, since no row of that paper could say it.")
    every_task = [8192, 16384, 32768, 49152, 65536, 131072, 262144]
    limit = float(published["S03"]["value"])
    yield Panel("004-7", of, "Figure 7: a container per I/O node", "tasks", "GB/s",
                [(one, every_task, lambda simulator, count: rows.containers("durable", count)(simulator))],
                [(one, 65536, limit, ""), (one, 294912, 0.9 * limit, "")], log_y=False,
                note="Beyond saturation 10 % are lost (row S04), which is not simulated.")


def all_panels(published):
    for part in (to_io_nodes, to_staging_nodes, programs, nekcem, task_local):
        yield from part(published)
