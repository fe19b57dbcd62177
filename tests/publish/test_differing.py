"""What two runs differ in, and nothing that they share."""

from __future__ import annotations

import json

import pytest

from evalframe.cli.run import run
from evalframe.errors import ExitCode
from evalframe.verbs.opened import Store
from tests.publish.conftest import HOSTILE


def test_only_what_differs_is_shown(store: Store) -> None:
    found = {row["field"]: (row["a"], row["b"]) for row in store.diff("gru", "gru-excluding").to_pylist()}
    assert found["parameters.wisp-har/1.failed"] == ("wrong", "excluded")
    assert found["tags.method"] == ("gru", None)
    assert "protocols.wisp-har/1" in found
    assert not {"system", "dataset_id"} & set(found)
    assert all(a != b for a, b in found.values())


def test_other_predictions_under_one_protocol_differ_in_their_inputs_alone(store: Store) -> None:
    fields = {row["field"].partition(".")[0] for row in store.diff("cnn", "gru").to_pylist()}
    assert fields == {"inputs", "tags"}


def test_a_run_differs_from_itself_in_nothing(store: Store) -> None:
    same = store.diff("cnn", "cnn")
    assert same.to_pylist() == []
    assert same.headlines()[-1] == "nothing differs"


def test_the_command_prints_it_and_wants_two_runs(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["runs", "--store", str(store.folder.path)]
    hostile = HOSTILE.replace("\x00", "")
    assert run([*command, "--diff", "cnn", hostile]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert run([*command, "--diff", "cnn", "gru-excluding", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["a"], said["b"]) == ("cnn", "gru-excluding")
    assert "parameters.wisp-har/1.failed" in {row["field"] for row in said["differences"]}
    assert run([*command, "--diff", "cnn"]) == ExitCode.USAGE
    assert "--diff takes two runs" in capsys.readouterr().err
    assert run([*command, "--diff", "cnn", "nobody"]) == ExitCode.USAGE
