# SPDX-License-Identifier: BSD-3-Clause
"""One job that is disturbed, and what has to be true of it afterwards."""

import dataclasses
import json
import pathlib
import random
import re
import shutil
import subprocess

import files
import room
from job import DEADLINE, Job, eventually, program
from stagers import Stagers

SPILL_BLOCKS_BEGIN = 4096   # docs/formats/spill.md

# What a put does when the pool is full. Not `drop`: which steps it leaves out is not known beforehand.
POLICIES = ("block", "spill", "synchronous")
SPILLED = "with something in a spill file"
OF_BYTES = "of raw outputs"


@dataclasses.dataclass
class Result:
    kills: int = 0
    after_the_end: int = 0
    files: int = 0        # looked at under their final names
    recovered: int = 0    # of them: published by `glean recover` or by a helper that was alone
    cut: int = 0          # of them: with fewer steps than the program would have written
    policies: dict = dataclasses.field(default_factory=dict)      # kills by the setting `full`, and those with something spilled
    problems: list = dataclasses.field(default_factory=list)   # [what kind, words]


class Trial:
    def __init__(self, seed, number, kind, programs, places):
        self.random = random.Random(f"{seed} {number} {kind}")
        self.number = number
        self.kind = kind
        self.programs = programs
        self.places = places   # directories on several kinds of storage
        self.result = Result()
        self.story = []        # what was drawn and done
        self.evidence = []     # what to look at when it went wrong
        self.jobs = []
        self.services = []
        self.victims = []
        self.published = set()   # when something was killed
        self.spills = places["disk"] / f"trial.{number}.spill"   # where O_DIRECT works
        self.base = None

    # --- what is done to a job

    def start(self, name="kill_writer", place="threads", budgets=("1280KiB", "2MiB", "4MiB", "32MiB"), nodes=False,
              stagers=0, restart="0"):
        """A job, of which all ranks are there."""
        draw = self.random
        storage = draw.choice(sorted(self.places))
        if self.base is None:
            self.base = self.places[storage] / f"trial.{self.number}"
        which = self.programs.get(name, draw.randrange(3), by_all=nodes)
        directory = self.base / f"job.{len(self.jobs)}"
        directory.mkdir(parents=True)
        old_names = which.begin(draw, directory)
        full = draw.choice(POLICIES)
        spill_directory = self.spills / directory.name
        spill_directory.mkdir(parents=True)
        settings = {"GLEAN_FULL": full,
                    "GLEAN_SPILL_DIRECTORY": str(spill_directory),
                    "GLEAN_SPILL_BUDGET": draw.choice(("1MiB", "4MiB", "64MiB")),
                    "GLEAN_POOL_BUDGET": draw.choice(budgets if full == "block" else (*budgets, *budgets[:2])),
                    "GLEAN_DRAIN_REQUEST": draw.choice(("16KiB", "64KiB", "1MiB")),
                    "GLEAN_DRAIN_DEPTH": draw.choice(("1", "4")),
                    "GLEAN_DRAIN_THREADS": draw.choice(("1", "2")),
                    "GLEAN_DRAIN_DIRECT_IO": draw.choice(("auto", "off")),
                    "GLEAN_CHECKSUMS": draw.choice(("true", "false")),
                    **which.settings}
        if nodes:
            settings["GLEAN_TOPOLOGY_RANKS_PER_NODE"] = draw.choice(("1", "2"))
        service = None
        if stagers != 0:
            spills = draw.random() < 0.5
            job_memory = draw.choice(("4MiB", "4MiB", "8MiB") if spills else ("8MiB", "16MiB", "64MiB"))
            service = Stagers(stagers, directory, job_memory, restart, spill_directory if spills else None)
            settings |= service.settings | {"GLEAN_POOL_DEADLINE": "20s" if restart == "0" else "60s"}
            self.services.append(service)
        self.tell(f"{which.ranks} ranks of {which.name} {which.seed}, drained by {place}, {stagers} stagers, on {storage}, {settings}")
        witness = directory.with_name(directory.name + ".witness")
        job = Job(directory, which.name, which.ranks, which.arguments(directory, witness), place, witness, **settings)
        job.program, job.old_names, job.full, job.spill_directory = which, old_names, full, spill_directory
        job.ranks_per_node = int(settings.get("GLEAN_TOPOLOGY_RANKS_PER_NODE", which.ranks))
        job.stagers = service
        job.pids |= service.pids if service else set()   # of their pools
        self.jobs.append(job)
        job.wait_for_ranks()
        return job

    def tell(self, words):
        self.story.append(words)

    def kill(self, victims, words):
        """All at once. Whether they lived until now."""
        spilled = any(self.spilled(job) for job in self.jobs)
        victims = [victim for victim in victims if victim is not None]
        lived = [victim.kill() for victim in victims]
        self.victims += victims
        self.published = set().union(*(job.published() for job in self.jobs))
        in_time = any(lived)
        self.tell(f"killed {words}: {[victim.pid for victim in victims]}{'' if in_time else ', after the end'}")
        self.result.kills += in_time
        self.result.after_the_end += not in_time
        if in_time:
            of_bytes = any(job.program.is_of_bytes for job in self.jobs)
            for policy in {job.full for job in self.jobs} | ({SPILLED} if spilled else set()) | ({OF_BYTES} if of_bytes else set()):
                self.result.policies[policy] = self.result.policies.get(policy, 0) + 1
        return in_time

    def spilled(self, job):
        """Whether something lies, or lay, in a spill file of it: what was read back leaves a hole."""
        try:
            return any(path.stat().st_size > SPILL_BLOCKS_BEGIN for path in job.spill_directory.iterdir())
        except FileNotFoundError:   # it has just gone with its session
            return False

    # --- what has to be true

    def blame(self, what, words):
        self.result.problems.append((what, words))

    def look(self, job, bounds, when, recovered):
        for words in job.program.problems_of(job, bounds, recovered):
            self.blame("lost", f"{when}: {words}")

    def command(self, *arguments, **options):
        return subprocess.run([str(program("glean")), *arguments], capture_output=True, text=True, timeout=DEADLINE, **options)

    def recover_arguments(self, jobs):
        """Without names where there is nothing of others that it could find."""
        return ["recover"] if room.is_own() else ["recover", *(name for job in jobs for name in job.pools())]

    def recover(self, *jobs):
        """What it has said."""
        there = [name for job in jobs for name in job.pools()]
        if not there and not room.is_own():
            return ""
        seen = self.command(*self.recover_arguments(jobs), "--dry-run", "--json")
        self.evidence.append(f"glean recover --dry-run --json → {seen.returncode}\n{seen.stdout}{seen.stderr}")
        promised = self.promised(json.loads(seen.stdout)["pools"])
        done = self.command(*self.recover_arguments(jobs))
        self.evidence.append(f"glean recover → {done.returncode}\n{done.stdout}{done.stderr}")
        if done.returncode != 0:
            self.blame("refused", f"glean recover ended with {done.returncode}")
        for name in self.unfinished(json.loads(seen.stdout)["pools"]):
            if name not in done.stdout:
                self.blame("lost", f"glean recover does not name {name}, which it could not complete")
        for path, steps in promised:
            if not any(job.program.holds(path, steps) for job in jobs):
                self.blame("lost", f"{path.name} does not hold the {steps} steps that glean recover --dry-run found in the pool")
        if room.is_own():
            again = self.command("recover")
            if again.returncode != 0 or "nothing to recover" not in again.stdout + again.stderr:
                self.blame("left", f"the second glean recover ended with {again.returncode}: {again.stdout}{again.stderr}")
        return done.stdout

    def promised(self, pools):
        """(path, complete steps) of what can be recovered: on several nodes those that each of them has. Not of files that the program has
        removed: they go when what was closed after them is durable."""
        steps = {}
        for pool in pools:
            for output in pool["outputs"]:
                if re.search(r"/\.[^/]*\.glean-[^/]*\.removed$", output["final_path"]):
                    continue
                steps.setdefault((pool["job"], output["final_path"]), []).append(0 if output["problem"] else output["steps_complete"])
        nodes = max((pool["nodes"] for pool in pools), default=1)
        return [(pathlib.Path(path), min(each)) for (_, path), each in steps.items() if len(each) == nodes and min(each) > 0]

    def unfinished(self, pools):
        return [output["final_path"] for pool in pools for output in pool["outputs"] if output["problem"] or not output["closed"]]

    def recover_beside(self, dead, pools_in_use):
        """Recovery while another job lives, whose pools it has to leave alone."""
        if room.is_own() or dead.pools():
            done = self.command(*self.recover_arguments([dead]))
            self.evidence.append(f"glean recover beside {pools_in_use} → {done.returncode}\n{done.stdout}{done.stderr}")
            if done.returncode != 0:
                self.blame("refused", f"glean recover beside a live job ended with {done.returncode}")
        for name in pools_in_use:
            refused = self.command("recover", name)
            if refused.returncode == 0:
                self.blame("lost", f"glean recover {name} did not refuse a pool in use: {refused.stdout}{refused.stderr}")

    def settle(self, job, bounds=None, helper_was_ready=False, recovery_is_alone=False):
        """After the ranks were killed: what is there is whole, and recovery brings the rest."""
        job.wait_for_ranks_to_go()
        # A process that is killed has no environment any more, by which it is found, while it still holds its locks.
        eventually("all that were killed are gone", lambda: not any(victim.lives for victim in self.victims), pause=0.005)
        bounds = bounds or job.program.bounds(job)
        if job.place == "process":
            job.wait_for_all_to_go()
            if helper_was_ready and job.pools():
                self.blame("left", f"the helper has gone and left {job.pools()}")
        self.look(job, bounds, "before recovery", recovered=False)
        said = self.recover(job)
        self.look(job, bounds, "after recovery", recovered=True)
        for name in job.program.must_be_named(bounds) if recovery_is_alone else []:
            # A rank that lived a moment longer than the drain may have failed to write, and has failed the file with that.
            reason = r"((written in place, )?not closed by rank|rank \d+: .* are gone)"
            end = "(removed|all that was captured is in it|published|what was synchronized is in)"
            if not re.search(rf"/{name}: {reason}.*→ {end}", said):
                self.blame("lost", f"{name} was open, and glean recover does not say what has become of it")
        self.result.recovered += len(job.published() - self.published)
        self.nothing_is_left(job)
        return bounds

    def must_end_well(self, job):
        """Whatever was killed, the application does not notice."""
        try:
            status = job.mpirun.wait(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            self.blame("hangs", f"the application did not end within {DEADLINE} s")
            return
        if status != 0:
            self.blame("lost", f"the application ended with {status}")
        job.wait_for_all_to_go()
        self.look(job, job.program.bounds_of_whole(), "after an application that ended well", recovered=True)
        self.nothing_is_left(job)

    def nothing_is_left(self, job):
        for name in job.pools():
            self.blame("left", f"the pool {name}")
        if room.is_own():
            for path in room.SHARED_MEMORY.glob("glean.*"):
                if not any(path.name in other.pools() for other in self.jobs):
                    self.blame("left", f"the shared memory {path.name}")
        for name in files.leftovers(job.directory):
            self.blame("left", f"the working file {name}")
        for path in job.spill_directory.iterdir():
            self.blame("left", f"the spill file {path.name}")
        for process in job.processes():
            self.blame("left", f"process {process.pid}: {process.words}")
        sums = 0
        for path in sorted(job.directory.glob(".*.glean-sums")):
            sums += 1
            run = self.command("verify", str(job.directory / path.name[1:].removesuffix(".glean-sums")))
            if run.returncode != 0:
                self.blame("lost", f"glean verify ended with {run.returncode}: {run.stdout}{run.stderr}")
        cut = job.program.are_cut(job.directory)
        self.result.files += len(cut)
        self.result.cut += sum(cut)

    # --- the whole of it

    def run(self, what):
        try:
            what(self)
        except Exception as error:   # the others go on, and this one is told of
            self.blame("hangs" if isinstance(error, (TimeoutError, subprocess.TimeoutExpired)) else "broke", repr(error))
        if self.result.problems:
            for job in self.jobs:
                listing = "\n".join(f"  {path.stat().st_size:9} {path.name}" for path in sorted(job.directory.iterdir()))
                self.evidence.append(f"files of {job.directory}:\n{listing}\npools {job.pools()}\nlog:\n{job.log[-4000:]}")
                if job.stagers:
                    self.evidence.append(f"stagers:\n{job.stagers.log[-4000:]}")
                if job.program.witnesses:
                    self.evidence.append(f"witness: {[list(own) for own in job.witness().words]}")
        for service in self.services:
            service.kill()
        for job in self.jobs:
            job.end()
            for name in job.pools():
                (room.SHARED_MEMORY / name).unlink(missing_ok=True)
        for directory in (self.base, self.spills):
            if directory is not None:
                shutil.rmtree(directory, ignore_errors=True)
        return self.result
