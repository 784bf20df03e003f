# SPDX-License-Identifier: BSD-3-Clause
"""All benchmarks run with tiny sizes and print what benchmarks/README.md promises. Never looks at a speed.

  smoke_test.py BUILD_DIR
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(sys.argv.pop())
REPETITIONS = 1   # what is promised does not depend on it

RECIPE = {"processor", "cores", "memory", "kernel", "file_system", "mpi", "mpi_io", "pnetcdf", "glean", "ranks",
          "repetitions"}
PUT = {"bytes_per_put", "puts_per_rank", "memcpy_seconds", "put_seconds", "step_seconds", "memcpy_gb_per_s_rank",
       "put_gb_per_s_rank", "memcpy_gb_per_s", "put_gb_per_s", "step_gb_per_s", "put_to_memcpy", "step_to_memcpy"}
JOURNAL = {"bytes_per_put", "puts_per_rank", "copy_seconds", "put_seconds", "copy_gb_per_s_rank", "put_gb_per_s_rank",
           "journal_share", "journal_share_of_pairs", "journal_nanoseconds_per_put"}
PLAN = {"ranks", "nodes", "groups", "nodes_in_group", "aggregators_in_group", "seconds", "memory_bytes"}
FIO = ["fio, allocated file", "fio, huge pages, allocated file", "fio, huge pages, new file"]
CHECKPOINT = {"contender", "blocked_seconds", "durable_seconds", "cpu_seconds", "blocked_cpu_seconds",
              "observed_mb_per_s", "raw_mb_per_s", "blocked_shorter_by", "durable_to_reference", "cpu_to_reference",
              "each_blocked_seconds", "each_durable_seconds", "each_cpu_seconds"}

MODE = {"variant", "blocked_seconds", "durable_seconds", "blocked_shorter_by", "durable_to_reference",
        "each_blocked_seconds", "each_durable_seconds"}


UNMODIFIED = {"case", "bytes", "without_blocked_seconds", "without_durable_seconds", "with_blocked_seconds", "with_durable_seconds",
              "blocked_shorter_by", "durable_to_reference", "each_without_seconds", "each_with_seconds", "identical_files"}


class Benchmarks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # A build directory of its own, so that a real run's results stay.
        cls.build = pathlib.Path(tempfile.mkdtemp(prefix="bench-smoke-", dir=BUILD))
        cls.addClassCleanup(shutil.rmtree, cls.build)
        (cls.build / "bin").symlink_to(BUILD.resolve() / "bin")
        cls.ran = subprocess.run(
            [sys.executable, HERE / "run", cls.build, "--quick", "--no-slow", "--repetitions", str(REPETITIONS)],
            capture_output=True, text=True, check=False)
        cls.bench = cls.build / "bench"

    def results(self, name):
        path = self.bench / f"{name}.json"
        self.assertTrue(path.exists(), self.ran.stdout + self.ran.stderr)
        return json.loads(path.read_text())

    def check_head(self, result, ranks):
        self.assertEqual(set(result["recipe"]), RECIPE)
        self.assertEqual(result["recipe"]["ranks"], ranks)
        self.assertTrue(result["recipe"]["file_system"])
        self.assertTrue(result["quick"])

    def test_all_succeed(self):
        self.assertEqual(self.ran.returncode, 0, self.ran.stdout + self.ran.stderr)

    def test_put_reports_every_size(self):
        result = self.results("put_4")
        self.check_head(result, 4)
        self.assertEqual([r["bytes_per_put"] for r in result["results"]], [4096, 16384, 65536])
        for r in result["results"]:
            self.assertEqual(set(r), PUT)
            self.assertGreater(r["put_seconds"], 0)
            self.assertGreaterEqual(r["step_seconds"], r["put_seconds"])

    def test_journal_reports_every_size_beside_the_bare_copy(self):
        result = self.results("journal_2")
        self.check_head(result, 2)
        self.assertEqual([r["bytes_per_put"] for r in result["results"]], [64 << 10, 256 << 10])
        for r in result["results"]:
            self.assertEqual(set(r), JOURNAL)
            self.assertGreater(r["copy_seconds"], 0)
            self.assertGreater(r["put_seconds"], 0)

    def test_planning_is_reported_for_every_number_of_ranks(self):
        result = self.results("plan")
        self.check_head(result, 1)
        self.assertEqual([r["ranks"] for r in result["results"]], [64, 128, 256, 512, 1024])
        for r in result["results"]:
            self.assertEqual(set(r), PLAN)
            self.assertGreater(r["seconds"], 0)
            self.assertGreater(r["memory_bytes"], 0)
            self.assertEqual(r["nodes_in_group"], r["nodes"])

    def test_starting_is_reported_beside_zeroing_as_much_memory(self):
        result = self.results("start_4")
        self.check_head(result, 4)
        for name in ("open_seconds", "zeroing_seconds", "first_to_steady"):
            self.assertGreater(result[name], 0)
            self.assertEqual(len(result[f"each_{name}"]), REPETITIONS)

    def test_computing_while_the_drain_writes_is_reported_for_each_way_to_write(self):
        result = self.results("compute_2")
        self.check_head(result, 2)
        self.assertEqual([r["contender"] for r in result["results"]], ["NetCDF", "HDF5", "NetCDF, page cache"])
        for r in result["results"]:
            self.assertGreater(r["step_seconds"], 0)
            self.assertGreater(r["steps_while_draining"], 0)

    def test_modes_are_reported_side_by_side(self):
        result = self.results("modes_ompio")
        self.check_head(result, 4)
        self.assertEqual([r["variant"] for r in result["results"]], ["passthrough", "collective", "threaded", "dedicated"])
        self.assertTrue(result["identical_files"], result["different_files"])
        self.assertGreater(result["bytes"], 0)
        for r in result["results"]:
            self.assertEqual(set(r), MODE)
            self.assertGreaterEqual(r["durable_seconds"], r["blocked_seconds"])

    @unittest.skipUnless(shutil.which("fio"), "fio is not installed")
    def test_blocks_are_reported_over_tcp_and_over_mpi(self):
        result = self.results("exchange")
        self.check_head(result, 2)
        self.assertEqual([each["exchange"] for each in result["results"]], ["tcp", "mpi"])
        self.assertTrue(result["identical_files"])

    def test_copies_are_reported_beside_a_file_without_them(self):
        results = {one["way"]: one for one in self.results("copies")["results"]}
        self.assertEqual(set(results), {"netcdf", "netcdf and vtkhdf", "netcdf and zfp", "hdf5 instead"})
        for way, one in results.items():
            self.assertEqual(one["copy_seconds"] > 0, way != "netcdf")
            self.assertGreater(one["durable_seconds"], 0)

    def test_programs_of_the_field_are_reported_beside_the_first_of_their_ways(self):
        patterns = {each["pattern"]: each for each in self.results("patterns_plain")["patterns"]}
        self.assertEqual(set(patterns), {"FLASH checkpoint", "FLASH plot file", "S3D restart dump", "PHASTA-like mesh",
                                         "NekCEM-like elements"})
        for each in patterns.values():
            self.assertGreater(each["bytes"], 0)
            self.assertEqual(each["results"][0]["way"], each["reference"])
            self.assertTrue(any("GLEAN" in one["way"] for one in each["results"]))
            for one in each["results"]:
                self.assertEqual(len(one["each_run_seconds"]), REPETITIONS)
                self.assertEqual(len(one["each_blocked_seconds"]), REPETITIONS * each["values_per_run"])
                self.assertGreater(one["blocked_seconds"], 0)
                self.assertGreater(one["run_seconds"], one["blocked_seconds"])

    def test_restarts_are_reported_beside_other_ways_to_read(self):
        results = self.results("restart")["results"]
        self.assertEqual([(each["pattern"], each["recipe"]["ranks"]) for each in results],
                         [(pattern, 2) for pattern in ("flash", "s3d", "mesh")])
        for each in results:
            self.assertEqual(each["wrong_values"], 0)
            self.assertEqual([of_cache["cache"] for of_cache in each["caches"]], ["cold", "warm"])
            for of_cache in each["caches"]:
                self.assertLessEqual({"GLEAN", "PnetCDF collective"}, {one["reader"] for one in of_cache["results"]})
                for one in of_cache["results"]:
                    self.assertEqual(len(one["each_seconds"]), REPETITIONS)
                    self.assertGreater(one["seconds"], 0)

    def test_staging_is_reported_beside_what_it_competes_with(self):
        result = self.results("staging")
        self.assertEqual(set(result["recipe"]), RECIPE)
        self.assertTrue(result["quick"])
        self.assertTrue(result["stopped"]["identical_files"])
        for case in ("undisturbed", "stopped", "stopped, small pool"):
            self.assertGreater(result["stopped"][case]["staged_seconds"]["median"], 0)
        self.assertTrue(result["liars"]["identical_files"])
        self.assertGreater(min(result["liars"]["strangers"]), 0)
        for each in result["connections"]:
            self.assertEqual(each["connections"], 64)
            self.assertGreater(each["beside"]["connect_and_status"]["median_seconds"], 0)
        for kind in ("loopback", "hosts"):
            for each in result[kind] if "left_out" not in result[kind] else ():
                self.assertGreater(each["staged_bytes_per_second"]["median"], 0)

    def test_transfers_are_reported_two_sided_and_one_sided(self):
        result = self.results("transfer")
        self.check_head(result, 2)
        self.assertEqual([r["piece_bytes"] for r in result["results"]], [64 << 10, 1 << 20])
        for r in result["results"]:
            self.assertGreater(r["two_sided_mb_per_s"], 0)
            self.assertGreater(r["one_sided_mb_per_s"], 0)

    def test_recovery_is_reported_beside_fio(self):
        result = self.results("recover")
        self.check_head(result, 1)
        self.assertEqual([r["contender"] for r in result["results"]], ["glean recover", *FIO])
        for r in result["results"]:
            self.assertEqual(len(r["each_seconds"]), REPETITIONS)
            self.assertAlmostEqual(r["seconds_per_gib"], r["seconds"] * 64, delta=r["seconds_per_gib"] * 1e-6)

    @unittest.skipUnless(shutil.which("fio"), "fio is not installed")
    def test_drain_reports_glean_beside_fio(self):
        result = self.results("drain_2")
        self.check_head(result, 2)
        self.assertEqual([r["contender"] for r in result["results"] if r["contender"] != "glean, hdf5"],
                         ["glean", "glean, checksums", *FIO])
        for r in result["results"]:
            self.assertEqual(len(r["each_seconds"]), REPETITIONS)
            self.assertGreater(r["gb_per_s"], 0)

    def test_a_program_is_reported_with_and_without_glean(self):
        copies = self.results("unmodified_copies")
        self.check_head(copies, 2)
        self.assertEqual([len(one["blocked_seconds"]) for one in copies["results"]], [REPETITIONS] * 3)
        for interface, layer, cases in (("mpiio", "romio", 40), ("pnetcdf", "ompio", 4), ("hdf5", "romio", 3), ("pieces", "ompio", 8)):
            result = self.results(f"unmodified_{interface}_plain_{layer}")
            self.check_head(result, 2)
            self.assertEqual(len(result["results"]), cases)
            for r in result["results"]:
                self.assertEqual(set(r), UNMODIFIED)
                self.assertTrue(r["identical_files"], r["case"])
                self.assertEqual(len(r["each_with_seconds"]), REPETITIONS)
                self.assertGreaterEqual(r["with_durable_seconds"], r["with_blocked_seconds"])

    def test_checkpoint_reports_three_contenders_with_identical_files(self):
        for workload, layer, files in (("flash", "ompio", 2), ("s3d", "romio", 2)):
            result = self.results(f"{workload}_plain_{layer}")
            self.check_head(result, 2)
            self.assertEqual(result["files"], files)
            self.assertEqual([r["contender"] for r in result["results"]],
                             ["PnetCDF blocking", "PnetCDF nonblocking", "GLEAN"])
            for r in result["results"]:
                self.assertEqual(set(r), CHECKPOINT)
                self.assertGreaterEqual(r["durable_seconds"], r["blocked_seconds"])
            self.assertTrue(result["identical_files"], result["different_files"])
            self.assertGreater(result["pool_high_water_bytes"], 0)

    def test_a_table_of_targets_is_printed_and_stored(self):
        targets = json.loads((self.bench / "targets.json").read_text())
        self.assertTrue(any("blocked shorter by" in t["target"] for t in targets))
        for target in targets:
            self.assertIn(target["target"], self.ran.stdout)


if __name__ == "__main__":
    unittest.main()
