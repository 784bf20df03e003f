# SPDX-License-Identifier: BSD-3-Clause
"""What the demo runs, compares, measures and draws."""
import pathlib

__path__.append(str(pathlib.Path(__file__).resolve().parents[2] / "evaluation"))   # what examples share
