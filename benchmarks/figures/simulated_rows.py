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
                     "--bytes-per-rank", "1MiB")


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

# Machine, key of its file, and the rows that it is fitted on: each a property of the machine that nobody has published.
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
