"""Two sets of predictions of the same windows, matched by what names a window, whatever the order of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from evalframe.engines.duckdb import DuckDB
from evalframe.relations import Catalogue, plan


@dataclass(frozen=True)
class Agreement:
    """n_different of n_compared windows have another prediction. reason: why they could not be compared at all."""

    n_compared: int = 0
    n_different: int = 0
    reason: str | None = None


def agreement(
    engine: DuckDB,
    relations: Catalogue,
    saved: Mapping[str, pa.Table],
    labelled: Mapping[str, pa.Table],
    predicted: pa.Array,
) -> Agreement:
    """Whether `predicted`, one class index per window of `labelled`, are the saved predictions.

    Windows are matched by sample id, or rank in the participant's time (relation class_items). Where that does not name
    the same windows on both sides, they are matched by their place, if participants and labels agree in every place.
    """
    items = [_items(engine, relations, tables) for tables in (saved, labelled)]
    names = [each["item_id"].to_pylist() for each in items]
    described = [list(zip(each["cluster_id"].to_pylist(), each["label"].to_pylist(), strict=True)) for each in items]
    before = saved["class_predictions"]["class_index"].fill_null(-1).to_numpy()
    after = predicted.fill_null(-1).to_numpy(zero_copy_only=False)
    if len(names[0]) != len(names[1]):
        return Agreement(reason=f"{len(names[0])} windows were saved, {len(names[1])} were predicted")
    if None not in names[0] and None not in names[1] and set(names[0]) == set(names[1]):
        places = {name: row for row, name in enumerate(names[1])}
        order = np.asarray([places[name] for name in names[0]], dtype=np.int64)
        described[1] = [described[1][row] for row in order]
        after = after[order]
    if described[0] != described[1]:
        row = next(i for i, (x, y) in enumerate(zip(*described, strict=True)) if x != y)
        return Agreement(
            reason=f"the windows are not those that were saved: {described[0][row]} against {described[1][row]}"
            f" in row {row} (from 0)"
        )
    return Agreement(len(before), int(np.count_nonzero(before != after)))


def _items(engine: DuckDB, relations: Catalogue, tables: Mapping[str, pa.Table]) -> pa.Table:
    for name in ("class_labels", "class_vocabulary"):
        engine.bind(name, tables[name])
    rows = engine.evaluate(plan(relations, ["class_items"]))["class_items"]
    return rows.sort_by("item_index")
