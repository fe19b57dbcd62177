"""A temperature fitted on calibration rows, which the evaluation must not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache

from evalframe.contracts import contract
from evalframe.contracts.shards import Rows
from evalframe.engines.duckdb import DuckDB
from evalframe.errors import CalibrationLeak, CalibrationMissing
from evalframe.protocols.base import Protocol
from evalframe.relations import catalogue, plan
from evalframe.relations.plan import quoted

Tables = Mapping[str, Rows]

STEPS = 80
"""The grid is 4^(-1), ..., 4^0, ..., 4^1 in this many equal steps of the logarithm, written with six decimals."""

_HALF = STEPS // 2
_QUESTIONS = "choice_questions"


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
        for name, rows in tables.items():
            engine.bind(name, rows)

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
    with DuckDB() as engine:
        for name, tables in (("calibration", calibration), ("evaluated", evaluated)):
            engine.bind(name, tables[_QUESTIONS], contract(_QUESTIONS))
        for what, columns in (("groups", ("group",)), ("rows", ("id", "parent"))):
            shared = f"(({_names('calibration', columns)}) INTERSECT ({_names('evaluated', columns)}))"
            (n,) = engine.query(f"SELECT count(*) AS n FROM {shared}")["n"].to_pylist()
            if not n:
                continue
            named = engine.query(f"SELECT name FROM {shared} ORDER BY name LIMIT 5")["name"].to_pylist()
            raise CalibrationLeak(
                "the temperature would be fitted on what is evaluated",
                expected=f"calibration {what} that are not among those evaluated, nor made from them",
                found=f"{n} shared: {', '.join(named)}{', ...' if n > 5 else ''}",
                where="calibration rows",
                hint="leave these rows out of the calibration file",
            )


def _names(table: str, columns: Sequence[str]) -> str:
    """The texts of some columns, each a row."""
    return " UNION ALL ".join(
        f"(SELECT {quoted(column)} AS name FROM {table} WHERE {quoted(column)} IS NOT NULL)" for column in columns
    )
