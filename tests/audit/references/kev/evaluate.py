"""A reference in the shape of the published one, written from the definitions in words: plain loops, no array tricks.

Its module code must never run: it would need what is not installed, and it says so.
"""

import a_package_that_is_not_installed  # noqa: F401
import numpy as np


def ece(confidences, correct):
    """Ten bins of equal width, closed on the left, the last one on both sides."""
    edges = np.linspace(0.0, 1.0, 11)
    total = 0.0
    for at in range(10):
        lower, upper = edges[at], edges[at + 1]
        held = [
            (c, k)
            for c, k in zip(confidences, correct, strict=True)
            if c >= lower and (c < upper or (upper == 1.0 and c == 1.0))
        ]
        if held:
            mean = sum(c for c, _ in held) / len(held)
            right = sum(bool(k) for _, k in held) / len(held)
            total += len(held) / len(confidences) * abs(right - mean)
    return float(total)


raise RuntimeError("the module was run")
