# SPDX-License-Identifier: BSD-3-Clause
"""ParaView 5.11 asks Python for inspect.getargspec when it loads a plug-in in Python, and Python 3.11 has it no more, as on Debian 12.
With this directory in PYTHONPATH, ParaView and pvserver find it."""

import inspect

if not hasattr(inspect, "getargspec"):
    inspect.getargspec = inspect.getfullargspec
