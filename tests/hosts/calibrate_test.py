# SPDX-License-Identifier: BSD-3-Clause
"""glean calibrate on two hosts whose link is known: calibrate_test.py GLEAN"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

GLEAN = sys.argv[1]
HOSTS = pathlib.Path(__file__).resolve().parents[2] / "tools" / "hosts"
NAME = f"c{os.getpid()}n"
LINK = 400e6 / 8   # bytes in a second


def main():
    check = subprocess.run([HOSTS, "check"], capture_output=True, text=True, check=False)
    if check.returncode != 0:
        print(check.stderr, end="")
        return 77
    with tempfile.TemporaryDirectory() as directory:
        run = subprocess.run([HOSTS, "with", NAME, "2", "400mbit", HOSTS, "mpirun", NAME, "1", GLEAN, "calibrate", directory,
                              "--duration", "2s", "--output", f"{directory}/pair.toml"],
                             capture_output=True, text=True, timeout=200, check=False)
        assert run.returncode == 0, run.stderr
        text = pathlib.Path(directory, "pair.toml").read_text()
        left = [path.name for path in pathlib.Path(directory).iterdir() if path.name != "pair.toml"]
    assert left == [], left
    assert "with 2 processes on 2 hosts" in text, text
    value, unit = re.search(r"link_rate = '([0-9.]+)(MB|kB)/s'", text).groups()
    rate = float(value) * {"MB": 1e6, "kB": 1e3}[unit]
    assert 0.3 * LINK < rate < 1.1 * LINK, text   # other work takes processors from what sends
    for key in ("gateway_rate", "directory_create_time", "nodes = 2"):
        assert key in text, text
    return 0


if __name__ == "__main__":
    sys.exit(main())
