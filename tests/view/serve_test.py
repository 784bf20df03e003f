# SPDX-License-Identifier: BSD-3-Clause
"""Who gets into a view, what it answers, and what viewers that behave badly can do."""

import http.client
import json
import socket
import threading
import time
import unittest

import numpy

from serving import Served, write_blocks, write_field, write_mesh
from web_socket import Refused, Viewer, WebSocket, port_of


def floats(data):
    return numpy.frombuffer(data, "<f4")


class Door(Served):
    def setUp(self):
        super().setUp()
        write_field(self.directory / "field.h5")
        self.serve()
        self.port, self.token = port_of(self.url), self.url.split("token=")[1]

    def get(self, target, method="GET", **headers):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        self.addCleanup(link.close)
        link.request(method, target, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = link.getresponse()
        return response.status, response.read(), response.headers

    def test_serves_nothing_without_the_token(self):
        wrong = "0" * len(self.token)
        for target in ("/", "/view.js", "/view.css", "/socket", "/nothing", f"/?token={wrong}", f"/?token={self.token[:-1]}",
                       f"/?token={self.token}&token={self.token}", f"/?Token={self.token}", "/?token="):
            status, body, _ = self.get(target)
            self.assertEqual(status, 403, target)
            self.assertLess(len(body), 200, target)
        for path in ("/socket", f"/socket?token={wrong}"):
            with self.assertRaisesRegex(Refused, "403"):
                WebSocket(self.port, path)

    def test_serves_its_page_and_no_other_file(self):
        self.assertIn(b"GLEAN", self.get(f"/?token={self.token}")[1])
        (self.directory / "secret.txt").write_text("secret")
        for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/secret.txt", "/field.h5", "/view.js/", "/.."):
            self.assertEqual(self.get(f"{path}?token={self.token}")[0], 404, path)
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            self.assertNotEqual(self.get(f"/?token={self.token}", method=method)[0], 200, method)

    def test_lets_no_other_site_in(self):
        for host in ("evil.example", f"evil.example:{self.port}", "127.0.0.1.evil.example"):
            self.assertEqual(self.get(f"/?token={self.token}", Host=host)[0], 403, host)
            with self.assertRaises(Refused):
                WebSocket(self.port, f"/socket?token={self.token}", [f"Host: {host}"])
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1", f"https://127.0.0.1:{self.port}"):
            with self.assertRaisesRegex(Refused, "403"):
                Viewer(self.url, headers=[f"Origin: {origin}"])
        Viewer(self.url, headers=[f"Origin: http://127.0.0.1:{self.port}"]).close()

    def test_says_what_browsers_may_not_do_with_the_page(self):
        headers = self.get(f"/?token={self.token}")[2]
        self.assertIn("default-src 'self'", headers["Content-Security-Policy"])
        self.assertIn("frame-ancestors 'none'", headers["Content-Security-Policy"])
        self.assertEqual(headers["Referrer-Policy"], "no-referrer")
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertNotIn("Access-Control-Allow-Origin", headers)

    def test_ends_connections_that_speak_otherwise_and_serves_the_others(self):
        frames = {"no mask": lambda viewer: viewer.send_frame(1, b'{"slot":"a"}', masked=False),
                  "bytes": lambda viewer: viewer.send_frame(2, b'{"slot":"a"}'),
                  "no JSON": lambda viewer: viewer.send("{"),
                  "no slot": lambda viewer: viewer.send("{}"),
                  "no text": lambda viewer: viewer.send_frame(1, b"\xff\xfe"),
                  "reserved": lambda viewer: viewer.send_frame(0x43, b"x"),
                  "a long control frame": lambda viewer: viewer.send_frame(9, b"x" * 200),
                  "nested": lambda viewer: viewer.send('{"slot":' * 1000),
                  "too long": lambda viewer: viewer.send(json.dumps({"slot": "a", "what": "x" * 20_000})),
                  "too many": lambda viewer: [viewer.send(json.dumps({"slot": str(i), "newer_than": 99})) for i in range(9)]}
        good = Viewer(self.url)
        for name, send in frames.items():
            viewer = Viewer(self.url)
            with self.assertRaises((ConnectionError, socket.timeout), msg=name):
                send(viewer)
                while True:
                    viewer.receive()
            self.assertEqual(good.ask("list")[0]["series"][0]["name"], "field.h5", name)
        for junk in (b"\0" * 1000, b"GET / HTTP/1.1\r\nHost: " + b"x" * 20_000 + b"\r\n\r\n", b"\x16\x03\x01\x02\0\x01"):
            with socket.create_connection(("127.0.0.1", self.port), timeout=30) as link:
                try:
                    link.sendall(junk)
                    link.shutdown(socket.SHUT_WR)
                    self.assertNotIn(b"200", link.recv(1000)[:20])
                except OSError:
                    pass
        self.assertEqual(good.ask("list")[0]["series"][0]["name"], "field.h5")

    def test_says_what_it_cannot_show(self):
        viewer = Viewer(self.url)
        for request in ({"what": "slice", "series": "../other.h5", "variable": "rho"},
                        {"what": "slice", "series": "field.h5", "variable": "no"},
                        {"what": "slice", "series": 7}, {"what": "surface", "series": "field.h5", "variable": "rho"}, {"what": "secrets"},
                        {"what": "slice", "series": "/etc/passwd", "variable": "rho"}):
            about, data = viewer.ask(**request)
            self.assertTrue(about["error"], request)
            self.assertEqual(data, b"")


class Pictures(Served):
    def test_have_the_values_of_the_file(self):
        rho = write_field(self.directory / "field.h5", steps=3)
        viewer = Viewer(self.serve())
        for axis in range(3):
            for step, place in ((0, 0), (1, 3), (2, 7)):
                at = [0.5] * 3
                at[axis] = (place + 0.5) / rho.shape[1 + axis]
                about, data = viewer.ask("slice", series="field.h5", variable="rho", step=step, axis=axis, at=at)
                expected = numpy.take(rho[step], place, axis)
                numpy.testing.assert_array_equal(floats(data).reshape(about["height"], about["width"]), expected.astype("f4"))
        about, data = viewer.ask("slice", series="field.h5", variable="rho", axis=0, at=[0, 0, 0], width=10, height=6)
        self.assertEqual((about["step"], about["column_step"], about["row_step"]), (2, 3, 3))
        numpy.testing.assert_array_equal(floats(data).reshape(6, 8), rho[2, 0, ::3, ::3].astype("f4"))

    def test_show_blocks_and_surfaces(self):
        write_blocks(self.directory / "sedov_plt_0001.h5")
        write_mesh(self.directory / "mesh.h5")
        viewer = Viewer(self.serve())
        series = {each["name"]: each for each in viewer.ask("list")[0]["series"]}
        self.assertEqual(series["mesh.h5"]["fields"][0]["kind"], "surface")
        self.assertEqual(series["sedov_plt_0001.h5"]["fields"], [{"name": "dens", "kind": "blocks", "units": "", "type": "float32",
                                                                 "shape": [16, 16, 16], "axes": ["z", "y", "x"]}])
        about, data = viewer.ask("slice", series="sedov_plt_0001.h5", variable="dens", at=[0.1, 0.5, 0.5])
        picture = floats(data).reshape(about["height"], about["width"])
        self.assertEqual(picture.shape, (16, 16))
        self.assertTrue((picture[:8, :8] == 5).all() and (picture[8:] == 1).all() and (picture[:, 8:] == 1).all())
        self.assertEqual(len(about["boxes"]), 2)
        about, data = viewer.ask("surface", series="mesh.h5", variable="pressure")
        self.assertEqual((about["triangles"], len(data)), (6, about["corners"] * 16 + 72))

    def test_follow_new_files_and_steps(self):
        write_field(self.directory / "plt_0001.h5", steps=1)
        viewer = Viewer(self.serve())
        about, _ = viewer.ask("slice", series="plt_0001.h5", variable="rho")
        self.assertEqual((about["step"], about["steps"]), (0, 1))
        began = time.monotonic()
        write_field(self.directory / "plt_0002.h5", steps=2, shift=0.25)
        about, data = viewer.ask("slice", series="plt_0001.h5", variable="rho", newer_than=about["version"], axis=0, at=[0.99, 0, 0])
        self.assertLess(time.monotonic() - began, 3)
        self.assertEqual((about["step"], about["steps"], about["file"]), (2, 3, "plt_0002.h5"))
        self.assertEqual(floats(data)[0], 1700.25)
        about, _ = viewer.ask("history", series="plt_#.h5", variable="rho")
        self.assertEqual([each["step"] for each in about["history"]], [0, 1, 2])
        self.assertEqual(about["history"][2]["not_finite"], 1)
        self.assertAlmostEqual(about["history"][2]["maximum"], 1715.48, 3)

    def test_leave_out_files_that_are_damaged_and_say_why(self):
        write_field(self.directory / "good.h5")
        (self.directory / "bad.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + b"\1" * 500)
        (self.directory / "cut.nc").write_bytes(b"CDF\5" + b"\0" * 3)
        (self.directory / "empty.nc").write_bytes(b"")
        viewer = Viewer(self.serve())
        series = {each["name"]: each for each in viewer.ask("list")[0]["series"]}
        self.assertEqual(len(series["good.h5"]["fields"]), 2)
        for name in ("bad.h5", "cut.nc", "empty.nc"):
            self.assertTrue(series[name]["problem"], name)

    def test_show_what_a_report_says(self):
        (self.directory / "report.json").write_text(json.dumps({"schema": "glean-report-1", "run_seconds": 3, "captured_bytes": 5,
                                                                "blocked_seconds": {"max": 0.5, "per_rank": [0.5] * 9}}))
        (self.directory / "other.json").write_text('{"schema": 7}')
        (self.directory / "broken.json").write_text("{")
        reports = Viewer(self.serve()).ask("reports")[0]["reports"]
        self.assertEqual([each["file"] for each in reports], ["report.json"])
        self.assertEqual(reports[0]["report"]["blocked_seconds"], {"max": 0.5})


class Load(Served):
    def test_ten_viewers_get_theirs(self):
        rho = write_field(self.directory / "field.h5")
        self.serve()
        wrong = []

        def look(place):
            viewer = Viewer(self.url)
            for step in (0, 1, 2, 0, 1, 2):
                _, data = viewer.ask("slice", series="field.h5", variable="rho", step=step, axis=0, at=[(place + 0.5) / 8, 0, 0])
                if not numpy.array_equal(floats(data), rho[step, place].astype("f4").ravel(), equal_nan=True):
                    wrong.append((place, step))
            viewer.close()

        threads = [threading.Thread(target=look, args=(place % 8,)) for place in range(10)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(60)
        self.assertEqual(wrong, [])

    def test_viewers_that_never_read_cost_a_bounded_memory_and_hold_up_no_other(self):
        write_field(self.directory / "field.h5", steps=1, shape=(2, 1500, 1500))
        self.serve("--viewers", "12")
        big = {"what": "slice", "series": "field.h5", "variable": "rho", "width": 2048, "height": 2048}
        good = Viewer(self.url, seconds=90)
        good.ask(**big)
        silent = [Viewer(self.url) for _ in range(11)]
        for round_ in range(8):
            for each in silent:
                each.send(json.dumps({**big, "slot": f"s{round_}"}))
        ends = time.monotonic() + 3
        while time.monotonic() < ends:   # fewer than their answers would be: 88 of 9 MB
            self.assertLess(self.resident_bytes(), 250 << 20)
            time.sleep(0.1)
        with self.assertRaisesRegex(Refused, "503"):
            Viewer(self.url)
        # Which waits at most until silent ones are sent away.
        self.assertEqual(good.ask("slice", slot="mine", series="field.h5", variable="line")[0]["width"], 100)
        for each in silent:
            each.close()
        self.until(lambda: self.can_enter(), "places do not become free")

    def can_enter(self):
        try:
            Viewer(self.url).close()
            return True
        except (Refused, ConnectionError):
            return False

    def test_connections_that_say_nothing_are_sent_away(self):
        write_field(self.directory / "field.h5", steps=1)
        self.serve()
        silent = [socket.create_connection(("127.0.0.1", port_of(self.url))) for _ in range(100)]
        self.until(self.can_enter, "silent connections keep a viewer out", 15)
        for each in silent:
            each.close()

    def test_a_large_slice_takes_no_more_memory_than_its_picture(self):
        write_field(self.directory / "large.h5", steps=1, shape=(4, 2000, 2000))
        viewer = Viewer(self.serve())
        about, data = viewer.ask("slice", series="large.h5", variable="rho", width=500, height=500)
        self.assertEqual((about["width"], about["height"], about["row_step"]), (500, 500, 4))
        self.assertEqual(len(data), 1_000_000)
        self.assertLess(self.resident_bytes("VmHWM"), 100 << 20)   # a step has 128 MB


if __name__ == "__main__":
    unittest.main(verbosity=2)
