"""Inspect logs: each field goes where it belongs, in both kinds of file; what would have to be guessed is refused."""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path
from typing import Any

import pytest

from evalframe.errors import ArchiveRefused, EvalframeError, FileUnreadable, RecordRefused, UsageError
from evalframe.identity import sha256_text
from evalframe.sources.documents import Limits
from evalframe.sources.inspect_log import Log, read_log
from evalframe.sources.marks import ERROR_LENGTH
from tests.sources.foreign import archive, inspect_log, inspect_sample, written

SAMPLES = [
    inspect_sample("a", 1, "the target", {"match": "C"}),
    inspect_sample("a", 2, "the target", {"match": "I"}),
    inspect_sample(17, 1, ["one", "other"], {"match": 1.0}),
]
METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, 93]


def log(folder: Path, samples: list[dict[str, Any]] = SAMPLES, scorer: str | None = None, **more: Any) -> Log:
    return read_log(written(folder / "log.json", inspect_log(samples, {"match": 0.75}, **more)), scorer)


def test_every_field_of_a_sample_goes_where_it_belongs(tmp_path: Path) -> None:
    first, second, third = log(tmp_path).marks
    assert (first.item_id, first.attempt, first.task, first.correct, first.error) == ("a", 1, "org/sums", True, None)
    assert (second.item_id, second.attempt, second.correct) == ("a", 2, False)
    assert (third.item_id, third.attempt, third.correct) == ("17", 1, True)
    assert first.marked_by == "inspect/match"
    assert first.target_digest == second.target_digest == sha256_text('"the target"')
    assert third.target_digest == sha256_text('["one","other"]')


def test_every_field_of_a_log_goes_where_it_belongs(tmp_path: Path) -> None:
    read = log(tmp_path)
    assert (read.scorer, read.accuracy, read.metric) == ("match", 0.75, "accuracy")
    assert (read.reducer, read.invalidated) == (None, False)
    assert read.published.tags == {"model": "mock/outer", "task": "org/sums", "dataset": "sums-data"}
    assert read.published.head == {
        "eval_id": "the-eval-id",
        "created": "2026-01-02T03:04:05+00:00",
        "packages": {"inspect_ai": "0.3.100"},
        "task_version": 3,
        "invalidated": False,
    }
    accuracy, spread = read.published.results
    assert (accuracy.metric, accuracy.stratum, accuracy.evaluation) == ("match/accuracy", "all", "org/sums")
    assert (accuracy.value, accuracy.standard_error, accuracy.n_samples) == (0.75, 0.125, 500)
    assert (spread.metric, spread.value, spread.standard_error) == ("match/stderr", 0.125, None)
    assert (accuracy.unit, accuracy.better, accuracy.n_items) == ("unknown", "none", None)
    assert json.loads(accuracy.details)["unscored_samples"] == 3


@pytest.mark.parametrize("method", METHODS)
def test_an_archive_says_the_same_as_a_document(tmp_path: Path, method: int) -> None:
    whole = inspect_log(SAMPLES, {"match": 0.75})
    read = read_log(archive(tmp_path / "log.eval", whole, method))
    same = read_log(written(tmp_path / "log.json", whole))
    assert (list(read.marks), read.published.results) == (list(same.marks), same.published.results)
    assert (read.published.tags, read.published.head) == (same.published.tags, same.published.head)


@pytest.mark.parametrize(
    ("value", "correct"),
    [("C", True), ("I", False), ("N", False), (1, True), (0, False), (1.0, True), (True, True), (False, False),
     ("yes", True), ("No", False), ("1", True), (None, None), (math.nan, None)],
    ids=str,
)  # fmt: skip
def test_a_score_is_right_wrong_or_not_given(tmp_path: Path, value: Any, correct: bool | None) -> None:
    (mark,) = log(tmp_path, [inspect_sample("a", 1, "t", {"match": value})]).marks
    assert mark.correct is correct


@pytest.mark.parametrize("value", ["P", 0.5, "nearly", 2, -1, [1], {"part": 1}], ids=str)
def test_a_score_that_is_neither_is_refused_by_place(tmp_path: Path, value: Any) -> None:
    samples = [SAMPLES[0], inspect_sample("b", 1, "t", {"match": value})]
    with pytest.raises(RecordRefused) as caught:
        log(tmp_path, samples)
    assert "samples[1].scores.match.value" in caught.value.found
    assert len(str(caught.value).splitlines()) == 4


def test_a_sample_that_failed_says_why(tmp_path: Path) -> None:
    failed = inspect_sample("b", 1, "t", {}, error={"message": "x" * 2000, "traceback": "long"})
    scored = inspect_sample("c", 1, "t", {"match": "I"}, error={"message": "late"})
    marks = log(tmp_path, [SAMPLES[0], failed, scored]).marks
    assert [(m.correct, m.error) for m in marks] == [(True, None), (None, "x" * ERROR_LENGTH), (False, None)]


def test_older_logs_count_samples_that_failed_and_were_scored(tmp_path: Path) -> None:
    scored = inspect_sample("c", 1, "t", {"match": "I"}, error={"message": "late"})
    whole = inspect_log([SAMPLES[0], scored], {"match": 0.5})
    assert whole["results"]["completed_samples"] == 1
    whole["results"]["completed_samples"] = 2
    assert len(read_log(written(tmp_path / "log.json", whole)).marks) == 2


def test_a_mean_stands_in_for_an_accuracy(tmp_path: Path) -> None:
    whole = inspect_log(SAMPLES, {"match": 0.75})
    metrics = whole["results"]["scores"][0]["metrics"]
    metrics["mean"] = {**metrics.pop("accuracy"), "name": "mean", "value": 0.625}
    read = read_log(written(tmp_path / "log.json", whole))
    assert (read.accuracy, read.metric) == (0.625, "mean")
    assert [r.standard_error for r in read.published.results if r.metric == "match/mean"] == [0.125]


def test_the_scorer_is_named_where_there_are_several(tmp_path: Path) -> None:
    path = written(
        tmp_path / "log.json",
        inspect_log([inspect_sample("a", 1, "t", {"match": "C", "judge": "I"})], {"match": 1.0, "judge": 0.0}),
    )
    with pytest.raises(UsageError, match="--scorer judge"):
        read_log(path)
    with pytest.raises(UsageError, match="--scorer judge"):
        read_log(path, "nobody")
    judged, matched = read_log(path, "judge"), read_log(path, "match")
    assert [m.correct for m in (*judged.marks, *matched.marks)] == [False, True]
    assert (judged.accuracy, matched.accuracy) == (0.0, 1.0)
    assert [r.standard_error for r in judged.published.results if r.metric == "judge/accuracy"] == [1.125]


def test_a_reducer_is_part_of_the_name(tmp_path: Path) -> None:
    whole = inspect_log(SAMPLES, {"match": 0.75})
    whole["results"]["scores"][0]["reducer"] = "at_least_2"
    read = read_log(written(tmp_path / "log.json", whole))
    assert read.reducer == "at_least_2"
    assert read.published.results[0].metric == "match[at_least_2]/accuracy"


def test_a_log_without_samples_has_published_values_alone(tmp_path: Path) -> None:
    read = log(tmp_path, [], results=inspect_log(SAMPLES, {"match": 0.75})["results"])
    assert (read.marks, read.scorer, len(read.published.results)) == ([], None, 2)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"status": "error"}, "status"),
        ({"status": "started"}, "status"),
        ({"status": None}, "status"),
        ({"eval": {}}, "eval.task"),
        ({"eval": []}, "eval"),
        ({"samples": {"a": 1}}, "samples"),
        ({"samples": ["text"]}, r"samples\[0\]"),
        ({"samples": [inspect_sample("", 1, "t", {})]}, r"samples\[0\].id"),
        ({"samples": [inspect_sample("a", -1, "t", {})]}, r"samples\[0\].epoch"),
        ({"results": {"scores": 3}}, "results.scores"),
        ({"results": {"completed_samples": 4}}, "not whole"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_log_that_cannot_be_meant_is_refused_by_place(tmp_path: Path, more: dict[str, Any], told: str) -> None:
    with pytest.raises(RecordRefused, match=told):
        log(tmp_path, **more)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    at = data.index(b"samples/a_epoch_1.json") + 40
    data[at] ^= 0xFF
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("damage", [_cut, _flip])
def test_a_damaged_archive_is_refused(tmp_path: Path, method: int, damage: Any) -> None:
    path = archive(tmp_path / "log.eval", inspect_log(SAMPLES, {"match": 0.75}), method)
    damage(path)
    with pytest.raises((ArchiveRefused, FileUnreadable)) as caught:
        read_log(path)
    assert len(str(caught.value).splitlines()) == 4


def test_an_archive_of_an_unfinished_log_has_no_header(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("_journal/start.json", "{}")
    with pytest.raises(ArchiveRefused, match=r"header\.json"):
        read_log(path)


def test_a_document_may_not_be_stored_twice(tmp_path: Path) -> None:
    path = archive(tmp_path / "log.eval", inspect_log(SAMPLES, {"match": 0.75}))
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as file:
        file.writestr("header.json", "{}")
    with pytest.raises(ArchiveRefused, match="twice"):
        read_log(path)


@pytest.mark.parametrize(
    "limits", [Limits(member_bytes=200), Limits(members=2)], ids=["a member too large", "too many members"]
)
def test_an_archive_is_bounded_before_it_is_unpacked(tmp_path: Path, limits: Limits) -> None:
    path = archive(tmp_path / "log.eval", inspect_log(SAMPLES, {"match": 0.75}), 93)
    with pytest.raises(FileUnreadable, match="EVALFRAME_JSON_MEMBER"):
        read_log(path, limits=limits)


def test_a_member_that_unpacks_to_more_than_it_says_is_refused(tmp_path: Path) -> None:
    bomb = archive(tmp_path / "log.eval", inspect_log(SAMPLES, {"match": 0.75}), 93)
    data = bytearray(bomb.read_bytes())
    at = data.rindex(b"header.json") - 22  # unpacked size in the directory
    data[at : at + 4] = (50).to_bytes(4, "little")
    bomb.write_bytes(bytes(data))
    with pytest.raises(ArchiveRefused, match=r"header\.json is damaged"):
        read_log(bomb)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "Expecting value"),
        ('{"eval": ', "Expecting value"),
        ("[" * 100_000, "nested too deep"),
        ('{"eval": 1, "eval": 2}', "twice"),
        ('{"a": ' + "1" * 5000 + "}", "digits"),
        ("\ufffe", "Expecting value"),
    ],
    ids=["nothing", "cut off", "deep", "a key twice", "a long number", "no JSON"],
)
def test_a_document_that_is_no_json_is_refused(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "log.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileUnreadable, match=told) as caught:
        read_log(path)
    assert len(str(caught.value).splitlines()) == 4


def test_a_document_over_the_limit_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "log.json", inspect_log(SAMPLES, {"match": 0.75}))
    with pytest.raises(FileUnreadable, match="DOCUMENT_BYTES"):
        read_log(path, limits=Limits(document_bytes=100))
    monkeypatch.setenv("EVALFRAME_JSON_DOCUMENT_BYTES", "99")
    with pytest.raises(FileUnreadable, match="at most 99"):
        read_log(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for name in ("log.json", "log.eval"):
        with pytest.raises(EvalframeError, match="cannot be read"):
            read_log(tmp_path / name)
