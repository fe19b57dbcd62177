"""The calibration error of torchmetrics in NumPy, copied by hand: `bucketize(right=True) - 1` on n + 1 edges.

A confidence of exactly 1.0 lies right of the last edge and gets a bin of its own, the eleventh.
"""

import numpy as np


def calibration_error(confidences, correct):
    edges = np.linspace(0.0, 1.0, 11)
    confidences = np.asarray(confidences, dtype=float)
    correct = np.asarray(correct, dtype=float)
    bins = np.searchsorted(edges, confidences, side="right") - 1
    total = 0.0
    for held in range(11):
        inside = bins == held
        if inside.any():
            total += inside.mean() * abs(correct[inside].mean() - confidences[inside].mean())
    return total
