"""`wisp audit`: every disagreement is found, and explained as far as the numbers allow and no further."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evalframe
from evalframe.cli.run import run
from evalframe.errors import (
    DuplicateItem,
    EvalframeError,
    ExitCode,
    FileUnreadable,
    InventoryRefused,
    MissingField,
    UsageError,
)
from tests.audit.plants import COINCIDENCE, Plant, all_plants
from tests.audit.releases import Release, release

METRICS = ("macro_f1", "accuracy", "balanced_accuracy", "worst_class_f1")


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """36 models and a coincidence, with one of each cause planted."""
    made = release(tmp_path_factory.mktemp("planted"))
    for plant in all_plants():
        plant.put(made)
    return made.write()


@pytest.fixture(scope="module")
def audited(planted: Release) -> Any:
    return evalframe.wisp.audit(planted.inventory, planted.catalogue, output=planted.folder / "out")


def found(audited: Any, model: str, metric: str) -> dict[str, Any]:
    rows = [row for row in audited.to_pylist() if (row["run_id"], row["metric"]) == (model, metric)]
    assert len(rows) == 1
    return dict(rows[0])


@pytest.mark.parametrize("plant", all_plants(), ids=lambda plant: f"{plant.model}-{plant.status}")
def test_what_was_planted_is_found_and_explained(audited: Any, plant: Plant) -> None:
    row = found(audited, plant.model, plant.metric)
    assert row["explanation"] == plant.status, row["explained_by"]
    assert len(row["explained_by"]) == len(plant.told)
    for told in plant.told:
        assert any(told in each for each in row["explained_by"]), row["explained_by"]


def test_nothing_else_is_found(audited: Any, planted: Release) -> None:
    wanted = {
        (model, metric)
        for model, own in planted.sidecars.items()
        for metric, value in own.items()
        if not abs(value - planted.frozen[model][metric]) <= 1e-12
    }
    assert {(row["run_id"], row["metric"]) for row in audited.to_pylist()} == wanted
    assert {row["run_id"] for row in audited.to_pylist()} == {plant.model for plant in all_plants()}


def test_the_files_say_what_was_found(audited: Any, planted: Release) -> None:
    body = json.loads((planted.folder / "out" / "audit.json").read_text())
    with (planted.folder / "out" / "discrepancies.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert body["n_models"] == 37
    assert body["n_compared_values"] == 37 * 4
    assert body["n_discrepancies"] == len(rows) == len(audited.table)
    assert body["n_discrepant_models"] == len({row["model_id"] for row in rows}) == len(all_plants())
    assert body["by_metric"] == {metric: sum(row["metric"] == metric for row in rows) for metric in METRICS}
    assert (body["missing_sidecars"], body["missing_frozen"], body["unreadable_sidecars"]) == ([], [], {})
    assert list(rows[0])[:6] == [
        "model_id", "metric", "sidecar_value", "frozen_value", "difference", "explanation",
    ]  # fmt: skip
    one = next(row for row in rows if row["model_id"] == COINCIDENCE)
    assert one["explanation"] == "ambiguous"
    assert one["explained_by"] == "0/0 is left out | partition without the last window"
    assert float(one["sidecar_value"]) - float(one["frozen_value"]) == float(one["difference"])


def test_disagreement_is_exit_5_and_agreement_exit_0(planted: Release, tmp_path: Path) -> None:
    options = ["--inventory", str(planted.inventory), "--frozen", str(planted.catalogue)]
    assert run(["wisp", "audit", *options, "--output", str(tmp_path / "a")]) == ExitCode.MISMATCH
    clean = release(tmp_path, models=4).write()
    options = ["--inventory", str(clean.inventory), "--frozen", str(clean.catalogue)]
    assert run(["wisp", "audit", *options, "--output", str(tmp_path / "b")]) == ExitCode.OK
    assert json.loads((tmp_path / "b" / "audit.json").read_text())["n_discrepancies"] == 0


def test_the_tolerance_decides_what_disagrees(tmp_path: Path) -> None:
    made = release(tmp_path, models=2)
    first, second = made.lines
    made.sidecars[first]["accuracy"] += 1e-6
    made.sidecars[second]["accuracy"] += 5e-13
    made.write()
    assert len(evalframe.wisp.audit(made.inventory, made.catalogue).table) == 1
    assert len(evalframe.wisp.audit(made.inventory, made.catalogue, tolerance="1e-5").table) == 0
    assert len(evalframe.wisp.audit(made.inventory, made.catalogue, tolerance="0").table) == 2
    with pytest.raises(UsageError) as refused:
        evalframe.wisp.audit(made.inventory, made.catalogue, tolerance="-1")
    assert (refused.value.where, refused.value.hint.split()[0]) == ("--tolerance", "--tolerance")


def test_the_same_audit_again_writes_the_same_bytes(planted: Release) -> None:
    out = planted.folder / "out"
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    evalframe.wisp.audit(planted.inventory, planted.catalogue, output=out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_without_predictions_only_the_finished_number_is_replayed(tmp_path: Path) -> None:
    made = release(tmp_path, models=6)
    models = list(made.lines)
    for model in models:
        made.lines[model]["predictions"] = ""
    made.sidecars[models[0]]["macro_f1"] *= 100
    made.sidecars[models[1]]["macro_f1"] *= 6 / 7  # the vocabulary's mean, if there were predictions to tell
    made.write()
    rows = {row["run_id"]: row for row in evalframe.wisp.audit(made.inventory, made.catalogue).to_pylist()}
    assert (rows[models[0]]["explanation"], rows[models[0]]["explained_by"]) == ("explained", ["per cent"])
    assert rows[models[1]]["explanation"] == "unexplained"


def test_a_frozen_value_that_predictions_do_not_give_is_told(tmp_path: Path) -> None:
    made = release(tmp_path, models=2)
    model = next(iter(made.lines))
    made.frozen[model]["macro_f1"] += 0.001
    made.write()
    row = evalframe.wisp.audit(made.inventory, made.catalogue).to_pylist()[0]
    assert row["explanation"] == "explained"
    assert row["explained_by"][0].startswith("no step: the saved predictions give this value")


def test_what_is_missing_or_unreadable_is_told_apart_from_agreement(tmp_path: Path) -> None:
    made = release(tmp_path, models=6)
    a, b, c, d, e, f = made.lines
    made.lines[a]["sidecar"] = ""
    made.sidecars.pop(b)
    made.sidecars[c] = '{"macro_f1": 0.5'  # type: ignore[assignment]
    made.frozen.pop(d)
    made.sidecars[e] = {"metrics": made.sidecars[e], "protocol": "paper-scorer/1"}
    made.sidecars[f] = {"macro_f1": made.sidecars[f]["macro_f1"], "note": "three were not recorded"}
    made.write()
    audited = evalframe.wisp.audit(made.inventory, made.catalogue)
    body = audited.body()
    assert body["missing_sidecars"] == [a, b]
    assert list(body["unreadable_sidecars"]) == [c]
    assert body["missing_frozen"] == [d]
    assert (body["n_discrepancies"], body["n_compared_values"]) == (0, 5)
    assert audited.exit_code == ExitCode.MISMATCH  # one could not be read


SAID = {
    "text": '{"macro_f1": "0.5"}',
    "list": "[0.5]",
    "a key twice": '{"macro_f1": 0.5, "macro_f1": 0.6}',
    "two values": '{"macro_f1": 0.5, "metrics": {"macro_f1": 0.6}}',
    "no object": '{"metrics": 3}',
    "deep": "[" * 100_000,
    "no UTF-8": b'{"macro_f1": "\xff"}',
}


@pytest.mark.parametrize("said", SAID.values(), ids=list(SAID))
def test_a_sidecar_that_cannot_be_meant_is_unreadable(said: str | bytes, tmp_path: Path) -> None:
    made = release(tmp_path, models=1).write()
    (model,) = made.lines
    (tmp_path / f"{model}.json").write_bytes(said if isinstance(said, bytes) else said.encode())
    assert list(evalframe.wisp.audit(made.inventory, made.catalogue).body()["unreadable_sidecars"]) == [model]


def _text(path: Path, change: Callable[[str], str]) -> None:
    path.write_text(change(path.read_text()))


BAD: dict[str, tuple[Callable[[Release], None], type[EvalframeError], str]] = {
    "model twice": (
        lambda r: _text(r.inventory, lambda t: t + t.splitlines()[1] + "\n"),
        DuplicateItem,
        "lines 2 and 4",
    ),
    "frozen twice": (
        lambda r: _text(r.catalogue, lambda t: t + t.splitlines()[1] + "\n"),
        DuplicateItem,
        "lines 2 and 4",
    ),
    "no model id": (lambda r: _text(r.inventory, lambda t: t + ",a,b,0,0,,,s,p,,,,,\n"), InventoryRefused, "line 4"),
    "no models": (lambda r: _text(r.inventory, lambda t: t.splitlines()[0] + "\n"), InventoryRefused, "none"),
    "no column": (lambda r: _text(r.inventory, lambda t: t.replace("sidecar", "side")), MissingField, "sidecar"),
    "no metric": (lambda r: _text(r.catalogue, lambda t: t.replace("macro_f1", "f1")), MissingField, "macro_f1"),
    "frozen text": (lambda r: _text(r.catalogue, lambda t: t + "x,high,1,1,1\n"), InventoryRefused, "'high' in line 4"),
    "frozen NaN": (lambda r: _text(r.catalogue, lambda t: t + "x,nan,1,1,1\n"), InventoryRefused, "'nan' in line 4"),
    "no file": (lambda r: r.catalogue.unlink(), FileUnreadable, "no such file"),
}


@pytest.mark.parametrize(("change", "error", "told"), BAD.values(), ids=list(BAD))
def test_lists_that_cannot_be_meant_are_refused(
    change: Callable[[Release], None], error: type[EvalframeError], told: str, tmp_path: Path
) -> None:
    made = release(tmp_path, models=2).write()
    change(made)
    with pytest.raises(error) as refused:
        evalframe.wisp.audit(made.inventory, made.catalogue, output=tmp_path / "out")
    assert told in f"{refused.value.what} {refused.value.expected} {refused.value.found}"
    assert not (tmp_path / "out").exists()


def test_ids_stay_text(tmp_path: Path) -> None:
    made = release(tmp_path, models=1)
    (model,) = made.lines
    for table in (made.lines, made.frozen, made.sidecars, made.windows):
        table["0010"] = table.pop(model)
    made.lines["0010"]["model_id"] = "0010"
    made.lines["0010"]["sidecar"] = "0010.json"
    made.sidecars["0010"]["accuracy"] *= 100
    made.write()
    assert [row["run_id"] for row in evalframe.wisp.audit(made.inventory, made.catalogue).to_pylist()] == ["0010"]


def test_an_audit_loads_no_torch(planted: Release) -> None:
    code = (
        "import sys, evalframe\n"
        f"evalframe.wisp.audit({str(planted.inventory)!r}, {str(planted.catalogue)!r})\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
