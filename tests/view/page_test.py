# SPDX-License-Identifier: BSD-3-Clause
"""The page of a view in a real browser. SHOTS names a directory for pictures of it."""

import os
import pathlib
import sys
import unittest

import browser
from serving import Served, write_blocks, write_field, write_mesh

SHOTS = os.environ.get("SHOTS")


class Page(Served):
    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        super().setUp()
        write_field(self.directory / "field.h5")
        self.browser.leave()

    def open(self, width=1280, height=800, is_mobile=False):
        self.serve()
        self.browser.size(width, height, is_mobile)
        self.browser.open(self.url)
        self.browser.wait("shown.frame && !document.getElementById('picture').hidden || !document.getElementById('surface').hidden")

    def shot(self, name):
        if SHOTS:
            self.browser.picture(pathlib.Path(SHOTS, name + ".png"))

    def choose(self, series):
        self.browser.run(f"$('series').value = '{series}'; $('series').dispatchEvent(new Event('change'))")
        self.browser.wait(f"shown.frame && shown.frame.about.series === '{series}'")

    def colour(self, x, y):
        """Of the picture, where its values are."""
        return self.browser.run(f"[...picture.pixels.getContext('2d').getImageData({x}, {y}, 1, 1).data].slice(0, 3)")

    def test_shows_a_slice_in_colours_with_nan_apart_and_asks_nothing_of_others(self):
        self.open()
        self.browser.run("state.at = {0: 0, 1: .5, 2: .5}; askForPicture()")
        self.browser.wait("Number.isNaN(shown.frame.values[0])")
        self.browser.run("redraw()")
        self.assertEqual(self.colour(0, 0), [232, 62, 140])
        self.assertEqual(self.colour(1, 0), [68, 1, 84])        # the lowest and highest of viridis
        self.assertEqual(self.colour(23, 15), [253, 231, 37])
        self.assertIn("kg/m3", self.browser.run("$('variable').selectedOptions[0].textContent"))
        self.shot("slice")
        self.assertEqual(self.browser.complaints(), [])
        address = self.url.split("/?")[0]
        asked = self.browser.requests()
        self.assertGreaterEqual(len(asked), 3)
        self.assertEqual([each for each in asked if not each.startswith((address, "about:"))], [])

    def test_follows_pauses_and_goes_back_with_keys(self):
        self.open()
        self.assertEqual(self.browser.run("state.step"), 2)
        write_field(self.directory / "field.h5", steps=5)
        self.browser.wait("state.step === 4")
        self.browser.press("ArrowLeft")
        self.browser.wait("state.step === 3 && shown.frame.about.step === 3 && !state.follows")
        write_field(self.directory / "field.h5", steps=7)
        self.browser.wait("state.steps === 7")
        self.assertEqual(self.browser.run("state.step"), 3)
        self.browser.press("x")
        self.browser.wait("shown.frame.about.columns.length === 24 && shown.frame.about.rows.length === 8")
        self.browser.press("l")
        self.browser.wait("state.log")
        self.shot("paused")
        self.browser.press("End")
        self.browser.wait("state.follows && state.step === 6")
        self.browser.press("v")
        self.browser.wait("state.variable === 'line' && shown.frame.about.height === 1")
        self.assertEqual(self.browser.complaints(), [])

    def test_draws_blocks_and_surfaces(self):
        write_blocks(self.directory / "sedov_plt_0001.h5")
        write_mesh(self.directory / "mesh.h5")
        self.open()
        self.choose("sedov_plt_0001.h5")
        self.browser.run("state.at = {0: .1, 1: .5, 2: .5}; askForPicture()")
        self.browser.wait("shown.frame.about.boxes && shown.frame.about.boxes.length === 2")
        self.assertEqual(self.colour(0, 0), [253, 231, 37])
        self.shot("blocks")
        self.choose("mesh.h5")
        self.browser.wait("surface.count === 18 && !$('surface').hidden")
        drawn = self.browser.run("""(() => { const gl = surface.gl, width = gl.drawingBufferWidth, height = gl.drawingBufferHeight;
          const pixels = new Uint8Array(4 * width * height);
          gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
          let count = 0; for (let i = 0; i < pixels.length; i += 4) if (pixels[i] !== pixels[0] || pixels[i + 1] !== pixels[1]) ++count;
          return count / (pixels.length / 4); })()""")
        self.assertGreater(drawn, 0.05)
        self.shot("surface")
        self.assertEqual(self.browser.complaints(), [])

    def test_the_pool_is_drawn_to_a_scale_that_its_use_fills(self):
        self.open()
        self.assertEqual(self.browser.run("[[3, 64], [0, 64], [33, 64], [64, 64]].map(each => scaleEnd(...each))"), [4, 64, 64, 64])
        samples = "[0, 50, 100].map(at => ({at_s: at, used_bytes: at === 0 ? 900e6 : 3 << 20, budget_bytes: 1 << 30, waiting_text: 'x'}))"
        text = self.browser.run(f"drawPool($('io'), {samples})")
        self.assertEqual(text, "pool 3.00 MiB of 1.00 GiB, in the last minute at most 3.00 MiB; x")
        # Of a scale to 4 MiB it fills three quarters, where the sample before the last minute is not seen.
        at = "$('io').getContext('2d').getImageData(Math.round($('io').width * .9), Math.round($('io').height * {}), 1, 1).data[3]"
        self.assertEqual([self.browser.run(at.format(height)) > 0 for height in (.15, .5, .8)], [False, True, True])
        self.shot("pool")

    def test_says_that_the_server_is_gone(self):
        self.open()
        self.process.terminate()
        self.process.wait()
        self.browser.wait("$('link').className === 'lost'")

    def test_fits_a_small_screen(self):
        self.open(390, 844, is_mobile=True)
        self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), 390)
        self.shot("small")

    def test_an_empty_directory_says_so_and_fills_itself(self):
        (self.directory / "field.h5").unlink()
        self.serve()
        self.browser.open(self.url)
        self.browser.wait("document.body.innerText.includes('There is no NetCDF or HDF5 file')")
        write_field(self.directory / "field.h5")
        self.browser.wait("shown.frame && $('message').hidden")


if __name__ == "__main__":
    if not browser.is_there():
        print("skipped: there is no chromium")
        sys.exit(77)
    unittest.main(verbosity=2)
