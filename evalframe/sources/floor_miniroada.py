"""Raw MiniROADA forecasts, [T-10, 10, 3] by the row they were made at -> `pred/` and `valid/` by the row they are for.

Nothing is transposed or padded: an array of another rank, length or range is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalframe.errors import ForecastRefused
from evalframe.sources.floor_forecasts import STEPS
from evalframe.sources.floor_targets import COLUMNS
from evalframe.sources.npy import ArrayFile, read_npy, require_shape


@dataclass(frozen=True, slots=True)
class Aligned:
    """One session: pred [T, 3, 10] of the raw dtype, valid [T, 10] bool, and the SHA-256 of the raw file."""

    pred: NDArray[Any]
    valid: NDArray[np.bool_]
    sha256: str


def read_miniroada(path: Path, n_rows: int, session: str) -> Aligned:
    """The raw forecasts of a session whose target has `n_rows` rows, by target row. Raises as `check_miniroada`."""
    file = check_miniroada(path, n_rows, session)
    pred = np.zeros((n_rows, len(COLUMNS), STEPS), file.array.dtype)
    valid = np.zeros((n_rows, STEPS), bool)
    made = len(file.array)
    for j in range(STEPS):
        pred[j + 1 : j + 1 + made, :, j] = file.array[:, j, :]
        valid[j + 1 : j + 1 + made, j] = True
    return Aligned(pred, valid, file.sha256)


def check_miniroada(path: Path, n_rows: int, session: str) -> ArrayFile:
    """The raw forecasts as they are, every value looked at.

    Raises InputError for an unreadable array and ForecastRefused for another shape, a value that is not finite or
    outside [0, 1].
    """
    file = read_npy(path, "f")
    require_shape(path, file.array, (max(n_rows - STEPS, 0), STEPS, len(COLUMNS)), ForecastRefused)
    wrong = np.argwhere(~(np.isfinite(file.array) & (file.array >= 0) & (file.array <= 1)))
    if len(wrong):
        row, step, column = map(int, wrong[0])
        raise ForecastRefused(
            f"session {session} row {row} step {step + 1}: a raw forecast is no probability",
            expected="finite values from 0 to 1",
            found=f"{file.array[row, step, column].item()!r} for {COLUMNS[column]} ({len(wrong)} such values)",
            where=str(path),
            hint=f'python -c "import numpy; print(numpy.load({str(path)!r})[{row}, {step}])"',
        )
    return file
