# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import random
import unittest

from written import WrittenTest

RECORD = 1 << 20   # bytes of a record of heat.nc


class Verify(WrittenTest):
    def verdict(self, *paths):
        run = self.glean("verify", "--json", *paths)
        return run.returncode, json.loads(run.stdout)

    def test_a_file_as_it_was_published_is_good(self):
        heat = self.heat(GLEAN_CHECKSUMS="true")
        run = self.glean("verify", "heat.nc")
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "heat.nc: good\n", ""))
        self.assertEqual(self.glean("verify", "--quiet", "heat.nc").stdout, "")
        code, (file,) = self.verdict("heat.nc")
        self.assertEqual((code, file["verdict"], file["differences"]), (0, "good", []))
        self.assertEqual(file["bytes"], heat.stat().st_size)
        self.assertGreater(file["summed_bytes"], 4 * RECORD)
        self.assertLess(file["read_back_bytes"], 4096)   # the header

    def test_it_is_good_with_every_way_of_writing(self):
        for variables in ({"GLEAN_PUBLISH": "in-place"}, {"GLEAN_DRAIN_THREADS": "2", "GLEAN_DRAIN_REQUEST": "4KiB"},
                          {"GLEAN_DRAIN_DIRECT_IO": "off"}, {"GLEAN_POOL_BUDGET": "2MiB"}):
            with self.subTest(variables):
                heat = self.write_heat(GLEAN_CHECKSUMS="true", **variables)
                self.assertEqual(self.verdict("heat.nc")[0], 0)
                self.flip(heat, heat.stat().st_size - 1)
                self.assertEqual(self.verdict("heat.nc")[0], 1)

    def test_every_flipped_byte_is_found_and_named(self):
        heat = self.heat(GLEAN_CHECKSUMS="true", GLEAN_DRAIN_REQUEST="64KiB")
        chosen = random.Random(1)
        for at in [0, 5, 100, heat.stat().st_size - 1] + [chosen.randrange(heat.stat().st_size) for _ in range(8)]:
            with self.subTest(at=at):
                self.flip(heat, at)
                code, (file,) = self.verdict("heat.nc")
                self.flip(heat, at)
                self.assertEqual((code, file["verdict"], len(file["differences"])), (1, "differs", 1))
                difference = file["differences"][0]
                self.assertTrue(difference["begin"] <= at < difference["end"])
                self.assertLessEqual(difference["end"] - difference["begin"], 64 << 10)
                if at > 4096:
                    self.assertIn("'temperature'", difference["place"])
        self.assertEqual(self.verdict("heat.nc")[0], 0)

    def test_the_text_names_offsets_and_record(self):
        heat = self.heat(GLEAN_CHECKSUMS="true", GLEAN_DRAIN_REQUEST="64KiB")
        self.flip(heat, heat.stat().st_size - 1)
        lines = self.glean("verify", "heat.nc").stdout.splitlines()
        self.assertEqual(lines[0], "heat.nc: differs")
        self.assertRegex(lines[1], fr"^  bytes \d+ to {heat.stat().st_size - 1} differ: record 3 of 'temperature'$")
        self.flip(heat, 2)
        self.assertIn(": header", self.glean("verify", "--quiet", "heat.nc").stdout)

    def test_a_file_that_was_cut_or_appended_to_or_replaced_differs(self):
        heat = self.heat(GLEAN_CHECKSUMS="true")
        whole = heat.read_bytes()
        for content in (whole[:-1], whole[:1000], b"", whole + b"\0", bytes(len(whole)), os.urandom(len(whole))):
            heat.write_bytes(content)
            code, (file,) = self.verdict("heat.nc")
            self.assertEqual((code, file["verdict"], file["bytes"]), (1, "differs", len(content)))
        self.assertIn("modified after", self.glean("verify", "heat.nc").stdout)

    def test_a_file_without_checksums_exits_with_3_and_says_so(self):
        self.heat()
        run = self.glean("verify", "heat.nc")
        self.assertEqual(run.returncode, 3)
        self.assertIn("heat.nc: no checksums", run.stdout)

    def test_a_sidecar_that_is_damaged_is_none_and_named(self):
        heat = self.heat(GLEAN_CHECKSUMS="true")
        self.flip(self.sidecar(heat), 60)
        run = self.glean("verify", "heat.nc")
        self.assertEqual(run.returncode, 3)
        self.assertIn("sidecar is damaged", run.stdout)

    def test_of_several_files_the_worst_decides(self):
        heat = self.heat(GLEAN_CHECKSUMS="true")
        self.copy(heat, "bad.nc", 1)
        self.flip(self.directory / "bad.nc", 5000)
        self.copy(heat, "bare.nc", 1, with_sums=False)
        for names, code in ((["heat.nc", "bare.nc"], 3), (["bare.nc", "none.nc", "heat.nc"], 2),
                            (["none.nc", "bad.nc", "bare.nc"], 1), ([self.directory], 2)):
            self.assertEqual(self.verdict(*names)[0], code, names)
        self.assertEqual(self.glean("verify").returncode, 2)
        self.assertEqual(self.glean("verify", "--fast", "heat.nc").returncode, 2)

    def test_a_file_is_checked_through_a_link(self):
        self.heat(GLEAN_CHECKSUMS="true")
        (self.directory / "link.nc").symlink_to("heat.nc")
        self.assertEqual(self.verdict("link.nc")[0], 0)


class Sidecars(WrittenTest):
    def test_of_a_file_that_is_replaced_go_with_it(self):
        for variables in ({}, {"GLEAN_MODE": "passthrough"}, {"GLEAN_PUBLISH": "in-place"}):
            with self.subTest(variables):
                heat = self.heat(GLEAN_CHECKSUMS="true")
                self.assertTrue(self.sidecar(heat).exists())
                self.write_heat(**variables)
                self.assertEqual([file.name for file in self.directory.iterdir()], ["heat.nc"])

    def test_are_written_for_those_files_whose_rule_says_so(self):
        self.write("glean.toml", "checksums = true\n[[rule]]\npattern = 'heat*'\nchecksums = false\n")
        self.assertFalse(self.sidecar(self.write_heat()).exists())
        self.write("glean.toml", "[[rule]]\npattern = 'heat*'\nchecksums = true\n")
        self.assertTrue(self.sidecar(self.write_heat()).exists())

    def test_match_no_pattern_of_a_shell(self):
        self.write_heat(GLEAN_CHECKSUMS="true")
        self.assertEqual([file.name for file in self.directory.glob("[!.]*")], ["heat.nc"])

    def test_that_cannot_be_written_do_not_harm_the_file_and_are_counted(self):
        heat = self.directory / "heat.nc"
        self.sidecar(heat).with_name(".heat.nc.glean-sums.part").mkdir()   # nothing can be written there
        run_environment = {"GLEAN_CHECKSUMS": "true", "GLEAN_REPORT_FILE": "report.json", "GLEAN_LOG_LEVEL": "error"}
        self.write_heat(**run_environment)
        self.assertEqual(json.loads((self.directory / "report.json").read_text())["outputs"][0]["checksums"], "failed")
        self.assertEqual(self.glean("verify", "heat.nc").returncode, 3)
        self.sidecar(heat).with_name(".heat.nc.glean-sums.part").rmdir()
        self.write_heat(**run_environment)
        self.assertEqual(json.loads((self.directory / "report.json").read_text())["outputs"][0]["checksums"], "recorded")
        self.assertEqual(self.glean("verify", "heat.nc").returncode, 0)


if __name__ == "__main__":
    unittest.main()
