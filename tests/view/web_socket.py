# SPDX-License-Identifier: BSD-3-Clause
"""The client's side of a WebSocket (RFC 6455), as far as tests need it: to ask a view, and to drive a browser."""

import base64
import json
import os
import socket
import struct


class Refused(Exception):
    """The server answers something else than an upgrade."""


class WebSocket:
    def __init__(self, port, path, headers=(), host="127.0.0.1", seconds=30):
        self.socket = socket.create_connection((host, port), timeout=seconds)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {path} HTTP/1.1", "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {key}",
                 "Sec-WebSocket-Version: 13", *headers]
        if not any(each.lower().startswith("host:") for each in headers):
            lines.append(f"Host: {host}:{port}")
        self.socket.sendall("\r\n".join(lines + ["", ""]).encode())
        self.unread = b""
        head = self._until(b"\r\n\r\n").decode("latin-1")
        if " 101 " not in head.split("\r\n", 1)[0]:
            self.socket.close()
            raise Refused(head.split("\r\n", 1)[0])

    def _until(self, mark):
        while mark not in self.unread:
            self._more()
        found, self.unread = self.unread.split(mark, 1)
        return found

    def _more(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise ConnectionError("the server has closed the connection")
        self.unread += data

    def _take(self, count):
        while len(self.unread) < count:
            self._more()
        found, self.unread = self.unread[:count], self.unread[count:]
        return found

    def send_frame(self, opcode, payload, final=True, masked=True):
        length = len(payload)
        head = bytes([(0x80 if final else 0) | opcode])
        bit = 0x80 if masked else 0
        head += (bytes([bit | length]) if length < 126 else bytes([bit | 126]) + struct.pack(">H", length) if length < 1 << 16
                 else bytes([bit | 127]) + struct.pack(">Q", length))
        if not masked:
            return self.socket.sendall(head + payload)
        mask = os.urandom(4)
        stretched = (mask * (length // 4 + 1))[:length]
        mixed = (int.from_bytes(payload, "big") ^ int.from_bytes(stretched, "big")).to_bytes(length, "big") if length else b""
        return self.socket.sendall(head + mask + mixed)

    def send(self, text):
        self.send_frame(1, text.encode())

    def receive(self):
        """The bytes of a message. Answers pings."""
        message = b""
        while True:
            first, second = self._take(2)
            length = second & 0x7F
            if length == 126:
                length = struct.unpack(">H", self._take(2))[0]
            elif length == 127:
                length = struct.unpack(">Q", self._take(8))[0]
            payload = self._take(length)
            opcode = first & 0x0F
            if opcode == 8:
                raise ConnectionError("the server ends the connection")
            if opcode == 9:
                self.send_frame(10, payload)
                continue
            if opcode == 10:
                continue
            message += payload
            if first & 0x80:
                return message

    def close(self):
        self.socket.close()

    def __del__(self):
        if hasattr(self, "socket"):
            self.socket.close()


class Viewer(WebSocket):
    """Asks a view."""

    def __init__(self, url, **options):
        port, token = port_of(url), url.split("token=")[1]
        super().__init__(port, f"/socket?token={token}", **options)

    def answer(self):
        message = self.receive()
        length = struct.unpack("<I", message[:4])[0]
        return json.loads(message[4:4 + length]), message[4 + length:]

    def ask(self, what, slot=None, **more):
        self.send(json.dumps({"what": what, "slot": slot or what, **more}))
        return self.answer()


def port_of(url):
    return int(url.split("/")[2].rsplit(":", 1)[1])
