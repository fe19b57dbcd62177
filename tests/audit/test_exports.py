"""`wisp compare-exports`: five findings apart; time values are told and decide nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evalframe
from evalframe.cli.run import run
from evalframe.errors import ArchiveRefused, ContractError, ExitCode

N = 24


def arrays(**changed: Any) -> dict[str, Any]:
    rng = np.random.default_rng(2)
    whole = {
        "X": rng.normal(size=(N, 5, 3)).astype(np.float32),
        "y": np.arange(N) % 3,
        "participant": np.array([f"p{i % 4}" for i in range(N)]),
        "time": np.arange(N) * 0.5,
        "classes": np.array(["sit", "stand", "walk"]),
    }
    return {name: array for name, array in {**whole, **changed}.items() if array is not None}


def compared(tmp_path: Path, a: dict[str, Any], b: dict[str, Any], **options: Any) -> Any:
    np.savez(tmp_path / "a.npz", **a)
    np.savez(tmp_path / "b.npz", **b)
    return evalframe.wisp.compare_exports(tmp_path / "a.npz", tmp_path / "b.npz", **options)


def equal(result: Any) -> dict[str, bool | None]:
    return {row["name"]: row["equal"] for row in result.to_pylist()}


ALL = {"signals": True, "participants": True, "labels": True, "permutation": True, "time": True}


def test_the_same_export_is_equal_in_everything(tmp_path: Path) -> None:
    result = compared(tmp_path, arrays(), arrays())
    assert equal(result) == ALL
    assert result.exit_code == ExitCode.OK


def test_seconds_and_ordinals_of_one_order_differ_in_time_values_alone(tmp_path: Path) -> None:
    result = compared(tmp_path, arrays(), arrays(time=np.arange(N)))
    assert equal(result) == {**ALL, "time": False}
    assert result.equal
    assert "time values differ" in result.headlines()[0]


def test_times_that_tie_keep_the_order_of_the_file(tmp_path: Path) -> None:
    tied = np.repeat(np.arange(N // 8), 8) * 1.0
    assert equal(compared(tmp_path, arrays(), arrays(time=tied))) == {**ALL, "time": False}


def test_another_order_within_one_participant_is_found(tmp_path: Path) -> None:
    times = np.arange(N) * 0.5
    times[[0, 4]] = times[[4, 0]]  # both of p0
    result = compared(tmp_path, arrays(), arrays(time=times))
    row = next(row for row in result.to_pylist() if row["name"] == "permutation")
    assert (row["equal"], row["n_different"], row["n_compared"]) == (False, 2, N)
    assert result.exit_code == ExitCode.MISMATCH


def test_another_order_between_participants_is_none(tmp_path: Path) -> None:
    times = np.arange(N) * 0.5
    times[::4] += 100  # all of p0, in their order
    assert equal(compared(tmp_path, arrays(), arrays(time=times)))["permutation"] is True


def test_minus_zero_is_another_signal(tmp_path: Path) -> None:
    zero = np.zeros((N, 5, 3), np.float32)
    assert equal(compared(tmp_path, arrays(X=zero), arrays(X=-zero)))["signals"] is False


def test_layout_in_memory_is_no_difference(tmp_path: Path) -> None:
    a = arrays()
    assert equal(compared(tmp_path, a, {**a, "X": np.asfortranarray(a["X"])})) == ALL


@pytest.mark.parametrize(
    ("changed", "aspect"),
    [
        ({"X": np.zeros((N, 3, 5), np.float32)}, "signals"),
        ({"X": arrays()["X"].astype(np.float64)}, "signals"),
        ({"participant": np.array(["p0"] * N)}, "participants"),
        ({"y": np.zeros(N, int)}, "labels"),
        ({"classes": np.array(["sit", "walk", "stand"])}, "labels"),
    ],
)
def test_each_aspect_is_a_finding_of_its_own(changed: dict[str, Any], aspect: str, tmp_path: Path) -> None:
    found = equal(compared(tmp_path, arrays(), arrays(**changed)))
    assert found[aspect] is False
    independent = {"signals", "participants", "labels", "time"} - {aspect}
    assert all(found[name] is True for name in independent)


def test_fewer_windows_differ_in_everything(tmp_path: Path) -> None:
    fewer = {name: array if name == "classes" else array[:-1] for name, array in arrays().items()}
    assert not any(equal(compared(tmp_path, arrays(), fewer)).values())


def test_without_times_the_order_is_not_compared(tmp_path: Path) -> None:
    found = compared(tmp_path, arrays(time=None), arrays(time=None))
    assert equal(found) == {**ALL, "permutation": None, "time": None}
    assert found.exit_code == ExitCode.OK
    assert equal(compared(tmp_path, arrays(), arrays(time=None)))["permutation"] is False


def test_text_labels_and_indices_of_one_vocabulary_are_the_same_labels(tmp_path: Path) -> None:
    text = np.array(["sit", "stand", "walk"])[arrays()["y"]]
    assert equal(compared(tmp_path, arrays(), arrays(y=text))) == ALL


def test_the_command_writes_its_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "a.npz", **arrays())
    np.savez(tmp_path / "b.npz", **{("t" if k == "time" else k): v for k, v in arrays(y=np.zeros(N, int)).items()})
    out = tmp_path / "out.json"
    command = ["wisp", "compare-exports", str(tmp_path / "a.npz"), str(tmp_path / "b.npz"), "--output", str(out)]
    assert run([*command, "--key", "time=t"]) == ExitCode.MISMATCH
    body = json.loads(out.read_text())
    assert body["equal"] is False
    assert body["findings"]["labels"] == {
        "equal": False,
        "n_compared": N,
        "n_different": 16,
        "reason": "16 of 24 windows differ, the first is 1 (from 0)",
    }
    assert body["findings"]["time"]["equal"] is True
    assert "labels" in capsys.readouterr().out


def test_a_lying_header_is_refused_before_memory_is_taken(tmp_path: Path) -> None:
    import struct
    import zipfile

    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000, 1000), }"
    npy = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head
    np.savez(tmp_path / "a.npz", **arrays(X=None))
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as file:
        file.writestr("X.npy", npy + bytes(64))
    with pytest.raises(ArchiveRefused):
        evalframe.wisp.compare_exports(tmp_path / "a.npz", tmp_path / "a.npz")


def test_signals_that_unpack_too_far_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "a.npz", **arrays(X=np.zeros((N, 500, 50), np.float32)))
    monkeypatch.setenv("EVALFRAME_NPZ_FREE_BYTES", "1000")
    with pytest.raises(ArchiveRefused, match="unpacks too far"):
        evalframe.wisp.compare_exports(tmp_path / "a.npz", tmp_path / "a.npz")


def test_signals_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    bad = arrays()
    bad["X"][3, 0, 0] = np.nan
    with pytest.raises(ContractError, match="not finite"):
        compared(tmp_path, bad, arrays())
