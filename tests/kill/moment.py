# SPDX-License-Identifier: BSD-3-Clause
"""When to kill: drawn from a seed, in terms of how far the job is, so that a loaded machine does not move it."""

import time

from job import Witness


class Moment:
    """After `amount` of what `measure` of a job tells, and `delay_seconds` more."""

    def __init__(self, words, measure, amount, delay_seconds):
        self.words = f"{words}, {1000 * delay_seconds:.2f} ms later"
        self.measure = measure
        self.amount = amount
        self.delay_seconds = delay_seconds

    def wait(self, job):
        """Returns at once when the job has ended before."""
        while self.measure(job) < self.amount and job.mpirun.poll() is None:
            time.sleep(0.0003)
        sleep_exactly(self.delay_seconds)


def sleep_exactly(seconds):
    end = time.monotonic() + seconds
    if seconds > 0.002:
        time.sleep(seconds - 0.001)
    while time.monotonic() < end:
        pass


def delay(random):
    """Mostly short, so that two things that follow each other are told apart; sometimes long."""
    return random.uniform(0, random.choice((0.001, 0.01, 0.05)))


def anywhere(random, program):
    """From the beginning of the session until after the end."""
    if program.is_of_bytes and random.random() < 0.1:
        return Moment("when all ranks are there", lambda job: 1, 1, random.uniform(0, 0.3))
    if program.witnesses:
        if random.random() < 0.1:
            return Moment("when all ranks have begun", lambda job: job.witness().phase, 1, random.uniform(0, 0.03))
        if random.random() < 0.1:
            return Moment("when all is put", lambda job: job.witness().phase, Witness.ALL_CLOSED, delay(random))
        amount = random.randint(1, program.progress_max)
        return Moment(f"after {amount} of {program.progress_max} steps of ranks", lambda job: job.witness().progress, amount,
                      delay(random))
    if random.random() < 0.2:
        return Moment("when all ranks are there", lambda job: 1, 1, random.uniform(0, 0.3))
    amount = random.randint(1, len(program.files))
    return Moment(f"when file {amount} of {len(program.files)} is there", lambda job: len(job.begun()), amount, delay(random))


def publishing(random, program):
    """Around the moment when a file gets its final name."""
    amount = random.randint(1, len(program.files))
    seen = set()

    def published(job):
        seen.update(job.published())
        return len(seen)

    return Moment(f"when {amount} of {len(program.files)} files were published", published, amount,
                  random.uniform(0, random.choice((0.0005, 0.005))))
