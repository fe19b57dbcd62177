"""A small evaluation of each of the four systems, as an engine is asked for it: tables, outputs, settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from evalframe.contracts import contract
from evalframe.engines.duckdb import DuckDB
from evalframe.protocols import protocol
from evalframe.relations import Plan, catalogue, plan
from tests.compare.building import CLASSES
from tests.compare.building import items as windows
from tests.properties import choice_worlds, floor_worlds
from tests.protocols.kev_choice import scoring as choice
from tests.protocols.robometer_frozen import scoring as progress
from tests.protocols.robometer_frozen.worlds import target_rows, trace_rows, trajectories

LABELS = ("wisp-har/1", "kev-choice/2", "easycom-floor-pre-boundary/1", "robometer-ood/1")


@dataclass(frozen=True)
class System:
    """What a protocol asks of an engine over some tables."""

    label: str
    tables: Mapping[str, pa.Table]

    def plan(self, outputs: Sequence[str] = (), *, pooled: bool = True) -> Plan:
        """The metrics, stored relations and evaluation set, as scoring asks for them, or `outputs`."""
        chosen = protocol(self.label)
        wanted = outputs or (*chosen.metrics, *chosen.stored, chosen.items)
        return plan(catalogue(), wanted, parameters=chosen.settings({}), pooled=pooled)

    def per_cluster(self) -> Plan:
        """The states that compare resamples."""
        states = catalogue().cluster_states(*protocol(self.label).metrics)
        return self.plan([state.name for state in states], pooled=False)

    def asked(self, engine: DuckDB, wanted: Plan) -> dict[str, pa.Table]:
        """The rows of every output, in an order of their own."""
        for name in wanted.sources:
            engine.bind(name, self.tables[name])
        return {name: in_order(table) for name, table in engine.evaluate(wanted).items()}


def in_order(table: pa.Table) -> pa.Table:
    """The rows by all their columns: rows of facts have no order, and text of equal rows may be wide or not."""
    plain = [name for name, kind in zip(table.column_names, table.schema.types, strict=True) if not _nested(kind)]
    return table.sort_by([(name, "ascending") for name in plain]).combine_chunks()


def _nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind) or pa.types.is_decimal(kind))


def system(label: str, scale: int = 1) -> System:
    """The evaluation of a protocol; `scale` times as many rows as the smallest that has every case."""
    name = label.partition("-")[0]
    return System(label, {"wisp": _wisp, "kev": _kev, "easycom": _floor, "robometer": _robometer}[name](scale))


def _wisp(scale: int) -> dict[str, pa.Table]:
    made: dict[str, list[pa.Table]] = {"class_labels": [], "class_predictions": [], "class_vocabulary": []}
    for seed, run in enumerate(("cnn", "gru")):
        rows = windows(300 * scale, 9, skill=0.7, seed=seed)
        n = len(rows)
        columns = {
            "class_labels": {
                "run_id": [run] * n,
                "item_index": range(n),
                "sample_id": [row.sample_id for row in rows],
                "participant": [row.participant for row in rows],
                "time": [None] * n,
                "class_index": [row.target for row in rows],
            },
            "class_predictions": {
                "run_id": [run] * n,
                "item_index": range(n),
                "class_index": [None if i % 41 == 0 else row.predicted for i, row in enumerate(rows)],
            },
            "class_vocabulary": {"run_id": [run] * 3, "class_index": range(3), "class": CLASSES},
        }
        for name, data in columns.items():
            made[name].append(pa.table({k: list(v) for k, v in data.items()}, schema=contract(name).arrow_schema()))
    return {name: pa.concat_tables(parts) for name, parts in made.items()}


def _kev(scale: int) -> dict[str, pa.Table]:
    return choice.tables([choice.run(choice_worlds.world(seed), f"run {seed}") for seed in range(6 * scale)])


def _floor(scale: int) -> dict[str, pa.Table]:
    rng = np.random.default_rng(5)
    names = [f"S{i:02d}" for i in range(20 * scale)]
    sessions = [floor_worlds.random_session(rng, name, annotated=i % 3 == 0) for i, name in enumerate(names)]
    half = len(names) // 2
    recalls = {"0.7": Fraction(7, 10), "0.9": Fraction(9, 10)}
    return dict(floor_worlds.world_tables(sessions, [(names[:half], names[half:])], recalls))


def _robometer(scale: int) -> dict[str, pa.Table]:
    made = trajectories(3, tasks=4, per_outcome=10 * scale)
    return dict(progress.tables(trace_rows(made), target_rows(made)))


def without(one: System, table: str) -> System:
    """The same evaluation with a table that has no rows."""
    return replace(one, tables={**one.tables, table: one.tables[table].slice(0, 0)})
