"""Names from outside, through every command that takes or prints them: no path, line, query, page or cell of theirs."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path

import duckdb
import numpy as np
import pytest

import evalframe
from evalframe.cli.run import run
from evalframe.errors import EvalframeError
from evalframe.store import Store

NAMES = {
    "path": "../../../escape",
    "absolute": "/etc/passwd",
    "quotes": "'\"`$(touch pwned)`;--",
    "sql": "x'; DROP TABLE runs; SELECT '",
    "lines": "a\nEF999 forged\r\n  hint:     rm -rf ~",
    "terminal": "\x1b[2J\x1b]0;owned\x07\x9b31m\x8d\x7f\x08",
    "direction": "\u202egnp.exe\u2066\u200f\u2028",
    "long": "n" * 10_000,
    "formula": "=cmd|' /C calc'!A0",
    "at": "@SUM(1+1)*cmd|' /C calc'!A0",
    "html": "</script><img src=x onerror=alert(1)><script>alert(1)</script>",
    "markdown": "[a](javascript:alert(1))|`b`|![c](http://example.com)",
    "latex": "\\input{/etc/passwd}\\write18{touch pwned}$^_%",
    "option": "--store",
    "braces": "{0.__class__}%s%n{{7*7}}",
}

Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of one run per name, of which everything that can be named is named by it."""
    folder = tmp_path_factory.mktemp("hostile") / "inner"
    folder.mkdir()
    truth = np.arange(8) % 2
    for number, name in enumerate(["b", *NAMES.values()]):
        np.savez(
            folder / "p.npz",
            y_true=truth,
            y_pred=np.where(np.arange(8) < number % 4, 1 - truth, truth),
            participant=np.array([f"{name}{i % 2}" for i in range(8)]),
            time=np.arange(8.0),
            classes=np.array([name, "other"]),
        )
        arguments = ["--predictions", str(folder / "p.npz"), "--output", str(folder / "o.json"), "--force"]
        words = [*arguments, "--store", str(folder / "store"), f"--run-id={name}", f"--tag=method={name}"]
        assert run(["wisp", "score", *words, f"--tag={name.replace('=', ':')}=v"]) == 0
    return folder


def is_tame(text: str) -> bool:
    """Whether nothing moves a cursor, changes a direction or ends a line that did not end."""
    return all(c.isprintable() for line in text.split("\n") for c in line)


def refusal(text: str) -> bool:
    return len(text.strip().split("\n")) == 4 and text.startswith("EF") and is_tame(text)


COLUMNS = ", ".join(f'1 AS "{name.replace(chr(34), "")}"' for name in NAMES.values())
LOOKS = {
    "runs": ["runs"],
    "leaderboard": ["leaderboard", "--metric", "accuracy"],
    "compare": ["compare", "--baseline", "b", "--replicates", "20", "--metric", "accuracy"],
    "sql": ["sql", f"SELECT run_id, tags, {COLUMNS} FROM runs"],
}


def is_formula(cell: str) -> bool:
    return re.match(r"[=+@\t\r＝＋－＠]|-[^\d]", cell) is not None


@pytest.mark.parametrize("command", LOOKS)
def test_tables_stay_tables(world: Path, command: str, capsys: Output) -> None:
    arguments = [*LOOKS[command], "--store", str(world / "store")]
    if command == "compare":
        arguments += [f"--candidate={name}" for name in NAMES.values()]
    for format in ("table", "md", "latex", "html"):
        assert run([*arguments, "--format", format]) in (0, 3)
        captured = capsys.readouterr()
        assert is_tame(captured.out), format
        assert is_tame(captured.err), format
        if format in ("md", "html"):
            assert not re.search(r"(?<!\\)<(script|img|/script)", captured.out)
        if format == "md":
            assert not re.search(r"(?<!\\)\[[ac]\]\(", captured.out)
    assert run([*arguments, "--format", "csv"]) in (0, 3)
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert len({len(row) for row in rows}) == 1
    assert [cell for row in rows for cell in row if is_formula(cell)] == []
    assert run([*arguments, "--format", "json"]) in (0, 3)
    text = capsys.readouterr().out
    assert is_tame(text)
    seen = {value for row in json.loads(text) for value in row.values() if isinstance(value, str)}
    assert set(NAMES.values()) <= seen


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_errors_stay_four_lines(world: Path, name: str, capsys: Output) -> None:
    folder, store = world, str(world / "store")
    for arguments in (
        ["compare", "--store", store, "--baseline", "b", f"--candidate={name}x"],
        ["explain", "accuracy", "--steps", "--store", store, f"--run={name}x"],
        ["leaderboard", "--store", store, f"--metric={name}"],
        ["leaderboard", "--store", store, f"--where={name.replace('=', '')}"],
        ["explain", "--", name],
        ["validate", "--", name, name],
        ["runs", f"--store={folder}/{name}"],
        ["sql", f'SELECT * FROM "{name}"', "--store", store],
        ["sql", "--store", store, "--", name],
        ["export", "--store", store, f"--to={name}"],
        ["wisp", "score", f"--predictions={folder}/{name}", "--output", f"{folder}/no.json"],
        ["wisp", "score", "--predictions", f"{folder}/p.npz", "--output", f"{folder}/no.json", f"--key={name}=a"],
        ["wisp", "score", "--predictions", f"{folder}/p.npz", "--output", f"{folder}/no.json", f"--set={name}=a"],
        ["floor", "evaluate", f"--target-root={folder}", f"--run=m={folder}", f"--sessions={name}", "--output", "no"],
        ["robometer", "import", f"{folder}/{name}", "--store", store],
        ["store", "withdraw", store, f"{name}x", "--reason", "because"],
        ["runs", f"--{name}"],
        [name],
    ):
        code = run(arguments)
        captured = capsys.readouterr()
        assert code, arguments
        assert refusal(captured.err), (arguments[:2], captured.err[:500])
        assert captured.out == ""


def test_steps_export_and_withdrawal_show_names_as_text(world: Path, tmp_path: Path, capsys: Output) -> None:
    store = str(world / "store")
    for name in (NAMES["terminal"], NAMES["lines"]):
        assert run(["explain", "accuracy", "--steps", "--store", store, f"--run={name}"]) == 0
        assert is_tame(capsys.readouterr().out)
    assert run(["export", "--store", store, "--to", str(tmp_path / "x.duckdb"), "--no-compare"]) == 0
    with duckdb.connect(str(tmp_path / "x.duckdb"), read_only=True) as database:
        exported = {row[0] for row in database.execute("SELECT run_id FROM dim_run").fetchall()}
    assert exported == {"b", *NAMES.values()}
    assert run(["export", "--store", store, "--to", f"csv:{tmp_path / 'csv'}", "--no-compare"]) == 0
    for file in (tmp_path / "csv").glob("*.csv"):
        with file.open(newline="", encoding="utf-8") as opened:
            assert [cell for row in csv.reader(opened) for cell in row if is_formula(cell)] == []
    assert is_tame(capsys.readouterr().out)
    shutil.copytree(store, tmp_path / "copy")
    for name in NAMES.values():
        assert run(["store", "withdraw", str(tmp_path / "copy"), f"--reason={name}", "--", name]) == 0
        assert len(capsys.readouterr().out.split("\n")) == 2
    assert Store.open(tmp_path / "copy").run_ids() == ["b"]


def test_every_file_stands_where_it_was_asked_for(world: Path) -> None:
    """Beside the folder of outputs and the store's own rooms there is nothing, and the store finds its runs again."""
    assert [path.name for path in world.parent.iterdir()] == ["inner"]
    assert {path.name for path in world.iterdir()} == {"p.npz", "o.json", "store"}
    store = Store.open(world / "store")
    assert sorted(store.run_ids()) == sorted(["b", *NAMES.values()])
    assert store.verify().to_pylist() == []
    assert not Path("pwned").exists()


@pytest.mark.parametrize("name", ["a\x00b", "\ud800"])
def test_text_that_is_no_text_is_refused(name: str, tmp_path: Path, capsys: Output) -> None:
    """A NUL and a lone surrogate: no argument of a shell, but one of a program."""
    source = tmp_path / "p.npz"
    np.savez(source, y_true=[0, 1], y_pred=[0, 1], participant=["x", "y"], classes=["sit", "walk"])
    for arguments in (
        ["wisp", "score", f"--predictions={source}", f"--output={tmp_path}/{name}.json"],
        ["wisp", "score", f"--predictions={source}{name}", f"--output={tmp_path}/o.json"],
        ["wisp", "score", f"--predictions={source}", f"--output={tmp_path}/o.json", f"--store={tmp_path}/{name}"],
        ["runs", f"--store={tmp_path}/{name}"],
        ["sql", f"SELECT '{name}'", f"--store={tmp_path}/store"],
        ["explain", name],
    ):
        code = run(arguments)
        captured = capsys.readouterr()
        assert code == 0 or refusal(captured.err), (arguments, captured.err)


def test_a_nul_in_a_name_is_a_name(tmp_path: Path) -> None:
    source = tmp_path / "p.npz"
    np.savez(source, y_true=[0, 1], y_pred=[0, 1], participant=["x", "y"], classes=["sit", "walk"])
    evalframe.wisp.score(source, store=tmp_path / "store", run_id="a\x00b", tags={"k\x00": "\x00"})
    assert Store.open(tmp_path / "store").run_ids() == ["a\x00b"]
    assert Store.open(tmp_path / "store").verify().to_pylist() == []
    with pytest.raises(EvalframeError):
        evalframe.wisp.score(f"{source}\x00")
