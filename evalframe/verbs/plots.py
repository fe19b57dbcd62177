"""The charts of results: by caption as Vega-Lite specifications, and as Altair charts for notebooks.

Nothing here needs Altair until a chart is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from evalframe.errors import ExtraMissing, UsageError, printable
from evalframe.protocols import protocol as protocol_of
from evalframe.publish import chart_data, charts
from evalframe.publish.charts import Spec

if TYPE_CHECKING:
    from evalframe.verbs.compare import Comparison

FOREST_ROWS, BOARDS, BOARD_ROWS, WIDTH = 30, 2, 30, 520
_TOP = ("$schema", "config", "autosize")
"""What only the outermost chart may say."""


def of_comparison(found: Comparison) -> dict[str, Spec]:
    """A forest plot per unit, rows of the primary stratum and primary metrics first; counts of items are no change."""
    stratum = protocol_of(f"{found.protocol['name']}/{found.protocol['version']}").primary_stratum
    rows = [row for row in found.to_pylist() if row["stratum"] == stratum and row["unit"] != "count"]
    rows.sort(key=lambda row: row["metric"] not in found.primary)
    base = printable(found.request.baseline, 80)
    return {
        f"Change from {base}, {unit}": charts.forest(drawn, unit)
        for unit, drawn in chart_data.forest_rows(rows, FOREST_ROWS).items()
    }


def of_boards(table: pa.Table, metric: str, by: str) -> dict[str, Spec]:
    """A chart for each of the first boards that rank several runs."""
    return dict(_rankings(table, metric, by))


def _rankings(table: pa.Table, metric: str, by: str) -> Iterator[tuple[str, Spec]]:
    boards: dict[int, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        if row["value"] is not None:
            boards.setdefault(row["board"], []).append(row)
    several = [(number, rows) for number, rows in boards.items() if len(rows) > 1]
    name = by if by in table.column_names else "name"
    words = {True: "best, or tied with it", False: "separable from the best", None: "not looked at"}
    for number, rows in several[:BOARDS]:
        shown = [
            {"run": printable(str(row[name])), "value": row["value"], "tied": words[row["tied_with_best"]]}
            for row in rows[:BOARD_ROWS]
        ]
        where = f", horizon {rows[0]['horizon_s']:g} s" if rows[0]["horizon_s"] is not None else ""
        unit = str(rows[0]["unit"]).replace("_", " ")
        yield f"Board {number}: {metric}{where}", charts.ranking(shown, metric, unit, number)


def chart(specs: Mapping[str, Spec]) -> Any:
    """One Altair chart of `specs`, several below each other, captions as titles.

    Raises ExtraMissing without the extra `report`, UsageError where there is nothing to draw.
    """
    if not specs:
        raise UsageError(
            "there is nothing to draw",
            expected="values or changes with intervals of more than one run",
            found="none",
            hint="print the result to see what was refused or undefined",
        )
    try:
        import altair
    except ImportError as error:
        raise ExtraMissing(
            "a chart needs Altair",
            expected="the extra `report`",
            found=f"no module {error.name}",
            hint="pip install 'evalframe[report]'",
        ) from None
    titled = [
        {**spec, "title": {"text": caption, "anchor": "start"}, "width": WIDTH} for caption, spec in specs.items()
    ]
    if len(titled) == 1:
        return altair.Chart.from_dict(titled[0])
    shared = {name: titled[0][name] for name in ("$schema", "config")}
    parts = [{name: value for name, value in spec.items() if name not in _TOP} for spec in titled]
    return altair.Chart.from_dict({**shared, "vconcat": parts})
