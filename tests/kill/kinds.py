# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of kills: what is killed, and who has to finish the work."""

import subprocess

import files
import moment
import room
from job import Witness, program


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
        trial.settle(job, helper_was_ready=ready)
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


def kill_helper_and_ranks(trial):
    job = trial.start(place="process")
    _moment(trial, job)
    trial.kill([job.helper(), *job.ranks], "the helper and all ranks")
    trial.settle(job)


def kill_ranks_then_helper(trial):
    """The helper finishes alone, and dies on the way."""
    job = trial.start(place="process")
    _moment(trial, job)
    trial.kill(job.ranks, "all ranks")
    seconds = moment.delay(trial.random)
    trial.tell(f"{1000 * seconds:.2f} ms later")
    moment.sleep_exactly(seconds)
    trial.kill([job.helper()], "the helper")
    trial.settle(job)


def kill_recovery(trial, nodes=False):
    """It is killed again and again, and run once more."""
    job = trial.start(place="threads" if nodes else trial.random.choice(("threads", "process")), nodes=nodes)
    _moment(trial, job)
    trial.kill([job.helper(), *job.ranks], "the application")
    job.wait_for_ranks_to_go()
    job.wait_for_all_to_go()
    steps = trial.steps(job)
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
        trial.look(job, steps, "after recovery was killed", recovered=False)
    trial.settle(job, steps)


def recover_beside_a_live_job(trial):
    """The pool of the job that lives is not touched, whether it is named or only there to be found."""
    alive = trial.start(place=trial.random.choice(("threads", "process")))
    _moment(trial, alive)
    with alive.held():
        dead = trial.start()
        _moment(trial, dead)
        trial.kill(dead.ranks, "all ranks of another job")
        dead.wait_for_ranks_to_go()
        steps, pools = trial.steps(dead), alive.pools()
        trial.recover_beside(dead, pools)
        trial.look(dead, steps, "after recovery beside a live job", recovered=True)
        if alive.pools() != pools:
            trial.blame("lost", f"glean recover has taken the pool of a live job: {pools}")
    trial.must_end_well(alive)
    trial.nothing_is_left(dead)


def control(trial):
    """The pool is thrown away before recovery: the harness must see that something is lost."""
    job = trial.start()
    amount = job.program.progress_max // 2
    moment.Moment("", lambda each: each.witness().progress, amount, 0).wait(job)
    trial.kill(job.ranks, "all ranks")
    job.wait_for_ranks_to_go()
    steps = trial.steps(job)
    for name in job.pools():
        (room.SHARED_MEMORY / name).unlink()
    trial.look(job, steps, "without its pool", recovered=True)
    for name in files.leftovers(job.directory):
        trial.blame("left", name)


def kill_recovery_of_nodes(trial):
    kill_recovery(trial, nodes=True)


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
    "the helper and all ranks": (4, kill_helper_and_ranks),
    "all ranks, then the helper": (4, kill_ranks_then_helper),
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
}
CONTROL = "control"
