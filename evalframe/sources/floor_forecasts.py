"""What a model foresaw: saved `pred/` and `valid/` arrays -> `floor_forecasts`, turned from target to source rows.

Saved arrays hold at row t what was forecast *for* row t; the table holds at row s what was forecast *at* row s, because
a decision sees one row of the model and the ten rows after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalframe.contracts import conform, contract
from evalframe.errors import ForecastRefused
from evalframe.sources.floor_sessions import files_of, session_files
from evalframe.sources.floor_targets import COLUMNS, WEARER, Session
from evalframe.sources.npy import read_npy, require_shape
from evalframe.sources.values import repeated

STEPS = 10
"""Forecasts made at each row: for 1 to 10 rows later."""


@dataclass(frozen=True, slots=True)
class Forecasts:
    """One session's forecasts by source row.

    p_wearer: float64 [T, 10], meaningful where usable: bool [T, 10], valid, finite and inside the session.
    n_not_finite: forecasts that were marked valid and are NaN or infinite; they count as not valid.
    """

    session: Session
    p_wearer: NDArray[np.float64]
    usable: NDArray[np.bool_]
    n_not_finite: int


@dataclass(frozen=True)
class RunFolder:
    """What is known of one folder after reading. digests: SHA-256 of every file read, by path in the folder.

    n_not_finite: forecasts of all its sessions that were marked valid and are NaN or infinite.
    """

    digests: Mapping[str, str]
    n_not_finite: int


def read_run(folder: Path, sessions: Sequence[Session], take: Callable[[Forecasts], None]) -> RunFolder:
    """Forecasts of `sessions` from `pred/<session>.npy` [T, 3, 10] and `valid/<session>.npy` [T, 10] bool.

    Each session is given to `take` as soon as it was read, and not kept.
    Raises SessionMissing, InputError for an unreadable array, and ForecastRefused: another length than the target, or
    a valid forecast outside [0, 1], naming session, row and step.
    """
    names = [session.name for session in sessions]
    files = {part: files_of(names, session_files(folder / part), folder / part) for part in ("pred", "valid")}
    digests: dict[str, str] = {}
    n_not_finite = 0
    for session in sessions:
        predicted, valid = read_npy(files["pred"][session.name], "f"), read_npy(files["valid"][session.name], "b")
        digests[f"pred/{session.name}.npy"], digests[f"valid/{session.name}.npy"] = predicted.sha256, valid.sha256
        columns = len(COLUMNS)
        require_shape(files["pred"][session.name], predicted.array, (session.n_rows, columns, STEPS), ForecastRefused)
        require_shape(files["valid"][session.name], valid.array, (session.n_rows, STEPS), ForecastRefused)
        _refuse_out_of_range(session, predicted.array, valid.array, files["pred"][session.name])
        forecasts = by_source_row(session, predicted.array[:, WEARER, :], valid.array)
        n_not_finite += forecasts.n_not_finite
        take(forecasts)
    return RunFolder(digests, n_not_finite)


def by_source_row(session: Session, p_wearer: NDArray[Any], valid: NDArray[np.bool_]) -> Forecasts:
    """Forecasts for row t made j + 1 rows earlier, [T, 10], at the row they were made at."""
    finite = np.isfinite(p_wearer)
    turned = np.zeros((session.n_rows, STEPS), np.float64)
    usable = np.zeros((session.n_rows, STEPS), bool)
    for j in range(min(STEPS, session.n_rows - 1)):
        turned[: -j - 1, j] = p_wearer[j + 1 :, j]
        usable[: -j - 1, j] = valid[j + 1 :, j] & finite[j + 1 :, j]
    return Forecasts(session, turned, usable, int((valid & ~finite).sum()))


def forecasts_table(run_id: str, forecast_set: str, forecasts: Forecasts) -> pa.Table:
    """The rows of `floor_forecasts` of one session of a run. forecast_set: `run` or `calibration`."""
    n_rows = forecasts.session.n_rows
    offsets = pa.array(np.arange(0, n_rows * STEPS + 1, STEPS, dtype=np.int32))
    p = pa.array(forecasts.p_wearer.ravel(), mask=~forecasts.usable.ravel())
    return conform(
        contract("floor_forecasts"),
        pa.table(
            {
                "run_id": repeated(run_id, n_rows),
                "forecast_set": repeated(forecast_set, n_rows),
                "session_index": pa.repeat(pa.scalar(forecasts.session.index, pa.int32()), n_rows),
                "row": pa.array(np.arange(n_rows, dtype=np.int64)),
                "p_wearer": pa.ListArray.from_arrays(offsets, p),
                "valid": pa.ListArray.from_arrays(offsets, pa.array(forecasts.usable.ravel())),
            }
        ),
    )


def _refuse_out_of_range(session: Session, predicted: NDArray[Any], valid: NDArray[np.bool_], path: Path) -> None:
    # NaN compares as false: it is no number out of range but no usable number, and is counted as not valid.
    outside = ((predicted < 0) | (predicted > 1)) & np.isfinite(predicted) & valid[:, np.newaxis, :]
    if outside.any():
        row, column, step = map(int, np.argwhere(outside)[0])
        raise ForecastRefused(
            f"session {session.name} row {row} step {step + 1}: a valid forecast is no probability",
            expected="0 to 1 wherever valid is true",
            found=f"{predicted[row, column, step].item()!r} for {COLUMNS[column]} ({int(outside.sum())} such values)",
            where=str(path),
            hint=f'python -c "import numpy; print(numpy.load({str(path)!r})[{row}, :, {step}])"',
        )
