"""Samples of lm-evaluation-harness: each field goes where it belongs, and what would have to be guessed is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from evalframe.errors import EvalframeError, FileFormatUnknown, FileUnreadable, RecordRefused, UsageError
from evalframe.sources.documents import read_document
from evalframe.sources.lm_eval import Options, read_samples, task_of
from evalframe.sources.lm_eval_results import read_results
from evalframe.sources.lm_eval_sample import softmax
from tests.sources.foreign import digest, generated, lines, results, sample, written

NAME = "samples_arc_easy_2026-01-02T03-04-05.678901.jsonl"
OPTIONS = ["no", "yes, it is", "perhaps"]
LIKELIHOODS = [-1.5, -4.25, -2.125]


def one(folder: Path, *rows: dict[str, Any], name: str = NAME) -> Path:
    return lines(folder / name, rows)


def test_the_task_is_in_the_name() -> None:
    assert task_of(Path(NAME)) == "arc_easy"
    assert task_of(Path("samples_mmlu_law.jsonl")) == "mmlu_law"
    with pytest.raises(FileFormatUnknown):
        task_of(Path("arc_easy.jsonl"))


def test_every_field_of_a_choice_goes_where_it_belongs(tmp_path: Path) -> None:
    read = read_samples(one(tmp_path, sample(41, OPTIONS, LIKELIHOODS, 1)), Options())
    total = sum(map(math.exp, LIKELIHOODS))
    (row,) = read.rows
    assert row.pop("p") == pytest.approx([math.exp(x) / total for x in LIKELIHOODS], rel=1e-15)
    assert row == {
        "id": f"arc_easy/41/{digest('doc 41')[:16]}",
        "question": "log-likelihood in total",
        "task": "arc_easy",
        "type": "choice",
        "keys": [" no", " yes, it is", " perhaps"],
        "label": 1,
    }
    assert (read.task, read.metric, read.filter, read.marks) == ("arc_easy", "acc", "none", [])


def test_the_softmax_is_taken_of_what_was_asked_for(tmp_path: Path) -> None:
    options = ["no", "yés!", "perhaps it is"]
    path = one(tmp_path, sample(1, options, [-1.5, -2.75, -6.5], 0))
    by_name = {n: read_samples(path, Options(n)).rows[0]["p"] for n in ("total", "characters", "bytes")}
    assert by_name["total"] == softmax([-1.5, -2.75, -6.5])
    assert by_name["characters"] == softmax([-1.5 / 2, -2.75 / 4, -6.5 / 13])
    assert by_name["bytes"] == softmax([-1.5 / 2, -2.75 / 5, -6.5 / 13])
    assert [p.index(max(p)) for p in by_name.values()] == [0, 2, 2]
    assert len({read_samples(path, Options(n)).rows[0]["question"] for n in ("total", "characters", "bytes")}) == 3


@pytest.mark.parametrize(
    ("target", "label"), [(2, 2), ("2", 2), ("perhaps", 2), ("yes, it is", 1)], ids=["index", "digits", "text", "comma"]
)
def test_the_right_option_is_an_index_or_a_text(tmp_path: Path, target: Any, label: int) -> None:
    assert read_samples(one(tmp_path, sample(0, OPTIONS, LIKELIHOODS, target)), Options()).rows[0]["label"] == label


def test_older_files_have_numbers_and_lists(tmp_path: Path) -> None:
    row = sample(0, OPTIONS, LIKELIHOODS, 0)
    row["filtered_resps"] = [[value, False] for value in LIKELIHOODS]
    row["arguments"] = [["Q:", " " + option] for option in OPTIONS]
    del row["doc_hash"], row["filter"]
    read = read_samples(one(tmp_path, row), Options())
    assert read.rows[0]["p"] == softmax(LIKELIHOODS)
    assert read.rows[0]["id"] == "arc_easy/0"


def test_options_asked_again_without_the_prompt_are_not_options(tmp_path: Path) -> None:
    row = sample(0, OPTIONS, LIKELIHOODS, 0)
    row["metrics"] = ["acc", "acc_mutual_info"]
    row["filtered_resps"] += [["-9.5", "False"]] * 3
    row["arguments"] |= {f"gen_args_{3 + i}": {"arg_0": "", "arg_1": " " + o} for i, o in enumerate(OPTIONS)}
    assert read_samples(one(tmp_path, row), Options()).rows[0]["p"] == softmax(LIKELIHOODS)


def test_an_impossible_option_has_no_probability(tmp_path: Path) -> None:
    p = read_samples(one(tmp_path, sample(0, OPTIONS, [-1.0, -math.inf, -1000.0], 0)), Options()).rows[0]["p"]
    assert p == [1.0, 0.0, 0.0]


def test_options_that_are_alike_carry_their_position(tmp_path: Path) -> None:
    row = sample(0, ["a", "b", "a"], LIKELIHOODS, 1)
    assert read_samples(one(tmp_path, row), Options()).rows[0]["keys"] == ["0: a", "1: b", "2: a"]


def test_every_field_of_a_generated_answer_goes_where_it_belongs(tmp_path: Path) -> None:
    path = one(tmp_path, generated(7, "said", 1.0), generated(8, "other", 0.0), name="samples_gsm.jsonl")
    read = read_samples(path, Options())
    first, second = read.marks
    assert first.item_id == f"gsm/7/{digest('doc 7')[:16]}"
    assert (first.attempt, first.task, first.target_digest) == (1, "gsm", digest("target 7"))
    assert (first.correct, second.correct, first.error) == (True, False, None)
    assert first.marked_by == "lm-eval/exact_match"
    assert (read.metric, read.rows) == ("exact_match", [])


def test_a_choice_is_right_or_wrong_by_a_named_metric(tmp_path: Path) -> None:
    row = sample(0, ["no", "yes, it is"], [-1.0, -2.0], 0)
    assert (row["acc"], row["acc_norm"]) == (1.0, 0.0)
    path = one(tmp_path, row)
    assert [m.correct for m in read_samples(path, Options(metric="acc")).marks] == [True]
    assert [m.correct for m in read_samples(path, Options(metric="acc_norm")).marks] == [False]


def test_each_filter_has_answers_of_its_own(tmp_path: Path) -> None:
    rows = [generated(i, "x", float(i == 0), filter=f) for i in range(2) for f in ("strict", "flexible")]
    rows[1]["exact_match"] = 0.0
    path = one(tmp_path, *rows)
    with pytest.raises(UsageError, match="--filter flexible"):
        read_samples(path, Options())
    assert [m.correct for m in read_samples(path, Options(filter="strict")).marks] == [True, False]
    assert [m.correct for m in read_samples(path, Options(filter="flexible")).marks] == [False, False]
    assert read_samples(path, Options(filter="strict")).marks[0].marked_by == "lm-eval/exact_match,strict"
    with pytest.raises(UsageError, match="strict"):
        read_samples(path, Options(filter="none"))


REFUSED: dict[str, tuple[dict[str, Any], Options]] = {
    "a scoring of the task's own": ({"acc": 1.0, "target": "1"}, Options()),
    "a scoring per character of its own": ({"acc_norm": 1.0, "target": "1"}, Options("characters")),
    "several right options": ({"target": "[0, 2]"}, Options()),
    "an option out of range": ({"target": "3"}, Options()),
    "a negative option": ({"target": -1}, Options()),
    "no target": ({"target": None}, Options()),
    "NaN": ({"filtered_resps": [["nan", "False"]] * 3}, Options()),
    "an infinite likelihood": ({"filtered_resps": [["inf", "False"]] * 3}, Options()),
    "words for a likelihood": ({"filtered_resps": [["high", "False"]] * 3}, Options()),
    "fewer requests": ({"filtered_resps": [["-1", "False"]] * 2}, Options()),
    "prompts that differ": (
        {"arguments": {f"gen_args_{i}": {"arg_0": f"p{i}", "arg_1": " same"} for i in range(3)}},
        Options(),
    ),
    "requests that are no text": ({"arguments": [["p", {"until": []}]] * 3}, Options()),
    "no delimiter to take off": ({"arguments": [["p", f"o{i}"] for i in range(3)]}, Options("characters")),
    "no id": ({"doc_id": None}, Options()),
    "an id that is no name": ({"doc_id": [1]}, Options()),
    "half a surrogate pair": ({"doc_id": "\ud800"}, Options()),
    "a mark between": ({"acc": 0.5}, Options(metric="acc")),
    "a mark of text": ({"acc": "1"}, Options(metric="acc")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_have_to_be_guessed_is_refused_by_place(tmp_path: Path, name: str) -> None:
    more, options = REFUSED[name]
    path = one(tmp_path, sample(4, OPTIONS, LIKELIHOODS, 0), sample(5, OPTIONS, LIKELIHOODS, 0) | more)
    with pytest.raises(RecordRefused) as caught:
        read_samples(path, options)
    assert len(str(caught.value).splitlines()) == 4
    assert str(path) == caught.value.where
    assert "sample 1" in caught.value.what + caught.value.found


def test_two_options_that_no_probability_tells_apart_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordRefused, match="differ by less"):
        read_samples(one(tmp_path, sample(0, ["a", "b"], [-2e-17, -1e-17], 1)), Options())


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([], RecordRefused),
        ([sample(0, OPTIONS, LIKELIHOODS, 0)] * 2, RecordRefused),
        ([sample(0, OPTIONS, LIKELIHOODS, 0), generated(1, "x", 1.0)], RecordRefused),
        ([generated(0, "x", 1.0) | {"metrics": ["exact_match", "f1"]}], UsageError),
        ([generated(0, "x", 1.0) | {"metrics": []}], UsageError),
    ],
    ids=["nothing", "a document twice", "kinds mixed", "two metrics", "no metric"],
)
def test_files_that_cannot_be_meant_are_refused(tmp_path: Path, rows: list[Any], error: type[EvalframeError]) -> None:
    with pytest.raises(error):
        read_samples(one(tmp_path, *rows), Options())


def test_a_metric_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="acc_norm"):
        read_samples(one(tmp_path, sample(0, OPTIONS, LIKELIHOODS, 0)), Options(metric="f1"))


def test_a_file_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    path = one(tmp_path, *[sample(i, OPTIONS, LIKELIHOODS, 0) for i in range(3)])
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(FileUnreadable, match="row 2"):
        read_samples(path, Options())


def test_every_published_value_is_kept_as_it_is(tmp_path: Path) -> None:
    rows = [sample(i, OPTIONS, LIKELIHOODS, i % 3) for i in range(5)]
    document = results({"arc_easy": rows}, ["acc", "acc_norm"])
    document["results"]["arc_easy"] |= {"perplexity,none": math.nan, "exact_match,strict": 0.75, "word,none": "N/A"}
    document["results"]["arc_easy"] |= {"acc_norm_stderr,none": "N/A"}
    document["higher_is_better"]["arc_easy"]["perplexity"] = False
    path = written(tmp_path / "results.json", document)
    harness = read_results(*_read(path))
    told = {
        r.metric: (r.value, r.standard_error, r.better, r.stratum, r.n_samples, r.unit)
        for r in harness.published.results
    }
    part = ("task=arc_easy", 5, "unknown")
    assert told == {
        "acc": (0.4, 0.01, "higher", *part),
        "acc_norm": (document["results"]["arc_easy"]["acc_norm,none"], None, "higher", *part),
        "perplexity": (None, None, "lower", *part),
        "exact_match,strict": (0.75, None, "none", *part),
        "word": (None, None, "none", *part),
    }
    assert harness.value("arc_easy", "exact_match", "strict") == 0.75
    assert harness.value("arc_easy", "exact_match", "none") is None
    assert (harness.published.tags, harness.n_samples) == ({"model": "org/small"}, {"arc_easy": 5})
    assert harness.delimiters == {"arc_easy": " "}
    assert harness.published.head["lm_eval_version"] == "0.4.9"


def test_older_results_have_plain_names_and_no_model(tmp_path: Path) -> None:
    older = {
        "results": {"sciq": {"acc": 0.875, "acc_stderr": 0.25}},
        "versions": {"sciq": 3},
        "config": {"model": "hf", "model_args": "pretrained=org/small"},
    }
    harness = read_results(*_read(written(tmp_path / "results.json", older)))
    (result,) = harness.published.results
    assert (result.metric, result.value, result.standard_error, result.better) == ("acc", 0.875, 0.25, "none")
    assert (harness.published.tags, harness.n_samples) == ({}, {})


def test_a_chat_template_hides_the_delimiter(tmp_path: Path) -> None:
    rows = [sample(0, OPTIONS, LIKELIHOODS, 0)]
    path = written(tmp_path / "results.json", results({"arc_easy": rows}, ["acc"], chat_template="{{ messages }}"))
    assert read_results(*_read(path)).delimiters == {}


@pytest.mark.parametrize("place", ["results", "n-samples", "configs"])
def test_results_of_another_shape_are_refused(tmp_path: Path, place: str) -> None:
    document = results({"arc_easy": [sample(0, OPTIONS, LIKELIHOODS, 0)]}, ["acc"]) | {place: ["no", "object"]}
    with pytest.raises(RecordRefused, match=place):
        read_results(*_read(written(tmp_path / "results.json", document)))


def _read(path: Path) -> tuple[Any, Path, str]:
    document, sha256 = read_document(path)
    assert document == json.loads(path.read_text(encoding="utf-8")) or "NaN" in path.read_text(encoding="utf-8")
    return document, path, sha256
