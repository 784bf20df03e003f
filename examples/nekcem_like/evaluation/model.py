# SPDX-License-Identifier: BSD-3-Clause
"""The speed-up of one way to write over another: as it was measured, and by the model of the paper on threaded rbIO (Fu, Min, Latham,
Carothers, section 4.3)."""

import statistics


def production_speedup(x_reference, x_other, steps_per_checkpoint, overhead):
    """Equation 7. The X are the time in which a checkpoint blocks the program, in steps; `overhead` (epsilon) is how much longer a step
    takes with the other way."""
    return (x_reference + steps_per_checkpoint) / (x_other + steps_per_checkpoint) / (1 + overhead)


def io_speedup(blocked_reference, blocked_other):
    """Equation 4, the bandwidths that the program perceives of the same output: what it is blocked for, where files have other sizes."""
    return blocked_reference / blocked_other


def blocked_by_all(run):
    """Seconds of all ranks together that are spent in output, as equations 2 and 3 want to estimate them."""
    return sum(sum(rank["blocked"]) for rank in run["ranks"] if rank["elements"] > 0)


def compare(reference, other):
    """What is measured of two runs and what the model makes of their medians."""
    # X of the other way is in steps of the reference's, times 1 + epsilon: equation 6 has each in steps of its own.
    epsilon = other["step_seconds"] / reference["step_seconds"] - 1
    per_checkpoint = reference["steps"] / reference["outputs"]
    x_reference = reference["blocked_seconds"] / reference["step_seconds"]
    x_other = other["blocked_seconds"] / other["step_seconds"]
    return {
        "epsilon": epsilon,
        "x_reference": x_reference,
        "x": x_other,
        "io_measured": blocked_by_all(reference) / blocked_by_all(other),
        "io_model": io_speedup(reference["blocked_seconds"], other["blocked_seconds"]),
        "production_measured": reference["loop_seconds"] / other["loop_seconds"],
        "production_model": production_speedup(x_reference, x_other, per_checkpoint, epsilon),
    }


def median_run(runs):
    """Of several runs of the same way, that with the median time."""
    return sorted(runs, key=lambda run: run["loop_seconds"])[len(runs) // 2]


def lag_of_writers(run):
    """Of each step, how much longer ranks that write compute than the median of those that do not. Empty if there are no such ranks."""
    writers = [rank["computed"] for rank in run["ranks"] if rank["writes"] and rank["elements"] > 0]
    workers = [rank["computed"] for rank in run["ranks"] if not rank["writes"] and rank["elements"] > 0]
    if not writers or not workers:
        return []
    return [statistics.mean(own) - statistics.median(theirs) for own, theirs in zip(zip(*writers), zip(*workers))]
