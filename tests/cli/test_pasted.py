"""Hints that are a piece of a command line come as the whole line, put right."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from evalframe.cli.hints import pasted
from evalframe.cli.run import run
from evalframe.errors import ExitCode

Output = pytest.CaptureFixture[str]

SCORE = "wisp score --predictions p.npz --output o.json --tag a=b d --key x=y participant=q --set n_bins=3"


@pytest.mark.parametrize(
    ("hint", "put", "out"),
    [
        ("--policy kev-choice/2", "--policy kev-choice/2", ""),
        ("--output 'a b.json'", "--output 'a b.json'", "--output o.json"),
        ("--tag d=VALUE", "--tag d=VALUE", "d"),
        ("--key participant=NAME  # what the file calls it", "--key participant=NAME  # what the file calls it",
         "participant=q"),
        ("--set n_bins=5  (another number)", "--set n_bins=5  # another number", "--set n_bins=3"),
        ("--cluster participant, or leave it out", "--cluster participant  # or leave it out", ""),
        ("leave out --set", " # leave out --set", "--set n_bins=3"),
        ("leave out --set: it is known", " # leave out --set: it is known", "--set n_bins=3"),
        ("name another --output, or add --force", "--force  # or name another --output", ""),
        ("evalframe wisp score ... --classes C.json  (exploratory)", "--classes C.json  # exploratory", ""),
    ],
)  # fmt: skip
def test_a_piece_becomes_the_line_that_was_typed_put_right(hint: str, put: str, out: str) -> None:
    kept = SCORE.replace(f" {out}", "", 1) if out else SCORE
    found = pasted(hint, ["wisp", "score"], shlex.split(SCORE))
    assert found == f"evalframe {kept} {put}".rstrip()
    assert shlex.split(found, comments=True)[:3] == ["evalframe", "wisp", "score"]


@pytest.mark.parametrize(
    ("hint", "typed", "put"),
    [
        ("--set top_k=8", "--top-k 9 --window any --set top_k=9 failed=wrong",
         "--window any --set failed=wrong --set top_k=8"),
        ("--set top_k=8", "--top-k=9", "--set top_k=8"),
        ("--row-seconds 0.2", "--set row_seconds=0 n_horizons=3", "--set n_horizons=3 --row-seconds 0.2"),
        ("leave out --a and --b-c", "--a 1 --x y --b-c 2 3", "--x y  # leave out --a and --b-c"),
        ("name the run otherwise: --run-id ID", "--run-id a", "--run-id ID  # name the run otherwise"),
        ("name the run otherwise: --run-id ID", "--run a=b", "--run a=b --run-id ID  # name the run otherwise"),
        ("name the run otherwise: --run-id ID", "--run a=b --run=c=d",
         "--run a=b --run=c=d --run-prefix P  # name the run otherwise"),
        ("name the run otherwise: --run-id ID", "--run a=b c=d --run-prefix q",
         "--run a=b c=d --run-prefix P  # name the run otherwise"),
        ("name the run otherwise: --run-id ID", "--run a=b --run-prefix=q",
         "--run a=b --run-prefix P  # name the run otherwise"),
    ],
)  # fmt: skip
def test_what_would_be_said_twice_or_is_not_wanted_is_left_out(hint: str, typed: str, put: str) -> None:
    assert pasted(hint, ["x", "y"], ["x", "y", *shlex.split(typed)]) == f"evalframe x y {put}"


@pytest.mark.parametrize(
    ("hint", "typed", "found", "put"),
    [
        ("--key y_true=y_true", "--key foo=y_true time=t", "foo=y_true", "--key time=t --key y_true=y_true"),
        ("--set NAME=VALUE", "--set =x n_bins=3", "'=x'", "--set n_bins=3 --set NAME=VALUE"),
        ("--require g=all", "--require f=all --key f=x", "f=all", "--key f=x --require g=all"),
        ("--set a=1", "--set b=2 a=3", "3 in row 4", "--set b=2 --set a=1"),
    ],
)
def test_what_was_refused_is_not_typed_again(hint: str, typed: str, found: str, put: str) -> None:
    assert pasted(hint, ["x"], ["x", *shlex.split(typed)], refused=found) == f"evalframe x {put}"


def test_a_command_that_never_overwrites_is_not_told_to() -> None:
    hint = "name another --output, or add --force"
    assert pasted(hint, ["x"], ["x", "--output", "o"], overwrites=False) == "name another --output"


@pytest.mark.parametrize(
    "hint", ["correct the ids", "evalframe explain accuracy", "ls -l a.csv", "kev score ... --policy x", "--key 'open"]
)
def test_what_is_no_piece_stays_as_it_is(hint: str) -> None:
    assert pasted(hint, ["wisp", "score"], shlex.split(SCORE)) == hint


@pytest.mark.parametrize("place", ["s3://key:secret@bucket/store", "s3://bucket/store?password=secret"])
def test_a_line_with_a_secret_is_not_repeated(place: str) -> None:
    assert pasted("--tag d=VALUE", ["runs"], ["runs", "--store", place]) == "--tag d=VALUE"


def test_the_hint_of_a_refusal_works_when_it_is_pasted(store: Path, capsys: Output) -> None:
    words = ["compare", "--store", str(store), "--baseline", "a", "--candidate", "b", "--replicates", "20"]
    assert run([*words, "--cluster", "nobody", "--json"]) == ExitCode.USAGE
    hint = json.loads(capsys.readouterr().out)["error"]["hint"]
    assert hint.startswith(shlex.join(["evalframe", *words]))
    assert run(shlex.split(hint, comments=True)[1:]) == ExitCode.OK


@pytest.mark.parametrize(
    ("name", "content", "command", "said"),
    [
        ("r w.jsonl", b"{", "kev score --output o.json --rows", "python -m json.tool --json-lines"),
        ("r w.json.gz", b"\x1f\x8b", "kev score --output o.json --rows", "gunzip -k"),
        ("r w.csv.zst", b"", "wisp score --output o.json --predictions", "unzstd -k"),
        ("r w.csv", None, "validate class_predictions", "ls -l"),
        ("r w.json", b"{", "kev verify-metrics --kev-root . --pins", "python -m json.tool"),
    ],
)
def test_a_file_is_one_word_of_the_hint_about_it(
    name: str, content: bytes | None, command: str, said: str, tmp_path: Path, capsys: Output
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert run([*command.split(), str(tmp_path / name), "--json"]) == ExitCode.USAGE
    words = shlex.split(json.loads(capsys.readouterr().out)["error"]["hint"], comments=True)
    assert words[: words.index(str(tmp_path / name))] == said.split()
