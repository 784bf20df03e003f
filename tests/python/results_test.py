# SPDX-License-Identifier: BSD-3-Clause
"""Results of analyses, and outputs in single precision, of random decompositions, against NumPy on all that was put."""

import pathlib
import random
import sys
import unittest

import numpy as np

import ranks
from ranks import COMM, RANK, SIZE

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/sedov"))
from evaluation import cdf

SEED = COMM.bcast(random.SystemRandom().randrange(1 << 30))


def random_boxes(chosen, shape):
    """A box of each rank, empty ones among them: the whole is cut at random places, again and again."""
    boxes = [[(0, length) for length in shape]]
    while len(boxes) < SIZE:
        box = boxes.pop(chosen.randrange(len(boxes)))
        axis = chosen.randrange(len(shape))
        begin, end = box[axis]
        cut = chosen.randrange(begin, end + 1)
        boxes += [[*box[:axis], part, *box[axis + 1:]] for part in ((begin, cut), (cut, end))]
    return [tuple(slice(*extent) for extent in box) for box in boxes]


class Results(ranks.Ranks):
    def put(self, name, shape, chosen, **settings):
        made = np.random.default_rng(SEED)
        values = {"dens": made.normal(size=shape), "velx": made.normal(size=shape).astype("f4"), "vely": made.normal(size=shape)}
        mine = random_boxes(chosen, shape)[RANK]
        with self.session(**settings) as session, session.open(self.path(name)) as output:
            for dimension, length in zip("zyx", shape):
                output.dimension(dimension, length)
            for variable, array in values.items():
                output.variable(variable, array.dtype, ["z", "y", "x"], blocks=[mine])
            with output.step() as step:
                for variable, array in values.items():
                    step.put(variable, array[mine])
        COMM.barrier()
        return values

    def test_results_are_numpys_whatever_the_decomposition(self):
        chosen = random.Random(SEED)
        for trial in range(3):
            shape = tuple(chosen.randrange(1, 30) for _ in range(3))
            z, stride = chosen.randrange(shape[0]), chosen.randrange(1, 5)
            begin = chosen.randrange(shape[2])
            tables = [{"output": "*.nc", "variables": ["dens"], "suffix": "slice",
                       "run": [f"slice z={z}", f"subsample {stride}", "expression speed = sqrt(velx^2 + vely^2)"]},
                      {"output": "a*", "run": [f"region x={begin}:", "precision float32 dens,vely"]}]

            values = self.put(f"a{trial}.nc", shape, chosen, analysis=tables)

            part = cdf.File(self.path(f"a{trial}_slice.nc"))
            speed = np.sqrt(values["velx"].astype("f8") ** 2 + values["vely"] ** 2)
            for name, whole in (("dens", values["dens"]), ("speed", speed)):
                np.testing.assert_array_equal(part[name], whole[z, ::stride, ::stride], f"seed {SEED}, trial {trial}")
            region = cdf.File(self.path(f"a{trial}_reduced.nc"))
            for name, whole in values.items():
                self.assertEqual(region[name].dtype.newbyteorder("="), np.dtype("f4"))
                np.testing.assert_array_equal(region[name], whole[:, :, begin:].astype("f4"))

    def test_precision_takes_the_variables_place(self):
        for settings, narrowed in (({"precision": "float32"}, {"dens", "vely"}),
                                   ({"rule": [{"pattern": "b*", "precision": "float32", "reduce_variables": ["vely"]}]}, {"vely"})):
            values = self.put("b.nc", (6, 7, 8), random.Random(SEED), **settings)

            file = cdf.File(self.path("b.nc"))
            for name, whole in values.items():
                expected = whole.astype("f4") if name in narrowed else whole
                self.assertEqual(file[name].dtype.newbyteorder("="), expected.dtype)
                np.testing.assert_array_equal(file[name], expected)


if __name__ == "__main__":
    ranks.main()
