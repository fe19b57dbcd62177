"""The audit sheet: drawn by seed, answered by people, read back only when it is whole and unchanged."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from evalframe.errors import ResultsMissing, SheetRefused, UnknownName, UsageError
from evalframe.floor import audit_sheet, evaluate, freeze
from evalframe.store import Store
from tests.protocols.easycom_floor.folders import random_sessions, write_run, write_targets


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audited")
    names = [f"s{i}" for i in range(12)]
    sessions = random_sessions(4, names)
    write_targets(folder / "target", sessions)
    write_run(folder / "run", sessions)
    evaluate(
        folder / "target",
        runs={"m": folder / "run"},
        sessions=names[:8],
        calibration_sessions=names[8:],
        store=folder / "store",
    )
    return folder / "store"


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def answered(store: Path, folder: Path) -> list[dict[str, str]]:
    audit_sheet(store, run="m", events=5, seed=1, output=folder / "open.csv")
    answers = {**{f"q{i}": "yes" for i in range(1, 6)}, "reviewer": "ann"}
    return [{**row, **answers} for row in read(folder / "open.csv")]


def test_the_draw_is_its_seed(store: Path) -> None:
    one, again, other = (audit_sheet(store, run="m", events=5, seed=seed).table for seed in (1, 1, 2))
    assert one.equals(again)
    assert one["event_key"].to_pylist() != other["event_key"].to_pylist()
    everything = audit_sheet(store, run="m", events=10**6, seed=1).table
    assert len(set(everything["event_key"].to_pylist())) == len(everything) > 5
    assert {key.split("/")[0] for key in everything["event_key"].to_pylist()} <= {f"s{i}" for i in range(8)}


def test_no_draw_has_a_seed_below_zero(store: Path) -> None:
    with pytest.raises(UsageError, match="a seed is not negative"):
        audit_sheet(store, run="m", events=5, seed=-1)


def test_the_columns_of_the_sheet(store: Path, tmp_path: Path) -> None:
    audit_sheet(store, run="m", events=2, seed=0, output=tmp_path / "sheet.csv")
    head = (tmp_path / "sheet.csv").read_text().splitlines()[0]
    assert head.startswith("event_key,run,session,kind,boundary_row,timeline,q1,q2,q3,q4,q5,reviewer,note,")


def test_an_answered_sheet_is_frozen(store: Path, tmp_path: Path) -> None:
    rows = answered(store, tmp_path)
    rows[0] |= {"q5": "Unsure ", "note": "too short"}
    rows[1] |= {"q2": "no", "reviewer": "bob", "timeline": rows[1]["timeline"].replace("\n", "\r\n")}
    freeze(write(tmp_path / "done.csv", rows), store=store, output=tmp_path / "freeze.json")
    body = json.loads((tmp_path / "freeze.json").read_text())
    assert body["reviewers"] == ["ann", "bob"]
    assert (body["n_events"], body["n_notes"], body["run"]) == (5, 1, "m")
    counts = {name: (one["yes"], one["no"], one["unsure"]) for name, one in body["answers"].items()}
    assert counts == {"q1": (5, 0, 0), "q2": (4, 1, 0), "q3": (5, 0, 0), "q4": (5, 0, 0), "q5": (4, 0, 1)}
    opened = Store.open(store)
    (seal,) = opened.results("m")
    assert body["protocol"]["fingerprint"] == seal.protocol_fingerprint
    assert body["data_digest"] == seal.inputs["data_digest"]
    stored = opened.read("floor_freezes").filter(
        [digest == body["sheet_sha256"] for digest in opened.read("floor_freezes")["sheet_sha256"].to_pylist()]
    )
    assert len(stored) == 5


CHANGES: dict[str, dict[str, Any]] = {
    "an open answer": {"q3": ""},
    "an answer that is none": {"q3": "maybe"},
    "no reviewer": {"reviewer": " "},
    "another event": {"event_key": "s0/response/9999"},
    "a changed timeline": {"timeline": "all is well"},
    "another run": {"run": "n"},
    "another fingerprint": {"protocol_fingerprint": "ef1-0"},
}


@pytest.mark.parametrize("change", CHANGES)
def test_sheets_that_are_refused(store: Path, tmp_path: Path, change: str) -> None:
    rows = answered(store, tmp_path)
    rows[2] |= CHANGES[change]
    with pytest.raises(SheetRefused):
        freeze(write(tmp_path / "done.csv", rows), store=store, output=tmp_path / "freeze.json")
    assert not (tmp_path / "freeze.json").exists()


def test_results_that_are_not_there(store: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownName):
        audit_sheet(store, run="nobody", events=1, seed=0)
    with pytest.raises(ResultsMissing):
        audit_sheet(store, run="m", events=1, seed=0, decision_timing="post-boundary")
    with pytest.raises(UsageError):
        audit_sheet(store, run="m", events=0, seed=0)
    rows = [{**row, "protocol_fingerprint": "ef1-0"} for row in answered(store, tmp_path)]
    with pytest.raises(ResultsMissing):
        freeze(write(tmp_path / "done.csv", rows), store=store)
