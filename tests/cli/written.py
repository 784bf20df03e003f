# SPDX-License-Identifier: BSD-3-Clause
"""Files that a real program has written: examples/minimal, on one rank."""

import os
import pathlib
import shutil
import subprocess
import tempfile

from command import CommandTest

MINIMAL = os.environ["MINIMAL"]
SMALL_POOL = {"GLEAN_POOL_BUDGET": "16MiB"}
ROOT_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class WrittenTest(CommandTest):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.kept, cls.kept_in = {}, pathlib.Path(directory.name)

    def heat(self, **variables):
        """heat.nc as write_heat leaves it; the program runs once for all tests."""
        key = tuple(sorted(variables.items()))
        if key not in self.kept:
            self.kept[key] = self.kept_in / str(len(self.kept))
            self.kept[key].mkdir()
            self.write_heat(self.kept[key], **variables)
        return self.copy(self.kept[key] / "heat.nc", "heat.nc", 1000)

    def write_heat(self, directory=None, **variables):
        """heat.nc: 4 records of 1 MiB."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")}
        run = subprocess.run([MINIMAL, str(directory or self.directory)], cwd=self.directory, capture_output=True,
                             text=True, timeout=100, check=False, env=environment | SMALL_POOL | ROOT_MAY | variables)
        # Other tests kill jobs.
        said = [line for line in run.stderr.splitlines() if "have left" not in line]
        self.assertEqual((run.returncode, said), (0, []))
        return (directory or self.directory) / "heat.nc"

    def sidecar(self, path):
        return path.with_name(f".{path.name}.glean-sums")

    def copy(self, source, name, modified, with_sums=True):
        """A file of that name and time, with its checksums if it has any."""
        target = self.directory / name
        shutil.copyfile(source, target)
        if with_sums and self.sidecar(source).exists():
            shutil.copyfile(self.sidecar(source), self.sidecar(target))
        os.utime(target, (modified, modified))
        return target

    def flip(self, path, at):
        with open(path, "r+b") as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1]))
