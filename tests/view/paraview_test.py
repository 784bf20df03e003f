# SPDX-License-Identifier: BSD-3-Clause
"""The plug-in for ParaView gets volumes and surfaces of a view, and follows it: in scripts, in a pvserver, and in ParaView's window."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import unittest

from pathlib import Path

from serving import Served, write_blocks, write_field, write_mesh

HERE = Path(__file__).resolve().parent
PLUGIN = HERE.parents[1] / "share" / "paraview" / "glean_live.py"


class Script:
    """ParaView's Python without a window, which starts slowly: one process looks at one view after the other."""

    def __init__(self, *port):
        self.process = subprocess.Popen(["pvpython", HERE / "paraview_script.py", PLUGIN, *map(str, port)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def look(self, url, steps, variable, seconds=60):
        self.process.stdin.write(f"{url} {steps} {variable} {seconds}\n")
        self.process.stdin.flush()

    def end(self):
        self.process.kill()
        self.process.communicate()


class ParaView(Served):
    @classmethod
    def setUpClass(cls):
        cls.script = Script()
        cls.addClassCleanup(cls.script.end)

    def answer(self, script):
        said = []
        while True:
            line = script.process.stdout.readline()
            self.assertTrue(line, "".join(said))
            if line.startswith("{"):
                return json.loads(line)
            said.append(line)

    def test_gets_an_array_as_an_image_and_its_new_steps(self):
        write_field(self.directory / "field.h5", steps=1)
        self.serve()
        self.script.look(self.url, 2, "rho")
        first = self.answer(self.script)
        self.assertEqual((first["class"], first["points"], first["name"], first["step"]), ("vtkImageData", 8 * 16 * 24, "rho", 0))
        self.assertEqual(first["bounds"], [0, 23, 0, 15, 0, 7])
        write_field(self.directory / "field.h5", steps=2)
        second = self.answer(self.script)
        self.assertEqual(second["step"], 1)
        self.assertAlmostEqual(second["range"][1], 1715.23, 2)

    def test_gets_blocks_as_one_image_and_a_mesh_as_cells(self):
        write_blocks(self.directory / "sedov_plt_0001.h5")
        write_mesh(self.directory / "mesh.h5")
        self.serve()
        self.script.look(self.url, 1, "dens")
        image = self.answer(self.script)
        self.assertEqual((image["class"], image["points"], image["range"]), ("vtkImageData", 16 ** 3, [1, 5]))
        for value, expected in zip(image["bounds"], [1 / 32, 31 / 32] * 3):
            self.assertAlmostEqual(value, expected)
        self.script.look(self.url, 1, "pressure")
        grid = self.answer(self.script)
        self.assertEqual((grid["class"], grid["cells"], grid["range"]), ("vtkUnstructuredGrid", 6, [5, 7]))

    def start(self, *command, **environment):
        """In a process group of its own, which ends with the test."""
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                   env=os.environ | {name: str(value) for name, value in environment.items()})
        self.addCleanup(self.end, process)

    @staticmethod
    def end(process):
        os.killpg(process.pid, signal.SIGTERM)   # so that Xvfb removes its lock
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def test_follows_in_a_server_of_paraview(self):
        write_field(self.directory / "field.h5", steps=1)
        self.serve()
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
        self.start("pvserver", f"--server-port={port}", PYTHONPATH=PLUGIN.parent)
        listens = f"00000000:{port:04X} 00000000:0000 0A"
        self.until(lambda: listens in Path("/proc/net/tcp").read_text(), "pvserver listens", 60)
        script = Script(port)
        self.addCleanup(script.end)
        script.look(self.url, 2, "rho")
        first = self.answer(script)
        self.assertEqual((first["class"], first["name"], first["step"]), ("vtkImageData", "rho", 0))
        write_field(self.directory / "field.h5", steps=2)
        self.assertEqual(self.answer(script)["step"], 1)

    @unittest.skipUnless(shutil.which("paraview") and shutil.which("xvfb-run"), "there is no window of ParaView, or no Xvfb for it")
    def test_follows_by_itself_in_the_window_of_paraview(self):
        write_field(self.directory / "field.h5", steps=1)
        self.serve()
        seen = self.directory / "seen"
        seen.touch()
        self.start("xvfb-run", "-a", "-s", "-screen 0 1024x768x24", "paraview", f"--script={HERE / 'paraview_gui_script.py'}",
                   PYTHONPATH=PLUGIN.parent, PLUGIN=PLUGIN, URL=self.url, SEEN=seen, HOME=self.directory, XDG_RUNTIME_DIR=self.directory)

        def steps():
            return [json.loads(line)["step"] for line in seen.read_text().splitlines()]

        self.until(lambda: 0 in steps(), "the first step", 100)
        self.assertNotIn(1, steps())
        write_field(self.directory / "field.h5", steps=2)
        self.until(lambda: 1 in steps(), "the second step", 60)

    def test_says_that_the_token_is_wrong(self):
        write_field(self.directory / "field.h5", steps=1)
        self.serve()
        self.script.look(self.url[:-1] + ("0" if self.url[-1] != "0" else "1"), 1, "rho", seconds=0)
        for line in self.script.process.stdout:
            if "the view refuses" in line:
                return
        self.fail("it says nothing")


if __name__ == "__main__":
    if shutil.which("pvpython") is None:
        print("skipped: there is no ParaView (pvpython)")
        sys.exit(77)
    unittest.main(verbosity=2)
