# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of kills of jobs whose files stagers write."""

import signal
import subprocess

import moment
from job import DEADLINE, Witness, eventually
from recoveries import kill_recoveries

# Between what a node sends and what a stager has room for.
BUDGETS = ("1280KiB", "4MiB", "32MiB")


def _start(trial, name, draw=moment.anywhere, restart="0"):
    job = trial.start(name, budgets=BUDGETS, nodes=True, stagers=trial.random.randint(1, 3), restart=restart)
    drawn = draw(trial.random, job.program)
    trial.tell(drawn.words)
    drawn.wait(job)
    return job


def _end(trial, job, bounds=None):
    """The job and the stagers, as a user ends them; recovery does the rest."""
    job.wait_for_ranks_to_go()
    codes = job.stagers.end()
    trial.tell(f"the stagers ended with {codes}")
    trial.settle(job, bounds)


def _ranks_of_node(trial, job):
    per_node = job.ranks_per_node
    node = trial.random.randrange(-(-len(job.ranks) // per_node))
    return job.ranks[node * per_node:(node + 1) * per_node]


def ranks(name="kill_writer"):
    """The stagers go on, and leave what is not finished when they are told to end."""
    def kind(trial):
        job = _start(trial, name)
        trial.kill(job.ranks, "all ranks")
        _end(trial, job)
    return kind


def everything(trial, name="kill_writer"):
    """The ranks first: those of an unmodified program that has lost its stagers write past them."""
    job = _start(trial, name)
    trial.kill([*job.ranks, *job.stagers.processes], "everything")
    _end(trial, job)


def one_node(trial, name="kill_writer"):
    """Sometimes mpirun does not see that, and the others have to end by themselves."""
    job = _start(trial, name)
    victims = _ranks_of_node(trial, job)
    alone = trial.random.random() < 0.5 and len(victims) < len(job.ranks)
    if alone:
        job.process_of_mpirun().signal(signal.SIGSTOP)
    trial.kill(victims, "the ranks of a node")
    if alone:
        seconds = trial.random.uniform(0, trial.random.choice((0.02, 0.4)))
        trial.tell(f"the others {1000 * seconds:.2f} ms later")
        moment.sleep_exactly(seconds)
        trial.kill(job.ranks, "the others")
    _end(trial, job)


def stagers(name="kill_writer", all_of_them=False):
    """The job ends: well, if nothing more was needed of those that are gone, else with an error that every rank can tell."""
    def kind(trial):
        job = _start(trial, name, trial.random.choice((moment.anywhere, moment.publishing)))
        there = job.stagers.processes
        trial.kill(there if all_of_them else [trial.random.choice(there)], "all stagers" if all_of_them else "one stager")
        try:
            status = job.mpirun.wait(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            trial.blame("hangs", f"the application did not end within {DEADLINE} s after its stagers")
            job.mpirun.kill()
            for rank in job.ranks:
                rank.kill()
        else:
            trial.tell(f"the application ended with {status}")
            if status != 0 and "stager" not in job.log:
                trial.blame("lost", "the application does not say that it has lost a stager")
        _end(trial, job)
    return kind


def stagers_started_again(name="kill_writer"):
    """The job does not notice. A stager that starts may be killed, too."""
    def kind(trial):
        job = _start(trial, name, trial.random.choice((moment.anywhere, moment.publishing)), restart="30s")
        # Before that the job ends with an error: there is no stager yet that it could wait for.
        pools = -(-len(job.ranks) // job.ranks_per_node) + len(job.stagers.started)
        eventually("all are in the session", lambda: (job.witness().phase >= Witness.IN_SESSION and len(job.pools()) == pools) or
                   job.witness().phase > Witness.IN_SESSION or job.mpirun.poll() is not None)
        for _ in range(trial.random.randint(1, 3)):
            there = job.stagers.processes
            some = trial.random.sample(there, trial.random.randint(1, len(there)))
            trial.kill(some, f"{len(some)} of {len(there)} stagers")
            seconds = trial.random.uniform(0, trial.random.choice((0.005, 0.2)))
            moment.sleep_exactly(seconds)
            job.stagers.start_again({each.pid for each in some})
            job.pids |= job.stagers.were_started
            trial.tell(f"started again {1000 * seconds:.2f} ms later")
            moment.sleep_exactly(trial.random.uniform(0, trial.random.choice((0.02, 0.5))))
        try:
            status = job.mpirun.wait(timeout=DEADLINE)
            trial.tell(f"the application ended with {status}")
        except subprocess.TimeoutExpired:
            trial.blame("hangs", f"the application did not end within {DEADLINE} s after its stagers were started again")
            job.mpirun.kill()
            return
        if status == 0:
            try:
                eventually("the stagers have done all", lambda: not job.pools())
            except TimeoutError:
                if "goes on here" not in job.stagers.log.partition(" is over: ")[2]:
                    raise
                trial.tell("a stager has taken the job up again when another had left it: the rest is recovery's (docs/staging.md)")
                return _end(trial, job, job.program.bounds_of_whole())
        codes = job.stagers.end()
        if status != 0 or any(code not in (0, -signal.SIGTERM) for code in codes):   # one may just have been started
            trial.blame("lost", f"the application ended with {status}, the stagers with {codes}")
        trial.look(job, job.program.bounds_of_whole(), "after stagers that were started again", recovered=True)
        trial.nothing_is_left(job)
    return kind


def stagers_after_the_session(trial, name="kill_writer"):
    """The pools of the ranks are gone: the stagers' have all of it."""
    job = trial.start(name, budgets=BUDGETS, nodes=True, stagers=trial.random.randint(1, 3))
    closed = moment.Moment("when all have closed the session", lambda each: each.witness().phase, Witness.SESSION_CLOSED,
                           trial.random.uniform(0, 0.002))
    trial.tell(closed.words)
    closed.wait(job)
    there = job.stagers.processes
    some = there if trial.random.random() < 0.5 else [trial.random.choice(there)]
    trial.kill(some, f"{len(some)} of {len(there)} stagers")
    status = job.mpirun.wait(timeout=DEADLINE)
    if status != 0:
        trial.blame("lost", f"the application ended with {status}")
    _end(trial, job, job.program.bounds_of_whole())


def nothing(trial, name="kill_writer"):
    """All is there when the job and its stagers have ended."""
    job = trial.start(name, budgets=BUDGETS, nodes=True, stagers=trial.random.randint(1, 3))
    status = job.mpirun.wait(timeout=DEADLINE)
    codes = job.stagers.end()
    trial.tell(f"nothing was killed; the application ended with {status}, the stagers with {codes}")
    if status != 0 or any(codes):
        trial.blame("lost", f"the application ended with {status}, the stagers with {codes}")
    trial.look(job, job.program.bounds_of_whole(), "after stagers that ended well", recovered=True)
    trial.nothing_is_left(job)


def recovery(trial, name="kill_writer"):
    job = _start(trial, name)
    trial.kill([*job.ranks, *job.stagers.processes], "everything")
    kill_recoveries(trial, job)


BYTES = "files_writer"


def _of_bytes(kind):
    return lambda trial: kind(trial, BYTES)


KINDS = {
    "staged: all ranks": (4, ranks()),
    "staged: one node": (3, one_node),
    "staged: one stager": (4, stagers()),
    "staged: all stagers": (3, stagers(all_of_them=True)),
    "staged: stagers, started again": (6, stagers_started_again()),
    "staged: bytes: stagers, started again": (6, stagers_started_again(BYTES)),
    "staged: stagers, after the session": (2, stagers_after_the_session),
    "staged: everything": (4, everything),
    "staged: recovery half-way": (3, recovery),
    "staged: sedov: all ranks": (1, ranks("sedov")),
    "staged: sedov: one stager": (1, stagers("sedov")),
    "staged: nothing": (1, nothing),
    "staged: bytes: all ranks": (4, ranks(BYTES)),
    "staged: bytes: one node": (3, _of_bytes(one_node)),
    "staged: bytes: everything": (4, _of_bytes(everything)),
    "staged: bytes: recovery half-way": (3, _of_bytes(recovery)),
    "staged: bytes: nothing": (1, _of_bytes(nothing)),
}
