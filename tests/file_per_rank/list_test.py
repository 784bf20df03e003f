# SPDX-License-Identifier: BSD-3-Clause
"""Programs that list a directory find the files that are gathered in a container, as they would find them without GLEAN."""

import collections
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
GLEAN = BUILD / "bin" / "glean"
MPIRUN = shlex.split(os.environ["MPIRUN"])
RANKS = 3
RESTARTS = [f"restart.{rank}" for rank in range(RANKS)]
STREAMS = ["readdir", "readdir64", "readdir_r", "telldir", "scandirat"]
PYTHON = """
import glob, os, pathlib, sys
directory = sys.argv[1]
for name in os.listdir(directory): print("listdir", name)
with os.scandir(directory) as entries:
    for entry in entries: print("scandir", entry.name, entry.is_file(), entry.stat().st_size if entry.name != "restart.sion" else "")
descriptor = os.open(directory, os.O_RDONLY)
for name in os.listdir(descriptor): print("descriptor", name)
for path in pathlib.Path(directory).iterdir(): print("iterdir", path.name)
for path in glob.glob(directory + "/restart.[0-9]"): print("glob", os.path.basename(path))
print("newest", os.path.basename(max(glob.glob(directory + "/restart.?"), key=os.path.getmtime))[:8])
print("stat", os.stat("restart.1", dir_fd=descriptor).st_size, os.access("restart.1", os.R_OK, dir_fd=descriptor))
"""


class OfPrograms(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.there = pathlib.Path(directory.name)
        self.data = self.there / "data"
        self.data.mkdir()
        self.rules('pattern = "restart.{rank}"\ninto = "restart.sion"\n')

    def rules(self, text):
        (self.there / "glean.toml").write_text(f'pool.budget = "32MiB"\n[[rule]]\n{text}')

    def run_program(self, program, *words, under=(GLEAN, "run", "--"), ranks=RANKS):
        """What it has said, by call."""
        command = [*under, *MPIRUN, str(ranks), BUILD / "bin" / f"file_per_rank_{program}", *words]
        result = subprocess.run(list(map(str, command)), cwd=self.there, capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        said = collections.defaultdict(list)
        for line in result.stdout.splitlines():
            said[line.split(" ")[0]].append(line.partition(" ")[2])
        return said

    def assert_listed(self, said, restarts, others):
        for call in STREAMS:
            with self.subTest(call=call):
                self.assertEqual(sorted(said[call]), sorted([".", "..", *restarts, *others]))
        self.assertEqual(said["scandir"], sorted([*restarts, *(name for name in others if name.startswith("restart."))]))
        self.assertEqual(said["scandir64"], said["scandir"])
        self.assertEqual(sorted(said["glob"]), sorted([*said["scandir"], "restart.0"]))   # that is found by its name, too
        self.assertEqual(sorted(said["glob64"]), said["scandir"])
        self.assertEqual(said["glob_directories"], ["restart.0"])

    def write(self):
        return self.run_program("list", "write", "data")

    def test_the_files_are_listed_while_they_are_on_the_node(self):
        said = self.write()
        hidden = {name for name in said["readdir"] if name.startswith(".restart.sion.")}   # of files whose length was not known
        self.assert_listed(said, RESTARTS, hidden)

    def test_the_files_are_listed_when_they_are_in_the_container(self):
        self.write()
        said = self.run_program("list", "look", "data")
        self.assert_listed(said, RESTARTS, ["restart.sion"])
        # Who removes what is found removes the container last.
        self.assertEqual([name for name in said["readdir"] if name not in (".", "..")], [*RESTARTS, "restart.sion"])

    def test_the_files_are_listed_as_without_glean(self):
        self.run_program("list", "write", "data", under=())
        bare = self.run_program("list", "look", "data", under=())
        for name in RESTARTS:
            (self.data / name).unlink()
        self.write()
        self.assert_listed(self.run_program("list", "look", "data"), [name for name in bare["scandir"]], ["restart.sion"])

    def test_a_file_of_its_own_is_listed_once(self):
        self.write()
        (self.data / "restart.1").write_text("its own")
        (self.data / "other").write_text("no rule has it")
        self.assert_listed(self.run_program("list", "look", "data"), RESTARTS, ["other", "restart.sion"])

    def test_what_was_listed_is_used_by_the_descriptor_of_the_directory(self):
        self.write()
        self.assert_listed(self.run_program("list", "use", "data"), ["restart.0", "restart.7"], ["restart.sion"])
        self.assert_listed(self.run_program("list", "look", "data"), ["restart.0", "restart.7"], ["restart.sion"])

    def test_directories_without_such_files_are_listed_as_they_are(self):
        said = self.run_program("list", "run", "ls -1a data; mkdir data/empty; ls -1a data/empty; rmdir data/empty")
        self.assertEqual([name for name in said], [".", ".."])

    def test_a_directory_of_each_rank_lists_the_files_that_a_container_above_has(self):
        for rank in range(RANKS):
            (self.there / f"processor{rank}" / "0.5").mkdir(parents=True)
        self.rules('pattern = "processor{rank}/{time}/{field}"\ninto = "all.{time}.sion"\n')
        make = "; ".join(f"echo {field} > processor{rank}/0.5/{field}" for rank in range(RANKS) for field in "Up")
        subprocess.run(make, shell=True, cwd=self.there, check=True)
        names = [f"processor{rank}/0.5/{field}" for rank in range(RANKS) for field in "Up"]
        subprocess.run([GLEAN, "container", "pack", "all.0.5.sion", *names], cwd=self.there, check=True, capture_output=True)
        for name in names:
            (self.there / name).unlink()
        said = self.run_program("list", "run", "for each in processor*/0.5/*; do echo found $each; done; ls -1 processor1/0.5")
        self.assertEqual(sorted(said["found"]), sorted(names))
        self.assertEqual(sorted(name for name in said if name != "found"), ["U", "p"])

    def test_python_lists_them(self):
        self.write()
        (self.there / "look.py").write_text(PYTHON)
        said = self.run_program("list", "run", f"{shlex.quote(sys.executable)} -B look.py data")
        for call in ("listdir", "descriptor", "iterdir"):
            self.assertEqual(sorted(said[call]), [*RESTARTS, "restart.sion"])
        self.assertEqual(sorted(said["scandir"]), [*(f"{name} True 10" for name in RESTARTS), "restart.sion True "])
        self.assertEqual(sorted(said["glob"]), RESTARTS)
        self.assertEqual(said["newest"] + said["stat"], ["restart.", "10 True"])

    def test_the_library_of_cpp_lists_and_removes_them(self):
        self.write()
        said = self.run_program("filesystem", "data")
        self.assertEqual(sorted(said["directory_iterator"]), [*(f"{name} 1" for name in RESTARTS), "restart.sion 1"])
        self.assertEqual(sorted(said["recursive_directory_iterator"])[:RANKS], [f"{name} 10" for name in RESTARTS])
        self.assertEqual(said["remove"] + said["remove_all"] + said["exists"], ["not_empty", str(RANKS + 2), "0"])
        self.assertFalse(self.data.exists())

    def test_commands_look_at_them(self):
        self.write()
        said = self.run_program("list", "run", "ls -l data/ > long && find data -type f && tar cf data.tar data && tar tf data.tar")
        self.assertEqual(len((self.there / "long").read_text().splitlines()), 1 + RANKS + 1)
        files = [f"data/{name}" for name in [*RESTARTS, "restart.sion"]]
        self.assertEqual(sorted(name for name in said if name != "data/"), files)
        self.assertEqual({len(said[name]) for name in files}, {2})

    def test_a_directory_with_them_is_removed_by_commands(self):
        for command in ("rm -r data", f"{shlex.quote(sys.executable)} -c 'import shutil; shutil.rmtree(\"data\")'"):
            with self.subTest(command=command):
                self.data.mkdir(exist_ok=True)
                self.write()
                self.run_program("list", "run", command)
                self.assertFalse(self.data.exists())
                self.assertEqual([path.name for path in pathlib.Path("/dev/shm").glob("glean*")], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
