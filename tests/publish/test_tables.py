"""Tables for papers: marks only where they are earned, a legend that names the method, nothing hostile gets through."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pyarrow as pa
import pytest

from evalframe.cli.run import run
from evalframe.verbs import drawing
from evalframe.verbs.compare import Comparison
from evalframe.verbs.opened import Store
from tests.publish.conftest import HOSTILE


@pytest.fixture(scope="module")
def compared(store: Store) -> Comparison:
    return store.compare("floor-a", ["floor-b"], metrics=["continue_false_stop_rate_at_recall"], replicates=500)


def test_a_star_stands_exactly_where_the_adjusted_p_is_small(compared: Comparison) -> None:
    marks = dict(enumerate(compared.paper()["marks"].to_pylist()))
    adjusted = compared.table["p_adjusted"].to_pylist()
    earned = {place for place, p in enumerate(adjusted) if p is not None and p < 0.05}
    assert {place for place, mark in marks.items() if "*" in mark} == earned
    assert all("†" in mark for mark in marks.values())  # eight sessions


def test_the_legend_names_tests_interval_clusters_and_only_marks_that_are_there(compared: Comparison) -> None:
    legend = "\n".join(compared.legend())
    assert "paired cluster swap permutation, all patterns" in legend
    assert "paired cluster bootstrap over session (8), 500 replicates" in legend
    used = set("".join(compared.paper()["marks"].to_pylist()))
    explained = {line[0] for line in compared.legend() if line[1] == " "}
    assert explained == used


def test_a_refused_pair_is_marked_as_refused(store: Store) -> None:
    refused = store.compare("gru", "gru-excluding", replicates=50)
    assert set("".join(refused.paper()["marks"].to_pylist())) == {"‡"}
    assert any("different questions" in line for line in refused.legend())


def test_a_leaderboard_marks_runs_tied_with_the_best(store: Store) -> None:
    board = store.leaderboard(protocol="wisp-har")
    tied = board.table["tied_with_best"].to_pylist()
    rank = board.table["rank"].to_pylist()
    wanted = ["=" if t and r != 1 else "" for t, r in zip(tied, rank, strict=True)]
    assert board.paper()["tied_with_best"].to_pylist() == wanted
    assert "=" in wanted
    assert "paired cluster bootstrap, 2000 replicates" in board.legend()[0]
    assert "origin: rescored_saved_predictions, of every value" in board.legend()
    assert not {"origin", "n_runs"} & set(board.paper().column_names)


@pytest.mark.parametrize("format", ["table", "md", "latex", "html"])
@pytest.mark.parametrize("command", [["leaderboard", "--protocol", "wisp-har"], ["compare"]])
def test_the_commands_print_all_of_it(
    store: Store, capsys: pytest.CaptureFixture[str], command: list[str], format: str
) -> None:
    if command == ["compare"]:
        command = ["compare", "--baseline", "cnn", "--candidate", HOSTILE.replace("\x00", ""), "--replicates", "200"]
    assert run([*command, "--store", str(store.folder.path), "--format", format]) == 0
    printed = capsys.readouterr().out
    assert format == "table" or "paired cluster bootstrap" in printed
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", printed)
    if format == "html":
        assert _tags(printed) == {"p", "table", "thead", "tbody", "tr", "th", "td"}


def test_latex_says_what_the_table_says_and_no_cell_is_a_command() -> None:
    table = pa.table({"a_b": [HOSTILE, "50 % & more", "*", "[2pt]"], "x": [0.5, 1.0, None, 2.0]})
    printed = drawing.latex(table, ["comparable\n\\input{x}"], ["† p < 0.05"])
    lines = printed.splitlines()
    assert lines[0] == "% comparable\\n\\input{x}"
    assert lines[1] == r"\begin{tabular}{lr}"
    assert r"50 \% \& more & 1 \\" in lines
    assert r"{*} &  \\" in lines
    assert r"{[2pt]} & 2 \\" in lines
    assert lines[-1] == r"\\[2pt]{\footnotesize \dag{} p \textless{} 0.05}"
    commands = set(re.findall(r"\\([a-zA-Z]+)", "\n".join(lines[1:])))
    assert commands <= {"begin", "end", "hline", "footnotesize", "dag", *_CHARACTERS}


_CHARACTERS = {"textbackslash", "textbar", "textless", "textgreater", "char"}


def _tags(text: str) -> set[str]:
    found: set[str] = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            found.add(tag)

    Reader().feed(text)
    return found
