"""Published runs of real models against one another."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalframe.errors import ExitCode
from evalframe.sources.classification import read_predictions
from evalframe.store import Store
from evalframe.verbs import wisp
from evalframe.verbs.compare import compare
from tests.compare.building import METRICS
from tests.compare.test_choices import add, rows_of
from tests.compare.test_verdicts import by_metric
from tests.oracles import classification as oracle
from tests.oracles import statistics

Folder = Callable[[str], Path]
RUNS = ("sbhar_1x512_seed2", "sbhar_2x512_seed2")
PROMPTS = 5


def test_two_networks_on_thirty_people(store: Store, real_data: Folder) -> None:
    sides = []
    for run in RUNS:
        path = real_data("har_loso") / f"{run}.npz"
        wisp.score(path, store=store.path, run_id=run, keys={"classes": "class_names"})
        sides.append(_people(path))
    found = compare(store, RUNS[0], [RUNS[1]], replicates=200)
    assert (found.verdict, found.exit_code) == ("comparable", ExitCode.OK)
    rows = by_metric(found)
    drawn = statistics.drawn_clusters(list(sides[0]), 200, seed=0)
    for metric in METRICS:
        row = rows[metric]
        assert (row["cluster"], row["n_clusters"], row["method"]) == ("participant", 30, "swap_mc")
        values = [_value(metric, sum(side.values())) for side in sides]
        assert (row["baseline"], row["candidate"]) == pytest.approx(values, abs=1e-12)
        changes = [
            _value(metric, sum(sides[1][person] for person in people))
            - _value(metric, sum(sides[0][person] for person in people))
            for people in drawn
        ]
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(np.percentile(changes, [2.5, 97.5])), abs=1e-12)
    for method in ("mcnemar_exact", "mcnemar_midp"):
        assert (rows[method]["status"], rows[method]["reason"]) == ("undefined", "items_not_identified")


def _people(path: Path) -> dict[str, Any]:
    """Confusion matrices by participant."""
    with np.load(path) as data:
        truth, guess, people, size = data["y_true"], data["y_pred"], data["participant"], len(data["class_names"])
    matrices = {}
    for person in np.unique(people):
        inside = people == person
        cells = np.bincount(truth[inside].astype(np.int64) * size + guess[inside], minlength=size * size)
        matrices[str(person)] = cells.reshape(size, size)
    return matrices


def _value(metric: str, matrix: Any) -> float:
    hits, support, predicted = np.diag(matrix), matrix.sum(1), matrix.sum(0)
    f1 = np.divide(2.0 * hits, support + predicted, out=np.zeros(len(hits)), where=support + predicted > 0)
    recall = hits[support > 0] / support[support > 0]
    return float(
        {
            "accuracy": hits.sum() / support.sum(),
            "macro_f1": f1[support + predicted > 0].mean(),
            "balanced_accuracy": recall.mean(),
            "worst_class_f1": f1.min(),
        }[metric]
    )


def test_two_language_models_on_the_rows_they_share(store: Store, real_data: Folder) -> None:
    first = json.loads((real_data("kev") / "autojev_semif_rows.json").read_text())
    lines = (real_data("semif") / "authored144_27b_exl3_17rows.jsonl").read_text().splitlines()
    # The second file has the same questions under the ids without their source.
    second = [
        {**row, "id": f"semif_authored/{row['id']}", "group": f"semif_authored/{row['group']}"}
        for row in map(json.loads, lines)
    ]
    add(store, "autojev", first)
    add(store, "exl3", second)
    assert compare(store, "autojev", ["exl3"], replicates=20).reasons == ["items_differ"]
    found = compare(store, "autojev", ["exl3"], replicates=500, on_intersection=True)
    assert (found.verdict, found.exit_code) == ("comparable_on_intersection", ExitCode.OK)
    assert found.body()["left_out"] == [
        {
            "baseline_run": "autojev",
            "candidate_run": "exl3",
            "n_shared": 17,
            "baseline_left_out": 235,
            "candidate_left_out": 0,
        }
    ]
    by_id = {row["id"]: row for row in first}
    shared = [(by_id[row["id"]], row) for row in second]
    rows = rows_of(found)
    losses = [
        np.mean([-np.log(max(side["p"][side["label"]], 1e-9)) for side in column])
        for column in zip(*shared, strict=True)
    ]
    assert (rows["nll"]["baseline"], rows["nll"]["candidate"]) == pytest.approx(losses, abs=1e-12)
    right = [[int(np.argmax(side["p"])) == side["label"] for side in pair] for pair in shared]
    assert rows["accuracy"]["change"] == pytest.approx(np.mean([b - a for a, b in right]), abs=1e-15)
    assert rows["mcnemar_exact"]["n_pairs"] == 17
    assert rows["mcnemar_exact"]["losses"] == sum(a > b for a, b in right)


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory, real_data: Folder) -> tuple[Store, np.ndarray]:
    """Five of ten prompts of one model over eight subjects, a run each; right answers [prompt, question]."""
    store = Store.open(tmp_path_factory.mktemp("prompts") / "store", create=True, durable=False)
    right: list[list[bool]] = [[] for _ in range(PROMPTS)]
    with np.load(real_data("llama_mmlu") / "llama13b_mmlu8_probs.npz") as data:
        arrays = dict(data)
    subjects = sorted(name.removesuffix("__targets") for name in arrays if name.endswith("__targets"))
    for prompt in range(PROMPTS):
        rows = []
        for subject in subjects:
            for number, label in enumerate(arrays[f"{subject}__targets"].tolist()):
                p = arrays[f"{subject}__probs"][prompt, number].tolist()
                right[prompt].append(int(np.argmax(p)) == label)
                rows.append(
                    {
                        "id": f"{subject}/{number:03d}",
                        "question": "answer",
                        "task": subject,
                        "type": "choice",
                        "keys": list("ABCD"),
                        "label": label,
                        "p": p,
                    }
                )
        add(store, f"prompt{prompt}", rows)
    return store, np.array(right)


def test_prompts_of_one_model(prompts: tuple[Store, np.ndarray]) -> None:
    store, right = prompts
    others = [f"prompt{n}" for n in range(1, PROMPTS)]
    found = compare(store, "prompt0", others, replicates=300, metrics=["accuracy", "nll"], strata=["headline"])
    assert (found.verdict, found.exit_code) == ("comparable", ExitCode.OK)
    assert found.outcome.family["m"] == 2 * len(others)
    for number, other in enumerate(others, start=1):
        rows = {row["metric"]: row for row in found.to_pylist() if row["candidate_run"] == other}
        change = right[number].astype(float) - right[0]
        assert rows["accuracy"]["change"] == pytest.approx(change.mean(), abs=1e-12)
        assert rows["accuracy"]["n_clusters"] == right.shape[1]  # every question is a cluster of its own
        test = rows["mcnemar_exact"]
        assert (test["losses"], test["wins"]) == (int((change < 0).sum()), int((change > 0).sum()))
        exact, mid_p = statistics.mcnemar_p(test["losses"], test["wins"])
        assert (test["p_value"], rows["mcnemar_midp"]["p_value"]) == (float(exact), float(mid_p))
        assert "ignores_clusters" not in test["flags"]
        draws = np.random.default_rng(0).integers(0, len(change), size=(300, len(change)))
        bounds = np.percentile(change[draws].mean(axis=1), [2.5, 97.5])
        assert (rows["accuracy"]["ci_low"], rows["accuracy"]["ci_high"]) == pytest.approx(tuple(bounds), abs=1e-12)


def test_subjects_are_strata_with_the_published_accuracies(
    prompts: tuple[Store, np.ndarray], real_data: Folder
) -> None:
    published = json.loads((real_data("llama_mmlu") / "published_accuracy.json").read_text())
    store, _ = prompts
    found = compare(
        store,
        "prompt0",
        ["prompt1", "prompt2"],
        replicates=20,
        metrics=["accuracy"],
        strata=[f"task={subject}" for subject in published],
    )
    rows = [row for row in found.to_pylist() if row["metric"] == "accuracy"]
    assert len(rows) == 2 * len(published)
    for row in rows:
        accuracies = published[row["stratum"].removeprefix("task=")]
        candidate = int(row["candidate_run"].removeprefix("prompt"))
        assert (round(row["baseline"], 3), round(row["candidate"], 3)) == (accuracies[0], accuracies[candidate])


def test_subjects_as_clusters(prompts: tuple[Store, np.ndarray]) -> None:
    store, _ = prompts
    found = compare(store, "prompt0", ["prompt1"], replicates=300, metrics=["accuracy"], strata=["all"], cluster="task")
    row = by_metric(found)["accuracy"]
    assert (row["n_clusters"], row["method"], "few_clusters" in row["flags"]) == (8, "swap_exact", True)


def test_predictions_are_read_as_the_oracle_reads_them(real_data: Folder) -> None:
    """The matrices above and the contracted tables hold the same counts."""
    path = real_data("har_loso") / f"{RUNS[0]}.npz"
    saved = read_predictions(path, run_id="r", keys={"classes": "class_names"})
    hits = sum(int(np.trace(matrix)) for matrix in _people(path).values())
    truth = saved.tables["class_labels"]["class_index"].to_pylist()
    guess = saved.tables["class_predictions"]["class_index"].to_pylist()
    windows = [oracle.Window("", t, g) for t, g in zip(truth, guess, strict=True)]
    assert oracle.accuracy(windows, len(saved.classes)) * len(windows) == hits  # type: ignore[operator]
