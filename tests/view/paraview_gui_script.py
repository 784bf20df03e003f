# SPDX-License-Identifier: BSD-3-Clause
"""For ParaView's window: shows the plug-in's source, and appends a line of JSON to a file whenever the view is drawn. What is drawn later
is what ParaView has found out by itself."""

import json
import os

from paraview import simple

simple.LoadPlugin(os.environ["PLUGIN"], ns=globals())
source = GLEANLive(URL=os.environ["URL"])   # noqa: F821
view = simple.GetActiveViewOrCreate("RenderView")
simple.Show(source, view)


def drawn(*_):
    data = source.GetClientSideObject().GetOutputDataObject(0)
    array = data.GetPointData().GetScalars()
    if array is not None:
        with open(os.environ["SEEN"], "a", encoding="utf-8") as file:
            file.write(json.dumps({"step": data.GetFieldData().GetArray("step").GetValue(0), "range": array.GetRange(0)}) + "\n")


view.GetRenderWindow().AddObserver("EndEvent", drawn)
simple.Render(view)
