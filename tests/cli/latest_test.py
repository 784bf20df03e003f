# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import random
import subprocess
import unittest

from command import COMMAND
from written import WrittenTest


class Latest(WrittenTest):
    def latest(self, *arguments, **variables):
        run = self.glean("latest", *arguments, **variables)
        return run.returncode, run.stdout.strip()

    def family(self, count=3, **variables):
        """chk_1.nc to chk_<count>.nc, the last the newest."""
        heat = self.heat(**variables)
        return [self.copy(heat, f"chk_{i}.nc", 1000 + i) for i in range(1, count + 1)]

    def refused_for(self, name):
        """Why the newest file, of this name, was refused; the one before is found."""
        run = self.glean("latest", "chk_*.nc", "--verbose")
        self.assertEqual((run.returncode, run.stdout), (0, "chk_2.nc\n"), run.stderr)
        return next(line for line in run.stderr.splitlines() if line.startswith(f"glean: {name}: "))

    def test_prints_the_newest(self):
        self.family()
        run = self.glean("latest", "chk_*.nc")
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "chk_3.nc\n", ""))

    def test_serves_a_job_script(self):
        self.family(11, GLEAN_CHECKSUMS="true")
        script = f"set -e; RESTART=$({COMMAND} latest 'chk_*.nc' 2>/dev/null) && echo \"<$RESTART>\" || echo none"
        run = lambda: subprocess.run(["sh", "-c", script], cwd=self.directory, capture_output=True, text=True, check=True)
        self.assertEqual(run().stdout, "<chk_11.nc>\n")
        for file in self.directory.glob("chk_*.nc"):
            file.unlink()
        self.assertEqual(run().stdout, "none\n")

    def test_of_files_of_one_time_the_higher_number_is_newer(self):
        for file in self.family(11):
            os.utime(file, (5, 5))
        self.assertEqual(self.latest("chk_*.nc"), (0, "chk_11.nc"))

    def test_by_name_the_number_decides_whatever_the_time(self):
        files = self.family(11)
        os.utime(files[8], (9999, 9999))
        self.assertEqual(self.latest("chk_*.nc"), (0, "chk_9.nc"))
        self.assertEqual(self.latest("--by", "name", "chk_*.nc"), (0, "chk_11.nc"))
        files[10].rename(self.directory / "chk_00000000000000000000000000000000000000012.nc")
        self.assertEqual(self.latest("--by", "name", "chk_*.nc")[1][-5:], "12.nc")

    def test_takes_several_patterns_lists_and_strange_names(self):
        files = self.family()
        strange = files[2].rename(self.directory / "chk [1] é.nc")
        self.assertEqual(self.latest(*files[:2]), (0, str(files[1])))
        self.assertEqual(self.latest("none*", "chk_[12].nc"), (0, "chk_2.nc"))
        self.assertEqual(self.latest("chk [1] é.nc"), (0, "chk [1] é.nc"))
        self.assertEqual(self.latest(self.directory / "*.nc"), (0, str(strange)))

    def test_refuses_what_was_cut_short(self):
        newest = self.family()[2]
        whole = newest.read_bytes()
        for length in (len(whole) - 1, 5000, 300, 10, 3):
            newest.write_bytes(whole[:length])
            self.assertRegex(self.refused_for("chk_3.nc"), "cut short|header|not a NetCDF file")
        newest.write_bytes(b"")
        self.assertIn("it is empty", self.refused_for("chk_3.nc"))

    def test_refuses_what_has_grown(self):
        newest = self.family()[2]
        with newest.open("ab") as file:
            file.write(bytes(100))
        self.assertIn("100 bytes lie behind its last variable", self.refused_for("chk_3.nc"))

    def test_refuses_a_file_whose_records_were_not_counted(self):
        newest = self.family()[2]
        with newest.open("r+b") as file:   # as one that is written in place until it is published
            file.seek(4)
            file.write(bytes(8))
        self.assertIn("counts no records", self.refused_for("chk_3.nc"))

    def test_knows_how_long_hdf5_files_are(self):
        try:
            import h5py
        except ImportError:
            self.skipTest("there is no h5py")
        for number in (1, 2, 3):
            with h5py.File(self.directory / f"chk_{number}.nc", "w", libver="latest" if number == 3 else "earliest") as file:
                file["v"] = [1.5] * 1000
            os.utime(self.directory / f"chk_{number}.nc", (number, number))
        self.assertEqual(self.latest("chk_*.nc"), (0, "chk_3.nc"))
        newest = self.directory / "chk_3.nc"
        with h5py.File(newest, "w", userblock_size=1024) as file:   # what is in front is another program's
            file["v"] = [1.5] * 1000
        self.assertEqual(self.latest("chk_*.nc"), (0, "chk_3.nc"))
        whole = newest.read_bytes()
        newest.write_bytes(whole[:-1])
        self.assertIn("it ends 1 bytes before the end that its superblock states", self.refused_for("chk_3.nc"))
        newest.write_bytes(whole + b"x")
        self.assertIn("1 bytes lie behind the end that its superblock states", self.refused_for("chk_3.nc"))

    def test_refuses_garbage_foreign_formats_directories_and_links_that_lead_nowhere(self):
        newest = self.family()[2]
        for content, reason in ((b"\x89HDF\r\n\x1a\n" + bytes(1000), "HDF5"), (os.urandom(5000), "not a NetCDF file"),
                                (b"CDF\x05" + b"\xff" * 5000, "header")):
            newest.write_bytes(content)
            self.assertIn(reason, self.refused_for("chk_3.nc"))
        newest.unlink()
        newest.mkdir()
        self.assertIn("it is a directory", self.refused_for("chk_3.nc"))
        newest.rmdir()
        newest.symlink_to("nowhere")
        os.utime(newest, (9999, 9999), follow_symlinks=False)
        self.assertEqual(self.latest("chk_*.nc"), (0, "chk_2.nc"))

    def test_survives_headers_that_are_damaged_anywhere(self):
        source = self.family(1)[0]
        whole, chosen = source.read_bytes(), random.Random(2)
        names = []
        for i in range(60):
            damaged = bytearray(whole)
            for at in chosen.sample(range(4, 430), 4):
                damaged[at] = chosen.choice((0, 1, 127, 255, chosen.randrange(256)))
            names.append(f"damaged_{i}.nc")
            (self.directory / names[-1]).write_bytes(damaged)
            os.utime(self.directory / names[-1], (5000 + i, 5000 + i))
        run = self.glean("latest", "--json", *names, "chk_1.nc")
        self.assertEqual(run.returncode, 0)
        self.assertGreater(len(json.loads(run.stdout)["refused"]), 0)

    def test_checksums_find_what_the_header_cannot(self):
        newest = self.family(GLEAN_CHECKSUMS="true")[2]
        self.flip(newest, newest.stat().st_size // 2)
        self.assertRegex(self.refused_for("chk_3.nc"), "differs from its checksums: bytes .* 'temperature'")
        self.assertEqual(self.latest("chk_*.nc", "--fast"), (0, "chk_3.nc"))
        with newest.open("ab") as file:
            file.write(b"x")
        os.utime(newest, (9999, 9999))
        self.assertEqual(self.latest("chk_*.nc", "--fast"), (0, "chk_2.nc"))

    def test_checksums_validate_what_has_no_header_that_is_known(self):
        newest = self.family(GLEAN_CHECKSUMS="true")[2]
        self.assertEqual(self.latest("chk_*.nc", OMPI_MCA_pml="none", OMPI_MCA_btl="none"), (0, "chk_3.nc"))
        self.sidecar(newest).unlink()
        self.assertEqual(self.latest("chk_*.nc", "--require-checksums"), (0, "chk_2.nc"))

    def test_a_damaged_sidecar_is_named_and_the_header_decides(self):
        newest = self.family(GLEAN_CHECKSUMS="true")[2]
        self.flip(self.sidecar(newest), 70)
        run = self.glean("latest", "chk_*.nc")
        self.assertEqual((run.returncode, run.stdout), (0, "chk_3.nc\n"))
        self.assertIn("sidecar is damaged", run.stderr)

    def test_without_mpi_says_so_and_finds_what_has_checksums(self):
        broken = {"OMPI_MCA_pml": "none-such"}
        found = json.loads(self.glean("doctor", "--json", **broken).stdout)["findings"]
        if next(finding for finding in found if finding["subject"] == "MPI threads")["verdict"] != "fail":
            self.skipTest("this MPI starts all the same")
        files = self.family(GLEAN_CHECKSUMS="true")
        self.sidecar(files[2]).unlink()
        run = self.glean("latest", "chk_*.nc", "--verbose", **broken)
        self.assertEqual((run.returncode, run.stdout), (0, "chk_2.nc\n"))
        self.assertIn("MPI, which the format library needs, does not start here", run.stderr)

    def test_never_takes_files_that_are_being_written_or_sidecars(self):
        file = self.family(1, GLEAN_CHECKSUMS="true")[0]
        working = self.copy(file, ".chk_2.nc.glean-7-8.part", 9999, with_sums=False)
        self.assertEqual(self.latest("chk_*.nc", ".chk_*", working, self.sidecar(file)), (0, "chk_1.nc"))

    def test_refuses_what_not_all_ranks_had_closed(self):
        file = self.family(1, GLEAN_CHECKSUMS="true")[0]
        self.copy(file, "chk_2.nc.unclosed", 9999, with_sums=False)
        self.assertEqual(self.latest("chk_*"), (0, "chk_1.nc"))

    def test_none_exits_with_1_and_says_why(self):
        for file in self.family(7):
            file.write_bytes(b"")
        run = self.glean("latest", "chk_*.nc")
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("none of 7 files is complete", run.stderr)
        self.assertEqual(run.stderr.count("it is empty"), 5)
        self.assertIn("2 more", run.stderr)
        run = self.glean("latest", "nothing*")
        self.assertEqual((run.returncode, run.stdout, run.stderr), (1, "", "glean: no file matches\n"))

    def test_json_has_the_file_and_what_was_refused(self):
        newest = self.family()[2]
        newest.write_bytes(b"")
        os.utime(newest, (9999, 9999))
        document = json.loads(self.glean("latest", "--json", "chk_*.nc").stdout)
        self.assertEqual((document["path"], document["validated_by"]), ("chk_2.nc", "header"))
        self.assertEqual((document["bytes"], document["modified_s"]), ((self.directory / "chk_2.nc").stat().st_size, 1002))
        self.assertEqual(document["refused"], [{"path": "chk_3.nc", "reason": "it is empty"}])
        run = self.glean("latest", "--json", "nothing*")
        self.assertEqual((run.returncode, json.loads(run.stdout)["path"]), (1, None))

    def test_bad_input_exits_with_2(self):
        for arguments in ((), ("",), ("--by", "size", "*"), ("--what", "*")):
            self.assertEqual(self.latest(*arguments)[0], 2, arguments)


if __name__ == "__main__":
    unittest.main()
