"""What must not matter: the order of rows, how work is split, the number of threads, other runs in the same query."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from evalframe.protocols import protocol
from evalframe.relations import catalogue
from tests.oracles.classification import Window
from tests.protocols.wisp_har.scoring import METRICS, evaluate, tables, values

CLASSES = 5
STATE = "class_confusion_by_cluster"


def some_windows(seed: int, n: int = 400) -> list[Window]:
    rng = np.random.default_rng(seed)
    target = rng.integers(0, CLASSES, n)
    predicted = np.where(rng.random(n) < 0.6, target, rng.integers(-1, CLASSES, n))
    return [
        Window(f"p{person}", int(t), None if p < 0 else int(p))
        for person, t, p in zip(rng.integers(0, 7, n), target, predicted, strict=True)
    ]


def shuffled(table: pa.Table, seed: int) -> pa.Table:
    return table.take(np.random.default_rng(seed).permutation(len(table)))


def test_the_order_of_rows_does_not_matter() -> None:
    whole = tables({"r": some_windows(1)}, CLASSES)
    expected = evaluate(whole)
    assert evaluate({name: shuffled(table, seed) for seed, (name, table) in enumerate(whole.items())}) == expected


def test_a_run_has_the_same_numbers_alone_and_among_others() -> None:
    runs = {f"r{seed}": some_windows(seed, 50 + seed) for seed in range(4)}
    together = evaluate(tables(runs, CLASSES))
    for run, windows in runs.items():
        alone = evaluate(tables({run: windows}, CLASSES))
        for metric in METRICS:
            assert alone[metric] == [row for row in together[metric] if row["run_id"] == run]


@pytest.mark.parametrize("policy", ["wrong", "excluded"])
def test_states_of_shards_add_up_to_the_whole(policy: str) -> None:
    whole = tables({"r": some_windows(2)}, CLASSES)
    cuts = [0, 7, 130, 131, 400]
    parts = []
    for start, stop in pairwise(cuts):
        shard = {name: whole[name].slice(start, stop - start) for name in ("class_labels", "class_predictions")}
        parts += evaluate({**shard, "class_vocabulary": whole["class_vocabulary"]}, [STATE])[STATE]
    schema = state_schema(whole)
    given = {STATE: pa.Table.from_pylist(parts, schema=schema), "class_vocabulary": whole["class_vocabulary"]}
    assert evaluate(given, failed=policy) == evaluate(whole, failed=policy)


def state_schema(whole: dict[str, pa.Table]) -> pa.Schema:
    kinds = {"target_index": pa.int16(), "predicted_index": pa.int16(), "n": pa.int64()}
    names = evaluate(whole, [STATE])[STATE][0]
    return pa.schema([(name, kinds.get(name, pa.large_string())) for name in names])


def test_replicates_may_be_numbered_where_runs_are_named() -> None:
    """A resampled state carries the number of its replicate as run_id; the same metrics read it."""
    whole = tables({"r": some_windows(3)}, CLASSES)
    named = evaluate(whole, [STATE])[STATE]
    schema = state_schema(whole)
    numbered = pa.Table.from_pylist(named, schema=schema)
    numbered = numbered.set_column(0, "run_id", pa.array(np.full(len(numbered), 17)))
    vocabulary = whole["class_vocabulary"].set_column(0, "run_id", pa.array(np.full(CLASSES, 17)))
    found = evaluate({STATE: numbered, "class_vocabulary": vocabulary})
    expected = values(whole)
    for metric in METRICS:
        assert [(row["run_id"], row["value"]) for row in found[metric]] == [(17, expected[metric])]


def test_what_a_bootstrap_resamples_is_three_counts_a_class() -> None:
    assert [state.name for state in catalogue().cluster_states(*METRICS)] == ["class_counts_by_cluster"]
    assert catalogue().parameters(*METRICS) == ("failed",)
    assert {name for name, _ in protocol("wisp-har").settings().items()} == {"failed"}


@pytest.mark.parametrize("unit", [5_000, 3_000_000_000])
def test_large_counts_do_not_wrap(unit: int) -> None:
    whole = tables({"r": some_windows(4, 8)}, CLASSES)
    cells = [(0, 0, 10 * unit), (0, 1, unit), (1, 0, unit), (1, 1, 10 * unit)]
    rows = [
        {"run_id": "r", "stratum": "all", "cluster_id": "p", "target_index": t, "predicted_index": p, "n": n}
        for t, p, n in cells
    ]
    given = {
        STATE: pa.Table.from_pylist(rows, schema=state_schema(whole)),
        "class_vocabulary": whole["class_vocabulary"].slice(0, 2),
    }
    found = evaluate(given)
    assert (found["accuracy"][0]["numerator"], found["accuracy"][0]["denominator"]) == (20 * unit, 22 * unit)
    for metric in METRICS:
        assert found[metric][0]["value"] == pytest.approx(20 / 22, abs=1e-15)
