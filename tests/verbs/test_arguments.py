"""From Python a path may be text, and a number what a command line spells; both mean what the command line would."""

from __future__ import annotations

import inspect
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evalframe
from evalframe.errors import UsageError
from evalframe.verbs import compare, demo_data, explain, export, import_files, leaderboard, report
from evalframe.verbs.arguments import loosely, spelled
from tests.verbs.test_lists import SYSTEMS

VERBS = [
    *(getattr(system, name) for system in SYSTEMS for name in system.__all__),
    *(compare.compare, explain.explain, export.export, import_files.import_files, leaderboard.leaderboard),
    report.report,
]


@pytest.fixture(scope="module")
def predictions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("arguments") / "a.npz"
    path.write_bytes(demo_data.windows(skill=0.7, seed=1))
    return path


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.0, "2.0"), (1e-12, "1e-12"), (np.float64(0.7), "0.7"), (np.float32(0.5), "0.5"), (3, "3"),
        (np.int64(3), "3"), (True, "true"), (False, "false"), (Decimal("0.70"), "0.70"), ("0.7", "0.7"), (None, None),
    ],
)  # fmt: skip
def test_numbers_are_spelled_as_on_a_command_line(value: Any, text: Any) -> None:
    assert spelled(value) == text


def test_annotations_say_what_is_read() -> None:
    @loosely
    def verb(
        place: Path,
        *,
        other: Path | None = None,
        name: str = "",
        names: str | int = "",
        tags: dict[str, int] | None = None,
    ) -> tuple[Any, ...]:
        return place, other, name, names, tags

    assert verb("a", other="b", name=1, names=2, tags={"x": 1}) == (Path("a"), Path("b"), "1", 2, {"x": 1})  # type: ignore[arg-type]
    assert verb(place=Path("a"), other=None) == (Path("a"), None, "", "", None)
    with pytest.raises(TypeError):
        verb("a", "b")  # type: ignore[arg-type, misc]


def test_every_verb_that_takes_a_path_or_a_number_as_text_reads_it() -> None:
    strict = {
        (verb.__module__, verb.__name__)
        for verb in VERBS
        for argument in inspect.signature(verb).parameters.values()
        if argument.annotation in ("Path", "Path | None", "Mapping[str, str] | None")
        and not hasattr(verb, "__wrapped__")
    }
    assert strict == set()


def test_text_is_a_path_and_numbers_are_tags_and_settings(predictions: Path, tmp_path: Path) -> None:
    scored = evalframe.wisp.score(
        str(predictions), output=str(tmp_path / "new/out.json"), store=tmp_path / "store", tags={"fold": 0, "seed": 42}
    )  # type: ignore[arg-type, dict-item]
    assert (tmp_path / "new/out.json").is_file()
    store = evalframe.open(str(tmp_path / "store"))
    assert dict(store.runs().to_pylist()[0]["tags"]) == {"fold": "0", "seed": "42"}
    assert scored.run_id == "a"
    known = explain.explain("kev-choice/2", settings={"n_bins": 15}).body["fingerprint"]  # type: ignore[dict-item]
    assert known == explain.explain("kev-choice/2", settings={"n_bins": "15"}).body["fingerprint"]
    example = explain.explain("runs", example=str(tmp_path / "runs.csv"))  # type: ignore[arg-type]
    assert example.body["kind"] == "table"
    assert (tmp_path / "runs.csv").is_file()


@pytest.mark.parametrize("layout", ["TNC", ""])
def test_a_layout_that_is_none_is_refused_before_anything_is_read(layout: str, tmp_path: Path) -> None:
    for ask in (evalframe.wisp.evaluate, evalframe.wisp.gate):
        with pytest.raises(UsageError, match="no such layout"):
            ask(tmp_path / "none", tmp_path / "none", layout=layout)  # type: ignore[operator]


def test_a_store_answers_what_the_commands_about_it_do(predictions: Path, tmp_path: Path) -> None:
    evalframe.wisp.score(predictions, store=tmp_path / "store")
    store = evalframe.open(tmp_path / "store")
    assert store.audit_values(runs="a").to_pylist() == []
    assert {row["outcome"] for row in store.audit_engines("a").to_pylist()} <= {"exact", "close", "not spoken"}
    store.sql("SELECT * FROM class_predictions").write(str(tmp_path / "rows.parquet"), "parquet")
    assert store.validate("class_predictions", str(tmp_path / "rows.parquet")).ok
