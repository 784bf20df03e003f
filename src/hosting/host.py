# SPDX-License-Identifier: BSD-3-Clause
"""The process that runs a Python file of `analyse_with` (docs/analysis.md). GLEAN has this text in itself and starts it with `python -c`;
on descriptor 3 is a socket to the drain."""

import ctypes
import faulthandler
import importlib.util
import json
import mmap
import os
import pathlib
import signal
import socket
import struct
import sys
import traceback

JOINS = ("sum", "min", "max")


class Piece:
    """Elements of a box of a variable. `array` is a view of the pool: it is gone when analyse() returns."""

    def __init__(self, said, pool):
        self.start = tuple(said["start"])
        self.count = tuple(said["count"])
        self.rank = said["rank"]
        dtype = numpy.dtype("S1" if said["type"] == "text" else said["type"])
        if said["big"]:
            dtype = dtype.newbyteorder(">")
        self.array = numpy.ndarray(self.count, dtype, pool, said["offset"])

    @property
    def place(self):
        """Where it is in the variable, as an index of an array."""
        return tuple(slice(start, start + count) for start, count in zip(self.start, self.count))


class Variable:
    def __init__(self, said, pool):
        self.name = said["name"]
        self.shape = tuple(said["shape"])
        self.dtype = numpy.dtype("S1" if said["type"] == "text" else said["type"])
        self.per_step = said["per_step"]
        self.attributes = said["attributes"]
        self.pieces = [Piece(each, pool) for each in said["pieces"]]

    @property
    def units(self):
        return self.attributes.get("units")

    def array(self, fill=0):
        """A copy of what this node has of the step, in the shape of the variable; `fill` where it has nothing."""
        whole = numpy.full(self.shape, b"" if self.dtype.kind == "S" and fill == 0 else fill, self.dtype)
        for piece in self.pieces:
            whole[piece.place] = piece.array
        return whole

    def __array__(self, dtype=None, copy=None):
        return self.array() if dtype is None else self.array().astype(dtype)


class Step:
    def __init__(self, said, pool, node, nodes):
        self.output = said["output"]
        self.file = said["file"]
        self.number = said["step"]
        self.node, self.nodes = node, nodes
        self.attributes = said["attributes"]
        self.variables = {each["name"]: Variable(each, pool) for each in said["variables"]}
        self.messages = []

    def __getitem__(self, name):
        return self.variables[name]

    def __contains__(self, name):
        return name in self.variables

    def __iter__(self):
        return iter(self.variables)

    @property
    def time(self):
        """The one value of a variable `time`, if it was put in this step on this node."""
        time = self.variables.get("time")
        return time.array().item() if time is not None and time.pieces and time.array().size == 1 else None

    def message(self, text):
        """For the program, which gets it from Session.poll_messages()."""
        self.messages.append(str(text))


def values_of(found, joins):
    if found is None:
        return []
    if not isinstance(found, dict):
        raise TypeError(f"analyse() returned {type(found).__name__}: it returns None, or a dict of names and numbers")
    return [(str(name), repr(float(value)), joins.get(name, "")) for name, value in found.items()]


def loaded(path):
    sys.path.insert(0, str(pathlib.Path(path).resolve().parent))
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    if not callable(getattr(module, "analyse", None)):
        raise AttributeError(f"{path} has no function analyse(step)")
    joins = getattr(module, "join", {})
    if not isinstance(joins, dict) or any(each not in JOINS for each in joins.values()):
        raise ValueError(f'{path}: join is a dict of names of numbers, each "sum", "min" or "max"')
    return module.analyse, joins


def mapped(path):
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)


def failure():
    """The traceback from the user's own file on."""
    kind, error, trace = sys.exc_info()
    while trace is not None and trace.tb_frame.f_code.co_filename == "<string>" and trace.tb_next is not None:
        trace = trace.tb_next
    return "".join(traceback.format_exception(kind, error, trace)).strip()[-3000:]


def main():
    global numpy
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)   # with the drain that has started it
    faulthandler.enable()
    sys.dont_write_bytecode = True
    with socket.socket(fileno=3) as peer, peer.makefile("rb") as messages:
        def answer(**said):
            text = json.dumps(said).encode()
            peer.sendall(struct.pack("<Q", len(text)) + text)

        def next_message():
            length = messages.read(8)
            return json.loads(messages.read(struct.unpack("<Q", length)[0])) if len(length) == 8 else None

        welcome = next_message()
        if welcome is None:
            return
        try:
            import numpy
            pool = mapped(welcome["pool"])
            analyse, joins = loaded(welcome["file"])
        except BaseException:   # an exit, too
            return answer(error=failure())
        answer()
        while (said := next_message()) is not None:
            try:
                step = Step(said, pool, welcome["node"], welcome["nodes"])
                values = values_of(analyse(step), joins)
                sys.stdout.flush()
                answer(values=values, messages=step.messages)
            except (Exception, KeyboardInterrupt):
                answer(error=failure())


main()
