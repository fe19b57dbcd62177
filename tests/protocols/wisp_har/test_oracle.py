"""The relations and the loops written from the text agree on every number, to the last unit that a double has."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import classification as oracle
from tests.oracles.classification import Policy, Window
from tests.protocols.wisp_har.scoring import METRICS, evaluate, tables

CLASSES = 4
EXACT = Fraction(1, 10**15)

indices = st.integers(0, CLASSES - 1)
windows = st.lists(
    st.builds(Window, st.sampled_from(["p1", "p2", "p3"]), indices, st.one_of(st.none(), indices)), max_size=40
)


def agrees(value: float | None, exact: Fraction | None) -> bool:
    if value is None or exact is None:
        return value is None and exact is None
    return abs(Fraction(value) - exact) <= EXACT


@pytest.mark.parametrize("policy", ["wrong", "excluded"])
@settings(max_examples=25)
@given(runs=st.fixed_dictionaries({"a": windows, "b": windows}))
def test_metrics(policy: Policy, runs: dict[str, list[Window]]) -> None:
    rows = evaluate(tables(runs, CLASSES), failed=policy)
    for metric in METRICS:
        assert {(row["run_id"], row["stratum"]) for row in rows[metric]} == {("a", "all"), ("b", "all")}
        for row in rows[metric]:
            evaluated = runs[row["run_id"]]
            counted = oracle.scored(evaluated, policy)
            exact = oracle.METRICS[metric](evaluated, CLASSES, policy)
            assert agrees(row["value"], exact), (metric, row, exact)
            assert row["status"] == ("ok" if counted else "undefined")
            assert row["reason"] == (None if counted else "no_items")
            assert row["n_items"] == len(evaluated)
            assert row["n_excluded"] == len(evaluated) - len(counted)
            assert row["n_failed"] == oracle.n_failed(evaluated)
            if row["value"] is not None and row["denominator"] is not None:
                assert row["value"] == row["numerator"] / row["denominator"]


@pytest.mark.parametrize("policy", ["wrong", "excluded"])
@settings(max_examples=20)
@given(evaluated=windows)
def test_per_class_scores_and_the_matrix(policy: Policy, evaluated: list[Window]) -> None:
    rows = evaluate(tables({"r": evaluated}, CLASSES), ["class_report", "confusion_matrix"], failed=policy)
    report = sorted(rows["class_report"], key=lambda row: row["class_index"])
    assert [row["class"] for row in report] == [f"c{index}" for index in range(CLASSES)]
    for row, exact in zip(report, oracle.per_class(evaluated, CLASSES, policy), strict=True):
        assert (row["support"], row["predicted"], row["hits"]) == (exact.support, exact.predicted, exact.hits)
        assert agrees(row["precision"], exact.precision)
        assert agrees(row["recall"], exact.recall)
        assert agrees(row["f1"], exact.f1)
    cells = {(row["target_index"], row["predicted_index"]): row["n"] for row in rows["confusion_matrix"]}
    matrix = [[cells[target, predicted] for predicted in range(CLASSES)] for target in range(CLASSES)]
    assert len(cells) == len(rows["confusion_matrix"]) == CLASSES**2
    assert matrix == oracle.confusion(evaluated, CLASSES)
    assert sum(map(sum, matrix)) + oracle.n_failed(evaluated) == len(evaluated)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(["p", "q"]), st.integers(-2, 2)), max_size=12), st.booleans(), st.booleans())
def test_item_ids(rows: Sequence[tuple[str, int]], timed: bool, one_missing: bool) -> None:
    people = [person for person, _ in rows]
    times: list[float | None] = [float(time) if timed else None for _, time in rows]
    samples: list[str | None] = [f"s{index}" if one_missing else None for index in range(len(rows))]
    if samples:
        samples[0] = None
    given = tables({"r": [Window(person, 0, 0) for person in people]}, 1)
    labels = given["class_labels"]
    for name, column in (("time", times), ("sample_id", samples)):
        place = labels.column_names.index(name)
        labels = labels.set_column(place, labels.schema.field(name), pa.array(column, labels.schema.field(name).type))
    found = evaluate({**given, "class_labels": labels}, ["class_items"])["class_items"]
    by_row = {row["item_index"]: row["item_id"] for row in found}
    assert [by_row[index] for index in range(len(rows))] == oracle.item_ids(people, times, samples)


@pytest.mark.parametrize("classes", [200])
def test_a_mean_over_many_classes_is_exact_to_its_last_digit(classes: int) -> None:
    evaluated = [
        Window("p", target, target if step % 3 else (target + step) % classes)
        for target in range(classes)
        for step in range(target % 7 + 1)
    ]
    rows = evaluate(tables({"r": evaluated}, classes))
    for metric in METRICS:
        assert agrees(rows[metric][0]["value"], oracle.METRICS[metric](evaluated, classes)), metric
