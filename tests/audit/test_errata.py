"""Errata keep records out of every view, and say so."""

from __future__ import annotations

from pathlib import Path

import pytest

import evalframe
from evalframe.audit.errata import read_errata
from evalframe.cli.run import run
from evalframe.errors import ExitCode, InventoryRefused
from tests.audit.releases import Release, release


def errata(folder: Path, *lines: str) -> Path:
    path = folder / "errata.csv"
    path.write_text("\n".join(["kind,name,reason", *lines, ""]))
    return path


@pytest.fixture
def made(tmp_path: Path) -> Release:
    """Four models; the sidecar of the first is wrong, and so is the frozen record of the second."""
    release_ = release(tmp_path, models=4)
    a, b, *_ = release_.lines
    release_.sidecars[a]["accuracy"] = 0.5
    release_.frozen[b]["accuracy"] = 0.5
    return release_.write()


def test_a_known_bad_run_is_left_out_of_audit_and_gates_and_told(made: Release, tmp_path: Path) -> None:
    a, b, *_ = made.lines
    bad = errata(tmp_path, f"run,{a},labels were shifted", f"run,{b},labels were shifted")
    audited = evalframe.wisp.audit(made.inventory, made.catalogue, known_bad=bad)
    assert len(audited.table) == 0
    assert audited.body()["known_bad"] == {a: "labels were shifted", b: "labels were shifted"}
    assert f"{a} is known to be bad and left out: labels were shifted" in audited.headlines()
    gated = evalframe.wisp.gate(made.inventory, made.catalogue, known_bad=bad)
    assert gated.exit_code == ExitCode.OK
    assert {gated.statuses[m]["metric_equivalence"] for m in (a, b)} == {"not_run"}
    assert gated.coverage["metric_equivalence"]["exercised"] == 2
    assert f"- {a} is known to be bad: labels were shifted" in gated.to_markdown()


def test_a_known_bad_scorer_takes_the_records_that_claim_it(made: Release, tmp_path: Path) -> None:
    a, b, *_ = made.lines
    made.sidecars[a]["protocol"] = {"name": "paper", "version": "0"}
    made.write()
    bad = errata(tmp_path, "scorer,paper/0,worst class over observed classes")
    audited = evalframe.wisp.audit(made.inventory, made.catalogue, known_bad=bad)
    assert [row["run_id"] for row in audited.to_pylist()] == [b]
    assert audited.body()["known_bad"] == {a: "worst class over observed classes"}


def test_errata_in_a_store_keep_records_out_of_every_view(made: Release, tmp_path: Path) -> None:
    a, b, *_ = made.lines
    store = tmp_path / "store"
    evalframe.wisp.gate(made.inventory, made.catalogue, store=store)
    opened = evalframe.open(store)

    def seen(view: str) -> set[str]:
        return {row["run_id"] for row in opened.sql(f"SELECT DISTINCT run_id FROM {view}").to_pylist()}

    views = ("authoritative_values", "class_report", "confusion_matrix")
    assert [seen(view) for view in views] == [set(made.lines)] * 3
    bad = errata(tmp_path, f"run,{a},labels were shifted")
    evalframe.wisp.audit(made.inventory, made.catalogue, store=store, known_bad=bad)
    assert [seen(view) for view in views] == [set(made.lines) - {a}] * 3
    told = opened.sql("SELECT DISTINCT run_id, reason FROM known_bad_records").to_pylist()
    assert told == [{"run_id": a, "reason": "labels were shifted"}]
    assert a in seen("metric_values")  # nothing is deleted
    assert b in seen("authoritative_values")


LINES = {
    "kind": "model,x,why",
    "no name": "run,,why",
    "no reason": "run,x,",
    "twice": "run,x,why\nrun,x,because",
}


@pytest.mark.parametrize("line", LINES.values(), ids=list(LINES))
def test_errata_that_cannot_be_meant_are_refused(line: str, tmp_path: Path) -> None:
    with pytest.raises(InventoryRefused):
        read_errata(errata(tmp_path, line))


def test_the_command_takes_errata(made: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, *_ = made.lines
    bad = errata(tmp_path, f"run,{a},shifted", f"run,{b},shifted")
    options = ["--inventory", str(made.inventory), "--frozen", str(made.catalogue), "--known-bad", str(bad)]
    assert run(["wisp", "audit", *options, "--output", str(tmp_path / "out")]) == ExitCode.OK
    assert f"{a} is known to be bad" in capsys.readouterr().out
