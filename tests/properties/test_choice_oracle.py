"""Every metric of choice questions, in SQL, is what the oracle says: over random rows of every kind."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import choice as oracle
from tests.properties.choice_worlds import Rows, world
from tests.protocols.kev_choice.scoring import Values, run, values

TOLERANCE = 1e-12
RUNS = 36
"""Of one evaluation: planning it costs as much for one run as for all of them."""

PARAMETERS = st.fixed_dictionaries(
    {},
    optional={
        "failed": st.sampled_from(["wrong", "excluded"]),
        "n_bins": st.sampled_from(["1", "7", "10", "15", "20", "49"]),
        "bin_rule": st.sampled_from(["left_closed", "right_closed", "truncated"]),
        "nll_floor": st.sampled_from(["1e-9", "0.01", "2.220446049250313e-16"]),
        "temperature": st.sampled_from(["1", "0.5", "2.5"]),
    },
)


@settings(max_examples=7)
@given(seed=st.integers(0, 2**32), policy=st.sampled_from(["kev-choice/1", "kev-choice/2"]), parameters=PARAMETERS)
def test_every_metric_in_every_population(seed: int, policy: str, parameters: dict[str, str]) -> None:
    worlds = {f"run {i}": world(seed + i) for i in range(RUNS)}
    found = values([run(rows, name) for name, rows in worlds.items()], policy, parameters)
    choices = oracle.Choices(
        ties="prefix" if policy.endswith("/1") else "groups",
        failed=parameters.get("failed", "wrong"),  # type: ignore[arg-type]
        nll_floor=float(parameters.get("nll_floor", "1e-9")),
        n_bins=int(parameters.get("n_bins", "10")),
        bin_rule=parameters.get("bin_rule", "left_closed"),  # type: ignore[arg-type]
        temperature=float(parameters.get("temperature", "1")),
    )
    expected = {
        (name, metric, stratum): value
        for name, rows in worlds.items()
        for (metric, stratum), value in expectations(rows, choices).items()
        if metric != "aurc" or choices.ties == "groups"
    }
    assert {key: row for key, row in found.items() if key not in expected} == {}
    wrong = {key: (value, found.get(key)) for key, value in expected.items() if not agrees(value, found.get(key))}
    assert wrong == {}


def expectations(rows: Rows, choices: oracle.Choices) -> dict[tuple[str, str], oracle.Value]:
    """(metric, stratum) -> what the oracle says."""
    found = oracle.outcomes(rows, choices)
    told: dict[tuple[str, str], oracle.Value] = {}
    for stratum, items in oracle.populations(found).items():
        told |= {(metric, stratum): value for metric, value in oracle.metrics(items, choices).items()}
        told["family_balanced_accuracy", stratum] = oracle.family_balanced_accuracy(items, choices)
    whole = oracle.pairs(found, choices) | oracle.controls(found, choices) | oracle.perturbations(found)
    told |= {(metric, "all"): value for metric, value in whole.items()}
    told["objective", "all"] = oracle.objective(found, choices)
    for name in {oracle.variant(row) for row in rows} - {"clean"}:
        of_one = oracle.perturbations(found, name)
        told |= {(metric, f"variant={name}"): value for metric, value in of_one.items()}
    return told


def agrees(expected: oracle.Value, row: dict[str, Any] | None) -> bool:
    if row is None:
        return False
    if isinstance(expected, str):
        return row["value"] is None and row["status"] == "undefined" and row["reason"] == expected
    return row["status"] == "ok" and row["reason"] is None and math.isclose(row["value"], expected, abs_tol=TOLERANCE)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=3)
def test_denominators_add_up(seed: int) -> None:
    """Every row of a population is counted or excluded, and the groups of a field add up to the clean rows."""
    runs = [run(world(seed + i), f"run {i}") for i in range(RUNS)]
    found = values(runs)
    for (_, metric, _), row in found.items():
        assert row["n_items"] >= row["n_excluded"] >= 0, metric
        assert row["n_items"] >= row["n_failed"] >= 0, metric
    for metric in ("accuracy", "nll", "mean_confidence"):
        counts = _counts(found, metric)
        for one in runs:
            for field in ("task", "type", "source"):
                if parts := counts[one.run_id, field]:
                    assert sum(parts) == found[one.run_id, metric, "clean"]["n_items"]
            assert sum(counts[one.run_id, "variant"]) == found[one.run_id, metric, "all"]["n_items"]


def _counts(found: Values, metric: str) -> Mapping[tuple[str, str], list[int]]:
    """(run_id, field) -> the items of each stratum `field=...`."""
    counts: dict[tuple[str, str], list[int]] = defaultdict(list)
    for (run_id, which, stratum), row in found.items():
        if which == metric and "=" in stratum:
            counts[run_id, stratum.partition("=")[0]].append(row["n_items"])
    return counts
