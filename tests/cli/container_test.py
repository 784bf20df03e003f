# SPDX-License-Identifier: BSD-3-Clause
"""`glean container` on containers that it makes and on those that SIONlib has written, beside an independent reader."""

import json
import os
import pathlib
import random
import re
import struct
import subprocess
import unittest

import read_container
from command import COMMAND, MANUAL, CommandTest

RECORDED = pathlib.Path(os.environ["RECORDED"])


def swapped(path):
    """The bytes of a container in one file as a big-endian machine would have written them."""
    file = read_container.File(path)
    data, count = bytearray(file.data), len(file.ranks)

    def swap(offset, kinds):
        struct.pack_into(">" + kinds, data, offset, *struct.unpack_from("<" + kinds, file.data, offset))

    data[4:8] = b"\1\1\1\1"
    swap(8, "iiiiiiiqq")
    swap(1076, f"{2 * count}q")
    swap(1076 + 16 * count, "iq")
    swap(file.index_begin, f"{(len(data) - file.index_begin) // 8}q")
    return bytes(data)


class Container(CommandTest):
    def container(self, *arguments, code=0):
        run = self.glean("container", *arguments)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return run

    def files(self, sizes):
        """Files of these sizes below `in`, some in directories."""
        source = random.Random(30)
        made = {}
        for number, size in enumerate(sizes):
            name = f"rst.{number}" if number % 3 else f"deep/er/rst.{number}"
            path = self.directory / "in" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            made[name] = source.randbytes(size)
            path.write_bytes(made[name])
        return made

    def test_pack_is_read_by_others_and_extract_gives_the_same_files(self):
        made = self.files([0, 1, 4032, 4033, 100_000, 7, 60_000, 4096])
        for options in ([], ["--chunk", "4KiB"], ["--files", "3", "--chunk", "100B", "--block", "512B"],
                        ["--block", "64KiB", "--files", "8"]):
            with self.subTest(options=options):
                run = self.container("pack", "x.sion", "-C", "in", *options, *made)
                self.assertRegex(run.stdout, r"^x\.sion: 8 files, 168 KiB in .*\n$")
                self.assertEqual(read_container.tasks(self.directory / "x.sion"), list(made.values()))
                names = {}
                for file in read_container.read(self.directory / "x.sion"):
                    names |= file.names()
                self.assertEqual(names, {name: (rank, 0, len(made[name])) for rank, name in enumerate(made)})
                self.container("verify", "x.sion")
                out = self.directory / "out"
                out.mkdir()
                self.container("extract", "x.sion", "-C", "out")
                found = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}
                self.assertEqual(found, made)
                subprocess.run(["rm", "-r", out], check=True)

    def test_pack_takes_directories_in_the_order_of_their_names(self):
        made = self.files([10, 20, 30, 40])
        self.container("pack", "x.sion", "in")
        listed = json.loads(self.container("ls", "x.sion", "--json").stdout)
        self.assertEqual([entry["name"] for entry in listed["entries"]], sorted(f"in/{name}" for name in made))

    def test_the_files_of_sionlib_are_read(self):
        for name in ("api.sion", "api2.sion"):
            others = read_container.tasks(RECORDED / name)
            self.assertEqual([len(each) for each in others], [1200, 2400, 0, 4800])
            for rank, content in enumerate(others):
                run = subprocess.run([COMMAND, "container", "cat", RECORDED / name, "--task", str(rank)], capture_output=True, check=True)
                self.assertEqual(run.stdout, content)
            self.assertIn("no checksums", self.container("verify", RECORDED / name, code=3).stdout)
            self.assertEqual(self.container("ls", RECORDED / name).stdout,
                             "BYTES    TASK  NAME\n 1200       0  task.00000\n 2400       1  task.00001\n"
                             "    0       2  task.00002\n 4800       3  task.00003\n")

    def test_both_byte_orders_are_read(self):
        (self.directory / "big.sion").write_bytes(swapped(RECORDED / "api.sion"))
        self.assertEqual(read_container.tasks(self.directory / "big.sion"), read_container.tasks(RECORDED / "api.sion"))
        for verb in ("ls", "cat"):
            self.assertEqual(self.container(verb, "big.sion").stdout, self.container(verb, RECORDED / "api.sion").stdout)
        self.assertEqual(json.loads(self.container("map", "big.sion", "--json").stdout)["files"][0]["byte_order"], "big")

    def test_names_are_chosen_by_patterns_and_tasks(self):
        made = self.files([10, 20, 30, 40])
        self.container("pack", "x.sion", "-C", "in", *made)
        for arguments, chosen in ((["rst.*"], ["rst.1", "rst.2"]), (["*"], list(made)),
                                  (["--task", "0", "rst.2"], ["deep/er/rst.0", "rst.2"])):
            listed = json.loads(self.container("ls", "x.sion", "--json", *arguments).stdout)
            self.assertEqual([entry["name"] for entry in listed["entries"]], chosen)
        run = self.container("cat", "x.sion", "no*", "rst.[12]", "--task", "9", code=2)
        self.assertEqual(run.stdout, "")
        self.assertIn("'x.sion' has no 'no*', task 9", run.stderr)
        self.assertIn("`glean container ls x.sion`", run.stderr)

    def test_map_says_where_the_bytes_are(self):
        made = self.files([9000, 50])
        self.container("pack", "x.sion", "-C", "in", "--chunk", "4KiB", "--files", "2", *made)
        shown = json.loads(self.container("map", "x.sion", "--json").stdout)
        found = {}
        for chunk in shown["chunks"]:
            data = (self.directory / chunk["path"]).read_bytes()
            found[chunk["task"]] = found.get(chunk["task"], b"") + data[chunk["offset"]:chunk["offset"] + chunk["bytes"]]
            self.assertEqual(chunk["room"], 8192 - 64)
        self.assertEqual([found[0], found[1]], list(made.values()))
        self.assertRegex(self.container("map", "x.sion").stdout,
                         r"\n     1      0             4096             50           8128  x\.sion\.000001\n$")

    def test_what_is_cut_off_is_read_up_to_the_last_whole_chunk(self):
        made = self.files([20_000, 5_000])
        self.container("pack", "x.sion", "-C", "in", "--chunk", "4000B", *made)
        path = self.directory / "x.sion"
        path.write_bytes(path.read_bytes()[:4096 + 3 * 8192])
        for verb in ("ls", "map"):
            run = self.container(verb, "x.sion")
            self.assertIn("it is cut off before its index", run.stderr)
        self.assertFalse(json.loads(self.container("ls", "x.sion", "--json").stdout)["complete"])
        (self.directory / "out").mkdir()
        self.container("extract", "x.sion", "-C", "out", code=1)
        self.assertEqual((self.directory / "out/task.00000").read_bytes(), made["deep/er/rst.0"][:3 * 4032])
        self.assertEqual((self.directory / "out/task.00001").read_bytes(), made["rst.1"])
        self.assertIn("differs", self.container("verify", "x.sion", code=1).stdout)

    def test_verify_names_what_differs(self):
        made = self.files([20_000, 5_000])
        self.container("pack", "x.sion", "-C", "in", "--chunk", "4000B", *made)
        self.assertEqual(self.container("verify", "x.sion", "--quiet").stdout, "")
        data = bytearray((self.directory / "x.sion").read_bytes())
        data[4096 + 8192 + 5] ^= 1
        (self.directory / "bad.sion").write_bytes(data)
        run = self.container("verify", "x.sion", "bad.sion", "none.sion", code=1)
        self.assertEqual(run.stdout, "x.sion: good\nbad.sion: differs\n"
                         "  bad.sion: task 0, chunk 1: its 4032 bytes differ from their checksum\n"
                         "none.sion: differs: cannot read 'none.sion': No such file or directory\n")
        shown = json.loads(self.container("verify", "bad.sion", "--json", code=1).stdout)[0]
        self.assertEqual((shown["verdict"], shown["bytes"], shown["chunks"]), ("differs", 25_000, 7))
        self.assertEqual(shown["differences"], [{"path": "bad.sion", "task": 0, "chunk": 1,
                                                 "what": "its 4032 bytes differ from their checksum"}])

    def test_nothing_is_extracted_outside_of_the_directory(self):
        self.files([1, 10])
        self.container("pack", "x.sion", "-C", "in", "rst.1")
        (self.directory / "out").mkdir()
        (self.directory / "out/rst.1").symlink_to(self.directory / "victim")
        run = self.container("extract", "x.sion", "-C", "out", code=2)
        self.assertIn("nothing was extracted: 'rst.1': ", run.stderr)
        self.assertIn("is a symbolic link", run.stderr)
        self.assertFalse((self.directory / "victim").exists())

    def test_what_is_wrong_is_said_at_once(self):
        self.files([1, 10])
        for arguments, text in ((["pack", "x.sion", "in/rst.1", "none", "/dev/null"],
                                 "'./none' is not there; '/dev/null' is no regular file"),
                                (["pack", "x.sion", f"{self.directory}/in/rst.1"], "cannot be a name in a container"),
                                (["pack", "x.sion", "in/rst.1", "--block", "many"], "--block takes a size, not 'many'"),
                                (["pack", "x.sion", "in/rst.1", "--files", "2"], "1 files cannot be packed into 2"),
                                *(([*words, "in/rst.1"], "cannot read 'in/rst.1': it is not a container")
                                  for words in (["ls"], ["map"], ["extract"], ["cat", "--task", "0"])),
                                (["ls", RECORDED / "api2.sion.000001"], "is file 1 of 2 of a container"),
                                (["ls", "none"], "cannot read 'none': No such file"), (["ls"], "NAME is required"), ([], "subcommand")):
            run = self.container(*arguments, code=2)
            self.assertIn(text, run.stderr, arguments)
            self.assertNotIn("create the directory", run.stderr, arguments)
            self.assertEqual([path.name for path in self.directory.iterdir()], ["in"], arguments)

    def test_progress_is_said_where_it_is_wanted(self):
        made = self.files([3_000_000] * 3)
        run = self.container("pack", "x.sion", "-C", "in", "--progress", *made)
        self.assertRegex(run.stderr, r"^pack: .* of 8\.58 MiB \(\d+ %\), .*/s\n")
        self.assertRegex(self.container("verify", "x.sion", "--progress").stderr, r"^verify: ")
        self.assertEqual(self.container("verify", "x.sion").stderr, "")

    def test_the_page_has_every_verb_and_option(self):
        page = (MANUAL / "glean-container.1").read_text().replace("\\-", "-")
        verbs = re.findall(r"^  (\w+) +\S", self.glean("container", "--help").stdout.partition("Subcommands:")[2], re.M)
        self.assertEqual(sorted(verbs), ["cat", "extract", "ls", "map", "pack", "verify"])
        for verb in verbs:
            self.assertIn(f".B {verb}\n", page)
            for option in re.findall(r"--[a-z-]+", self.glean("container", verb, "--help").stdout):
                if option != "--help":
                    self.assertIn(option, page, verb)


if __name__ == "__main__":
    unittest.main()
