# SPDX-License-Identifier: BSD-3-Clause
"""Says as JSON what yt finds in FLASH's files, whose paths it takes from standard input."""

import json
import sys

import yt

yt.set_log_level(50)
for path in map(str.strip, sys.stdin):
    data = yt.load(path)
    everything = data.all_data()
    fields = {}
    for kind, name in data.field_list:
        values = everything[kind, name]
        fields[name] = {"integral": float((values * everything["index", "cell_volume"]).sum()), "cells": int(values.size),
                        "all": sum(float(grid[kind, name].sum()) for grid in data.index.grids)}
    print("RESULT " + json.dumps({
        "class": type(data).__name__, "time": float(data.current_time), "dimensions": int(data.dimensionality), "fields": fields,
        "levels": sorted({int(grid.Level) for grid in data.index.grids}), "grids": len(data.index.grids),
        "children": sum(len(grid.Children) for grid in data.index.grids), "roots": [int(n) for n in data.domain_dimensions],
        "bounds": [[float(x) for x in data.domain_left_edge], [float(x) for x in data.domain_right_edge]],
        "nstep": int(data.parameters.get("nstep", -1))}), flush=True)
