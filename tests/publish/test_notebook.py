"""What a notebook shows of a result: a table with its legend, and charts where Altair is installed."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import evalframe
from evalframe.cli.run import run
from evalframe.errors import ExtraMissing, UsageError
from evalframe.verbs.opened import Store
from tests.cli.test_tour import marked


def test_specs_hold_the_numbers_of_the_rows(store: Store) -> None:
    found = store.compare("cnn", "gru", replicates=100)
    (spec,) = found.specs().values()
    changes = {row["metric"]: row["change_pp"] for row in found.to_pylist() if row["ci_low"] is not None}
    assert {row["label"]: row["change"] for row in spec["data"]["values"]} == changes
    board = store.leaderboard(protocol="wisp-har", metric="macro_f1")
    (spec,) = board.specs().values()
    ranked = [row["value"] for row in board.to_pylist() if row["board"] == 1]
    assert [row["value"] for row in spec["data"]["values"]] == ranked
    assert len(ranked) == 3


def test_a_chart_without_altair_says_what_to_install(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ExtraMissing, match="needs Altair") as refused:
        store.leaderboard(protocol="wisp-har").chart()
    assert "evalframe[report]" in refused.value.hint
    with pytest.raises(UsageError, match="nothing to draw"):
        store.runs().chart()


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)


def test_what_is_shown_is_a_table_and_nothing_from_outside_is_markup(store: Store) -> None:
    shown = [
        *(store, store.runs(), store.compare("cnn", "gru", replicates=50), store.leaderboard(protocol="wisp-har")),
        *(store.diff("cnn", "gru"), store.sql("SELECT run_id FROM runs"), store.explain("class_labels")),
    ]
    for each in shown:
        tags = _Tags()
        tags.feed(each._repr_html_())
        assert {"table", "td"} <= tags.found <= {"p", "pre", "table", "thead", "tbody", "tr", "th", "td"}


@pytest.mark.browser
def test_the_example_of_the_readme_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    altair = pytest.importorskip("altair")
    monkeypatch.chdir(tmp_path)
    assert run(["demo"]) == 0
    names: dict[str, Any] = {}
    exec(marked("notebook"), names)
    assert isinstance(names["found"].chart(), altair.LayerChart)
    assert names["board"].chart().to_dict()["mark"]["type"] == "point"
    several = evalframe.open("evalframe-demo/store").compare("kev-base", "kev-tuned", replicates=100)
    whole = several.chart()
    assert isinstance(whole, altair.VConcatChart)
    assert len(whole.vconcat) == len(several.specs()) > 1
    whole.save("all.svg")
    assert "<svg" in Path("all.svg").read_text()


@pytest.mark.browser
def test_a_report_is_shown_in_a_frame_that_reaches_nothing(store: Store) -> None:
    made = store.report(baseline="cnn", candidates=["gru"], replicates=50)
    shown = made._repr_html_()
    tags = _Tags()
    tags.feed(shown)
    assert tags.found == {"iframe"}
    assert 'sandbox="allow-scripts"' in shown
    assert len(made.chart().vconcat) == len(made.figures)
