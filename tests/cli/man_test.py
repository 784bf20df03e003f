# SPDX-License-Identifier: BSD-3-Clause
"""The manual pages are clean, and say of every key and verb what the command says."""

import json
import os
import re
import subprocess
import unittest

from command import MANUAL, CommandTest


def plain(page):
    """The page without its markup."""
    text = (MANUAL / page).read_text()
    return re.sub(r'\\f[BIR]|\\\(bu', "", text.replace(r"\-", "-").replace('""', '"'))


class Manual(CommandTest):
    def test_every_page_is_formatted_without_a_warning(self):
        pages = sorted(MANUAL.glob("*.[1-9]"))
        self.assertGreaterEqual(len(pages), 4)
        for page in pages:
            run = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page], check=False,
                                 env=os.environ | {"LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANROFFSEQ": ""},
                                 capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stderr), (0, ""), page)

    def test_every_key_has_its_entry_with_its_default(self):
        page = plain("glean.toml.5")
        for key in json.loads(self.glean("config", "--keys", "--json").stdout):
            entry = re.search(r"^\.TP\n\.B " + re.escape(key["key"]) + r"\n(.*?)(?=^\.TP|^\.SH)", page, re.S | re.M)
            self.assertIsNotNone(entry, key["key"])
            self.assertIn("efault", entry[1], key["key"])
            self.assertIn(key["default"], entry[1], key["key"])

    def test_every_entry_is_a_key(self):
        keys = {key["key"] for key in json.loads(self.glean("config", "--keys", "--json").stdout)}
        entries = set(re.findall(r"^\.TP\n\.B (\S+)$", plain("glean.toml.5"), re.M))
        self.assertEqual(entries, keys)

    def test_every_verb_has_a_page_and_every_option_is_in_it(self):
        verbs = re.findall(r"^  (\w+) +\S", self.glean("--help").stdout.partition("Subcommands:")[2], re.M)
        self.assertIn("config", verbs)
        for verb in verbs:
            page = plain(f"glean-{verb}.1")
            for option in re.findall(r"--[a-z-]+", self.glean(verb, "--help").stdout):
                if option != "--help":
                    self.assertIn(option, page, verb)

    def test_the_pages_have_the_version_of_the_command(self):
        version = self.glean("--version").stdout.strip()
        for page in MANUAL.glob("*.[1-9]"):
            self.assertIn(f'"{version}"', page.read_text(), page)


if __name__ == "__main__":
    unittest.main()
