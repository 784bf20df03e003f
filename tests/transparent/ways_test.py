# SPDX-License-Identifier: BSD-3-Clause
"""The corpus, bare and in every mode, and with every reason for which a job captures nothing. A few cases of it by default.

  ways_test.py BUILD [--all] [--only WAY] [-n RANKS]

A job of which some ranks lack the library is in tests/cli/run_test.py: it says so and ends.
"""

import argparse
import dataclasses
import importlib.machinery
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from job import Mpi, Under

HERE = pathlib.Path(__file__).resolve().parent
SOME = ["communicators_self", "errors_of_delete", "errors_of_open", "finalize_open", "modes_reopen", "modes_two_handles",
        "outside_read", "outside_unlink", "patterns_checkpoints", "removed_by_mpi", "shared_ordered", "standard_consistency_by_reopening",
        "views_vector"]
OF_THEIR_OWN = ["unshare --mount", "unshare --mount --user --map-root-user"]   # mounts


@dataclasses.dataclass
class Way:
    environment: dict = dataclasses.field(default_factory=dict)
    shared_memory: str = ""   # options of the file system that is mounted at /dev/shm
    opens: str = ""           # which of them the report counts: captured or passed_through; without a session there is no report
    says: str = ""            # what is on standard error


RULE = "[[rule]]\npattern = '*'\nmode = 'passthrough'\n"
ELSEWHERE = {"OMPI_MCA_btl_vader_backing_directory": "/tmp"}   # Open MPI's own shared memory
WAYS = {
    "passthrough": Way({"GLEAN_MODE": "passthrough"}, opens="passed_through", says="passes through .*: mode and rules capture nothing"),
    "collective": Way({"GLEAN_MODE": "collective"}, opens="passed_through", says="passes through .*: mode and rules capture nothing"),
    "in-place": Way({"GLEAN_PUBLISH": "in-place"}, opens="captured", says="what a kill leaves there may be half-written"),
    "dedicated": Way({"GLEAN_MODE": "dedicated"}, opens="captured", says="MPI-IO captured"),
    "rule": Way({"GLEAN_CONFIG": "rule.toml"}, opens="passed_through", says="passes through .*: mode and rules capture nothing"),
    "names": Way({"GLEAN_CONFIG": "names.toml"}, opens="passed_through", says="MPI-IO captured"),
    "budget": Way({"GLEAN_POOL_BUDGET": "100TiB"}, says="pool.budget = 100TiB does not fit: .*: MPI-IO passes through"),
    "full": Way(ELSEWHERE | {"GLEAN_POOL_BUDGET": "32MiB"}, "size=4m", says="does not fit: .*: MPI-IO passes through"),
    "read-only": Way(ELSEWHERE, "ro", says="cannot make the pool .*: MPI-IO passes through"),
}


def corpus_module():
    loader = importlib.machinery.SourceFileLoader("corpus", str(HERE / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("corpus", loader))
    loader.exec_module(module)
    return module


def mounts(options):
    """The command that runs another one with such a /dev/shm; None where this user may not mount."""
    inside = ["bash", "-c", f'mount -t tmpfs -o {options} tmpfs /dev/shm && exec "$@"', "bash"]
    for own in OF_THEIR_OWN:
        command = own.split() + inside
        if subprocess.run([*command, "true"], capture_output=True).returncode == 0:
            return command
    return None


def opens_in(report):   # of the last program, finalize_open
    calls = {call["name"]: call for call in json.loads(report.read_text())["calls"]}
    return {kind for kind in ("captured", "passed_through") if calls["MPI_File_open"][kind] > 0}


def check(name, way, corpus, names, reference, io, settings):
    """What is wrong with the cases in that way."""
    prefix = mounts(way.shared_memory) if way.shared_memory else []
    if prefix is None:
        print(f"{name}: left out, this user may not mount")
        return
    report = settings / f"{name}.json"
    environment = way.environment | {"GLEAN_REPORT_FILE": str(report)}
    if "GLEAN_CONFIG" in environment:
        environment["GLEAN_CONFIG"] = str(settings / environment["GLEAN_CONFIG"])
    corpus.errors.clear()
    outcomes = corpus.run(names, f"under-{name}", io, Under([*prefix, corpus.bin / "glean", "run", "--"], environment))
    for case in names:
        yield from (f"{case}: {difference}" for difference in reference[case].differences(outcomes[case]))
    first = corpus.errors[0]
    if not re.search(way.says, first):
        yield f"standard error has nothing like '{way.says}':\n{first}"
    if way.opens and way.opens not in (opens := opens_in(report)) or way.opens == "passed_through" and "captured" in opens:
        yield f"the report does not count files as {way.opens}"
    if not way.opens and report.exists():
        yield "there is a session, and a report"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--all", action="store_true", help="all cases")
    parser.add_argument("--only", choices=WAYS, action="append", help="these ways; more than once")
    parser.add_argument("-n", "--ranks", type=int, default=4)
    arguments = parser.parse_args()
    module, mpi = corpus_module(), Mpi(arguments.ranks)
    io = mpi.implementations()[0]
    root = pathlib.Path(tempfile.mkdtemp(prefix="transparent-", dir=arguments.build))
    try:
        (root / "rule.toml").write_text(RULE)
        (root / "names.toml").write_text(RULE.replace("'*'", "'?*'"))   # not known to be all files
        corpus = module.Corpus(arguments.build.resolve(), mpi, root.resolve() / "runs")
        names = sorted(set(corpus.cases() if arguments.all else SOME) - module.CANNOT.get(io, set()))
        reference = corpus.run(names, "bare", io, Under())
        failed = 0
        for name in arguments.only or WAYS:
            wrong = list(check(name, WAYS[name], corpus, names, reference, io, root.resolve()))
            print(f"{name}: {len(names)} cases, " + ("as without the library" if not wrong else "\n    ".join(["wrong:", *wrong])))
            failed += bool(wrong)
        return 1 if failed else 0
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    sys.exit(main())
