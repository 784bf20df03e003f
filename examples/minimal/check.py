# SPDX-License-Identifier: BSD-3-Clause
"""check.py FILE: reads back what minimal.cpp wrote, with PnetCDF's own tool."""

import subprocess
import sys

path = sys.argv[1]
subprocess.run(["ncvalidator", path], check=True)
header = subprocess.run(["ncmpidump", "-h", path], check=True, capture_output=True, text=True).stdout
for expected in ("float temperature(", 'temperature:units = "K"', "z = 64", "y = 64", "x = 64",
                 "(4 currently)", "double x(x)"):
    assert expected in header, f"no '{expected}' in\n{header}"
text = subprocess.run(["ncmpidump", "-v", "temperature", path], check=True, capture_output=True,
                      text=True).stdout
values = text.split("temperature =")[-1].strip(" ;}\n").replace("\n", " ").split(",")
cells = 64 ** 3
assert len(values) == 4 * cells, f"{len(values)} values"
for step in range(4):
    found = {float(value) for value in values[step * cells:(step + 1) * cells]}
    assert found == {300.0 + step}, f"step {step} holds {sorted(found)[:5]}"
print("heat.nc holds 4 steps of the temperature")
