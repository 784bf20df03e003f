# SPDX-License-Identifier: BSD-3-Clause
"""ParaView reads what phasta_like writes. Status 77: there is no ParaView for this Python."""

import argparse
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True

from evaluation import launch   # noqa: E402

try:
    from paraview import simple
except ImportError:
    sys.exit(77)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--launcher", default="mpirun")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        arguments = ["--cubes", "4,4,4", "--steps", "2", "--every", "1", "--dt", "0.2"]
        measured = launch.run(options.program, 3, arguments, name, options.launcher)
        for record in measured["outputs"]:
            reader = simple.OpenDataFile(str(pathlib.Path(name) / f"solution_{record['step']}.pht"))
            reader.UpdatePipeline()
            found = reader.GetDataInformation()
            assert found.GetNumberOfCells() == record["cells"], (found.GetNumberOfCells(), record)
            assert found.GetNumberOfPoints() == record["points"], (found.GetNumberOfPoints(), record)
            assert list(reader.TimestepValues) == [record["time"]]
            low, high = reader.PointData["temperature"].GetRange(-1)
            assert 0.9 < low < 0.99 and abs(high - 1) < 1e-6, (low, high)
            assert reader.PointData["velocity"].GetNumberOfComponents() == 3
            volume = simple.IntegrateVariables(Input=reader)
            volume.UpdatePipeline()
            assert abs(volume.CellData["Volume"].GetRange()[0] - 1) < 1e-9
    return 0


if __name__ == "__main__":
    sys.exit(main())
