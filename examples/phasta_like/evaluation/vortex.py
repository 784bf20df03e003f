# SPDX-License-Identifier: BSD-3-Clause
"""The exact solution, from the formulas of a textbook (Shu's isentropic vortex), for a vortex with an axis of any direction."""

import numpy as np

START, AXIS, FLOW = np.array([0.3, 0.35, 0.5]), np.array([0.3, -0.2, 1.0]), np.array([0.6, 0.4, 0.1])
CORE, STRENGTH, GAMMA = 0.05, 2.5, 1.4


def solution(points, time):
    """Pressure, velocity, temperature."""
    axis = AXIS / np.linalg.norm(AXIS)
    away = points - START - FLOW * time
    away = (away - np.outer(away @ axis, axis)) / CORE
    square = (away ** 2).sum(axis=1)
    velocity = FLOW + STRENGTH / (2 * np.pi) * np.exp((1 - square) / 2)[:, None] * np.cross(axis, away)
    temperature = 1 - (GAMMA - 1) * STRENGTH ** 2 / (8 * GAMMA * np.pi ** 2) * np.exp(1 - square)
    return temperature ** (GAMMA / (GAMMA - 1)), velocity, temperature
