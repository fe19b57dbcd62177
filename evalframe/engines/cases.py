"""Runs the YAML case of a relation: tiny typed inputs, expected rows, also of the named steps inside a body."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalframe.contracts import contract, contracts
from evalframe.engines.base import Engine
from evalframe.errors import RelationError
from evalframe.relations.body import cte_names, cte_query
from evalframe.relations.catalogue import Catalogue
from evalframe.relations.plan import Plan, plan
from evalframe.relations.relation import Relation

if TYPE_CHECKING:
    import pyarrow as pa

Rows = Sequence[Mapping[str, Any]]

TOLERANCE = 1e-12
"""Relative, for floats, where a case gives none."""


@dataclass(frozen=True)
class Case:
    """One example of a relation: what it shows, what goes in, what must come out (only listed columns count)."""

    relation: str
    shows: str
    path: Path
    inputs: Mapping[str, Rows] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    rows: Rows | None = None
    ctes: Mapping[str, Rows] = field(default_factory=dict)
    tolerance: float = TOLERANCE


def read_case(path: Path) -> Case:
    """The case in `path`, named `<relation>.yaml` or `<relation>__<what>.yaml`. Unknown keys are refused."""
    import yaml

    from evalframe.contracts import yaml_text

    try:
        content = yaml_text.parsed(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _refuse(path, "a case cannot be read", "a YAML document in UTF-8", " ".join(str(error).split())) from None
    _known_keys(path, content, ("shows", "inputs", "parameters", "outputs", "tolerance"), required=("shows", "outputs"))
    outputs = content["outputs"]
    _known_keys(path, outputs, ("rows", "ctes"))
    if outputs.get("rows") is None and not outputs.get("ctes"):
        raise _refuse(path, "a case expects nothing", "outputs: {rows: [...]} or {ctes: {name: [...]}}", str(outputs))
    try:
        return _case(content, outputs, path)
    except (TypeError, ValueError, AttributeError) as error:  # text where a mapping is meant, and the like
        raise _refuse(path, "a case cannot be meant", "inputs: {name: [rows]}", " ".join(str(error).split())) from None


def _case(content: Mapping[str, Any], outputs: Mapping[str, Any], path: Path) -> Case:
    return Case(
        relation=path.stem.split("__")[0],
        shows=content["shows"],
        path=path,
        inputs={name: rows or [] for name, rows in (content.get("inputs") or {}).items()},
        parameters={name: _parameter_text(value) for name, value in (content.get("parameters") or {}).items()},
        rows=outputs.get("rows"),
        ctes=outputs.get("ctes") or {},
        tolerance=content.get("tolerance", TOLERANCE),
    )


class Cases:
    """Runs cases over one engine. Input types come from contracts, or from binding their chain over empty tables."""

    def __init__(self, catalogue: Catalogue, engine: Engine) -> None:
        self._catalogue = catalogue
        self._engine = engine
        self._schemas: dict[str, pa.Schema] = {}

    def schema(self, name: str) -> pa.Schema:
        """Column names and types of a contract table or of what a relation yields."""
        if name not in self._schemas:
            self._schemas[name] = self._relation_schema(name) if name in self._catalogue.relations else _table(name)
        return self._schemas[name]

    def _relation_schema(self, name: str) -> pa.Schema:
        relation = self._catalogue[name]
        # Types do not depend on the values of parameters; every cast accepts this one at bind time.
        alone = Plan((name,), (relation,), (), frozenset(relation.inputs), dict.fromkeys(relation.parameters, "0"))
        with self._bound({read: self.schema(read).empty_table() for read in relation.inputs}):
            return self._engine.schema(alone)[name]

    @contextmanager
    def _bound(self, tables: Mapping[str, pa.Table]) -> Iterator[None]:
        try:
            for name, table in tables.items():
                self._engine.bind(name, table)
            yield
        finally:
            self._engine.unbind(*tables)

    def inputs(self, case: Case) -> dict[str, pa.Table]:
        """The rows of every input the relation declares, in its types; none for one the case does not give."""
        relation = self._catalogue[case.relation]
        if stray := sorted(set(case.inputs) - set(relation.inputs)):
            raise _refuse(
                case.path, "the case gives inputs that are not declared", ", ".join(relation.inputs), ", ".join(stray)
            )
        return {name: _typed(case.path, name, case.inputs.get(name, ()), self.schema(name)) for name in relation.inputs}

    def differences(self, case: Case) -> list[str]:
        """What is wrong, a line each; empty when the case holds."""
        relation = self._catalogue[case.relation]
        tables = self.inputs(case)
        given = frozenset(relation.inputs)
        whole = plan(self._catalogue, [case.relation], parameters=case.parameters, given=given)
        found: list[str] = []
        with self._bound(tables):
            for cte, rows in case.ctes.items():
                step = replace(whole, relations=(_step(case, relation, cte),))
                found += _differences(cte, rows, self._engine.evaluate(step)[case.relation], case.tolerance)
            if case.rows is not None:
                found += _differences("rows", case.rows, self._engine.evaluate(whole)[case.relation], case.tolerance)
        return found


def _step(case: Case, relation: Relation, cte: str) -> Relation:
    """The relation whose rows are those of one CTE; as a fact, since the rows have another grain."""
    if cte not in cte_names(relation.body):
        raise _refuse(case.path, f"there is no step {cte}", ", ".join(cte_names(relation.body)) or "no CTE", cte)
    return replace(relation, body=cte_query(relation.body, cte), layer="fact")


def _table(name: str) -> pa.Schema:
    if name not in contracts():
        raise RelationError(
            f"{name} is neither a relation nor a contract table",
            expected="a file in sql/ or data_contracts/",
            found=name,
            hint="edit `inputs` in the front matter",
        )
    return contract(name).arrow_schema()


def _typed(path: Path, name: str, rows: Rows, schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    for row in rows:
        if stray := sorted(set(row) - set(schema.names)):
            raise _refuse(path, f"{name} has no such column", ", ".join(schema.names), ", ".join(stray))
    try:
        # A case gives the columns it is about; the others are null here even where the contract requires them.
        return pa.Table.from_arrays(
            [pa.array([_fit(row.get(field.name), field.type) for row in rows], field.type) for field in schema],
            schema=pa.schema([field.with_nullable(True) for field in schema]),
        )
    except (pa.ArrowException, TypeError, ArithmeticError) as error:
        types = str(schema).replace("\n", ", ")
        raise _refuse(path, f"the rows of {name} do not fit its types", types, str(error)) from None


def _fit(value: Any, kind: pa.DataType) -> Any:
    import pyarrow as pa

    if value is None:
        return None
    if pa.types.is_decimal(kind):
        return Decimal(repr(value)).quantize(Decimal(1).scaleb(-kind.scale))
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=timezone.utc)  # noqa: UP017 (datetime.UTC reads as a time zone of its own)
    if pa.types.is_floating(kind) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return list(value.items()) if pa.types.is_map(kind) and isinstance(value, Mapping) else value


def _differences(part: str, expected: Rows, table: pa.Table, tolerance: float) -> list[str]:
    listed = list(dict.fromkeys(column for row in expected for column in row))
    if missing := [column for column in listed if column not in table.column_names]:
        return [f"{part}: no column {', '.join(missing)}; there are {', '.join(table.column_names)}"]
    unmatched = [{column: row[column] for column in listed} for row in table.to_pylist()]
    found = []
    for row in expected:
        match = next((other for other in unmatched if _agree(row, other, tolerance)), None)
        if match is None:
            found.append(f"{part}: expected {dict(row)}")
        else:
            unmatched.remove(match)
    return found + [f"{part}: found    {row}" for row in unmatched]


def _agree(expected: Mapping[str, Any], actual: Mapping[str, Any], tolerance: float) -> bool:
    return all(_same(value, actual[column], tolerance) for column, value in expected.items())


def _same(expected: Any, actual: Any, tolerance: float) -> bool:
    if expected is None or actual is None:
        return expected is actual
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(_same, expected, actual, [tolerance] * len(actual)))
    if isinstance(expected, int) and isinstance(actual, Decimal):
        return bool(expected == actual)
    if isinstance(expected, int | float) and isinstance(actual, float | Decimal):
        if isinstance(actual, float) and math.isnan(actual):
            return math.isnan(expected)
        absolute = 0.0 if tolerance == TOLERANCE else tolerance
        return math.isclose(expected, float(actual), rel_tol=tolerance, abs_tol=absolute)
    if isinstance(expected, datetime) and expected.tzinfo is None:
        expected = expected.replace(tzinfo=timezone.utc)  # noqa: UP017
    if isinstance(expected, Mapping) and isinstance(actual, list):
        return dict(expected) == dict(actual)
    return type(expected) is type(actual) and bool(expected == actual)


def _parameter_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _known_keys(path: Path, content: Any, known: tuple[str, ...], required: tuple[str, ...] = ()) -> None:
    if not isinstance(content, dict):
        raise _refuse(path, "a case is a mapping", ", ".join(known), repr(content))
    if stray := sorted(str(key) for key in set(content) - set(known)):
        raise _refuse(path, "a case has unknown keys", ", ".join(known), ", ".join(stray))
    if missing := [key for key in required if key not in content]:
        raise _refuse(path, f"a case lacks {', '.join(missing)}", ", ".join(required), ", ".join(map(str, content)))


def _refuse(path: Path, what: str, expected: str, found: str) -> RelationError:
    return RelationError(what, expected=expected, found=found, where=str(path), hint=f"edit {path.name}")
