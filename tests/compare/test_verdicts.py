"""What is compared and what is refused, with the reason a user sees."""

from typing import Any

import pytest

from evalframe.errors import ExitCode, UnknownName, UsageError
from evalframe.store import Store
from evalframe.verbs.compare import Comparison, compare
from tests.compare.building import METRICS, Item, add_run, items

BASE = items(80, 5, skill=0.7, seed=1)


def by_metric(found: Comparison) -> dict[str, dict[str, Any]]:
    return {row["metric"]: row for row in found.to_pylist()}


def differences(found: Comparison) -> dict[str, str]:
    return {d.field: d.kind for d in found.outcome.protocol_diff}


def test_equal_questions_are_comparable(store: Store) -> None:
    add_run(store, "a", BASE)
    add_run(store, "b", items(80, 5, skill=0.8, seed=2), tags={"method": "new"})
    found = compare(store, "a", ["b"], replicates=50)
    assert (found.verdict, found.reasons, found.exit_code) == ("comparable", [], ExitCode.OK)
    assert differences(found) == {"tags.method": "inert", "inputs.rows": "inert"}


def test_another_policy_is_another_question(store: Store) -> None:
    add_run(store, "a", BASE)
    add_run(store, "b", BASE, settings={"failed": "excluded"})
    found = compare(store, "a", ["b"], replicates=50)
    assert (found.verdict, found.reasons, found.exit_code) == (
        "not_comparable",
        ["fingerprint_differs"],
        ExitCode.NOT_COMPARABLE,
    )
    assert differences(found)["parameters.failed"] == "score_affecting"
    row = by_metric(found)["accuracy"]
    assert (row["status"], row["reason"], row["change"], row["p_value"]) == (
        "refused",
        "fingerprint_differs",
        None,
        None,
    )
    assert row["baseline"] == row["candidate"]  # both are shown


def test_another_vocabulary_is_another_question(store: Store) -> None:
    add_run(store, "a", BASE)
    add_run(store, "b", BASE, classes=("sit", "stand", "run"))
    found = compare(store, "a", ["b"], replicates=50)
    assert found.reasons == ["fingerprint_differs"]
    assert differences(found)["vocabulary"] == "score_affecting"


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(BASE[:-1], id="a window is missing"),
        pytest.param([*BASE[:-1], BASE[-1]._replace(sample_id="another")], id="a window is another"),
        pytest.param([*BASE[:-1], BASE[-1]._replace(target=(BASE[-1].target + 1) % 3)], id="a label differs"),
        pytest.param([*BASE[:-1], BASE[-1]._replace(participant="p99")], id="a participant differs"),
    ],
)
def test_other_windows_are_another_question(store: Store, other: list[Item]) -> None:
    add_run(store, "a", BASE)
    add_run(store, "b", other)
    found = compare(store, "a", ["b"], replicates=50)
    assert (found.verdict, found.reasons) == ("not_comparable", ["items_differ"])
    assert differences(found)["data_digest"] == "score_affecting"


def test_without_identities_counts_of_participant_and_class_decide(store: Store) -> None:
    nameless = [row._replace(sample_id=None) for row in BASE]
    add_run(store, "a", nameless)
    add_run(store, "b", nameless[::-1])
    add_run(store, "c", nameless[:-1])
    assert compare(store, "a", ["b"], replicates=50).verdict == "comparable"
    assert compare(store, "a", ["c"], replicates=50).reasons == ["items_differ"]


def test_failures_that_count_as_wrong_do_not_forbid_a_comparison(store: Store) -> None:
    add_run(store, "a", BASE)
    add_run(store, "b", [row._replace(predicted=None) if i < 9 else row for i, row in enumerate(BASE)])
    found = compare(store, "a", ["b"], replicates=50)
    assert found.verdict == "comparable"
    assert by_metric(found)["accuracy"]["change"] < 0


def test_failures_that_are_excluded_do(store: Store) -> None:
    settings = {"failed": "excluded"}
    add_run(store, "a", BASE, settings=settings)
    add_run(
        store, "b", [row._replace(predicted=None) if i < 9 else row for i, row in enumerate(BASE)], settings=settings
    )
    found = compare(store, "a", ["b"], replicates=50)
    assert {row["reason"] for row in found.to_pylist() if row["metric"] in METRICS} == {"exclusions_differ"}
    assert found.verdict == "not_comparable"


def test_taint_compares_only_with_the_same_taint(store: Store) -> None:
    for name, taint in (("clean", None), ("bent", "in sample"), ("bent-too", "in sample"), ("other", "leaked")):
        add_run(store, name, items(60, 4, skill=0.7, seed=len(name)), taint=taint)
    assert compare(store, "clean", ["bent"], replicates=20).reasons == ["taint_differs"]
    assert compare(store, "bent", ["other"], replicates=20).verdict == "not_comparable"
    same = compare(store, "bent", ["bent-too"], replicates=20)
    assert (same.verdict, same.exit_code) == ("comparable", ExitCode.NOT_COMPARABLE)
    assert all("tainted" in row["flags"] for row in same.to_pylist() if row["metric"] in METRICS)
    assert compare(store, "bent", ["bent-too"], replicates=20, allow_tainted=True).exit_code == ExitCode.OK


def test_one_of_many_may_be_refused(store: Store) -> None:
    add_run(store, "a", BASE)
    add_run(store, "b", items(80, 5, skill=0.8, seed=2))
    add_run(store, "c", BASE[:-1])
    found = compare(store, "a", ["b", "c"], replicates=50, metrics=["accuracy"])
    statuses = {(r["candidate_run"], r["status"]) for r in found.to_pylist() if r["metric"] == "accuracy"}
    assert statuses == {("b", "ok"), ("c", "refused")}
    assert (found.verdict, found.exit_code) == ("comparable", ExitCode.NOT_COMPARABLE)
    family = found.outcome.family
    assert (family["m"], [member["tested"] for member in family["members"]]) == (1, [True, False])


@pytest.mark.parametrize("again", ["a", "b"])
def test_a_run_named_twice_is_refused(store: Store, again: str) -> None:
    add_run(store, "a", BASE)
    add_run(store, "b", BASE)
    with pytest.raises(UsageError, match="twice") as refusal:
        compare(store, "a", ["b", again])
    assert refusal.value.exit_code == ExitCode.USAGE


def test_unknown_names_are_refused_with_what_is_near(store: Store) -> None:
    add_run(store, "a", BASE)
    add_run(store, "bee", BASE)
    with pytest.raises(UnknownName, match="be"):
        compare(store, "a", ["be"])
    with pytest.raises(UnknownName, match="macro_f2") as refusal:
        compare(store, "a", ["bee"], metrics=["macro_f2"])
    assert "macro_f1" in refusal.value.expected
