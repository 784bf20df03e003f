# SPDX-License-Identifier: BSD-3-Clause
import datetime
import json
import pathlib
import time
import unittest
import uuid

from command import CommandTest


class Doctor(CommandTest):
    def findings(self, *arguments, **variables):
        run = self.glean("doctor", "--json", *arguments, **variables)
        document = json.loads(run.stdout)
        return run, document, {finding["subject"]: finding for finding in document["findings"]}

    def test_finds_what_a_session_needs(self):
        run, document, found = self.findings(self.directory)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertNotEqual(document["verdict"], "fail")
        for subject in ("configuration", "MPI", "MPI threads", "PnetCDF", "io_uring", "locked memory", "cores",
                        "memory", "shared memory", str(self.directory)):
            self.assertIn(subject, found)
        self.assertIn("MPI_THREAD_", found["MPI threads"]["text"])

    def test_every_line_of_the_text_has_a_verdict_or_belongs_to_one(self):
        run = self.glean("doctor")
        self.assertEqual(run.returncode, 0, run.stdout)
        for line in run.stdout.splitlines():
            self.assertRegex(line, r"^(ok  |warn|fail|    )  ")

    def test_shows_the_plan_for_the_ranks_that_are_asked_for(self):
        found = self.findings("--ranks", 16, GLEAN_POOL_BUDGET="32MiB")[2]
        self.assertIn("32 MiB", found["plan, 16 ranks"]["text"])

    def test_says_when_the_job_ends(self):
        end = int(time.time()) + 600
        found = self.findings(SLURM_JOB_END_TIME=str(end))[2]["end of the job"]
        self.assertEqual(found["verdict"], "ok")
        moment = datetime.datetime.fromtimestamp(end, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.assertEqual(found["text"], f"{moment}, in 10 min (SLURM_JOB_END_TIME)")
        self.assertIn("in 55 min (job.end)", self.findings(GLEAN_JOB_END="55min")[2]["end of the job"]["text"])
        self.assertIn("not known", self.findings(GLEAN_JOB_END="none")[2]["end of the job"]["text"])

    def test_warns_of_an_end_of_the_job_that_does_not_count(self):
        for variables in ({"SLURM_JOB_END_TIME": "soon"}, {"GLEAN_JOB_END": "2020-01-31T12:00:00Z"}):
            found = self.findings(**variables)[2]["end of the job"]
            self.assertEqual(found["verdict"], "warn", variables)
            self.assertIn(next(iter(variables.values())), found["text"])

    def test_a_budget_that_is_too_small_fails_with_the_one_that_works(self):
        run, document, found = self.findings("--ranks", 64, GLEAN_POOL_BUDGET="1MiB")
        self.assertEqual((run.returncode, document["verdict"]), (1, "fail"))
        self.assertIn("8MiB", found["plan, 64 ranks"]["advice"])

    def test_says_that_pnetcdf_may_be_told_to_write_past_mpi_io(self):
        found = self.findings(PNETCDF_HINTS="nc_header_align_size=512; nc_driver = gio")[2]["PNETCDF_HINTS"]
        self.assertEqual(found["verdict"], "warn")
        self.assertIn("not", found["text"] + found["advice"])
        self.assertNotIn("PNETCDF_HINTS", self.findings(PNETCDF_HINTS="nc_driver=mpiio")[2])

    def test_a_wrong_configuration_fails_and_the_rest_is_examined(self):
        run, _, found = self.findings(GLEAN_MOD="threaded")
        self.assertEqual(run.returncode, 1)
        self.assertEqual(found["configuration"]["verdict"], "fail")
        self.assertIn("memory", found)

    def test_a_directory_that_is_not_there_fails(self):
        run, _, found = self.findings(self.directory / "none")
        self.assertEqual(run.returncode, 1)
        self.assertEqual(found[str(self.directory / "none")]["verdict"], "fail")

    def test_a_directory_where_nothing_can_be_written_fails(self):
        run, _, found = self.findings("/proc")
        self.assertEqual(run.returncode, 1)
        self.assertIn("nothing can be written", found["/proc"]["text"])

    def test_leaves_nothing_in_the_directory(self):
        self.findings(self.directory)
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_names_what_lies_in_shared_memory_and_is_no_pool(self):
        left = pathlib.Path("/dev/shm") / f"glean.test.{uuid.uuid4().hex}"
        left.write_bytes(b"\0" * 4096)
        self.addCleanup(left.unlink)
        run = self.glean("doctor")
        self.assertIn(str(left), run.stdout)
        self.assertIn(f"`rm {left}`", run.stdout)


if __name__ == "__main__":
    unittest.main()
