"""Which runs an export or a report compares where nobody names them, and that the rest is said."""

from __future__ import annotations

import pytest

from evalframe.errors import EvalframeError
from evalframe.verbs import comparisons as module
from evalframe.verbs.comparisons import comparisons
from evalframe.verbs.opened import Store
from tests.publish.conftest import HOSTILE


def _pairs(found: module.Compared) -> dict[str, list[str]]:
    return {one.request.baseline: list(one.request.candidates) for one in found.comparisons}


def test_each_run_is_compared_with_the_oldest_over_the_same_items(store: Store) -> None:
    found = comparisons(store.folder, replicates=20)
    pairs = _pairs(found)
    assert pairs["cnn"] == ["gru", HOSTILE.replace("\x00", ""), "gru-excluding"]
    assert pairs["base"] == ["tuned"]
    assert pairs["robot-a@0"] == ["robot-b@0"]
    assert pairs["floor-a"] == ["floor-b", "bent"]
    compared = {run for baseline, others in pairs.items() for run in (baseline, *others)}
    assert compared.isdisjoint({"odd", "unlabelled"})  # alone over their items
    assert found.left_out == ()


def test_a_named_baseline_meets_all_of_its_kind(store: Store) -> None:
    found = comparisons(store.folder, "gru", protocol="wisp-har", replicates=20)
    assert _pairs(found) == {"gru": ["cnn", HOSTILE.replace("\x00", ""), "gru-excluding"]}


def test_the_named_candidates_and_no_others(store: Store) -> None:
    assert _pairs(comparisons(store.folder, "gru", ["cnn"], replicates=20)) == {"gru": ["cnn"]}
    with pytest.raises(EvalframeError):
        comparisons(store.folder, "gru", ["nobody"], replicates=20)
    with pytest.raises(EvalframeError):
        comparisons(store.folder, "nobody", replicates=20)
    assert comparisons(store.folder, "odd", replicates=20).comparisons == ()


def test_candidates_alone_meet_the_oldest_of_their_kind(store: Store) -> None:
    assert _pairs(comparisons(store.folder, candidates=["gru", "tuned"], replicates=20)) == {
        "cnn": ["gru"], "base": ["tuned"]
    }  # fmt: skip
    with pytest.raises(EvalframeError):
        comparisons(store.folder, candidates=["nobody"], replicates=20)


def test_what_is_too_much_is_left_out_aloud(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GROUPS", 1)
    monkeypatch.setattr(module, "CANDIDATES", 1)
    found = comparisons(store.folder, replicates=20)
    assert _pairs(found) == {"cnn": ["gru"]}
    assert "2 more runs over the same data as cnn were not compared" in found.left_out[0]
    assert "3 more evaluation sets" in found.left_out[1]
