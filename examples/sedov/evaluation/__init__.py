# SPDX-License-Identifier: BSD-3-Clause
"""What the demo runs, compares, measures and draws."""
