"""Two runs cut down to the items that both hold, for a comparison of runs over different evaluation sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalframe.compare.columns import numbers
from evalframe.compare.states import Reader
from evalframe.compare.verdicts import Refusal
from evalframe.identity import ITEM_COLUMNS

if TYPE_CHECKING:
    from evalframe.compare.sides import Side
    from evalframe.engines.duckdb import DuckDB
    from evalframe.protocols import Protocol
    from evalframe.relations import Catalogue
    from evalframe.store import Store

_SAME = ("item_id", "label", "cluster_id")
"""Two rows are one item when these agree; which strata an item is in may be known to one side only."""
_SEPARATOR = pa.scalar("\x1f", pa.large_string())


@dataclass(frozen=True)
class SharedItems:
    """The tables of both runs with their shared items only, or why there are none.

    n_shared items stand on both sides with one label and cluster; the others of each side are left out.
    """

    baseline_run: str
    candidate_run: str
    n_shared: int
    baseline_left_out: int
    candidate_left_out: int
    tables: Mapping[str, pa.Table]
    refusal: Refusal | None

    @classmethod
    def of(
        cls,
        store: Store,
        catalogue: Catalogue,
        engine: DuckDB,
        protocol: Protocol,
        metrics: Sequence[str],
        pair: tuple[Side, Side],
    ) -> SharedItems:
        """Cut the contract tables that the protocol's metrics and items read.

        Items are rows of `protocol.items`; the columns that it shares with a contract table besides run_id say which
        rows of that table belong to an item.
        """
        reader = Reader(store, catalogue, engine)
        items = reader.read([protocol.items], pair)[protocol.items]
        sides = [items.filter(pc.equal(items["run_id"], side.run_id)) for side in pair]
        runs = [side.run_id for side in pair]
        places = [name for name in items.column_names if name not in ("run_id", *ITEM_COLUMNS)]
        if items["item_id"].null_count or not places:
            return cls._refused(pair, sides, "items_not_identified", "items without an identity cannot be paired")
        names = [_names(side) for side in sides]
        kept = [
            side.filter(pc.is_in(name, value_set=other.combine_chunks()))
            for side, name, other in zip(sides, names, reversed(names), strict=True)
        ]
        if not len(kept[0]):
            return cls._refused(pair, sides, "items_differ", "no item stands on both sides")
        read = catalogue.tables(*metrics, protocol.items)
        tables = {name: _cut(reader.table(name, runs), pa.concat_tables(kept), places) for name in read}
        left_out = [len(side) - len(part) for side, part in zip(sides, kept, strict=True)]
        return cls(runs[0], runs[1], len(kept[0]), left_out[0], left_out[1], tables, None)

    @classmethod
    def _refused(cls, pair: tuple[Side, Side], sides: Sequence[pa.Table], reason: str, detail: str) -> SharedItems:
        first, second = (side.run_id for side in pair)
        refusal = Refusal(reason, first, second, None, detail)
        return cls(first, second, 0, len(sides[0]), len(sides[1]), {}, refusal)

    def to_json(self) -> dict[str, Any]:
        """The counts, as an object of `left_out`."""
        return {
            "baseline_run": self.baseline_run,
            "candidate_run": self.candidate_run,
            "n_shared": self.n_shared,
            "baseline_left_out": self.baseline_left_out,
            "candidate_left_out": self.candidate_left_out,
        }


def _names(items: pa.Table) -> pa.ChunkedArray:
    """One text per item that two runs share exactly when its identity, label and cluster are the same."""
    # Lengths come first, so that no two items are written alike.
    parts = []
    for column in _SAME:
        text = pc.fill_null(items[column].cast(pa.large_string()), "\x00null")
        parts += [pc.binary_length(text).cast(pa.large_string()), text]
    return pc.binary_join_element_wise(*parts, _SEPARATOR)


def _cut(table: pa.Table, kept: pa.Table, places: Sequence[str]) -> pa.Table:
    """The rows of `table` that belong to a kept item; the whole table where it does not say to which."""
    on = [name for name in places if name in table.column_names]
    if "run_id" not in table.column_names or not on:
        return table
    keys = kept.select(["run_id", *on]).group_by(["run_id", *on]).aggregate([])
    casted = keys.cast(pa.schema([table.schema.field(name) for name in keys.column_names]))
    numbered = table.select(["run_id", *on]).append_column("row number", numbers(np.arange(len(table))))
    found = numbered.join(casted, keys=["run_id", *on], join_type="left semi")
    return table.take(found["row number"].combine_chunks().sort())
