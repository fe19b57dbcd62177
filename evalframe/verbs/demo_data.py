"""The sample data of the tour: generated here, the same bytes on every machine, and nobody's real measurements."""

from __future__ import annotations

import io
import json
from random import Random

import numpy as np

ACTIVITIES = ("sit", "stand", "walk", "run", "cycle", "stairs")
PARTICIPANTS = 24
WINDOWS = 40


def windows(*, skill: float, seed: int) -> bytes:
    """Saved predictions of 24 participants x 40 windows as NPZ. skill: share of windows that a typical one gets right.

    Labels and participants depend on nothing but this file; predictions on `seed` and `skill`. Participants differ in
    how hard they are, so that windows of one participant are not independent: what a cluster bootstrap is for.
    """
    world, model = Random(20), Random(seed)
    truth, guess, person, time, failed = [], [], [], [], []
    for who in range(PARTICIPANTS):
        ease = world.uniform(-0.18, 0.18)
        for when in range(WINDOWS):
            label = world.randrange(len(ACTIVITIES))
            right = model.random() < skill + ease
            # Mistakes fall on the neighbouring activity: sit for stand, walk for run.
            neighbour = (label + (1 if label % 2 == 0 else -1)) % len(ACTIVITIES)
            truth.append(label)
            guess.append(label if right else neighbour)
            person.append(f"p{who:02d}")
            time.append(2.0 * when)
            failed.append(model.random() < 0.004)
    file = io.BytesIO()
    np.savez(
        file,
        y_true=np.array(truth, np.int16),
        y_pred=np.array(guess, np.int16),
        participant=np.array(person),
        time=np.array(time, np.float64),
        classes=np.array(ACTIVITIES),
        failed=np.array(failed, bool),
    )
    return file.getvalue()


def questions(*, skill: float, seed: int) -> bytes:
    """300 multiple-choice answers as JSON lines, in groups of five. skill: how much weight falls on the right key."""
    world, model = Random(30), Random(seed)
    keys = ["supported", "insufficient", "contradicted"]
    lines = []
    for number in range(300):
        label, hardness = world.randrange(3), world.random()
        weights = [model.random() ** 2 for _ in keys]
        weights[label] += skill * (1.4 - hardness)
        row = {
            "id": f"q{number:03d}",
            "question": "decision",
            "group": f"g{number // 5:02d}",
            "source": "demo",
            "task": "evidence" if number % 3 else "selection",
            "type": "choice",
            "variant": "clean",
            "keys": keys,
            "label": label,
            "p": [w / sum(weights) for w in weights],
        }
        lines.append(json.dumps(row, sort_keys=True))
    return ("\n".join(lines) + "\n").encode()
