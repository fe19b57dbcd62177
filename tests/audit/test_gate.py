"""`wisp gate` without torch: metric gate and export gate, what is required, what is reported, what is stored."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evalframe
from evalframe.cli.run import run
from evalframe.errors import ExitCode, StoreConflict, UsageError
from tests.audit.releases import CLASSES, Release, release, scores, sha256

GATES = ("checkpoint_loading", "prediction_equivalence", "export_equivalence", "metric_equivalence")


def exports(made: Release, model: str, **changed: Any) -> None:
    """Data in seconds and an export in ordinals for one model; `changed` are arrays of the export."""
    truth, _ = made.windows[model]
    n = len(truth)
    rng = np.random.default_rng(1)
    data = {
        "X": rng.normal(size=(n, 8, 3)).astype(np.float32),
        "y": truth,
        "participant": np.array([f"p{i % 5}" for i in range(n)]),
        "time": np.arange(n) * 2.5,
        "classes": np.array(CLASSES),
    }
    export = {**data, "time": np.arange(n), **changed}
    for side, arrays in (("data", data), ("export", export)):
        path = made.folder / f"{model}-{side}.npz"
        np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
        made.lines[model][side] = path.name
        made.lines[model][f"{side}_sha256"] = sha256(path)


def gate(made: Release, **options: Any) -> Any:
    made.write()
    return evalframe.wisp.gate(made.inventory, made.catalogue, **options)


def status(gated: Any, model: str, name: str) -> str:
    return str(gated.statuses[model][name])


def test_saved_predictions_are_rescored_against_the_frozen_record(tmp_path: Path) -> None:
    made = release(tmp_path, models=8)
    a, b, c, d, *_ = made.lines
    made.frozen[a]["macro_f1"] += 1e-9
    made.frozen.pop(b)
    made.lines[c]["predictions"] = ""
    made.frozen[d].pop("accuracy")
    gated = gate(made)
    assert [status(gated, m, "metric_equivalence") for m in (a, b, c, d)] == ["failed", "not_run", "not_run", "not_run"]
    body = gated.body()["gates"]["metric_equivalence"]
    assert (body["exercised"], body["of"], body["passed"], body["failed"], body["not_run"]) == (5, 8, 4, 1, 3)
    reasons = {f.run_id: f.reason for f in gated.findings if f.gate == "metric_equivalence" and f.reason}
    assert reasons[a].startswith("macro_f1 is ")
    assert reasons[b] == "the frozen catalogue has no record of it"
    assert reasons[c] == "the inventory names no saved predictions"
    assert reasons[d] == "the frozen record has no accuracy"
    assert gated.exit_code == ExitCode.GATE_FAILED
    assert status(gate(made, tolerance="1e-6"), a, "metric_equivalence") == "passed"


def test_gates_are_never_merged(tmp_path: Path) -> None:
    made = release(tmp_path, models=3)
    gated = gate(made)
    assert list(gated.body()["gates"]) == list(GATES)
    assert "total" not in gated.to_json()
    row = gated.body()["models"][0]
    assert {name: row[name] for name in GATES} == {
        "checkpoint_loading": "not_run",
        "prediction_equivalence": "not_run",
        "export_equivalence": "not_run",
        "metric_equivalence": "passed",
    }


def test_what_was_not_run_is_no_pass_and_no_failure(tmp_path: Path) -> None:
    gated = gate(release(tmp_path, models=3))
    assert gated.exit_code == ExitCode.OK
    assert gate(release(tmp_path, models=3), require={"metric_equivalence": "all"}).exit_code == ExitCode.OK
    required = gate(release(tmp_path, models=3), require={"checkpoint_loading": "all"})
    assert required.exit_code == ExitCode.GATE_FAILED
    assert required.unmet == ["checkpoint_loading was required of 3 models and run on 0 of 3"]
    assert gate(release(tmp_path, models=3), require={"metric_equivalence": "2"}).exit_code == ExitCode.OK


def test_seconds_against_ordinals_of_one_order_pass_with_time_told(tmp_path: Path) -> None:
    made = release(tmp_path, models=3)
    model = next(iter(made.lines))
    exports(made, model)
    gated = gate(made)
    assert status(gated, model, "export_equivalence") == "passed"
    subjects = gated.body()["gates"]["export_equivalence"]["subjects"]
    assert subjects["permutation"] == {"passed": 1, "failed": 0, "not_run": 2}
    assert subjects["time"] == {"passed": 0, "failed": 1, "not_run": 2}
    assert "Time values differ for 1" in " ".join(gated.said)


OTHER: dict[str, tuple[dict[str, Any], str]] = {
    "signals": ({"X": np.zeros((97, 8, 3), np.float32)}, "signals"),
    "width": ({"X": np.zeros((97, 8, 3), np.float64)}, "signals"),
    "participants": ({"participant": np.array(["p0"] * 97)}, "participants"),
    "labels": ({"y": np.zeros(97, int)}, "labels"),
    "classes": ({"classes": np.array([*CLASSES[:-1], "swim"])}, "labels"),
    "order": ({"time": -np.arange(97)}, "permutation"),
    "no times": ({"time": None}, "permutation"),
}


@pytest.mark.parametrize(("changed", "aspect"), OTHER.values(), ids=list(OTHER))
def test_another_export_fails_in_what_differs(changed: dict[str, Any], aspect: str, tmp_path: Path) -> None:
    made = release(tmp_path, models=2)
    model = next(iter(made.lines))
    exports(made, model, **changed)
    gated = gate(made)
    assert status(gated, model, "export_equivalence") == "failed"
    own = {f.subject: f.status for f in gated.findings if f.run_id == model and f.gate == "export_equivalence"}
    assert own[aspect] == "failed"
    assert {name for name, each in own.items() if each == "passed"} >= {"participants", "labels"} - {aspect}


def test_a_data_file_of_another_digest_fails(tmp_path: Path) -> None:
    made = release(tmp_path, models=2)
    model = next(iter(made.lines))
    exports(made, model)
    made.lines[model]["export_sha256"] = "0" * 64
    gated = gate(made)
    reasons = {f.reason for f in gated.findings if f.run_id == model and f.gate == "export_equivalence"}
    assert status(gated, model, "export_equivalence") == "failed"
    assert all("EF602" in str(reason) for reason in reasons)


def test_predictions_that_cannot_be_read_fail_their_model_alone(tmp_path: Path) -> None:
    made = release(tmp_path, models=3)
    model = next(iter(made.lines))
    (tmp_path / made.lines[model]["predictions"]).write_bytes(b"PK")
    gated = gate(made)
    assert [status(gated, m, "metric_equivalence") for m in made.lines] == ["failed", "passed", "passed"]


def test_fields_may_be_called_otherwise_in_some_files(tmp_path: Path) -> None:
    made = release(tmp_path, models=2)
    a, b = made.lines
    with np.load(tmp_path / f"{a}.npz") as file:
        arrays = dict(file)
    arrays["label"] = arrays.pop("y_true")
    np.savez(tmp_path / f"{a}.npz", **arrays)
    assert status(gate(made), a, "metric_equivalence") == "failed"
    gated = gate(made, keys={"y_true": "label"})
    assert [status(gated, m, "metric_equivalence") for m in (a, b)] == ["passed", "passed"]
    with pytest.raises(UsageError, match="names nothing"):
        gate(made, keys={"colour": "label"})


def test_the_report_is_json_a_table_and_markdown_to_paste(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = release(tmp_path, models=6)
    model = next(iter(made.lines))
    made.frozen[model]["accuracy"] = 0.123
    made.write()
    out = tmp_path / "out"
    command = [
        "wisp",
        "gate",
        "--inventory",
        str(made.inventory),
        "--frozen",
        str(made.catalogue),
        "--output",
        str(out),
    ]
    assert run(command) == ExitCode.GATE_FAILED
    printed = capsys.readouterr().out
    assert "metric_equivalence      6 of 6          5       1        0" in printed
    text = (out / "gate.md").read_text()
    assert "| metric_equivalence | 6 of 6 | 5 | 1 | 0 |" in text
    assert f"- metric_equivalence of {model} on frozen_record: accuracy is " in text
    body = json.loads((out / "gate.json").read_text())
    assert [row["model_id"] for row in body["models"]] == list(made.lines)
    assert all(sentence in text for sentence in body["sentences"])
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert run([*command, "--json"]) == ExitCode.GATE_FAILED
    assert json.loads(capsys.readouterr().out) == body
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_sentences_claim_what_was_run_and_nothing_else(tmp_path: Path) -> None:
    said = gate(release(tmp_path, models=4)).said
    assert said == [
        "Checkpoint loading: not run on any of 4 models.",
        "Prediction equivalence: not run on any of 4 models.",
        "Export equivalence: not run on any of 4 models.",
        "Metric equivalence: the saved predictions of 4 of 4 models were rescored against the frozen record within"
        " 1e-12; 4 passed, 0 failed. No model was run for it.",
        "Each gate speaks for itself: passing one establishes none of the others.",
    ]


WRONG: dict[str, dict[str, Any]] = {
    "no such gate": {"require": {"everything": "all"}},
    "no such amount": {"require": {"metric_equivalence": "most"}},
    "no such column": {"full_inference": ["colour=red"]},
    "no such model": {"full_inference": ["dataset=nowhere"]},
    "negative tolerance": {"tolerance": "-1"},
}


@pytest.mark.parametrize("options", WRONG.values(), ids=list(WRONG))
def test_options_that_cannot_be_meant_are_refused(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        gate(release(tmp_path, models=2), output=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_the_metric_gate_loads_no_torch(tmp_path: Path) -> None:
    made = release(tmp_path).write()
    code = (
        "import sys, evalframe\n"
        f"gated = evalframe.wisp.gate({str(made.inventory)!r}, {str(made.catalogue)!r})\n"
        "print(gated.coverage['metric_equivalence']['passed'], 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["36", "False"]


def test_without_torch_a_checkpoint_is_not_run(tmp_path: Path) -> None:
    from tests.inference.payloads import sound

    made = release(tmp_path, models=2)
    model = next(iter(made.lines))
    made.lines[model]["checkpoint"] = sound(tmp_path).name
    made.write()
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import evalframe\n"
        f"gated = evalframe.wisp.gate({str(made.inventory)!r}, {str(made.catalogue)!r})\n"
        "print(*(row['not_run'] for row in gated.coverage.values()))\n"
        "print(next(f.reason for f in gated.findings if f.gate == 'checkpoint_loading'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "2 2 2 0"
    assert "checkpoints need torch" in done.stdout


# ---- in a store ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Release, Path]:
    folder = tmp_path_factory.mktemp("stored")
    made = release(folder, models=4, seeds=2)
    first = next(iter(made.lines))
    made.frozen[first]["macro_f1"] = 0.9
    made.sidecars[first]["accuracy"] = 0.1
    made.write()
    evalframe.wisp.gate(made.inventory, made.catalogue, store=folder / "store")
    evalframe.wisp.audit(made.inventory, made.catalogue, store=folder / "store")
    return made, folder / "store"


def test_recorded_values_carry_their_source_and_no_fingerprint(stored: tuple[Release, Path]) -> None:
    made, store = stored
    rows = evalframe.open(store).sql("SELECT * FROM metric_values").to_polars()
    recorded = rows.filter(rows["origin"].is_in(["frozen_catalogue", "sidecar"]))
    assert len(recorded) == 2 * 4 * 4
    for name in ("protocol", "protocol_fingerprint", "metric_fingerprint", "data_digest"):
        assert recorded[name].null_count() == len(recorded)
    assert set(recorded.filter(recorded["origin"] == "frozen_catalogue")["source_digest"]) == {sha256(made.catalogue)}
    assert rows.filter(rows["origin"] == "rescored_saved_predictions")["metric_fingerprint"].null_count() == 0


def test_the_frozen_value_stands_for_a_run_and_a_sidecar_never(stored: tuple[Release, Path]) -> None:
    made, store = stored
    first = next(iter(made.lines))
    rows = evalframe.open(store).sql(f"SELECT metric, value, origin FROM authoritative_values WHERE run_id = '{first}'")
    assert {row["metric"]: (row["value"], row["origin"]) for row in rows.to_pylist()} == {
        metric: (value, "frozen_catalogue") for metric, value in made.frozen[first].items()
    }


def test_findings_can_be_asked_which_gate_exercised_which_model(stored: tuple[Release, Path]) -> None:
    made, store = stored
    opened = evalframe.open(store)
    rows = opened.sql("SELECT run_id, status FROM gate_models WHERE gate = 'metric_equivalence' AND exercised = 1")
    assert sorted(row["status"] for row in rows.to_pylist()) == ["failed", "passed", "passed", "passed"]
    covered = opened.sql("SELECT gate, exercised, not_run FROM gate_coverage ORDER BY gate").to_pylist()
    assert [(row["exercised"], row["not_run"]) for row in covered] == [(0, 4), (0, 4), (4, 0), (0, 4)]
    found = opened.sql("SELECT run_id, metric, explanation FROM audit_findings").to_pylist()
    assert {(row["run_id"], row["metric"]) for row in found} == {
        (next(iter(made.lines)), "macro_f1"),
        (next(iter(made.lines)), "accuracy"),
    }


def test_a_compared_run_says_that_it_differs_from_the_frozen_record(stored: tuple[Release, Path]) -> None:
    made, store = stored
    baseline, candidate, *_ = made.lines
    found = evalframe.open(store).compare(baseline, candidate, replicates=200).to_pylist()
    flags = {row["metric"]: row["flags"] for row in found}
    assert "differs_from_frozen" in flags["macro_f1"]
    assert "differs_from_frozen" not in flags["accuracy"]
    row = next(row for row in found if row["metric"] == "macro_f1")
    assert row["baseline_frozen"] == 0.9
    assert row["baseline"] == pytest.approx(made_value(made, baseline), abs=1e-15)


def made_value(made: Release, model: str) -> float:
    """macro-F1 of the saved predictions, whatever the catalogue was made to say."""
    return scores(*made.windows[model], len(CLASSES))["macro_f1"]


def test_the_same_again_changes_nothing_in_the_store(stored: tuple[Release, Path]) -> None:
    made, store = stored
    before = sorted(str(path) for path in store.rglob("*.parquet"))
    evalframe.wisp.gate(made.inventory, made.catalogue, store=store)
    evalframe.wisp.audit(made.inventory, made.catalogue, store=store)
    assert sorted(str(path) for path in store.rglob("*.parquet")) == before


def copied(stored: tuple[Release, Path], tmp_path: Path, change: Callable[[Release], None]) -> tuple[Release, Path]:
    """The release changed in a folder of its own, beside a copy of the store."""
    import shutil

    made, store = stored
    shutil.copytree(store, tmp_path / "store")
    other = Release(
        made.folder,
        {k: dict(v) for k, v in made.lines.items()},
        {k: dict(v) for k, v in made.frozen.items()},
        {k: dict(v) for k, v in made.sidecars.items()},
        made.windows,
    )
    for path in made.folder.glob("*.npz"):
        shutil.copy(path, tmp_path)
    other.folder = tmp_path
    change(other)
    return other.write(), tmp_path / "store"


def test_a_second_authority_is_refused(stored: tuple[Release, Path], tmp_path: Path) -> None:
    first = next(iter(stored[0].lines))
    made, store = copied(stored, tmp_path, lambda r: r.frozen[first].update(accuracy=0.5))
    with pytest.raises(StoreConflict, match="frozen with another value") as refused:
        evalframe.wisp.audit(made.inventory, made.catalogue, store=store)
    (tmp_path / "errata.csv").write_text(f"kind,name,reason\nscorer,{sha256(stored[0].catalogue)},superseded\n")
    assert "scorer," + sha256(stored[0].catalogue) in refused.value.hint
    evalframe.wisp.audit(made.inventory, made.catalogue, store=store, known_bad=tmp_path / "errata.csv")
    rows = evalframe.open(store).sql(
        f"SELECT value FROM authoritative_values WHERE run_id = '{first}' AND metric = 'accuracy'"
    )
    assert rows.to_pylist() == [{"value": 0.5}]


def test_a_longer_catalogue_of_the_same_values_is_taken(stored: tuple[Release, Path], tmp_path: Path) -> None:
    made, store = copied(stored, tmp_path, lambda r: r.frozen.update(more=dict(next(iter(r.frozen.values())))))
    evalframe.wisp.audit(made.inventory, made.catalogue, store=store)
    rows = evalframe.open(store).sql(
        "SELECT run_id, metric, count(*) AS n FROM authoritative_values GROUP BY run_id, metric HAVING count(*) > 1"
    )
    assert rows.to_pylist() == []


def test_other_predictions_under_the_id_are_refused(stored: tuple[Release, Path], tmp_path: Path) -> None:
    def change(made: Release) -> None:
        first = next(iter(made.lines))
        made.add(
            first,
            *made.windows[first],
            ["someone"] * 97,
            **{k: v for k, v in made.lines[first].items() if k in ("method", "dataset", "fold", "seed")},
        )

    made, store = copied(stored, tmp_path, change)
    made.frozen = stored[0].frozen
    made.write()
    with pytest.raises(StoreConflict, match="other predictions"):
        evalframe.wisp.gate(made.inventory, made.catalogue, store=store)


def test_a_withdrawn_run_takes_its_records_along(stored: tuple[Release, Path], tmp_path: Path) -> None:
    made, store = copied(stored, tmp_path, lambda r: None)
    first = next(iter(made.lines))
    opened = evalframe.open(store)
    opened.withdraw(first, reason="labels were shifted")
    assert opened.sql(f"SELECT * FROM metric_values WHERE run_id = '{first}'").to_pylist() == []
    assert opened.sql(f"SELECT * FROM frozen_results WHERE run_id = '{first}'").to_pylist() == []
