"""Runs chosen by tags, paired by tags, tested by signed ranks."""

import pytest

from evalframe.compare.choosing import pairings
from evalframe.errors import UnknownName, UsageError
from evalframe.store import Store
from evalframe.verbs.compare import compare
from tests.compare.building import add_run, items
from tests.oracles import statistics as oracle

TAGS = {
    "a0": {"method": "a", "fold": "0"},
    "a1": {"method": "a", "fold": "1"},
    "b0": {"method": "b", "fold": "0"},
    "b1": {"method": "b", "fold": "1"},
    "solo": {"method": "c", "fold": "0"},
    "x=y": {},
}


def test_an_id_is_an_id_even_with_a_sign_in_it() -> None:
    assert pairings("x=y", ["a0"], TAGS, ())[0].pairs == (("x=y", "a0"),)


def test_tags_that_name_one_run_name_that_run() -> None:
    (found,) = pairings("method=c", ["method=a,fold=1"], TAGS, ())
    assert (found.pairs, found.grouped) == ((("solo", "a1"),), False)


def test_groups_pair_one_to_one() -> None:
    (found,) = pairings("method=a", ["method=b"], TAGS, ("fold",))
    assert (found.pairs, found.grouped) == ((("a0", "b0"), ("a1", "b1")), True)


@pytest.mark.parametrize(
    ("baseline", "candidate", "pair_on", "what"),
    [
        ("method=a", "method=b", (), "names 2 runs"),
        ("method=a", "method=c", ("fold",), "no partner"),
        ("fold=0", "method=b", ("fold",), "two runs of fold=0 share fold=0"),
        ("method=a", "method=b", ("seed",), "no tag 'seed'"),
        ("method=a", "fold=1,method=a", ("fold",), "no partner"),
    ],
)
def test_what_does_not_pair_is_refused(baseline: str, candidate: str, pair_on: tuple[str, ...], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        pairings(baseline, [candidate], TAGS, pair_on)


def test_the_unpaired_are_named() -> None:
    with pytest.raises(UsageError) as refusal:
        pairings("method=a", ["method=c"], TAGS, ("fold",))
    assert refusal.value.found == "a1"


def test_tags_that_no_run_has_are_unknown() -> None:
    with pytest.raises(UnknownName, match="method=z"):
        pairings("method=z", ["a0"], TAGS, ())


def test_a_group_row_holds_means_and_the_test_over_pairs(store: Store) -> None:
    for fold in range(6):
        for method, skill in (("a", 0.6), ("b", 0.7)):
            rows = items(60, 4, skill=skill, seed=10 * fold + (method == "b"), world=fold)
            tags = {"method": method, "fold": str(fold)}
            add_run(store, f"{method}{fold}", rows, tags=tags, dataset=f"fold {fold}")
    found = compare(store, "method=a", ["method=b"], pair_on=["fold"], metrics=["accuracy"], strata=["all"])
    (row,) = found.to_pylist()
    values = {r["run_id"]: r["value"] for r in store.read("metric_values").to_pylist() if r["metric"] == "accuracy"}
    differences = [round(values[f"b{f}"] - values[f"a{f}"], 12) for f in range(6)]
    assert (row["baseline_run"], row["candidate_run"], row["n_pairs"]) == ("method=a", "method=b", 6)
    assert row["change"] == pytest.approx(sum(differences) / 6, abs=1e-12)
    assert row["baseline"] == pytest.approx(sum(values[f"a{f}"] for f in range(6)) / 6, abs=1e-15)
    assert (row["wins"], row["ties"], row["losses"]) == tuple(
        sum(sign(d) for d in differences) for sign in (lambda d: d > 0, lambda d: d == 0, lambda d: d < 0)
    )
    assert (row["method"], row["p_value"]) == ("wilcoxon_exact", float(oracle.signed_rank_p(differences)))
    assert found.outcome.family["m"] == 1
    assert row["p_adjusted"] == row["p_value"]


def test_a_pair_that_must_not_be_compared_refuses_its_group(store: Store) -> None:
    for fold in range(2):
        add_run(store, f"a{fold}", items(30, 3, skill=0.6, seed=fold), tags={"method": "a", "fold": str(fold)})
        rows = items(30 - fold, 3, skill=0.6, seed=9 + fold)
        add_run(store, f"b{fold}", rows, tags={"method": "b", "fold": str(fold)})
    found = compare(store, "method=a", ["method=b"], pair_on=["fold"], metrics=["accuracy"], strata=["all"])
    (row,) = found.to_pylist()
    assert (row["status"], row["reason"], found.verdict) == ("refused", "items_differ", "not_comparable")
    assert found.outcome.refusals[0].candidate_run == "b1"
