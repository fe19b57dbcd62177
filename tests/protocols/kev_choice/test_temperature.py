"""A temperature is fitted on calibration rows that the evaluation does not know, or not at all."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalframe.errors import CalibrationLeak, CalibrationMissing, ExitCode, UsageError
from evalframe.protocols import protocol
from evalframe.verbs.kev import IN_SAMPLE, score
from evalframe.verbs.kev_temperature import STEPS, fitted_temperature, grid
from tests.oracles import choice as oracle
from tests.protocols.kev_choice.scoring import run

Row = dict[str, Any]


def rows(start: int, count: int, **more: Any) -> list[Row]:
    """Answers that are too sure of themselves: sharpened probabilities, labels drawn from the honest ones."""
    rng = np.random.default_rng(start)
    made = []
    for i in range(start, start + count):
        honest = rng.dirichlet(np.ones(4))
        sharp = honest**2 / (honest**2).sum()
        label = int(rng.choice(4, p=honest))
        made.append(
            {"id": f"q{i}", "type": "choice", "keys": list("abcd"), "label": label, "p": sharp.tolist(), **more}
        )
    return made


def written(path: Path, made: list[Row]) -> Path:
    path.write_text(json.dumps(made))
    return path


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return written(tmp_path / "rows.json", rows(0, 60)), written(tmp_path / "calibration.json", rows(1000, 200))


def test_the_grid_is_symmetric_around_one() -> None:
    assert grid(0) == "1"
    assert (grid(-STEPS // 2), grid(STEPS // 2)) == ("0.25", "4")
    steps = [Decimal(grid(step)) for step in range(-STEPS // 2, STEPS // 2 + 1)]
    assert steps == sorted(set(steps))


@pytest.mark.parametrize("seed", [0, 1000, 2000])
def test_no_other_point_of_the_grid_has_a_smaller_loss(seed: int) -> None:
    made = rows(seed, 80)
    kev = protocol("kev-choice/2")
    found = fitted_temperature(run(made).tables, kev, kev.settings())

    def nll(step: int) -> float:
        items = oracle.outcomes(made, oracle.Choices(temperature=float(grid(step))))
        value = oracle.metrics(items)["nll"]
        assert isinstance(value, float)
        return value

    assert found == grid(min(range(-STEPS // 2, STEPS // 2 + 1), key=nll))


def test_the_fitted_temperature_is_a_parameter_of_every_number(files: tuple[Path, Path]) -> None:
    evaluated, calibration = files
    plain, fitted = score(rows=evaluated), score(rows=evaluated, calibration_rows=calibration)
    assert plain.identity.parameters["temperature"] == "1"
    temperature = fitted.identity.parameters["temperature"]
    assert 1.2 < float(temperature) < 4  # the answers were sharpened, so they are cooled down
    assert fitted.value("nll") < plain.value("nll")  # type: ignore[operator]
    assert fitted.value("accuracy") == plain.value("accuracy")
    assert fitted.identity.metric_fingerprints["nll"] != plain.identity.metric_fingerprints["nll"]
    by_hand = score(rows=evaluated, settings={"temperature": temperature})
    assert by_hand.table.equals(fitted.table)
    body = json.loads(fitted.to_json())
    assert body["calibration"]["temperature"] == temperature
    assert len(body["calibration"]["rows_sha256"]) == 64


@pytest.mark.parametrize(
    ("evaluated", "calibration", "told"),
    [
        ({"id": "same"}, {"id": "same"}, "rows"),
        ({"group": "g"}, {"group": "g"}, "groups"),
        ({"parent": "origin", "variant": "reversed"}, {"id": "origin"}, "rows"),
        ({"id": "origin"}, {"parent": "origin", "variant": "reversed"}, "rows"),
    ],
)
def test_a_leak_is_refused_and_nothing_is_written(tmp_path: Path, evaluated: Row, calibration: Row, told: str) -> None:
    one = written(tmp_path / "rows.json", [*rows(0, 3), {**rows(3, 1)[0], **evaluated}])
    other = written(tmp_path / "calibration.json", [*rows(10, 3), {**rows(13, 1)[0], **calibration}])
    with pytest.raises(CalibrationLeak, match="what is evaluated") as refused:
        score(rows=one, calibration_rows=other, output=tmp_path / "OUT.json", store=tmp_path / "store")
    assert refused.value.exit_code is ExitCode.CONTRACT
    assert f"calibration {told}" in refused.value.expected
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["calibration.json", "rows.json"]


def test_in_sample_on_request_taints_every_number(files: tuple[Path, Path]) -> None:
    evaluated, _ = files
    found = score(rows=evaluated, calibration_rows=evaluated, allow_in_sample=True)
    assert set(found.table["tainted"].to_pylist()) == {True}
    assert set(found.table["taint_reason"].to_pylist()) == {IN_SAMPLE}
    assert found.body()["tainted"] is True


def test_rows_that_can_fit_nothing(tmp_path: Path, files: tuple[Path, Path]) -> None:
    unlabelled = [{**row, "label": None} for row in rows(50, 5)]
    with pytest.raises(CalibrationMissing):
        score(
            rows=files[0],
            calibration_rows=written(tmp_path / "c.json", [{**r, "id": f"c{r['id']}"} for r in unlabelled]),
        )


def test_a_temperature_is_given_or_fitted_not_both(files: tuple[Path, Path], tmp_path: Path) -> None:
    evaluated, calibration = files
    with pytest.raises(UsageError, match="cannot be fitted"):
        score(rows=evaluated, calibration_rows=calibration, settings={"temperature": "2"})
    outcomes = tmp_path / "o.csv"
    outcomes.write_text("id,confidence,correct\na,0.5,1\n")
    with pytest.raises(UsageError, match="cannot be fitted"):
        score(outcomes=outcomes, calibration_rows=calibration)


@pytest.mark.parametrize("policy", ["kev-choice/1", "kev-choice/2"])
def test_outcomes_have_no_probabilities_to_cool(policy: str, tmp_path: Path) -> None:
    """Their numbers would stay as they are under a fingerprint that says otherwise."""
    outcomes = tmp_path / "o.csv"
    outcomes.write_text("id,confidence,correct\na,0.5,1\n")
    with pytest.raises(UsageError, match="outcomes have none"):
        score(outcomes=outcomes, policy=policy, store=tmp_path / "store", settings={"temperature": "2"})
    assert not (tmp_path / "store").exists()
    plain, said = score(outcomes=outcomes, policy=policy), {"temperature": "1.0"}
    assert score(outcomes=outcomes, policy=policy, settings=said).identity.fingerprint == plain.identity.fingerprint
