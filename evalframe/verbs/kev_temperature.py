"""A temperature fitted on calibration rows, which the evaluation must not know."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from evalframe.engines.duckdb import DuckDB
from evalframe.errors import CalibrationLeak, CalibrationMissing
from evalframe.protocols.base import Protocol
from evalframe.relations import catalogue, plan

Tables = Mapping[str, pa.Table]

STEPS = 80
"""The grid is 4^(-1), ..., 4^0, ..., 4^1 in this many equal steps of the logarithm, written with six decimals."""

_HALF = STEPS // 2


def grid(step: int) -> str:
    """The temperature at a grid point, from -40 to 40; 0 is temperature 1."""
    return str(Decimal(4.0 ** (step / _HALF)).quantize(Decimal("1.000000")).normalize())


def fitted_temperature(tables: Tables, protocol: Protocol, settings: Mapping[str, str]) -> str:
    """The grid's temperature with the smallest mean nll over the headline rows of `tables`, as a parameter's text.

    tables: one run of calibration rows. settings: canonical parameters of `protocol`, whose nll it is. The nll is
    convex in the inverse temperature but for its floor, so the grid is bisected. Raises CalibrationMissing where no row
    is labelled and answered.
    """
    with DuckDB() as engine:
        for name, table in tables.items():
            engine.bind(name, table)

        @cache
        def nll(step: int) -> float:
            parameters = {**settings, "temperature": grid(step)}
            rows = engine.evaluate(plan(catalogue(), ["nll"], parameters=parameters, pooled=True))["nll"].to_pylist()
            value = next(row["value"] for row in rows if row["stratum"] == protocol.primary_stratum)
            if value is None:
                raise CalibrationMissing(
                    "no calibration row can fit a temperature",
                    expected="clean rows with a label and probabilities",
                    found=f"{len(tables['choice_probabilities'])} rows, none of them such",
                    where="calibration rows",
                    hint="name other calibration rows, or give --set temperature=T",
                )
            return float(value)

        low, high = -_HALF, _HALF
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if nll(middle) <= nll(middle + 1) else (middle + 1, high)
        return grid(low)


def refuse_leak(calibration: Tables, evaluated: Tables) -> None:
    """Raise CalibrationLeak where both runs hold an id, a group, or a row and what it was made from."""
    for what, ours, theirs in (
        ("groups", _names(calibration, ("group",)), _names(evaluated, ("group",))),
        ("rows", _names(calibration, ("id", "parent")), _names(evaluated, ("id", "parent"))),
    ):
        shared = pc.unique(ours.filter(pc.is_in(ours, theirs))).sort()
        if len(shared):
            named = ", ".join(shared.slice(0, 5).to_pylist())
            raise CalibrationLeak(
                "the temperature would be fitted on what is evaluated",
                expected=f"calibration {what} that are not among those evaluated, nor made from them",
                found=f"{len(shared)} shared: {named}{', ...' if len(shared) > 5 else ''}",
                where="calibration rows",
                hint="leave these rows out of the calibration file",
            )


def _names(tables: Tables, columns: tuple[str, ...]) -> pa.Array:
    questions = tables["choice_questions"]
    return pa.concat_arrays([questions[name].combine_chunks().drop_null() for name in columns])
