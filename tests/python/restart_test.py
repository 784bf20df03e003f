# SPDX-License-Identifier: BSD-3-Clause
"""Session.restart opens the newest complete file, the same on all ranks."""

import os

import numpy as np

import glean
import ranks
from ranks import COMM, RANK, SIZE


class Restarts(ranks.Ranks):
    def alone(self, action):
        COMM.barrier()
        if RANK == 0:
            action()
        COMM.barrier()

    def test_from_the_newest_file_that_is_complete(self):
        with self.session() as session:
            for number in (1, 2, 3):
                self.write(session, f"chk_{number}.nc", {"v": np.full(4, number * 1.5)})
            session.wait("durable")

            def damage():
                for number, age in ((1, 3), (2, 2), (3, 1)):
                    if number == 3:
                        os.truncate(self.path("chk_3.nc"), 90)
                    os.utime(self.path(f"chk_{number}.nc"), (1_700_000_000 - age,) * 2)

            self.alone(damage)
            with session.restart(self.path("chk_*.nc")) as file:
                self.assertEqual(file.path, os.fspath(self.path("chk_2.nc")))
                self.assertEqual(file["v"][:].tolist(), [3.0] * 4 * SIZE)

    def test_from_what_this_session_still_drains(self):
        with self.session() as session:
            self.write(session, "a.nc", {"v": np.arange(5.0)})
            self.assertEqual(session.restart(self.path("a*"), timeout=60)["v"][0:5].tolist(), [0, 1, 2, 3, 4])

    def test_nothing_yet_is_told_apart_from_nothing_that_is_complete(self):
        with self.session() as session:
            with self.assertRaisesRegex(glean.NotFound, "start from scratch"):
                session.restart(self.path("chk_*.nc"))
            self.alone(lambda: self.path("chk_1.nc").write_bytes(b"CDF"))
            with self.assertRaisesRegex(glean.Io, "none of 1 file"):
                session.restart(self.path("chk_*.nc"))

    def test_steps_are_added_to_a_file_that_is_there(self):
        path = self.path("history.nc")
        with self.session() as session:
            with self.assertRaisesRegex(glean.NotFound, "no such file"):
                session.append(path)
            with session.open(path, "cdf2") as output:
                output.dimension("t")
                output.dimension("x", 4 * SIZE)
                output.variable("v", "f8", ["t", "x"], blocks=[np.s_[4 * RANK:4 * RANK + 4]])
                with output.step() as step:
                    step.put("v", np.full(4, 1.0))
            for number in (2, 3):
                with session.append(path) as output:
                    with output.step() as step:
                        step.put("v", np.full(4, float(number)), start=[4 * RANK])
            with session.open_input(path) as file:
                self.assertEqual(file["v"][:].tolist(), [[float(number)] * 4 * SIZE for number in (1, 2, 3)])


if __name__ == "__main__":
    ranks.main()
