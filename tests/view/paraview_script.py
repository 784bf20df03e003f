# SPDX-License-Identifier: BSD-3-Clause
"""For pvpython: loads the plug-in, here or in a pvserver. For each line of standard input, which has the address of a view, a number of
steps, a variable and seconds, shows the view, and prints a line of JSON for each step that it gets, until so many were there or for so
long."""

import inspect
import json
import sys
import time

inspect.getargspec = inspect.getfullargspec

from paraview import simple   # noqa: E402

plugin, *port = sys.argv[1:]
if port:
    simple.Connect("127.0.0.1", int(port[0]))
    simple.LoadPlugin(plugin, remote=True, ns=globals())
else:
    simple.LoadPlugin(plugin, ns=globals())


def look(url, steps, variable, seconds):
    source = GLEANLive(URL=url, Variable=variable)   # noqa: F821
    seen = []
    ends = time.monotonic() + float(seconds)
    while len(seen) < int(steps):
        source.Look += 1
        source.UpdatePipeline()
        data = simple.servermanager.Fetch(source)
        array = data.GetPointData().GetScalars()
        step = data.GetFieldData().GetArray("step").GetValue(0) if array else None
        if step in (None, *seen):
            if time.monotonic() > ends:
                break
            time.sleep(0.05)
            continue
        seen.append(step)
        print(json.dumps({"step": step, "class": data.GetClassName(), "points": data.GetNumberOfPoints(),
                          "cells": data.GetNumberOfCells(), "name": array.GetName(), "range": array.GetRange(0),
                          "bounds": data.GetBounds()}), flush=True)
    simple.Delete(source)


for line in sys.__stdin__:   # pvpython has put something else in its place
    look(*line.split())
