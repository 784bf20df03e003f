# SPDX-License-Identifier: BSD-3-Clause
"""For pvpython: loads the plug-in, shows a view, and prints a line of JSON for each step that it gets, until so many were there."""

import inspect
import json
import sys
import time

inspect.getargspec = inspect.getfullargspec

from paraview import simple   # noqa: E402

plugin, url, steps, *variable = sys.argv[1:]
simple.LoadPlugin(plugin, ns=globals())
source = GLEANLive(URL=url, Variable=variable[0] if variable else "")   # noqa: F821
source.UpdateVTKObjects()
client = source.GetClientSideObject()
seen = []
ends = time.monotonic() + 60
while len(seen) < int(steps) and time.monotonic() < ends:
    if seen and not client.GetNeedsUpdate():
        time.sleep(0.05)
        continue
    source.SMProxy.MarkModified(source.SMProxy)
    source.UpdatePipeline()
    data = client.GetOutputDataObject(0)
    array = data.GetPointData().GetScalars()
    if array is None:
        continue
    step = data.GetFieldData().GetArray("step").GetValue(0)
    if seen and seen[-1] == step:
        continue
    seen.append(step)
    print(json.dumps({"step": step, "class": data.GetClassName(), "points": data.GetNumberOfPoints(), "cells": data.GetNumberOfCells(),
                      "name": array.GetName(), "range": array.GetRange(0), "bounds": data.GetBounds()}), flush=True)
