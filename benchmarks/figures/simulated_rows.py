# SPDX-License-Identifier: BSD-3-Clause
"""What of the published rows `glean simulate` is asked for, and how its answer becomes the published quantity.

A row is a function of a Simulator; what it returns is in the unit of the row. Units: "GiB/s" of seed 000's synthetic benchmarks
(figure 9, Table 1) are 1000 MiB/s: "6.7 GiBps" of a rack are 16 x 420 MiB/s there.
"""

MIB, GIB = 1 << 20, 1 << 30
PSET_PEAK = 731 * MIB     # what a pset's collective network can carry (seed 000, 2.3): "peak" of figure 3


def share_of_peak(strategy, ranks, size):
    def row(simulator):
        outcome = simulator.run("intrepid", strategy, "--ranks", ranks, "--bytes-per-rank", size, "--to", "io-nodes")
        return 100 * outcome["raw_bytes_per_second"] / (ranks / 256 * PSET_PEAK)
    return row


def simulated(unit, quantity, machine, strategy, *arguments):
    """quantity is one of blocked, staged, durable: seconds if unit is 1, else bytes per second in that unit."""
    def row(simulator):
        outcome = simulator.run(machine, strategy, *arguments)
        if unit == 1:
            return outcome[f"{quantity}_seconds"]
        rate = {"blocked": "observed", "staged": "staged", "durable": "raw"}[quantity]
        return outcome[f"{rate}_bytes_per_second"] / unit
    return row


def staged(ranks, stagers):
    return simulated(1000 * MIB, "staged", "intrepid", "glean-staged-by-group", "--ranks", ranks, "--stagers", stagers,
                     "--bytes-per-rank", "1MiB", "--to", "stagers")


def creating(machine, key, files):
    """Files, one after the other: nothing else happens."""
    return lambda simulator: simulator.figure(machine, key) * files


FLASH = ("--ranks", 32768, "--pattern", "flash-checkpoint")
NEKCEM = ("--pattern", "nekcem")
ON_INTREPID = ("--ranks-per-node", 2, *NEKCEM)     # dual mode (seed 001, 4.1)

FITTED_ROWS = {
    "G05": share_of_peak("collective", 32768, "4KiB"),
    "G07": share_of_peak("collective", 32768, "64KiB"),
    "G21": staged(131072, 96),
    "G24": simulated(GIB, "durable", "intrepid", "collective", *FLASH),
    "G25": simulated(GIB, "durable", "intrepid", "glean-staged-sync", *FLASH, "--stagers", 72),
    "R01": simulated(1e9, "blocked", "intrepid", "threaded-rbio", "--ranks", 32768, *ON_INTREPID),
    "R02": simulated(1e9, "durable", "intrepid", "threaded-rbio", "--ranks", 32768, *ON_INTREPID),
    "R06": simulated(1e9, "blocked", "jaguar", "threaded-rbio", "--ranks", 32768, *NEKCEM),
    "R07": simulated(1e9, "durable", "jaguar", "rbio", "--ranks", 16384, *NEKCEM),
    "R08": simulated(1e9, "durable", "jaguar", "threaded-rbio", "--ranks", 32768, *NEKCEM),
    "R10": simulated(1, "durable", "jaguar", "collective", "--ranks", 32768, *NEKCEM),
    "M01": creating("mira", "create_time", 131072),
    "M02": creating("mira", "directory_create_time", 49152),
    "S01": lambda simulator: simulator.figure("jugene", "directory_create_time") * 262144 / 60,
}

# Machine, key of its file, and the rows that it is fitted on: each a property of the machine that is not published.
# docs/formats/machine.md says what the keys are. A figure of another machine's rows is that machine's.
PARAMETERS = [
    ("mira", "create_time", "s", ("M01",)),
    ("mira", "directory_create_time", "s", ("M02",)),
    ("jugene", "directory_create_time", "s", ("S01",)),
    ("intrepid", "offset_bytes", "B", ("G05", "G07")),
    ("intrepid", "receive_rate", "B/s", ("R01",)),
    ("intrepid", "network_rate", "B/s", ("G21",)),
    ("intrepid", "sustained_rate", "B/s", ("R02", "G25")),
    ("intrepid", "lock_time", "s", ("G24",)),
    ("jaguar", "receive_rate", "B/s", ("R06",)),
    ("jaguar", "sustained_rate", "B/s", ("R07", "R08")),
    ("jaguar", "lock_time", "s", ("R10",)),
]
SHARED = [("intrepid", "create_time", "mira"), ("jugene", "create_time", "mira")]   # GPFS creates there as it does on Mira


# -- all other rows: they are compared, and nothing is fitted on them

def ratio(first, second):
    return lambda simulator: first(simulator) / second(simulator)


def io_nodes(strategy, ranks, size, machine="intrepid", *more):
    return simulated(1, "durable", machine, strategy, "--ranks", ranks, "--bytes-per-rank", size, "--to", "io-nodes", *more)


SMALL = ("2KiB", "4KiB", "8KiB", "16KiB")     # the smallest of figure 7


def largest(rows):
    return lambda simulator: max(row(simulator) for row in rows)


def mean(rows):
    return lambda simulator: sum(row(simulator) for row in rows) / len(rows)


def chosen_aggregators(simulator):
    return simulator.run("intrepid", "glean", "--ranks", 1024, "--bytes-per-rank", "64KiB", "--to", "io-nodes")["aggregators_per_group"]


def program(ranks, stagers, *pattern, steps):
    """Of a program whose data go to staging nodes, which write them meanwhile, output after output as the paper says it: throughput to
    these, and how much faster it is than collective writing to GPFS."""
    to_stagers = simulated(GIB, "staged", "intrepid", "glean-staged-by-group", "--ranks", ranks, "--stagers", stagers, "--steps", steps,
                           *pattern)
    return to_stagers, ratio(to_stagers, simulated(GIB, "durable", "intrepid", "collective", "--ranks", ranks, *pattern))


def of_each(total, ranks):
    return ("--bytes-per-rank", f"{round(total / ranks)}B")


FLASH_CHECKPOINT, FLASH_PLOT, S3D = ("--pattern", "flash-checkpoint"), ("--pattern", "flash-plot"), ("--pattern", "s3d-restart")
CHECKPOINTS, PLOTS, DUMPS = 5, 6, 20     # of a run (seed 000, 6.1 and 6.2)
plot_weak = program(32768, 72, *FLASH_PLOT, steps=PLOTS)
plot_strong_small = program(4096, 12, *FLASH_PLOT, *of_each(3.4 * GIB, 4096), steps=PLOTS)
plot_strong = program(32768, 72, *FLASH_PLOT, *of_each(3.4 * GIB, 32768), steps=PLOTS)
s3d_small, s3d_large = program(4096, 12, *S3D, steps=DUMPS), program(32768, 72, *S3D, steps=DUMPS)
s3d_strong_small = program(4096, 12, *S3D, *of_each(16 * GIB, 4096), steps=DUMPS)
s3d_strong = program(32768, 72, *S3D, *of_each(16 * GIB, 32768), steps=DUMPS)


def nekcem(unit, quantity, machine, strategy, ranks):
    return simulated(unit, quantity, machine, strategy, "--ranks", ranks, *(ON_INTREPID if machine == "intrepid" else NEKCEM))


def production_speedup(simulator):
    """Formula (7) of seed 001: a computation step takes a 70th of coIO's time, a checkpoint comes every 100 steps, and the I/O thread
    slows a step down by 5 %, as the paper says (4.3). What threaded rbIO takes is simulated."""
    took = nekcem(1, "blocked", "jaguar", "threaded-rbio", 32768)(simulator) / nekcem(1, "durable", "jaguar", "coio", 32768)(simulator)
    return (70 + 100) / (70 * took + 100) / 1.05


def on_mira(strategy, ranks, ranks_per_node, size, to):
    return simulated(1, "durable", "mira", strategy, "--ranks", ranks, "--ranks-per-node", ranks_per_node, "--bytes-per-rank", size,
                     "--to", to)


def bridged(ranks, ranks_per_node, size, to, over="posix", optimised="reassigned-coalesced"):
    """Nodes reassigned to bridge nodes, and the ranks of a node coalesced or not."""
    return ratio(on_mira(over, ranks, ranks_per_node, size, to), on_mira(optimised, ranks, ranks_per_node, size, to))


def improvement(to, over):
    """In percent, the average over what seed 003 has measured: 512 to 8192 nodes, 1 to 16 ranks of each, 8 KB to 4 MB of a rank."""
    def row(simulator):
        gains = []
        for nodes in (512, 2048, 8192):
            for of_node in (1, 4, 16):
                for size in ("8kB", "64kB", "512kB", "4MB"):
                    gains.append(100 * (1 - 1 / bridged(nodes * of_node, of_node, size, to, over)(simulator)))
        return sum(gains) / len(gains)
    return row


def containers(quantity, ranks):
    return simulated(1e9, quantity, "jugene", "container", "--ranks", ranks, "--bytes-per-rank", "64MiB")


def tasks_at_saturation(simulator):
    """The first of the sizes at which the file system is the limit and not the I/O nodes."""
    for ranks in (8192, 16384, 32768, 49152, 65536, 131072, 262144):
        if containers("durable", ranks)(simulator) > 0.95 * 33:
            return ranks
    raise ValueError("the file system is never the limit")


PREDICTED_ROWS = {
    "G01": share_of_peak("collective", 4096, "4KiB"),
    "G02": share_of_peak("posix", 4096, "4KiB"),
    "G03": share_of_peak("collective", 4096, "64KiB"),
    "G04": share_of_peak("posix", 4096, "64KiB"),
    "G06": share_of_peak("posix", 32768, "4KiB"),
    "G08": share_of_peak("posix", 32768, "64KiB"),
    "G09": ratio(io_nodes("posix", 32768, "4MiB"), io_nodes("collective", 32768, "4MiB")),
    "G10": chosen_aggregators,
    "G11": largest([ratio(io_nodes("posix", 65536, size), io_nodes("glean", 65536, size)) for size in SMALL]),
    "G12": largest([ratio(io_nodes("collective", 65536, size), io_nodes("glean", 65536, size)) for size in SMALL]),
    "G15": staged(16384, 48),
    "G16": staged(4096, 12),
    "G17": staged(8192, 24),
    "G18": staged(16384, 36),
    "G19": staged(32768, 64),
    "G20": staged(65536, 90),
    "G22": program(32768, 72, *FLASH_CHECKPOINT, steps=CHECKPOINTS)[0],
    "G26": plot_weak[0],
    "G28": plot_weak[1],
    "G29": plot_strong_small[1],
    "G31": plot_strong[1],
    "G33": plot_strong[0],
    "G34": program(32768, 72, *FLASH_CHECKPOINT, *of_each(24 * GIB, 32768), steps=CHECKPOINTS)[0],
    "G35": s3d_small[0],
    "G36": s3d_small[1],
    "G37": s3d_small[1],
    "G38": s3d_large[0],
    "G39": s3d_large[1],
    "G40": s3d_large[1],
    "G41": s3d_strong_small[0],
    "G42": s3d_strong[0],
    "G43": s3d_strong[1],
    "G44": s3d_strong[1],
    "G45": simulated(1, "staged", "intrepid", "glean-staged-by-group", "--ranks", 131072, "--stagers", 80, "--to", "stagers",
                     *of_each(20 * GIB, 131072)),
    "G46": simulated(GIB, "staged", "intrepid", "glean-staged-by-group", "--ranks", 131072, "--stagers", 80, "--to", "stagers",
                     *of_each(160e9, 131072)),
    "R03": nekcem(1, "durable", "intrepid", "collective", 32768),
    "R04": nekcem(1, "blocked", "intrepid", "threaded-rbio", 32768),
    "R05": nekcem(1e9, "blocked", "jaguar", "threaded-rbio", 8192),
    "R09": nekcem(1e9, "durable", "jaguar", "coio", 32768),
    "R11": production_speedup,
    "R12": ratio(nekcem(1e9, "blocked", "jaguar", "threaded-rbio", 32768), nekcem(1e9, "durable", "jaguar", "coio", 32768)),
    "M03": simulated(MIB, "durable", "mira", "file-per-process", "--ranks", 49152, "--ranks-per-node", 1, "--bytes-per-rank", "2GiB"),
    "B01": on_mira("posix", 4096, 1, "976563B", "storage"),
    "B03": on_mira("posix", 4096, 1, "976563B", "io-nodes"),
    "B04": largest([bridged(ranks, 1, f"{round(4e9 / ranks)}B", "io-nodes") for ranks in (2048, 4096, 8192, 16384, 32768)]),
    "B05": mean([bridged(ranks, 16, "64kB", "io-nodes") for ranks in (8192, 16384, 32768)]),
    "B06": mean([bridged(ranks, 16, "64kB", "io-nodes", optimised="reassigned") for ranks in (8192, 16384, 32768)]),
    "B07": bridged(32768, 16, "2MB", "io-nodes", over="collective"),
    "B08": improvement("storage", "posix"),
    "B09": improvement("io-nodes", "collective"),
    "S02": creating("jugene", "create_time", 512),
    "S03": containers("durable", 65536),
    "S05": tasks_at_saturation,
}
BOUNDS = {"R03": ">", "R04": "<", "S02": "<"}                        # published as "more than", "less than"
RANGES = {"R12": (7, 13), "S05": (49152, 65536)}

# Pairs of rows of one workload and number of ranks that two strategies have: the published one is faster or slower, and so has to be
# the simulated one. Rows of speed-ups are orders, too.
ORDERS = [("G01", "G02"), ("G03", "G04"), ("G05", "G06"), ("G07", "G08"), ("G22", "G24"), ("G22", "G25"), ("G25", "G24"), ("R01", "R02"),
          ("R04", "R03"), ("R06", "R08"), ("R06", "R09"), ("R08", "R09")]

HDF5 = "what HDF5 writes of its own, and in which requests, is not simulated"
RATHER_COUNTED = "counted along the routes, not timed: [seed-003.md](figures/seed-003.md)"
LEFT_OUT = {
    "G13": "no figure; a test has that time does not depend on the number of psets",
    "G14": "no figure; the same test",
    **dict.fromkeys(("G23", "G27", "G30", "G32"), HDF5),
    "R13": "an I/O thread takes no time from the computation here",
    "B02": "deviations come from other jobs",
    **dict.fromkeys((f"B{number}" for number in range(10, 31)), RATHER_COUNTED),
    "S04": "that a file system serves many clients worse than few is not in a machine file",
}
