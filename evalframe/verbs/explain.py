"""What a metric, protocol or table means, from the files that define it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote

import pyarrow as pa
import pyarrow.compute as pc

from evalframe.contracts import contract, contracts
from evalframe.engines.cases import Cases, read_case
from evalframe.engines.duckdb import DuckDB
from evalframe.errors import RelationError, UnknownName, UsageError
from evalframe.protocols import all_protocols
from evalframe.relations import Catalogue, catalogue, plan
from evalframe.store import Store
from evalframe.store.refusals import command, naming
from evalframe.verbs import drawing
from evalframe.verbs.arguments import loosely
from evalframe.verbs.explain_dialect import in_dialect
from evalframe.verbs.explanations import Explanation, of_protocol, of_relation, of_table
from evalframe.verbs.naming import none_or_more
from evalframe.verbs.rescore import stored_run
from evalframe.verbs.sql import default_parameters


@loosely
def explain(
    name: str,
    *,
    steps: bool = False,
    store: Store | Path | str | None = None,
    run: str | None = None,
    example: Path | None = None,
    limit: int = 10,
    where: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    relations: Path | None = None,
    dialect: str | None = None,
) -> Explanation:
    """Explain a relation, a protocol or a contract table by name.

    steps: also evaluate the relation's chain on a stored run, `limit` rows of each link. where: column -> text; links
    that have such a column show only the rows that hold it, so that one item can be followed. example: write a table's
    three rows to this file. relations: a folder of the user's own; its rules and the relation's cases are checked too.
    dialect: show the relation's chain above facts as SQL of another engine instead.
    Raises UnknownName, with the nearest names, for a name that is none of the three.
    """
    none_or_more(limit, "--limit", "fewer rows than none cannot be shown", "--limit 10")
    known = catalogue(relations)
    if dialect is not None:
        return in_dialect(known, name, dialect, settings or {})
    if steps:
        return _steps(known, name, store, run, limit, dict(where or {}), dict(settings or {}))
    protocols = [one for one in all_protocols() if name in (one.name, one.label)]
    if protocols:
        return _joined([of_protocol(known, one, settings or {}) for one in protocols])
    if name in known.relations and (name not in contracts() or example is None):
        told = _with_namesakes(known, name, of_relation(known, name, settings or {}))
        return told if relations is None else _checked(known, name, told)
    if name in contracts():
        return of_table(contract(name), example)
    raise _unknown(name, known)


def _checked(known: Catalogue, name: str, told: Explanation) -> Explanation:
    """The explanation of a relation from a user's folder, with the rules of sql/ kept and its cases run.

    Raises RelationError for the first rule broken or case that differs.
    """
    with DuckDB() as engine:
        known.check(engine)
        cases = Cases(known, engine)
        found = [read_case(path) for folder in known.folders[1:] for path in sorted(folder.rglob(f"{name}*.yaml"))]
        held = [case for case in found if case.relation == name]
        for case in held:
            if differences := cases.differences(case):
                raise RelationError(
                    f"a case of {name} does not hold",
                    expected=case.shows,
                    found="; ".join(differences),
                    where=str(case.path),
                    hint=f"edit {known[name].path} or the case",
                )
    shown = [f"  {case.path.name}: {case.shows}" for case in held] or [
        "  none: a .yaml beside it would show what it does"
    ]
    body = {**told.body, "cases": [{"file": case.path.name, "shows": case.shows} for case in held]}
    return Explanation((*told.parts, "\n".join(["", "cases that hold:", *shown])), body)


def _with_namesakes(known: Catalogue, name: str, told: Explanation) -> Explanation:
    """The explanation, which says where another relation's values have the same name."""
    others = [one.name for one in known.relations.values() if one.published == name != one.name]
    if not others:
        return told
    line = "\n".join(
        ["", "values of the same name under other protocols: evalframe explain", *(f"  {o}" for o in others)]
    )
    return Explanation((*told.parts, line), {**told.body, "same_name": others})


def _relation_of(known: Catalogue, name: str, store: Store, run: str) -> str:
    """The relation that gives the run its values of this name, which several systems may have; else `name` itself."""
    labels = {seal.protocol for seal in store.results(run)}
    metrics = (metric for one in all_protocols() if one.label in labels for metric in one.metrics)
    return next((metric for metric in metrics if known.relations[metric].published == name), name)


def _steps(
    known: Catalogue,
    name: str,
    store: Store | Path | str | None,
    run: str | None,
    limit: int,
    where: dict[str, str],
    settings: dict[str, str],
) -> Explanation:
    if store is None or run is None:
        with naming("DIR" if store is None else _place(store)):
            raise UsageError(
                "--steps runs a relation on a stored run",
                expected="--store DIR --run RUN",
                found="no --store" if store is None else "no --run",
                where="--steps",
                hint=f"evalframe explain {name} --steps --store DIR --run {'RUN' if run is None else quote(run)}",
            )
    opened = store if isinstance(store, Store) else Store.open(store)
    name = _relation_of(known, name, opened, run)
    if name not in known.relations:
        raise _no_steps(name, run, opened) if name in contracts() else _unknown(name, known)
    shown: list[str | pa.Table] = []
    steps = []
    unknown = set(where)
    for step, whole in _evaluated(known, name, opened, run, settings):
        unknown -= set(whole.column_names)
        rows = _rows_of(whole, where)
        relation = known.relations[step]
        shown += [f"{relation.layer} {step}: {len(rows)} rows", rows.slice(0, limit), ""]
        steps.append(
            {"relation": step, "layer": relation.layer, "n_rows": len(rows), "rows": drawing.rows(rows.slice(0, limit))}
        )
    if unknown:
        raise UsageError(
            f"no link of the chain has a column {min(unknown)}",
            expected="a column of a relation that is shown",
            found=", ".join(sorted(unknown)),
            where="--where",
            hint=command(f"explain {name} --steps --run {quote(run)} --store", opened.path),
        )
    return Explanation(tuple(shown), {"kind": "steps", "name": name, "run_id": run, "steps": steps})


def _place(store: Store | Path | str) -> Path | str:
    return store.path if isinstance(store, Store) else store


def _rows_of(table: pa.Table, where: Mapping[str, str]) -> pa.Table:
    """The rows whose columns hold these texts, numbers as numbers; a column that is not there is no condition."""
    for column in (name for name in where if name in table.column_names):
        text, values = where[column], table[column]
        try:
            found = pc.equal(values, float(text)) if pa.types.is_floating(values.type) else None
        except ValueError:
            found = None
        table = table.filter(pc.equal(values.cast(pa.large_string()), text) if found is None else found)
    return table


def _evaluated(
    known: Catalogue, name: str, store: Store, run: str, settings: dict[str, str]
) -> Iterator[tuple[str, pa.Table]]:
    """Every relation of the chain with its rows, under the parameters the run was last scored with."""
    parameters = default_parameters()
    for seal in store.results(run):
        parameters.update(seal.inputs["parameters"])
    wanted = plan(known, [name], parameters={**parameters, **settings})
    tables = stored_run(store, run).tables
    with DuckDB() as engine:
        for table in wanted.tables:
            engine.bind(table, tables.get(table, contract(table).empty()))
        yield from engine.steps(wanted)


def _joined(parts: list[Explanation]) -> Explanation:
    if len(parts) == 1:
        return parts[0]
    texts = tuple(part for explained in parts for part in (*explained.parts, ""))[:-1]
    return Explanation(texts, {"kind": "protocols", "protocols": [p.body for p in parts]})


def _no_steps(name: str, run: str, store: Store) -> UsageError:
    return UsageError(
        f"{name} is a table: its rows are what was read, and no step leads to them",
        expected="a relation with --steps",
        found=name,
        where="--steps",
        hint=command(f"sql {quote(f'SELECT * FROM {name} LIMIT 10')} --run {quote(run)} --store", store.path),
    )


def _unknown(name: str, known: Catalogue) -> UnknownName:
    import difflib

    names = sorted({*known.relations, *contracts(), *(one.label for one in all_protocols())})
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5) or ["metric_values"]
    return UnknownName(
        f"nothing is called {name!r}",
        expected="a metric, a protocol or a table",
        found=name,
        hint=f"evalframe explain {near[0]}",
    )
