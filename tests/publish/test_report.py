"""The page: what stands on it, that nothing hostile gets through, that a real browser draws it in silence."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from evalframe.contracts.shards import matching
from evalframe.errors import ExtraMissing
from evalframe.publish import charts, page
from evalframe.publish.chart_data import confusion_rows, risk_coverage_rows, wilson
from evalframe.publish.star import Star
from evalframe.verbs.comparisons import comparisons
from evalframe.verbs.floor_timelines import Tracks, candidates, timeline
from evalframe.verbs.opened import Store
from evalframe.verbs.report import Report
from evalframe.verbs.report_material import Material
from evalframe.verbs.report_sections import sections
from tests.publish.conftest import HOSTILE

SECTIONS = [
    *("verdicts", "leaderboards", "calibration", "confusion", "recall", "timelines", "traces", "denominators"),
    *("protocols", "trust"),
]


@pytest.fixture(scope="module")
def made(store: Store, whole: Star) -> list[page.Section]:
    """The sections, made without the library that draws."""
    with Material.of(store.folder, whole, comparisons(store.folder, replicates=100)) as material:
        return sections(material)


def _all_text(made: list[page.Section]) -> str:
    return "".join(block.text for section in made for block in section.blocks if isinstance(block, page.Html))


def _figures(made: list[page.Section]) -> list[page.Figure]:
    blocks = [block for section in made for block in section.blocks]
    return [f for b in blocks for f in (b if isinstance(b, list) else [b]) if isinstance(f, page.Figure)]


def test_the_page_has_its_sections_in_order(made: list[page.Section]) -> None:
    assert [section.anchor for section in made] == [*SECTIONS, "not-run"]


def test_verdict_fingerprints_taint_and_what_was_not_run_stand_on_it(made: list[page.Section], whole: Star) -> None:
    text = _all_text(made)
    for fingerprint in whole.table("dim_protocol")["protocol_fingerprint"].to_pylist():
        assert fingerprint in text
    assert "gru-excluding: 4 metrics refused, fingerprint differs" in text
    assert "bent on request: 1." in text
    assert "in_sample" in text
    assert "Gates: 0 of 1 were run; one that was not is no pass." in text
    assert "No audit sheet is frozen." in text
    assert "Undefined values, which are not zero" in text


def test_denominators_are_those_of_the_values(made: list[page.Section], whole: Star) -> None:
    (section,) = [section for section in made if section.anchor == "denominators"]
    cells = _cells("".join(block.text for block in section.blocks if isinstance(block, page.Html)))
    (accuracy,) = [
        row
        for row in whole.table("fact_metric").to_pylist()
        if (row["run_id"], row["metric"], row["stratum"]) == ("cnn", "accuracy", "all")
    ]
    wanted = ["cnn", "accuracy", f"{accuracy['value']:.6g}", f"{accuracy['numerator']:g}", "960", "960"]
    assert any([cell for cell in row if cell in wanted] == wanted for row in cells)


def test_no_text_from_outside_becomes_markup(made: list[page.Section]) -> None:
    shape = _Shape()
    shape.feed(_all_text(made))
    assert shape.tags <= {
        *("p", "div", "b", "code", "h3", "details", "summary", "table", "thead", "tbody", "tr", "th", "td")
    }
    assert shape.attributes <= {("class", None), ("tabindex", "0")}
    assert HOSTILE[:10] in "".join(shape.texts)


def test_json_in_a_page_has_no_tag_and_reads_back() -> None:
    value = {"a": [HOSTILE, "</script>", "<!--", "\u2028", 0.1, None]}
    written = page.json_in_html(value)
    assert "<" not in written
    assert "\u2028" not in written
    assert json.loads(written) == value
    with pytest.raises(ValueError, match="JSON compliant"):
        page.json_in_html({"x": float("nan")})


def test_charts_hold_no_control_character_and_no_nan(made: list[page.Section]) -> None:
    for figure in _figures(made):
        assert not re.search(r"[\x00-\x1f\u202e]", json.dumps(figure.spec, allow_nan=False, ensure_ascii=False))


def test_a_layer_that_owns_a_legend_selection_comes_first(made: list[page.Section]) -> None:
    bound = 0
    for figure in _figures(made):
        owners = [place for place, layer in enumerate(figure.spec.get("layer", [])) if layer.get("params")]
        assert owners in ([], [0])
        bound += len(owners)
    assert bound > 0


def test_the_confusion_matrix_has_absent_classes_and_counts_every_item(whole: Star) -> None:
    facts = whole.table("fact_confusion")
    counted = facts.filter((pc.field("run_id") == "odd") & (pc.field("stratum") == "all") & pc.field("is_counted"))
    rows, targets, predictions = confusion_rows(counted, ["=1+1", "</script><b>", "never"])
    assert targets == predictions == ["=1+1", "</script><b>", "never"]
    assert [row["n"] for row in rows] == [2, 0, 0, 1, 1, 0, 0, 0, 0]
    assert [row["share"] for row in rows] == [1.0, 0, 0, 0.5, 0.5, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"), [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (1, 1, 0.2065, 1.0)]
)
def test_wilson_intervals(hits: int, n: int, low: float, high: float) -> None:
    assert wilson(hits, n) == pytest.approx((low, high), abs=5e-5)


def test_risk_is_taken_over_the_most_confident_answers_first() -> None:
    shared = {"run_id": "a", "protocol": "p/1", "protocol_fingerprint": "f", "stratum": "all"}
    bins = [
        {**shared, "bin": 0, "lo": 0.0, "n": 2, "correct": 0},
        {**shared, "bin": 1, "lo": 0.5, "n": 0, "correct": 0},
        {**shared, "bin": 2, "lo": 0.9, "n": 6, "correct": 3},
    ]
    rows = risk_coverage_rows(pa.Table.from_pylist(bins), "p/1", "f", "all", ["a"])
    assert [(row["coverage"], row["risk"], row["from_confidence"]) for row in rows] == [
        (0.75, 0.5, 0.9),
        (1.0, 0.625, 0.0),
    ]


def test_a_trace_is_drawn_on_its_own_task_with_its_call(store: Store, made: list[page.Section]) -> None:
    (section,) = [section for section in made if section.anchor == "traces"]
    (figures,) = section.blocks
    assert isinstance(figures, list)
    rows = figures[0].spec["data"]["values"]
    run = figures[0].caption
    calls = {row["trajectory_id"]: row for row in store.folder.read("failure_calls", runs=[run]).to_pylist()}
    traces = store.folder.read("progress_traces", runs=[run]).to_pylist()
    own = {
        (t["trajectory_id"], t["frame_index"], t["progress"])
        for t in traces
        if t["query_task"] == calls[t["trajectory_id"]]["task"]
    }
    assert {(row["trajectory"], row["frame"], row["progress"]) for row in rows} <= own
    assert len({row["trajectory"] for row in rows}) > 5
    for row in rows:
        call = calls[row["trajectory"]]
        right = call["called_failure"] == call["is_failure"]
        assert row["outcome"] == call["outcome"]
        assert row["call"] == (
            "not called" if call["called_failure"] is None else "called rightly" if right else "called wrongly"
        )


def test_a_timeline_draws_what_is_printed_of_the_event(store: Store, made: list[page.Section]) -> None:
    (section,) = [section for section in made if section.anchor == "timelines"]
    (figures,) = [block for block in section.blocks if isinstance(block, list)]
    assert [figure.caption.partition(",")[0] for figure in figures[:4]] == ["response", "response", "yield", "yield"]
    assert "not scored" in figures[4].caption
    events = store.folder.read("floor_events", runs=["floor-a"])
    tables = {
        name: store.folder.read(name, runs=["floor-a"])
        for name in ("floor_activity", "floor_forecasts", "floor_segments")
    }
    tracks = Tracks(lambda name, where, columns: matching(tables[name].select(columns), where))
    printed = [timeline("floor-a", one, tracks).splitlines() for one in candidates([events])]
    for figure in figures:
        kind, session, boundary = re.findall(r"(\w+), (\w+), boundary row (\d+)", figure.caption)[0]
        (text,) = [each for each in printed if f"{session}  {kind}  boundary row {boundary} " in each[0]]
        assert _printed(text, int(boundary)) == _drawn(figure.spec, int(boundary))


def _printed(text: list[str], boundary: int) -> dict[int, tuple[str, ...]]:
    """Row -> (others, wearer, marks, step, score, valid, event) as the timeline is printed."""
    pattern = r" *(\d+) +([#.]) +([#.]) *([BDRC/exclud ]*?) *(?:  (\d+)  +([\d.]*) +(yes|no)  (.*))?"
    found = [re.fullmatch(pattern, line) for line in text[2:]]
    return {int(m[1]): tuple((each or "").strip() for each in m.groups()[1:]) for m in found if m}


def _drawn(spec: dict[str, Any], boundary: int) -> dict[int, tuple[str, ...]]:
    """The same, of the chart's data."""

    def row(at: float) -> int:
        return boundary + round(at / 0.2)

    points, _, bands, marks, *_ = (layer["data"]["values"] for layer in spec["layer"])
    steps = {row(step["at"]): step for step in points if step["run"] == "floor-a"}
    letters = {row(mark["at"]): mark["mark"].replace("C", "C/excluded") for mark in marks}
    speech = {(band["who"], n) for band in bands for n in range(boundary - 20, boundary + 20)
              if band["from"] < (n - boundary) * 0.2 < band["to"]}  # fmt: skip
    found = {}
    for n in range(min(letters) - 3, max(steps) + 1):
        step = steps.get(n)
        said = ("", "", "", "") if step is None else (
            str(step["step"]),
            "" if step["score"] is None else f"{step['score']:.4f}",
            "no" if step["score"] is None else "yes",
            step["counted"],
        )  # fmt: skip
        assert step is None or (step["valid"] == "valid") == (step["score"] is not None)
        bits = ("#" if (who, n) in speech else "." for who in ("others", "wearer"))
        found[n] = (*bits, letters.get(n, ""), *said)
    return found


def test_a_page_about_a_comparison_shows_its_runs_alone(store: Store, whole: Star) -> None:
    compared = comparisons(store.folder, "floor-a", ["floor-b"], replicates=50)
    with Material.of(store.folder, whole, compared, only=frozenset({"floor-a", "floor-b"})) as material:
        alone = sections(material)
    assert [section.anchor for section in alone] == [
        *("verdicts", "recall", "timelines", "denominators", "protocols", "trust", "not-run"),
    ]
    text = _all_text(alone)
    assert "floor-b against floor-a: worse on" in text
    assert not re.search(r"\b(cnn|gru|robot-a|tuned)\b", text)


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    page.drawing_script.cache_clear()
    with pytest.raises(ExtraMissing, match="draws charts") as refused:
        page.drawing_script()
    assert "evalframe[report]" in refused.value.hint


def test_importing_and_help_load_no_optional_library() -> None:
    code = (
        "import sys, evalframe; from evalframe.cli.run import run;"
        "run(['export', '--help']); run(['report', '--help']);"
        "import evalframe.verbs.report, evalframe.verbs.export;"
        "found = {'altair', 'vl_convert', 'adbc_driver_manager', 'adbc_driver_postgresql'} & set(sys.modules);"
        "sys.exit(str(found) if found else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


# ---- in a browser ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(store: Store, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    path = tmp_path_factory.mktemp("report") / "report.html"
    return path, store.report(path, replicates=100)


@pytest.fixture(scope="module", params=[(1400, "light"), (390, "dark"), (1400, "dark"), (390, "light")], ids=str)
def seen(
    request: pytest.FixtureRequest, written: tuple[Path, Report], playwright: str, chromium: str
) -> dict[str, Any]:
    width, scheme = request.param
    folder = Path(os.environ.get("EVALFRAME_SCREENSHOTS", written[0].parent))
    shot = folder / f"report-{width}-{scheme}.png"
    look = Path(__file__).with_name("look.mjs")
    command = ["node", str(look), playwright, chromium, str(written[0]), str(width), scheme, str(shot)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return {**found, "scheme": scheme, "charts": len(written[1].figures)}


@pytest.mark.browser
def test_a_browser_draws_every_chart_without_a_word_or_a_request(seen: dict[str, Any]) -> None:
    assert seen["errors"] == []
    assert seen["requests"] == []
    assert seen["drawn"] == seen["charts"] > 10
    assert (seen["broken"], seen["empty"], seen["foreign"]) == (0, [], 0)
    assert not seen["wide"]
    dark = seen["background"] != "rgb(255, 255, 255)"
    assert dark == (seen["scheme"] == "dark")


@pytest.mark.browser
def test_the_drawn_marks_say_what_the_tables_say(seen: dict[str, Any], whole: Star) -> None:
    labels = [label for marks in seen["marks"].values() for label in marks]
    drawn = [float(m[1]) for label in labels if (m := re.search(r"macro_f1, proportion: ([\d.]+)", label))]
    values = {
        row["value"]
        for row in whole.table("fact_metric").to_pylist()
        if row["metric"] == "macro_f1" and row["run_id"] in ("cnn", "gru")
    }
    assert all(any(abs(value - each) < 1e-6 for each in drawn) for value in values)
    counts = [text for texts in seen["texts"].values() for text in texts]
    assert {"success", "failure", "sit"} <= set(counts)


@pytest.mark.browser
def test_a_click_on_a_legend_dims_the_other_runs(seen: dict[str, Any]) -> None:
    assert set(seen["before"][:2]) == {"1"}
    assert seen["after"][:2] in (["1", "0.12"], ["0.12", "1"])


@pytest.mark.browser
def test_the_page_is_the_same_twice_and_pictures_need_no_browser(
    store: Store, written: tuple[Path, Report], tmp_path: Path
) -> None:
    again = tmp_path / "again.html"
    command = [sys.executable, "-m", "evalframe", "report", "--store", str(store.folder.path), "--output", str(again)]
    subprocess.run([*command, "--replicates", "100", "--png", str(tmp_path / "png")], check=True)
    assert again.read_bytes() == written[0].read_bytes()
    pictures = sorted((tmp_path / "png").iterdir())
    assert len(pictures) == len(written[1].figures)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)


@pytest.mark.browser
def test_every_chart_is_valid_vega_lite(written: tuple[Path, Report]) -> None:
    altair = pytest.importorskip("altair")
    for spec in written[1].specs().values():
        altair.Chart.from_dict(spec)
    assert charts.SCHEMA.rsplit("/", 1)[1] == "v6.json"


@pytest.mark.browser
def test_only_the_pages_own_script_may_run(written: tuple[Path, Report]) -> None:
    html = written[0].read_text(encoding="utf-8")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', html)
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/=]+'", rules["script-src"])
    assert html.lower().count("</script") == 2
    assert not re.search(r"""\bsrc=["']?http""", html)


class _Shape(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {(name, None if name == "class" else value) for name, value in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def _cells(html: str) -> list[list[str]]:
    return [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in html.split("</tr>")]
