# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of kills: what is killed, and what has to finish the work."""

import signal

import files
import moment
import room
import staged
from job import DEADLINE, Witness
from recoveries import kill_recoveries


def _moment(trial, job, draw=moment.anywhere):
    drawn = draw(trial.random, job.program)
    trial.tell(drawn.words)
    drawn.wait(job)


def _victims(trial, job, whom):
    if whom == "rank 0":
        return [min(job.ranks, key=lambda rank: rank.number)]
    if whom == "rank":
        return [trial.random.choice(job.ranks)]
    return job.ranks if whom == "ranks" else [job.process_of_mpirun()]


def _kill_application(whom, name="kill_writer", place="threads", **options):
    def kind(trial):
        job = trial.start(name, place, **options)
        victims = _victims(trial, job, whom)
        _moment(trial, job)
        ready = _helper_is_ready(job)
        trial.kill(victims, whom)
        # Rank 0 is the first to go, and no other process drains.
        trial.settle(job, helper_was_ready=ready, recovery_is_alone=whom == "ranks" and place == "threads")
    return kind


def _helper_is_ready(job):
    """It drains already, or has done its work."""
    if job.place != "process" or job.helper() is None:
        return False
    return not job.program.witnesses or job.witness().phase >= Witness.IN_SESSION


def _kill_helper(name="kill_writer", draw=moment.anywhere, **options):
    def kind(trial):
        job = trial.start(name, "process", **options)
        job.wait_for_helper()
        _moment(trial, job, draw)
        trial.kill([job.helper()], "the helper")
        trial.must_end_well(job)
    return kind


def _kill_helper_and_ranks(name="kill_writer"):
    def kind(trial):
        job = trial.start(name, "process")
        _moment(trial, job)
        trial.kill([job.helper(), *job.ranks], "the helper and all ranks")
        trial.settle(job)
    return kind


def _kill_ranks_then_helper(name="kill_writer"):
    """The helper finishes alone, and dies on the way."""
    def kind(trial):
        job = trial.start(name, "process")
        _moment(trial, job)
        trial.kill(job.ranks, "all ranks")
        seconds = moment.delay(trial.random)
        trial.tell(f"{1000 * seconds:.2f} ms later")
        moment.sleep_exactly(seconds)
        trial.kill([job.helper()], "the helper")
        trial.settle(job)
    return kind


def _kill_one_and_later_all(name, **options):
    """mpirun does not see that a rank has gone, so the others go on without it as far as they come."""
    def kind(trial):
        job = trial.start(name, trial.random.choice(("threads", "process")), **options)
        _moment(trial, job)
        job.process_of_mpirun().signal(signal.SIGSTOP)
        trial.kill(_victims(trial, job, "rank"), "rank")
        seconds = trial.random.uniform(0, trial.random.choice((0.02, 0.4)))
        trial.tell(f"{1000 * seconds:.2f} ms later")
        moment.sleep_exactly(seconds)
        trial.kill([job.helper(), *job.ranks], "the rest")
        trial.settle(job)
    return kind


def kill_recovery(trial, name="kill_writer", nodes=False):
    """It is killed again and again, and run once more."""
    job = trial.start(name, place="threads" if nodes else trial.random.choice(("threads", "process")), nodes=nodes)
    _moment(trial, job)
    trial.kill([job.helper(), *job.ranks], "the application")
    kill_recoveries(trial, job)


def recover_beside_a_live_job(trial, name="kill_writer"):
    """The pool of the job that lives is not touched, whether it is named or only there to be found."""
    alive = trial.start(name, place=trial.random.choice(("threads", "process")))
    _moment(trial, alive)
    with alive.held():
        dead = trial.start(name)
        _moment(trial, dead)
        trial.kill(dead.ranks, "all ranks of another job")
        dead.wait_for_ranks_to_go()
        bounds, pools = dead.program.bounds(dead), alive.pools()
        trial.recover_beside(dead, pools)
        trial.look(dead, bounds, "after recovery beside a live job", recovered=True)
        if alive.pools() != pools:
            trial.blame("lost", f"glean recover has taken the pool of a live job: {pools}")
    trial.must_end_well(alive)
    trial.nothing_is_left(dead)


def control(trial):
    """The harness must see that something is lost."""
    if trial.number % 2 == 0:
        _throw_pool_away(trial)
    else:
        _change_bytes(trial)


def _change_bytes(trial):
    """One of each file that an undisturbed job has written."""
    job = trial.start(BYTES)
    job.mpirun.wait(timeout=DEADLINE)
    files_there = [path for path in job.directory.iterdir() if not path.name.startswith(".") and path.stat().st_size > 0]
    for path in files_there:
        held = bytearray(path.read_bytes())
        held[len(held) // 2] ^= 255
        path.write_bytes(held)
    seen = job.program.problems_of(job, job.program.bounds_of_whole(), recovered=True)
    if files_there and len(seen) == len(files_there):
        trial.blame("lost", f"{len(seen)} files differ")


def _throw_pool_away(trial):
    """Before recovery."""
    job = trial.start()
    amount = job.program.progress_max // 2
    moment.Moment("", lambda each: each.witness().progress, amount, 0).wait(job)
    trial.kill(job.ranks, "all ranks")
    job.wait_for_ranks_to_go()
    bounds = job.program.bounds(job)
    for name in job.pools():
        (room.SHARED_MEMORY / name).unlink()
    trial.look(job, bounds, "without its pool", recovered=True)
    for name in files.leftovers(job.directory):
        trial.blame("left", name)


def kill_recovery_of_nodes(trial, name="kill_writer"):
    kill_recovery(trial, name, nodes=True)


def _of_bytes(kind):
    return lambda trial: kind(trial, BYTES)


BYTES = "files_writer"
FULL = ("1280KiB", "2MiB")   # most of the time, for what the jobs put

# kind: (how often among the others, what is done)
KINDS = {
    "one rank": (4, _kill_application("rank")),
    "rank 0, in a full pool": (4, _kill_application("rank 0", budgets=FULL)),
    "all ranks": (8, _kill_application("ranks")),
    "mpirun": (4, _kill_application("mpirun")),
    "one rank, a helper drains": (3, _kill_application("rank", place="process")),
    "all ranks, a helper drains": (6, _kill_application("ranks", place="process")),
    "mpirun, a helper drains": (3, _kill_application("mpirun", place="process")),
    "the helper": (4, _kill_helper()),
    "the helper, in a full pool": (4, _kill_helper(budgets=FULL)),
    "the helper as it publishes": (6, _kill_helper(draw=moment.publishing)),
    "the helper and all ranks": (4, _kill_helper_and_ranks()),
    "all ranks, then the helper": (4, _kill_ranks_then_helper()),
    "recovery half-way": (6, kill_recovery),
    "beside a live job": (2, recover_beside_a_live_job),
    "one rank, several nodes": (4, _kill_application("rank", nodes=True)),
    "all ranks, several nodes": (6, _kill_application("ranks", nodes=True)),
    "all ranks, several nodes, in full pools": (4, _kill_application("ranks", budgets=("2MiB",), nodes=True)),
    "mpirun, several nodes": (3, _kill_application("mpirun", nodes=True)),
    "recovery half-way, several nodes": (4, kill_recovery_of_nodes),
    "sedov: one rank": (2, _kill_application("rank", "sedov")),
    "sedov: all ranks": (3, _kill_application("ranks", "sedov")),
    "sedov: mpirun": (2, _kill_application("mpirun", "sedov")),
    "sedov: all ranks, a helper drains": (2, _kill_application("ranks", "sedov", "process")),
    "sedov: the helper": (2, _kill_helper("sedov")),
    "bytes: one rank": (4, _kill_application("rank", BYTES)),
    "bytes: one rank, and later the others": (3, _kill_one_and_later_all(BYTES)),
    "bytes: one rank, and later the others, in a full pool": (3, _kill_one_and_later_all(BYTES, budgets=FULL)),
    "bytes: rank 0, in a full pool": (3, _kill_application("rank 0", BYTES, budgets=FULL)),
    "bytes: all ranks": (5, _kill_application("ranks", BYTES)),
    "bytes: all ranks, in a full pool": (3, _kill_application("ranks", BYTES, budgets=FULL)),
    "bytes: mpirun": (2, _kill_application("mpirun", BYTES)),
    "bytes: one rank, a helper drains": (2, _kill_application("rank", BYTES, "process")),
    "bytes: all ranks, a helper drains": (3, _kill_application("ranks", BYTES, "process")),
    "bytes: the helper": (3, _kill_helper(BYTES)),
    "bytes: the helper as it publishes": (2, _kill_helper(BYTES, draw=moment.publishing)),
    "bytes: the helper and all ranks": (2, _kill_helper_and_ranks(BYTES)),
    "bytes: all ranks, then the helper": (3, _kill_ranks_then_helper(BYTES)),
    "bytes: recovery half-way": (4, _of_bytes(kill_recovery)),
    "bytes: one rank, several nodes": (3, _kill_application("rank", BYTES, nodes=True)),
    "bytes: all ranks, several nodes": (5, _kill_application("ranks", BYTES, nodes=True)),
    "bytes: all ranks, several nodes, in full pools": (3, _kill_application("ranks", BYTES, budgets=("2MiB",), nodes=True)),
    "bytes: mpirun, several nodes": (2, _kill_application("mpirun", BYTES, nodes=True)),
    "bytes: recovery half-way, several nodes": (4, _of_bytes(kill_recovery_of_nodes)),
    "bytes: beside a live job": (1, _of_bytes(recover_beside_a_live_job)),
    **staged.KINDS,
}
CONTROL = "control"
