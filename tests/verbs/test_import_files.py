"""Files of other tools in a store: the numbers are the tools' own, what they published stands beside, and nothing is
taken that would have to be guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evalframe
from evalframe.errors import (
    ContractError,
    DuplicateItem,
    EvalframeError,
    FileFormatUnknown,
    RecordRefused,
    StoreConflict,
    UsageError,
)
from evalframe.store import Store
from evalframe.verbs.import_files import import_files
from tests.sources.foreign import (
    archive,
    generated,
    inspect_log,
    inspect_sample,
    lines,
    record,
    record_result,
    results,
    sample,
    written,
)

HOSTILE = "../../=cmd|' /C calc'!A0\x1b[31m\u202e<script>\n"


def choices(n: int, seed: int) -> list[dict[str, Any]]:
    """Samples with options of unequal lengths, so that acc, acc_norm and acc_bytes differ."""
    rng = np.random.default_rng(seed)
    return [_choice(i, rng) for i in range(n)]


def _choice(i: int, rng: np.random.Generator) -> dict[str, Any]:
    options = [
        f"{'é' * int(rng.integers(0, 20))}{'x' * int(rng.integers(1, 20))}{k}" for k in range(rng.integers(2, 6))
    ]
    return sample(i, options, (-rng.gamma(2.0, 4.0, len(options))).tolist(), int(rng.integers(len(options))))


@pytest.fixture
def harness(tmp_path: Path) -> tuple[Path, Path, Path, dict[str, Any]]:
    """Two tasks of one model and their results."""
    rows = {"arc": choices(30, 15), "law": choices(17, 16)}
    paths = [lines(tmp_path / f"samples_{task}_2026-01-02T03-04-05.6.jsonl", rows[task]) for task in rows]
    document = results(rows, ["acc", "acc_norm", "acc_bytes"])
    return paths[0], paths[1], written(tmp_path / "results_2026.json", document), document


@pytest.mark.parametrize(
    ("normalisation", "metric"), [(None, "acc"), ("characters", "acc_norm"), ("bytes", "acc_bytes")]
)
def test_the_accuracy_of_each_task_is_the_one_the_harness_published(
    tmp_path: Path, harness: Any, normalisation: str | None, metric: str
) -> None:
    arc, law, published, document = harness
    store = tmp_path / "store"
    done = import_files([arc, published, law], store=store, run_id="small", normalisation=normalisation)
    ours = {row["stratum"]: row for row in done.to_pylist() if row["stratum"]}
    for task, n in (("arc", 30), ("law", 17)):
        row = ours[f"task={task}"]
        assert row["accuracy"] == pytest.approx(document["results"][task][f"{metric},none"], abs=1e-15)
        assert (row["published"], row["published_as"]) == (document["results"][task][f"{metric},none"], metric)
        assert (row["n"], row["protocol"], row["outcome"]) == (n, "kev-choice/2", "written")
    assert done.differing() == []
    (seal,) = [Store.open(store).run("small")]
    assert seal.inputs["lm_eval"]["normalisation"] == (normalisation or "total")
    assert sorted(seal.inputs["lm_eval"]["samples"]) == ["arc", "law"]
    assert (seal.system, seal.tags) == ("kev", {"model": "org/small"})


def test_the_three_normalisations_answer_differently(harness: Any) -> None:
    document = harness[3]
    for task in ("arc", "law"):
        assert len({document["results"][task][f"{m},none"] for m in ("acc", "acc_norm", "acc_bytes")}) == 3


def test_likelihoods_have_a_loss_and_published_values_have_no_fingerprint(tmp_path: Path, harness: Any) -> None:
    arc, law, published, document = harness
    import_files([arc, law, published], store=tmp_path / "store", run_id="small")
    values = evalframe.open(tmp_path / "store").sql("SELECT * FROM metric_values").to_pylist()
    nll = next(r for r in values if (r["metric"], r["stratum"]) == ("nll", "task=arc"))
    rows = [json.loads(line) for line in arc.read_text(encoding="utf-8").splitlines()]
    expected = []
    for row in rows:
        x = np.array([float(pair[0]) for pair in row["filtered_resps"]])
        p = np.exp(x - x.max()) / np.exp(x - x.max()).sum()
        expected.append(-np.log(max(p[int(row["target"])], 1e-9)))
    assert nll["value"] == pytest.approx(np.mean(expected), abs=1e-12)
    recorded = [row for row in values if row["origin"] == "sidecar"]
    assert {(r["metric"], r["stratum"], r["value"]) for r in recorded} == {
        (m, f"task={t}", document["results"][t][f"{m},none"])
        for t in ("arc", "law")
        for m in ("acc", "acc_norm", "acc_bytes")
    }
    assert {r["protocol_fingerprint"] for r in recorded} == {None}


@pytest.mark.parametrize("kind", ["json", "eval"])
def test_the_accuracy_of_marks_is_the_one_that_inspect_published(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(5)
    right = rng.random((20, 3)) < 0.6
    samples = [
        inspect_sample(f"q{i}", e + 1, f"t{i}", {"match": "C" if right[i, e] else "I"})
        for e in range(3)
        for i in range(20)
    ]
    accuracy = float(right.mean(axis=1).mean())  # attempts are reduced by their mean, then samples
    log = inspect_log(samples, {"match": accuracy})
    path = written(tmp_path / "log.json", log) if kind == "json" else archive(tmp_path / "log.eval", log, 93)
    done = import_files([path], store=tmp_path / "store", tags={"model": "mine"})
    (row,) = done.to_pylist()
    assert (row["accuracy"], row["published"]) == (pytest.approx(accuracy, abs=1e-12), accuracy)
    assert (row["run_id"], row["protocol"], row["n"], row["format"]) == ("log", "kev-answers/1", 60, "inspect")
    assert done.differing() == []
    store = Store.open(tmp_path / "store")
    assert store.run("log").tags == {"model": "mine", "task": "org/sums", "dataset": "sums-data"}
    marks = store.read("answer_marks").to_pylist()
    assert {mark["item_id"] for mark in marks} == {f"q{i}" for i in range(20)}
    assert sum(mark["correct"] for mark in marks) == right.sum()


def test_attempts_at_one_item_are_resampled_together(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    for run in ("a", "b"):
        samples = [
            inspect_sample(f"q{i}", e, f"t{i}", {"match": "CI"[int(rng.random() < 0.5)]})
            for i in range(25)
            for e in (1, 2)
        ]
        import_files([written(tmp_path / f"{run}.json", inspect_log(samples, {}))], store=tmp_path / "store")
    rows = evalframe.open(tmp_path / "store").compare("a", "b", replicates=200).to_pylist()
    (accuracy,) = [row for row in rows if row["metric"] == "accuracy"]
    assert (accuracy["cluster"], accuracy["n_clusters"]) == ("item", 25)


def test_failed_samples_are_wrong_unless_they_are_left_out(tmp_path: Path) -> None:
    samples = [inspect_sample(i, 1, "t", {"match": "C" if i < 8 else "I"}) for i in range(9)]
    samples.append(inspect_sample(9, 1, "t", {}, error={"message": "timeout"}))
    path = written(tmp_path / "log.json", inspect_log(samples, {"match": 8 / 9}))
    done = import_files([path], store=tmp_path / "store", run_id="wrong")
    assert done.to_pylist()[0]["accuracy"] == 0.8
    assert "0.8 here, match/accuracy 0.88" in done.differing()[0]
    left_out = import_files([path], store=tmp_path / "store", run_id="excluded", settings={"failed": "excluded"})
    assert (left_out.to_pylist()[0]["accuracy"], left_out.differing()) == (8 / 9, [])


def test_an_invalidated_log_is_tainted(tmp_path: Path) -> None:
    path = written(
        tmp_path / "log.json", inspect_log([inspect_sample(1, 1, "t", {"match": "C"})], {}, invalidated=True)
    )
    import_files([path], store=tmp_path / "store")
    rows = Store.open(tmp_path / "store").read("metric_values").to_pylist()
    assert {(row["tainted"], row["taint_reason"]) for row in rows if row["protocol"]} == {
        (True, "invalidated by the owner of the log")
    }


def test_generated_answers_are_counted(tmp_path: Path) -> None:
    rows = [generated(i, "x", float(i % 3 == 0)) for i in range(10)]
    path = lines(tmp_path / "samples_gsm.jsonl", rows)
    done = import_files(
        [path, written(tmp_path / "r.json", results({"gsm": rows}, ["exact_match"]))], store=tmp_path / "store"
    )
    row = done.to_pylist()[0]
    assert (row["accuracy"], row["published"], row["protocol"]) == (0.4, 0.4, "kev-answers/1")
    assert Store.open(tmp_path / "store").run("samples_gsm").inputs["lm_eval"]["metrics"] == {"gsm": "exact_match"}


def test_importing_again_changes_nothing_and_another_file_is_refused(tmp_path: Path, harness: Any) -> None:
    arc, _, published, _ = harness
    store = tmp_path / "store"
    import_files([arc, published], store=store, run_id="small")
    again = import_files([arc, published], store=store, run_id="small")
    assert set(again.table["outcome"].to_pylist()) == {"unchanged"}
    other = import_files([arc], store=store, run_id="other", normalisation="characters")
    runs = {run: Store.open(store).run(run).dataset_id for run in ("small", other.to_pylist()[0]["run_id"])}
    assert len(set(runs.values())) == 2  # softmaxes of two kinds do not answer one question
    with pytest.raises(StoreConflict):
        import_files([arc], store=store, run_id="small", normalisation="characters")


def test_a_record_does_not_add_to_a_run_with_answers_unless_asked(tmp_path: Path) -> None:
    store = tmp_path / "store"
    log = written(tmp_path / "log.json", inspect_log([inspect_sample(1, 1, "t", {"match": "C"})], {}))
    import_files([log], store=store, run_id="small")
    path = written(tmp_path / "record.json", record(evaluation_id="small"))
    with pytest.raises(StoreConflict, match="--run-id small"):
        import_files([path], store=store)
    assert import_files([path], store=store, run_id="small").to_pylist()[0]["outcome"] == "written"
    with pytest.raises(StoreConflict, match="tags"):
        import_files([path], store=store, run_id="small", tags={"model": "another"})


def test_a_record_makes_a_run_without_answers(tmp_path: Path) -> None:
    path = written(tmp_path / "record.json", record())
    done = import_files([path], store=tmp_path / "store", tags={"fold": "1"})
    store = Store.open(tmp_path / "store")
    name = "bench/org/model/1700000001"
    assert (done.to_pylist()[0]["run_id"], store.run_ids()) == (name, [name])
    assert (store.run(name).system, store.run(name).dataset_id) == ("recorded", None)
    assert store.run(name).tags["fold"] == "1"
    (kept,) = store.read("recorded_results").to_pylist()
    assert (kept["standard_error"], kept["interval_low"], kept["interval_high"]) == (1.5, 60.25, 64.75)
    assert store.results(name) == ()
    assert evalframe.open(tmp_path / "store").rescore().to_pylist() == []


@pytest.mark.parametrize("name", [HOSTILE, "..", "", "a/b", "NULL", "001", "é" * 400])
def test_any_name_is_a_run(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / "log.json", inspect_log([inspect_sample(HOSTILE, 1, HOSTILE, {"match": "C"})], {}))
    import_files([path], store=tmp_path / "store", run_id=name)
    store = Store.open(tmp_path / "store")
    assert store.run_ids() == [name]
    assert store.read("answer_marks")["item_id"].to_pylist() == [HOSTILE]
    assert {path.name for path in tmp_path.iterdir()} == {"log.json", "store"}
    assert len(store.verify()) == 0


def test_formats_are_told_by_content(tmp_path: Path, harness: Any) -> None:
    arc, _, published, _ = harness
    log = inspect_log([inspect_sample(1, 1, "t", {"match": "C"})], {})
    found = {
        "lm-eval": [arc, published],
        "inspect": [written(tmp_path / "log.json", log), archive(tmp_path / "log.eval", log)],
        "every-eval-ever": [written(tmp_path / "record.json", record())],
    }
    for format, paths in found.items():
        for path in paths:
            assert import_files([path], store=tmp_path / f"{format}-{path.name}").to_pylist()[0]["format"] == format
    with pytest.raises(UsageError, match="several tools"):
        import_files([arc, found["inspect"][0]], store=tmp_path / "store")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("document", "error"),
    [
        ({}, FileFormatUnknown),
        ([], FileFormatUnknown),
        ("text", FileFormatUnknown),
        ({"results": {}, "versions": {}, "config": {}, "eval": {}, "plan": {}}, FileFormatUnknown),
        ({"evaluation_id": "x", "evaluation_results": []}, RecordRefused),
        ({"eval": {}, "plan": {}}, RecordRefused),
        ({"results": {}, "versions": {}, "config": {}}, RecordRefused),
        ({"results": {}, "versions": {}, "config_general": {}}, FileFormatUnknown),
        (record(evaluation_results=[]), RecordRefused),
        (inspect_log([], {}), RecordRefused),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_no_tool_wrote_is_refused_and_leaves_no_store(
    tmp_path: Path, document: Any, error: type[EvalframeError]
) -> None:
    with pytest.raises(error) as caught:
        import_files([written(tmp_path / "file.json", document)], store=tmp_path / "store")
    assert len(str(caught.value).splitlines()) == 4
    assert not list((tmp_path / "store").rglob("*.parquet"))


def test_samples_that_are_not_all_there_are_refused(tmp_path: Path, harness: Any) -> None:
    arc, _, published, _ = harness
    arc.write_text("".join(arc.read_text(encoding="utf-8").splitlines(keepends=True)[:-1]), encoding="utf-8")
    with pytest.raises(RecordRefused, match="30 samples"):
        import_files([arc, published], store=tmp_path / "store", run_id="small")


def test_an_item_twice_is_refused(tmp_path: Path) -> None:
    samples = [inspect_sample(1, 1, "t", {"match": "C"}), inspect_sample("1", 1, "t", {"match": "I"})]
    with pytest.raises(DuplicateItem, match="at 0 and 1"):
        import_files([written(tmp_path / "log.json", inspect_log(samples, {}))], store=tmp_path / "store")


def test_nothing_is_sealed_where_one_of_the_files_cannot_be_taken(tmp_path: Path) -> None:
    good = written(tmp_path / "good.json", record(evaluation_id="good"))
    uncertain = {"score": 1, "uncertainty": {"standard_error": {"value": -1}}}
    bad = written(tmp_path / "bad.json", record(record_result(score_details=uncertain), evaluation_id="bad"))
    with pytest.raises(ContractError, match="standard_error"):
        import_files([good, bad], store=tmp_path / "store")
    assert Store.open(tmp_path / "store").run_ids() == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"format": "helm"}, "every-eval-ever"),
        ({"scorer": "match"}, "--scorer says nothing"),
        ({"normalisation": "words"}, "characters"),
        ({"settings": {"nothing": "1"}}, "no parameter"),
        ({"policy": "kev-choice/9"}, "kev-choice/2"),
        ({"policy": "wisp-har/1"}, "does not score options"),
    ],
    ids=str,
)
def test_options_that_cannot_be_meant_are_refused(
    tmp_path: Path, harness: Any, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(EvalframeError, match=told):
        import_files([harness[0]], store=tmp_path / "store", **options)


def test_several_files_need_a_name_or_have_their_own(tmp_path: Path, harness: Any) -> None:
    with pytest.raises(UsageError, match="--run-id"):
        import_files(harness[:2], store=tmp_path / "store")
    records = [written(tmp_path / f"{n}.json", record(evaluation_id=n)) for n in "ab"]
    with pytest.raises(UsageError, match="several runs"):
        import_files(records, store=tmp_path / "store", run_id="one")
    with pytest.raises(UsageError, match="no file"):
        import_files([], store=tmp_path / "store")


def test_the_store_says_the_same(tmp_path: Path) -> None:
    path = written(tmp_path / "log.json", inspect_log([inspect_sample(1, 1, "t", {"match": "C"})], {}))
    import_files([path], store=tmp_path / "store", run_id="a")
    opened = evalframe.open(tmp_path / "store")
    assert opened.import_files([path], run_id="b").to_pylist()[0]["outcome"] == "written"
    assert opened.folder.run_ids() == ["a", "b"]


def test_marks_of_two_scorers_are_not_compared(tmp_path: Path) -> None:
    samples = [inspect_sample(i, 1, "t", {"match": "C", "judge": "I"}) for i in range(3)]
    path = written(tmp_path / "log.json", inspect_log(samples, {}))
    for scorer in ("match", "judge"):
        import_files([path], store=tmp_path / "store", run_id=scorer, scorer=scorer)
    compared = evalframe.open(tmp_path / "store").compare("match", "judge", replicates=10)
    assert compared.verdict == "not_comparable"
