# SPDX-License-Identifier: BSD-3-Clause
"""Four hosts of two ranks write the files that eight ranks of one node write, byte for byte.

  hosts_test.py SEDOV MPIEXEC [LIBRARY HINTS]

LIBRARY: to preload, for programs that know nothing of it. HINTS: hints.c.

Needs root and network name spaces (tools/hosts check); returns 77 with the reason where that cannot be.
"""
import filecmp
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HOSTS = pathlib.Path(__file__).resolve().parents[2] / "tools" / "hosts"
NAME = f"h{os.getpid()}n"
COUNT, RANKS = 4, 2
SEDOV, MPIEXEC = sys.argv[1:3]
LIBRARY, HINTS = sys.argv[3:5] if len(sys.argv) > 4 else (None, None)
PROBLEM = ["--blocks", "4,2,2", "--steps", "2", "--checkpoint-every", "2", "--plot-every", "2", "--output"]


class Hosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["GLEAN_POOL_BUDGET"] = "64MiB"
        subprocess.run([HOSTS, "up", NAME, str(COUNT), "1gbit", "2", "1gbit"], check=True)
        cls.addClassCleanup(subprocess.run, [HOSTS, "down", NAME], check=True)

    def on_hosts(self, directory, output="glean", **settings):
        return subprocess.run([HOSTS, "mpirun", NAME, str(RANKS), SEDOV, *PROBLEM, output, "--directory", directory],
                              env=dict(os.environ, **settings), capture_output=True, text=True, timeout=90, check=False)

    def test_each_host_has_a_name_and_shared_memory_of_its_own(self):
        def run(host, command):
            return subprocess.run([HOSTS, "run", NAME, str(host), "bash", "-c", command],
                                  capture_output=True, text=True, check=True).stdout.strip()
        self.assertEqual([run(host, "hostname") for host in range(COUNT)], [f"{NAME}{host}" for host in range(COUNT)])
        run(1, "touch /dev/shm/here")
        # A pool may be there of a job that MPI_Abort has ended.
        self.assertEqual([run(host, "ls /dev/shm | grep -v '^glean' || true") for host in (0, 1)], ["", "here"])

    def test_the_files_are_those_of_one_node(self):
        with tempfile.TemporaryDirectory() as name:
            one, several, planned = (pathlib.Path(name, part) for part in ("one", "several", "planned"))
            for directory in (one, several, planned):
                directory.mkdir()
            environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
            subprocess.run([MPIEXEC, "--oversubscribe", "--bind-to", "none", "-n", str(COUNT * RANKS), SEDOV, *PROBLEM,
                            "glean", "--directory", one], env=environment, capture_output=True, timeout=90, check=True)
            names = sorted(path.name for path in one.glob("*.nc"))
            self.assertEqual(len(names), 4, names)
            # The hosts of a switch are an I/O group, of which one writes.
            machine = pathlib.Path(name, "switches.toml")
            machine.write_text('name = "switches"\n[network]\nkind = "torus"\nextents = [2, 2]\n[way_out]\ngroup_extents = [2, 1]\n')
            by_plan = {"GLEAN_TOPOLOGY_MACHINE": str(machine), "GLEAN_PLAN_AGGREGATORS": "1"}
            for directory, settings in ((several, {}), (planned, by_plan)):
                ran = self.on_hosts(directory, **settings)
                self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
                self.assertEqual(sorted(path.name for path in directory.glob("*.nc")), names)
                _, different, missing = filecmp.cmpfiles(one, directory, names, shallow=False)
                self.assertEqual((different, missing), ([], []))

    @unittest.skipUnless(LIBRARY, "no library to preload")
    def test_programs_that_know_nothing_of_it_write_what_they_write_without(self):
        with tempfile.TemporaryDirectory() as name:
            for output, suffix in (("pnetcdf", "nc"), ("hdf5", "h5")):
                bare, captured = pathlib.Path(name, f"{output}.bare"), pathlib.Path(name, f"{output}.captured")
                report = pathlib.Path(name, f"{output}.json")
                for directory, settings in ((bare, {}), (captured, {"LD_PRELOAD": LIBRARY, "GLEAN_REPORT_FILE": str(report)})):
                    directory.mkdir()
                    ran = self.on_hosts(directory, output, **settings)
                    self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
                names = sorted(path.name for path in bare.glob(f"*.{suffix}"))
                self.assertEqual(sorted(path.name for path in captured.glob(f"*.{suffix}")), names)
                _, different, missing = filecmp.cmpfiles(bare, captured, names, shallow=False)
                self.assertEqual((different, missing), ([], []))
                self.assertTrue(names)
                outputs = [pathlib.Path(each["path"]).name for each in json.loads(report.read_text())["outputs"]]
                self.assertEqual(set(names) - set(outputs), set(), "they were not captured")

    @unittest.skipUnless(LIBRARY, "no library to preload")
    def test_hints_may_name_some_of_the_hosts(self):
        last = f"{NAME}{COUNT - 1}:1"
        with tempfile.TemporaryDirectory() as name:
            file_of_hints = pathlib.Path(name, "hints")
            file_of_hints.write_text(f"# the last host\ncb_config_list {last}\n")
            for number, (arguments, variables) in enumerate((([last], {}), ([], {"ROMIO_HINTS": str(file_of_hints)}))):
                outcomes = []
                for label, preloaded in (("bare", {}), ("captured", {"LD_PRELOAD": LIBRARY, "GLEAN_REPORT_FILE": f"{name}/report.json"})):
                    file = pathlib.Path(name, f"{label}{number}")
                    ran = subprocess.run([HOSTS, "mpirun", NAME, "1", "--mca", "io", "romio321", HINTS, file, *arguments],
                                         env=os.environ | variables | preloaded, capture_output=True, text=True, timeout=60, check=False)
                    self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
                    self.assertNotIn("does not find", ran.stderr)
                    outcomes.append((ran.stdout, file.read_bytes()))
                self.assertEqual(outcomes[0], outcomes[1])
                # Open MPI does not say what is in the file.
                self.assertIn(f"cb_config_list: {last}" if arguments else "cb_config_list: none", outcomes[0][0])
                report = json.loads(pathlib.Path(name, "report.json").read_text())
                self.assertEqual([pathlib.Path(each["path"]).name for each in report["outputs"]], [f"captured{number}"])

    def test_a_directory_that_one_host_alone_sees_is_refused_with_the_name_of_a_node_that_does_not(self):
        ran = self.on_hosts("/dev/shm")
        self.assertNotEqual(ran.returncode, 0)
        self.assertRegex(ran.stdout + ran.stderr, r"node [123] \(rank [246]\): cannot open")
        self.assertIn("all nodes have to see the same directory", ran.stdout + ran.stderr)


if __name__ == "__main__":
    check = subprocess.run([HOSTS, "check"], capture_output=True, text=True, check=False)
    if check.returncode != 0:
        print(f"skipped: {check.stderr.strip()}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
