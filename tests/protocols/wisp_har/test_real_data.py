"""Published numbers of real runs, recomputed from their saved predictions."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalframe.sources.classification import SavedPredictions, read_predictions
from tests.protocols.wisp_har.scoring import evaluate, values

RealData = Callable[[str], Path]

LAYERS = pytest.mark.parametrize("layers", [1, 2])


def loso(real_data: RealData, layers: int) -> SavedPredictions:
    path = real_data("har_loso") / f"sbhar_{layers}x512_seed2.npz"
    return read_predictions(path, run_id="r", keys={"classes": "class_names"})


@pytest.mark.parametrize(
    ("layers", "accuracy", "macro_f1"),
    [(1, 0.8387275094063732, 0.7266830133858114), (2, 0.8382817097309153, 0.7248495004519907)],
)
def test_thirty_people_and_thirteen_activities(
    real_data: RealData, layers: int, accuracy: float, macro_f1: float
) -> None:
    found = values(loso(real_data, layers).tables)
    assert found["accuracy"] == pytest.approx(accuracy, abs=1e-15)
    assert found["macro_f1"] == pytest.approx(macro_f1, abs=1e-15)


def by_participant(saved: SavedPredictions) -> dict[str, list[dict[str, Any]]]:
    """Per class name, that class's counts in each participant; a participant without the class counts as zeros."""
    rows = evaluate(saved.tables, ["class_counts_by_cluster"])["class_counts_by_cluster"]
    nothing = {"items": 0, "hits": 0, "predicted": 0}
    people = sorted({row["cluster_id"] for row in rows})
    found = {(row["cluster_id"], row["class_index"]): row for row in rows}
    return {
        name: [found.get((person, index), nothing) for person in people] for index, name in enumerate(saved.classes)
    }


def ratio(numerator: int, denominator: int) -> float:
    """A cell with nothing in its denominator is published as 0."""
    return numerator / denominator if denominator else 0.0


SCORES: dict[str, Callable[[dict[str, Any]], float]] = {
    "precision": lambda cell: ratio(cell["hits"], cell["predicted"]),
    "recall": lambda cell: ratio(cell["hits"], cell["items"]),
    "f1": lambda cell: ratio(2 * cell["hits"], cell["items"] + cell["predicted"]),
}


def mean_and_deviation(numbers: Sequence[float]) -> tuple[float, float]:
    return round(float(np.mean(numbers)), 4), round(float(np.std(numbers)), 4)


@LAYERS
def test_published_averages_over_participants_and_classes(real_data: RealData, layers: int) -> None:
    published = json.loads((real_data("har_loso") / "published_averages_sbhar.json").read_text())
    (log,) = [run for run in published["runs"] if run["layers"] == layers]
    cells = by_participant(loso(real_data, layers))
    assert {name: len(people) for name, people in cells.items()} == dict.fromkeys(published["class_names"], 30)

    found = {}
    for name, score in SCORES.items():
        every = [score(cell) for people in cells.values() for cell in people]
        found[name], found[f"{name}_sd"] = mean_and_deviation(every)
    assert found == {name: value for name, value in log["avg"].items() if not name.startswith("iou")}

    per_class = {name: mean_and_deviation([SCORES["f1"](cell) for cell in people]) for name, people in cells.items()}
    assert per_class == {name: tuple(pair) for name, pair in log["class_f1"].items()}
    assert 2 * len(per_class) + len(found) == 32


CLASSIFIERS = ("1NN-DTW", "ROCKET", "TSF")


@pytest.mark.parametrize("classifier", CLASSIFIERS)
@pytest.mark.parametrize(("dataset", "classes"), [("Chinatown", 2), ("Trace", 4)])
@pytest.mark.parametrize("resample", [0, 1, 2])
def test_published_accuracies_of_three_classifiers(
    real_data: RealData, tmp_path: Path, classifier: str, dataset: str, classes: int, resample: int
) -> None:
    root = real_data("tsml")
    lines = (root / "predictions" / classifier / dataset / f"testResample{resample}.csv").read_text().splitlines()
    rows = [line.split(",")[:2] for line in lines[3:]]
    saved = tmp_path / "predictions.csv"
    saved.write_text("\n".join(["y_true,y_pred,participant", *(f"{t},{p},all" for t, p in rows)]), encoding="utf-8")
    vocabulary = tmp_path / "classes.json"
    vocabulary.write_text(json.dumps([str(index) for index in range(classes)]), encoding="utf-8")

    found = values(read_predictions(saved, run_id="r", classes=vocabulary).tables)
    assert found["accuracy"] == pytest.approx(float(lines[2].split(",")[0]), abs=1e-15)
    for metric, table in (("accuracy", "accuracy"), ("balanced_accuracy", "balacc")):
        with (root / "published" / f"{classifier}_{table}.csv").open(newline="") as file:
            published = next(row for row in csv.reader(file) if row[0] == dataset)
        assert found[metric] == pytest.approx(float(published[1 + resample]), abs=1e-15)


def test_a_watch_and_seven_exercises(real_data: RealData, tmp_path: Path) -> None:
    folder = real_data("har_watch")
    with np.load(folder / "watch_windows_4s_25hz.npz") as archive:
        names = archive["class_names"].tolist()
    classes = tmp_path / "classes.json"
    classes.write_text(json.dumps(names), encoding="utf-8")
    path = folder / "loso_nearest_centroid_predictions.npz"
    saved = read_predictions(path, run_id="r", classes=classes, keys={"time": "time_s"})
    assert len(saved.tables["class_labels"]) == 1149
    assert {metric: round(value, 6) for metric, value in values(saved.tables).items() if value is not None} == {
        "accuracy": 0.780679,
        "macro_f1": 0.797103,
        "balanced_accuracy": 0.798582,
        "worst_class_f1": 0.642857,
    }
