"""One SELECT over a store: contract tables as they are sealed, relations computed live under default parameters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from evalframe.contracts import contract, contracts
from evalframe.engines.duckdb import DuckDB
from evalframe.errors import UnknownName
from evalframe.protocols import default_protocols
from evalframe.protocols.wisp_har import FROZEN_TOLERANCE
from evalframe.relations import Catalogue, Plan, catalogue, plan
from evalframe.relations.layers import STAMPS
from evalframe.relations.plan import quoted
from evalframe.store import Store
from evalframe.verbs.sealed_rows import SealedRows

_ERRATA = "known_bad"


def ask(store: Store, query: str, relations: Catalogue | None = None, runs: Collection[str] | None = None) -> pa.Table:
    """The rows of `query`. Only what it names is bound, then the engine is locked: nothing else can be read.

    runs: look at these as if the store held no other; their files alone are opened.
    A name that is both a contract table and a relation (class_confusion_by_cluster) is the stored table, with the
    protocol fingerprint of each row; any other relation is computed from the stored predictions, or from relations
    below it that were sealed under the same definition. Views leave out runs that errata name; relation
    known_bad_records tells which.
    """
    with DuckDB() as engine:
        relations = relations or catalogue()
        named = engine.inputs_of(query)
        if unknown := sorted(name for name in named if name not in contracts() and name not in relations.relations):
            raise _unknown(unknown[0], relations)
        live = [name for name in sorted(named) if name not in contracts()]
        parameters = default_parameters() if live else {}
        sealed = SealedRows(store, relations, runs)
        found = {name: rows for name, rows in sealed.usable(live, parameters).items() if name not in named}
        plans = {name: plan(relations, [name], "ctes", parameters, frozenset(found)) for name in live}
        given = {name: found[name] for name in found if any(name in each.sources for each in plans.values())}
        files = {name: store.files(name, runs, rows.fingerprints) for name, rows in given.items()}
        views = store.views(runs=runs, tables=_tables(relations, named, plans))
        if not sealed.stand(given):
            plans = {name: plan(relations, [name], "ctes", parameters) for name in live}
            files, views = {}, store.views(runs=runs, tables=_tables(relations, named, plans))
        for name, paths in views.items():
            engine.bind(name, paths)
        for name, paths in files.items():
            _bind_sealed(engine, name, paths)
        for name in live:
            rows = plans[name].query(name)
            engine.view(name, _without_known_bad(rows) if _leaves_out(relations, name) else rows)
        engine.lock()
        return _told_apart(engine.query(query))


def _told_apart(answer: pa.Table) -> pa.Table:
    """The answer with one name for each column, by the engine's own rule for tables: `a`, `a_1`."""
    names: list[str] = []
    for name in answer.column_names:
        numbered = (f"{name}_{number}" for number in range(1, len(names) + 1))
        names.append(next(other for other in (name, *numbered) if other not in names))
    return answer.rename_columns(names)


def _tables(relations: Catalogue, named: Collection[str], plans: Mapping[str, Plan]) -> list[str]:
    """The contract tables that must be bound."""
    errata = {_ERRATA for name in plans if _leaves_out(relations, name)}
    return sorted({name for name in named if name in contracts()}.union(errata, *(p.tables for p in plans.values())))


def _bind_sealed(engine: DuckDB, name: str, paths: Sequence[Path]) -> None:
    """Make sealed rows of a relation readable under its name, in the columns that it yields."""
    held = f"sealed {name}"
    engine.bind(held, paths, contract(name))
    columns = ", ".join(quoted(column) for column in contract(name).names if column not in STAMPS)
    engine.view(name, f"SELECT {columns} FROM {quoted(held)}")


def _leaves_out(relations: Catalogue, name: str) -> bool:
    """Whether a relation is a view of runs that does not look at the errata itself."""
    relation = relations[name]
    return relation.layer == "view" and "run_id" in relation.grain and _ERRATA not in relations.tables(name)


def _without_known_bad(rows: str) -> str:
    return f"SELECT * FROM ({rows}) AS every WHERE run_id NOT IN (SELECT name FROM {_ERRATA} WHERE kind = 'run')"


def default_parameters() -> dict[str, str]:
    """Every parameter of every system's default protocol, and of audits."""
    settings = {name: value for protocol in default_protocols() for name, value in protocol.settings().items()}
    return {**settings, FROZEN_TOLERANCE.name: FROZEN_TOLERANCE.default}


def _unknown(name: str, relations: Catalogue) -> UnknownName:
    import difflib

    known = sorted({*contracts(), *relations.relations})
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return UnknownName(
        f"there is no table {name!r}",
        expected=f"one of {', '.join(near)}" if near else f"a contract table or a relation, of {len(known)}",
        found=name,
        where="FROM",
        hint=f"evalframe explain {near[0] if near else 'metric_values'}",
    )
