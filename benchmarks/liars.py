#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Strangers at every port where a process listens: they lie about lengths, say junk, repeat what others have said, or say it byte by byte.

  liars.py PID PER_SECOND      until it is ended; then it says how many connections it has made, and how many were still open
"""
import os
import pathlib
import random
import signal
import socket
import struct
import sys
import time

HELLO = struct.pack("<8sII32s", b"GLEANctl", 1, 0, os.urandom(32))   # docs/formats/staging-control.md
DATA_HELLO = struct.pack("<8sIIII32s32s32sQ16sII", b"GLEANtcp", 3, 0, 1, 2, os.urandom(32), os.urandom(32), bytes(32), 0, bytes(16), 1, 0)
WORDS = (
    lambda: os.urandom(random.choice((1, 48, 152, 4096))),
    lambda: struct.pack("<BBBBIQ", 0xc7, 1, 1, 0, 0xffffffff, 0),                  # a frame of 4 GiB
    lambda: struct.pack("<BBBBIQ", 0xc7, 1, 4, 0, 1 << 20, 0) + bytes(1 << 16),    # a sealed one before the proof
    lambda: struct.pack("<BBBBIQ", 0xc7, 1, 1, 0, len(HELLO), 0) + HELLO,          # its checksum is wrong
    lambda: DATA_HELLO,                                                            # the same each time, and never a proof
    lambda: DATA_HELLO + os.urandom(64),
    lambda: b"GET / HTTP/1.1\r\n\r\n",
    lambda: b"",
)
OPEN_MAX = 256


def ports_of(pid):
    """Where the process listens: by the inodes of its sockets."""
    inodes = set()
    for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            name = os.readlink(descriptor)
        except OSError:
            continue
        if name.startswith("socket:["):
            inodes.add(name[8:-1])
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                ports.add(int(words[1].rsplit(":", 1)[1], 16))
    return sorted(ports)


def main():
    pid, per_second = int(sys.argv[1]), float(sys.argv[2])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    made, slow = 0, []   # slow: sockets, and what is left to be said
    try:
        while True:
            ports = ports_of(pid)
            for port in ports:
                try:
                    stranger = socket.create_connection(("127.0.0.1", port), timeout=1)
                    stranger.setblocking(False)
                    made += 1
                    word = random.choice(WORDS)()
                    if random.random() < 0.3:
                        slow.append([stranger, word])
                        word = b""
                    else:
                        stranger.send(word)
                        if random.random() < 0.5:
                            stranger.close()
                        else:
                            slow.append([stranger, b""])
                except OSError:
                    pass   # sent away
            for each in slow[:]:
                try:
                    if each[1]:
                        each[1] = each[1][each[0].send(each[1][:1]):]
                    elif each[0].recv(4096) == b"":
                        raise OSError
                except BlockingIOError:
                    pass
                except OSError:
                    slow.remove(each)
            while len(slow) > OPEN_MAX:
                slow.pop(0)[0].close()
            time.sleep(max(1, len(ports)) / per_second)
    finally:
        print(made, len(slow), flush=True)


if __name__ == "__main__":
    main()
