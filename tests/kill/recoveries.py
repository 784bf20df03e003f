# SPDX-License-Identifier: BSD-3-Clause
"""`glean recover` is killed."""

import subprocess

import moment
from job import program


def kill_recoveries(trial, job):
    """One after the other, on the way; the last one is left to its end."""
    job.wait_for_ranks_to_go()
    job.wait_for_all_to_go()
    bounds = job.program.bounds(job)
    for _ in range(trial.random.randint(1, 3)):
        seconds = trial.random.uniform(0, trial.random.choice((0.01, 0.1)))
        if not job.pools():
            break
        with subprocess.Popen([str(program("glean")), *trial.recover_arguments([job])], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as recovery:
            moment.sleep_exactly(seconds)
            in_time = recovery.poll() is None
            recovery.kill()
        trial.tell(f"glean recover, killed after {1000 * seconds:.2f} ms{'' if in_time else ': it had ended'}")
        trial.result.kills += in_time
        trial.result.after_the_end += not in_time
        trial.look(job, bounds, "after recovery was killed", recovered=False)
    trial.settle(job, bounds)
