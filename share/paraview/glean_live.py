# SPDX-License-Identifier: BSD-3-Clause
"""A source of ParaView that shows the newest step of a GLEAN view: of `glean view`, or of a run with the setting `view`.

In ParaView: Tools, Manage Plugins, Load New, this file; then Sources, GLEAN Live. Set the URL that the view has printed, or a file that has
it (glean-view.*.url), and, if it is not the first one, the output and the variable. It follows by itself; let the source be shown at least as
Outline, or ParaView does not ask it.
"""

import base64
import inspect
import json
import os
import socket
import struct

import numpy

if not hasattr(inspect, "getargspec"):   # ParaView 5.11 asks for it, and Python 3.11 has it no more
    inspect.getargspec = inspect.getfullargspec

# pylint: disable=wrong-import-position
from paraview.util.vtkAlgorithm import VTKPythonAlgorithmBase, smdomain, smhint, smproperty, smproxy   # noqa: E402
from vtkmodules.util.numpy_support import numpy_to_vtk, numpy_to_vtkIdTypeArray   # noqa: E402
from vtkmodules.vtkCommonCore import vtkPoints   # noqa: E402
from vtkmodules.vtkCommonDataModel import VTK_TRIANGLE, vtkCellArray, vtkDataObject, vtkImageData, vtkUnstructuredGrid   # noqa: E402
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline   # noqa: E402


class View:
    """The socket of a view, which is asked and answers."""

    def __init__(self, url, seconds=10):
        if os.path.exists(url):
            with open(url, encoding="ascii") as file:
                url = file.read().strip()
        address, _, token = url.partition("/?token=")
        host, _, port = address.removeprefix("http://").rpartition(":")
        if not (token and port.isdigit()):
            raise ValueError(f"'{url}' is no URL of a view, http://HOST:PORT/?token=…, nor a file that has it")
        self.socket = socket.create_connection((host.strip("[]"), int(port)), timeout=seconds)
        self.unread = b""
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /socket?token={token} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.unread:
            self._more()
        head, self.unread = self.unread.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n", 1)[0]:
            raise ConnectionError("the view refuses: " + head.split(b"\r\n", 1)[0].decode("latin-1"))

    def _more(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise ConnectionError("the view has ended")
        self.unread += data

    def _take(self, count):
        while len(self.unread) < count:
            self._more()
        found, self.unread = self.unread[:count], self.unread[count:]
        return found

    def _send(self, opcode, payload):
        length, mask = len(payload), os.urandom(4)
        head = bytes([0x80 | opcode]) + (bytes([0x80 | length]) if length < 126 else bytes([0x80 | 126]) + struct.pack(">H", length))
        self.socket.sendall(head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload)))

    def ask(self, what, **more):
        """The description of the answer, and its numbers as bytes."""
        self._send(1, json.dumps({"what": what, "slot": what, **more}).encode())
        message = b""
        while True:
            first, second = self._take(2)
            length = second & 0x7F
            if length >= 126:
                length = struct.unpack(">H", self._take(2))[0] if length == 126 else struct.unpack(">Q", self._take(8))[0]
            payload, opcode = self._take(length), first & 0x0F
            if opcode == 8:
                raise ConnectionError("the view has ended the connection")
            if opcode == 9:
                self._send(10, payload)
            elif opcode != 10:
                message += payload
                if first & 0x80:
                    break
        end = 4 + struct.unpack("<I", message[:4])[0]
        about = json.loads(message[4:end])
        if "error" in about:
            raise ValueError(about["error"])
        return about, message[end:]


def spacing_of(axis, step, values):
    """Where the first point of an axis is, and how far apart they are: points are centres of cells."""
    length, low, high = axis["length"], axis.get("lower"), axis.get("upper")
    if low is None or high is None or length < 2 or values < 1:
        return 0.0, float(step)
    if axis.get("are_edges"):
        width = (high - low) / length
        return low + width / 2, width * step
    return low, (high - low) / (length - 1) * step


def to_image(about, data):
    shape = about["shape"]
    axes = (about["columns"], about["rows"], about["planes"])
    places = [spacing_of(axis, step, count) for axis, step, count in zip(axes, about["steps_of_axes"][::-1], shape[::-1])]
    image = vtkImageData()
    image.SetDimensions(*shape[::-1])
    image.SetOrigin(*(place[0] for place in places))
    image.SetSpacing(*(place[1] for place in places))
    array = numpy_to_vtk(numpy.frombuffer(data, "<f4").copy(), deep=True)
    array.SetName(about["variable"])
    image.GetPointData().SetScalars(array)
    return image


def to_grid(about, data):
    corners, triangles = about["corners"], about["triangles"]
    positions = numpy.frombuffer(data, "<f4", corners * 3).reshape(-1, 3)
    values = numpy.frombuffer(data, "<f4", corners, corners * 12)
    cells = numpy.frombuffer(data, "<u4", triangles * 3, corners * 16).astype("i8")
    points = vtkPoints()
    points.SetData(numpy_to_vtk(positions.copy(), deep=True))
    connectivity = vtkCellArray()
    connectivity.SetData(numpy_to_vtkIdTypeArray(numpy.arange(0, 3 * triangles + 1, 3, dtype="i8"), deep=True),
                         numpy_to_vtkIdTypeArray(cells, deep=True))
    grid = vtkUnstructuredGrid()
    grid.SetPoints(points)
    grid.SetCells(VTK_TRIANGLE, connectivity)
    array = numpy_to_vtk(values.copy(), deep=True)
    array.SetName(about["variable"])
    grid.GetPointData().SetScalars(array)
    return grid


@smproxy.source(name="GLEANLive", label="GLEANLive")
@smhint.xml('<LiveSource interval="500"/>')
class GLEANLive(VTKPythonAlgorithmBase):
    def __init__(self):
        super().__init__(nInputPorts=0, nOutputPorts=1, outputType="vtkDataSet")
        self.url = self.series = self.variable = ""
        self.side = 128
        self.view = None
        self.version = 0
        self.latest = vtkUnstructuredGrid()

    @smproperty.stringvector(name="URL", default_values="")
    def SetURL(self, url):
        url = url or ""   # of an empty text ParaView makes None
        if url != self.url:
            self.url, self.view = url, None
            self.Modified()

    @smproperty.stringvector(name="Output", default_values="")
    def SetOutput(self, series):
        series = series or ""   # of an empty text ParaView makes None
        if series != self.series:
            self.series = series
            self.Modified()

    @smproperty.stringvector(name="Variable", default_values="")
    def SetVariable(self, variable):
        variable = variable or ""   # of an empty text ParaView makes None
        if variable != self.variable:
            self.variable = variable
            self.Modified()

    @smproperty.intvector(name="Side", default_values=128)
    @smdomain.intrange(min=1, max=256)
    def SetSide(self, side):
        if side != self.side:
            self.side = side
            self.Modified()

    @smproperty.intvector(name="Look", default_values=0, panel_visibility="never")
    def SetLook(self, _number):
        """For scripts, which no timer updates: another number makes the next UpdatePipeline() look for the newest step."""
        self.Modified()

    def _ask(self, what, **more):
        if self.view is None:
            self.view = View(self.url)
        try:
            return self.view.ask(what, **more)
        except OSError:   # it has ended, or is late: the next look connects anew
            self.view = None
            raise

    def GetNeedsUpdate(self):
        """Whether there is a newer step. ParaView asks twice a second, on the root of its data server only."""
        try:
            if not self.url:
                return False
            version = int(self._ask("list")[0]["version"])
        except (OSError, ValueError):
            return False
        if version == self.version:
            return False
        self.Modified()
        return True

    def _field(self):
        """The output and variable that are shown: those that were named, or the first that can be."""
        about, _ = self._ask("list")
        self.version = int(about["version"])
        for series in about["series"]:
            if self.series and series["name"] != self.series:
                continue
            for field in series["fields"]:
                can_be = field["kind"] == "surface" or len(field["shape"]) == 3
                if can_be and self.variable in ("", field["name"]):
                    return series["name"], field
        raise ValueError("the view has nothing of three dimensions" + (f" that is called '{self.variable}'" if self.variable else ""))

    # What is there is fetched first: ParaView wants to know of which kind and extent it is before it asks for it.
    def RequestDataObject(self, _request, _inputs, outputs):
        if self.url:
            try:
                series, field = self._field()
                what = "surface" if field["kind"] == "surface" else "volume"
                about, data = self._ask(what, series=series, variable=field["name"], side=self.side)
                self.latest = (to_grid if what == "surface" else to_image)(about, data)
                for name in ("step", "time"):
                    array = numpy_to_vtk(numpy.array([about.get(name, numpy.nan)], "f8"), deep=True)
                    array.SetName(name)
                    self.latest.GetFieldData().AddArray(array)
            except (OSError, ValueError) as error:
                print(f"GLEAN Live: {error}", flush=True)
        information = outputs.GetInformationObject(0)
        if not isinstance(information.Get(vtkDataObject.DATA_OBJECT()), type(self.latest)):
            information.Set(vtkDataObject.DATA_OBJECT(), type(self.latest)())
        return 1

    def RequestInformation(self, _request, _inputs, outputs):
        if isinstance(self.latest, vtkImageData):
            outputs.GetInformationObject(0).Set(vtkStreamingDemandDrivenPipeline.WHOLE_EXTENT(), self.latest.GetExtent(), 6)
        return 1

    def RequestData(self, _request, _inputs, outputs):
        vtkDataObject.GetData(outputs, 0).ShallowCopy(self.latest)
        return 1
