# SPDX-License-Identifier: BSD-3-Clause
"""ParaView reads what phasta_like writes, by itself and through GLEAN. Status 77: there is no ParaView for this Python."""

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


WAYS = {"pht": ([], "solution_{}.pht"),
        "vtk": (["--output", "glean", "--format", "vtk"], "solution_{:06}.vtk"),
        "vtkhdf": (["--output", "glean"], "solution_{:06}.vtkhdf")}


def check(way, output, file_name, options, arguments, directory):
    measured = launch.run(options.program, 3, [*output, *arguments], directory, options.launcher)
    for record in measured["outputs"]:
        path = str(directory / file_name.format(record["step"]))
        # ParaView 5.11 knows this reader by the ending .hdf only.
        reader = simple.VTKHDFReader(FileName=path) if way == "vtkhdf" else simple.OpenDataFile(path)
        reader.UpdatePipeline()
        found = reader.GetDataInformation()
        assert found.GetNumberOfCells() == record["cells"], (found.GetNumberOfCells(), record)
        assert found.GetNumberOfPoints() == record["points"], (found.GetNumberOfPoints(), record)
        if way == "pht":
            assert list(reader.TimestepValues) == [record["time"]]
        low, high = reader.PointData["temperature"].GetRange(-1)
        assert 0.9 < low < 0.99 and abs(high - 1) < 1e-6, (low, high)
        assert reader.PointData["velocity"].GetNumberOfComponents() == 3
        volume = simple.IntegrateVariables(Input=reader)
        volume.UpdatePipeline()
        assert abs(volume.CellData["Volume"].GetRange()[0] - 1) < 1e-9


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--launcher", default="mpirun")
    parser.add_argument("--ways", default=",".join(WAYS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        arguments = ["--cubes", "4,4,4", "--steps", "2", "--every", "1", "--dt", "0.2"]
        for way in options.ways.split(","):
            check(way, *WAYS[way], options, arguments, pathlib.Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
