"""A comparison is narrowed to what its metrics have, or refused; nothing that was asked for is left out in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalframe.cli.run import run
from evalframe.compare.asked import refuse_dimensions
from evalframe.compare.request import Request
from evalframe.errors import ExitCode, UsageError
from evalframe.relations import catalogue
from evalframe.store import Store
from evalframe.verbs.compare import compare
from tests.compare.building import add_run, items


@pytest.mark.parametrize(("option", "word"), [("--horizon", "horizon_s"), ("--recall", "recall")])
def test_a_dimension_that_no_metric_has_is_refused_with_those_there_are(
    option: str, word: str, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = items(40, 4, skill=0.7, seed=1)
    add_run(store, "a", rows)
    add_run(store, "b", rows)
    told = ["compare", "--store", str(store.path), "--baseline", "a", "--candidate", "b", "--metric", "accuracy"]
    assert run([*told, option, "0.8"]) == ExitCode.USAGE
    said = capsys.readouterr()
    assert said.out == ""
    lines = said.err.strip().splitlines()
    assert len(lines) == 4
    assert f"none of the metrics has a {word}" in lines[0]
    assert "accuracy by stratum" in lines[2]
    assert f"leave out {option}" in lines[3]


def _narrowed(metric: str, **narrowed: Any) -> UsageError | None:
    known = catalogue()
    try:
        refuse_dimensions(
            Request("a", ("b",), **narrowed), [known[metric]], [known["response_ap"], known["yield_recall"]]
        )
    except UsageError as refusal:
        return refusal
    return None


def test_a_metric_that_has_the_dimension_is_named() -> None:
    refusal = _narrowed("response_ap", recalls=(0.8,))
    assert refusal is not None
    assert (refusal.found, refusal.hint) == (
        "response_ap by stratum and horizon_s",
        "--metric yield_recall --recall ...",
    )
    assert _narrowed("yield_recall", recalls=(0.8,), horizons=(1.0,), strata=("all",)) is None


def test_a_metric_without_strata_is_refused_a_stratum(tmp_path: Path) -> None:
    own = (tmp_path / "whole.sql").write_text
    own(
        "/* ---\nname: whole\nlayer: metric\ntitle: Whole\ninputs: [class_scores]\ngrain: [run_id]\nunit: proportion\n"
        "better: none\ndenominator: data\nparameters: []\ndefinition: A value of the whole run.\n--- */\n"
        "SELECT run_id FROM class_scores\n"
    )
    with pytest.raises(UsageError, match="none of the metrics has a stratum") as refusal:
        refuse_dimensions(Request("a", ("b",), strata=("all",)), [catalogue(tmp_path)["whole"]], [])
    assert refusal.value.found == "whole by run"


def test_horizons_and_recalls_that_no_run_has_are_refused_beside_those_it_has(forecasts: Store) -> None:
    for narrowed, where, known in (
        ({"horizons": [1.0, 7.0]}, "--horizon", "0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.6, 1.8, 2"),
        ({"recalls": [0.8, 0.55]}, "--recall", "0.5, 0.8"),
    ):
        with pytest.raises(UsageError, match="no value has") as refusal:
            compare(forecasts, "a", ["b"], replicates=20, metrics=["yield_recall"], **narrowed)
        assert (refusal.value.where, refusal.value.expected) == (where, known)
    mixed = compare(
        forecasts, "a", ["b"], replicates=20, horizons=[1.0], recalls=[0.5], metrics=["response_ap", "yield_recall"]
    )
    assert [(row["metric"], row["recall"]) for row in mixed.to_pylist()] == [
        ("response_ap", None),
        ("yield_recall", 0.5),
    ]
