# SPDX-License-Identifier: BSD-3-Clause
"""A real browser without a screen: Chromium, driven through its DevTools protocol."""

import base64
import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.request

from web_socket import WebSocket, port_of

FLAGS = ["--headless=new", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--hide-scrollbars",
         "--no-first-run", "--disable-dev-shm-usage", "--remote-debugging-port=0", "--disable-background-networking"]


def is_there():
    return shutil.which("chromium") is not None


class Browser:
    def __init__(self, width=1280, height=800):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.process = subprocess.Popen(["chromium", *FLAGS, f"--window-size={width},{height}", f"--user-data-dir={self.profile.name}",
                                         "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        file = pathlib.Path(self.profile.name, "DevToolsActivePort")
        ends = time.monotonic() + 60
        while not (file.exists() and file.read_text().count("\n")):
            if time.monotonic() > ends or self.process.poll() is not None:
                raise RuntimeError("chromium does not start")
            time.sleep(0.1)
        port = int(file.read_text().splitlines()[0])
        pages = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json"))
        page = next(each for each in pages if each["type"] == "page")
        debugger = page["webSocketDebuggerUrl"]
        self.socket = WebSocket(port_of(debugger), "/" + debugger.split("/", 3)[3], seconds=60)
        self.number, self.events = 0, []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.size(width, height)

    def call(self, method, **params):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") != self.number:
                self.events.append(message)
            elif "error" in message:
                raise RuntimeError(f"{method}: {message['error']}")
            else:
                return message["result"]

    def size(self, width, height, is_mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=is_mobile)

    def open(self, url):
        self.call("Page.navigate", url=url)

    def leave(self):
        """Leaves the page, and forgets what it has asked for and complained about."""
        self.open("about:blank")
        self.wait("location.href === 'about:blank'")
        self.events.clear()

    def run(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:2000])
        return result["result"].get("value")

    def wait(self, script, seconds=30):
        """Until the script gives something true; returns that."""
        ends = time.monotonic() + seconds
        while True:
            try:
                found = self.run(script)
            except RuntimeError as error:   # while the page loads, names are missing
                if time.monotonic() > ends:
                    raise
                found, _ = None, error
            if found:
                return found
            if time.monotonic() > ends:
                text = str(self.run("document.body.innerText"))[:1500]
                raise AssertionError(f"in vain for {seconds} s: {script}; the page says: {text}")
            time.sleep(0.1)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **({"text": key} if len(key) == 1 and kind == "keyDown" else {}))

    def picture(self, path):
        path = pathlib.Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def complaints(self):
        """Errors of scripts, and what the content security policy has refused."""
        self.call("Runtime.evaluate", expression="0")
        found = [json.dumps(each["params"])[:600] for each in self.events if each["method"] == "Runtime.exceptionThrown"]
        entries = [each["params"]["entry"] for each in self.events if each["method"] == "Log.entryAdded"]
        return found + [each["text"] for each in entries if each["level"] == "error"]

    def requests(self):
        return [each["params"]["request"]["url"] for each in self.events if each["method"] == "Network.requestWillBeSent"]

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(20)
        self.profile.cleanup()
