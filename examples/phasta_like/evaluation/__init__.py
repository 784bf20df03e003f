# SPDX-License-Identifier: BSD-3-Clause
import pathlib

__path__.append(str(pathlib.Path(__file__).resolve().parents[2] / "evaluation"))   # what examples share
