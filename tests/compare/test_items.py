"""Paired items: McNemar rows, and comparisons on the items that two runs share."""

import pytest

from evalframe.errors import ExitCode
from evalframe.store import Store
from evalframe.verbs.compare import compare
from tests.compare.building import Item, add_run, items
from tests.compare.test_verdicts import by_metric


def answers(right: list[bool], participants: int) -> list[Item]:
    return [Item(f"w{i:02d}", f"p{i % participants}", 0, 0 if r else 1) for i, r in enumerate(right)]


@pytest.mark.parametrize(("participants", "flags"), [(3, ["additional", "ignores_clusters"]), (20, ["additional"])])
def test_nine_against_one(store: Store, participants: int, flags: list[str]) -> None:
    add_run(store, "a", answers([True] * 9 + [False] + [True] * 10, participants))
    add_run(store, "b", answers([False] * 9 + [True] + [True] * 10, participants))
    found = compare(store, "a", ["b"], replicates=50)
    exact, mid = (by_metric(found)[method] for method in ("mcnemar_exact", "mcnemar_midp"))
    assert (round(exact["p_value"], 5), round(mid["p_value"], 5)) == (0.02148, 0.01172)
    assert (exact["method"], mid["method"]) == ("mcnemar_exact", "mcnemar_midp")
    assert (exact["losses"], exact["wins"], exact["ties"], exact["n_pairs"]) == (9, 1, 10, 20)
    assert (exact["baseline"], exact["candidate"], exact["change_pp"]) == (19 / 20, 11 / 20, pytest.approx(-40.0))
    assert exact["flags"] == flags
    members = {member["metric"] for member in found.outcome.family["members"]}
    assert members == {"macro_f1", "accuracy", "balanced_accuracy", "worst_class_f1"}
    assert exact["p_adjusted"] is None


@pytest.mark.parametrize(
    ("participants", "cluster", "flags"),
    [(3, "sample_id", ["additional"]), (20, "class_index", ["additional", "ignores_clusters"])],
)
def test_clusters_that_are_asked_for_are_those_that_are_ignored(
    store: Store, participants: int, cluster: str, flags: list[str]
) -> None:
    add_run(store, "a", answers([True] * 9 + [False] + [True] * 10, participants))
    add_run(store, "b", answers([False] * 9 + [True] + [True] * 10, participants))
    found = by_metric(compare(store, "a", ["b"], replicates=50, metrics=["accuracy"], cluster=cluster))
    assert (found["mcnemar_exact"]["flags"], round(found["mcnemar_exact"]["p_value"], 5)) == (flags, 0.02148)


def test_items_without_identity_cannot_be_paired(store: Store) -> None:
    rows = [row._replace(sample_id=None) for row in items(60, 4, skill=0.7, seed=1)]
    add_run(store, "a", rows)
    add_run(store, "b", rows)
    found = compare(store, "a", ["b"], replicates=50)
    row = by_metric(found)["mcnemar_exact"]
    assert (row["status"], row["reason"], row["p_value"]) == ("undefined", "items_not_identified", None)
    assert found.exit_code == ExitCode.OK  # an additional row decides nothing
    assert compare(store, "a", ["b"], on_intersection=True).reasons == ["items_not_identified"]


def test_only_asked_for_metrics_bring_their_tests(store: Store) -> None:
    add_run(store, "a", answers([True] * 20, 4))
    add_run(store, "b", answers([False] * 20, 4))
    assert list(by_metric(compare(store, "a", ["b"], replicates=50, metrics=["macro_f1"]))) == ["macro_f1"]


def test_shared_items_are_compared_as_if_the_others_were_not_there(store: Store) -> None:
    first, second = items(100, 6, skill=0.6, seed=1), items(100, 6, skill=0.75, seed=2)
    relabelled = second[20]._replace(target=(second[20].target + 1) % 3)
    add_run(store, "a", first[:80])
    add_run(store, "b", [*second[20:][::-1][:-1], relabelled])
    add_run(store, "a-shared", first[21:80])
    add_run(store, "b-shared", second[21:80])
    plain = compare(store, "a", ["b"], replicates=100)
    assert (plain.verdict, plain.reasons) == ("not_comparable", ["items_differ"])
    shared = compare(store, "a", ["b"], replicates=100, on_intersection=True)
    assert (shared.verdict, shared.exit_code) == ("comparable_on_intersection", ExitCode.OK)
    assert shared.body()["left_out"] == [
        {"baseline_run": "a", "candidate_run": "b", "n_shared": 59, "baseline_left_out": 21, "candidate_left_out": 21}
    ]
    expected = by_metric(compare(store, "a-shared", ["b-shared"], replicates=100))
    for metric, row in by_metric(shared).items():
        for name in (
            "baseline",
            "candidate",
            "change",
            "ci_low",
            "ci_high",
            "p_value",
            "n_pairs",
            "wins",
            "n_clusters",
        ):
            assert row[name] == expected[metric][name], (metric, name)


def test_no_shared_item_is_no_comparison(store: Store) -> None:
    add_run(store, "a", items(30, 3, skill=0.6, seed=1))
    add_run(
        store, "b", [row._replace(sample_id="other " + str(row.sample_id)) for row in items(30, 3, skill=0.6, seed=1)]
    )
    found = compare(store, "a", ["b"], on_intersection=True)
    assert (found.verdict, found.reasons, found.exit_code) == (
        "not_comparable",
        ["items_differ"],
        ExitCode.NOT_COMPARABLE,
    )
