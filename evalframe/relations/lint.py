"""The rules of sql/, each with its reason: layers, declared names, the portable subset, the columns of a result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from evalframe.errors import RelationError
from evalframe.identity import sql_tokens
from evalframe.relations.body import PARAMETER_READ
from evalframe.relations.catalogue import PARAMETERS, Catalogue
from evalframe.relations.layers import MAY_READ, STORED, TABLE
from evalframe.relations.relation import METRIC_COLUMNS, Relation
from evalframe.relations.syntax import Construct, SqlParser, Syntax
from evalframe.relations.windows import window_faults

EVERYWHERE: Mapping[Construct, str] = {
    "star": "columns by name: a table may gain one",
    "not a select": "one SELECT: a relation only reads",
    "bind parameter": "parameters are rows of protocol_parameters",
    "file or engine function": "only declared inputs are read",
    "unstable value": "the same inputs give the same rows",
    "positional join": "no result depends on row order",
    "order-dependent aggregate": "no result depends on row order: min, max or arg_max instead",
}
"""Refused in every layer."""

PORTABLE: Mapping[Construct, str] = {
    "integer division": "no `//`: other engines read it as a comment or refuse it; divide doubles and floor",
    "uncast division": "CAST one side to DOUBLE before `/`: integers and decimals divide differently elsewhere",
    "decimal literal": "CAST a literal with a decimal point to DOUBLE: elsewhere it stays decimal and loses digits",
    "lambda": "no lambda: other engines spell it differently",
    "slice": "no list slice: other engines count from 0",
    "ordered aggregate": "no ordered aggregate: other engines ignore or refuse the order",
    "asof join": "no ASOF join: other engines have none",
    "nulls unplaced": "NULLS LAST (or FIRST) after every ORDER BY term: engines disagree on where nulls go",
    "group by all": "GROUP BY columns by name",
}
"""Refused above facts: from states on the same text runs on other engines. Facts may use what DuckDB offers."""


@dataclass(frozen=True)
class Fault:
    """One rule that one relation breaks."""

    relation: Relation
    what: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.relation.path}: {self.what}; expected {self.expected}; found {self.found}"

    def error(self) -> RelationError:
        """The fault as the error a user meets."""
        return RelationError(
            f"relation {self.relation.name}: {self.what}",
            expected=self.expected,
            found=self.found,
            where=str(self.relation.path),
            hint=f"edit {self.relation.path.name}",
        )


def check(catalogue: Catalogue, parser: SqlParser, tables: Iterable[str]) -> None:
    """Raise the first fault of any relation as a RelationError."""
    for fault in faults(catalogue, parser, tables):
        raise fault.error()


def faults(
    catalogue: Catalogue, parser: SqlParser, tables: Iterable[str], names: Iterable[str] | None = None
) -> Iterator[Fault]:
    """Every rule broken by the named relations (default: all). `tables`: the contract tables that exist."""
    known = frozenset(tables)
    for name in sorted(catalogue.relations) if names is None else names:
        relation = catalogue[name]
        yield from _graph_faults(catalogue, relation, known)
        try:
            syntax = parser.syntax(relation.body)
        except RelationError as error:
            yield Fault(relation, error.what, error.expected, error.found)
            continue
        yield from _name_faults(catalogue, relation, syntax, known)
        yield from _construct_faults(relation, syntax)
        yield from _column_faults(relation, syntax)


def _graph_faults(catalogue: Catalogue, relation: Relation, tables: frozenset[str]) -> Iterator[Fault]:
    for name in relation.inputs:
        if name not in catalogue.relations and name not in tables:
            yield Fault(relation, "an input does not exist", "a relation or a contract table", name)
            continue
        layer = catalogue[name].layer if name in catalogue.relations else TABLE
        if layer not in MAY_READ[relation.layer]:
            allowed = ", ".join(MAY_READ[relation.layer])
            yield Fault(
                relation,
                "an input is of a layer it may not read",
                f"{allowed} under a {relation.layer}",
                f"{name} ({layer})",
            )
    if relation.name in tables and relation.layer not in STORED:
        yield Fault(relation, "a contract table has this name", "another name", relation.name)
    if relation.layer == "metric":
        try:
            states = catalogue.cluster_states(relation.name)
        except RelationError as error:
            yield Fault(relation, error.what, error.expected, error.found)
        else:
            if not states:
                yield Fault(
                    relation,
                    "no state per cluster stands below this metric",
                    "a state with cluster_id in its grain",
                    str(relation.inputs),
                )


def _name_faults(catalogue: Catalogue, relation: Relation, syntax: Syntax, tables: frozenset[str]) -> Iterator[Fault]:
    read = syntax.inputs - {PARAMETERS}
    if read != set(relation.inputs):
        yield Fault(
            relation,
            "declared inputs are not what the query reads",
            f"inputs: [{', '.join(sorted(read))}]",
            ", ".join(relation.inputs),
        )
    parameters, strange = parameters_read(relation.body)
    if strange:
        yield Fault(
            relation,
            f"{PARAMETERS} is read in another way",
            f"(SELECT value FROM {PARAMETERS} WHERE name = '...')",
            "another query over it",
        )
    if parameters != set(relation.parameters):
        yield Fault(
            relation,
            "declared parameters are not what the query reads",
            f"parameters: [{', '.join(sorted(parameters))}]",
            ", ".join(relation.parameters) or "none",
        )
    taken = [name for name in syntax.ctes if name in catalogue.relations or name in tables or name == PARAMETERS]
    if taken:
        yield Fault(relation, "a CTE has the name of a relation or table", "names of its own", ", ".join(taken))


def _construct_faults(relation: Relation, syntax: Syntax) -> Iterator[Fault]:
    refused = EVERYWHERE if relation.layer == "fact" else {**EVERYWHERE, **PORTABLE}
    for use in syntax.uses:
        if use.construct in refused:
            yield Fault(relation, use.construct, refused[use.construct], use.text)
    if relation.body.rstrip().endswith(";"):
        yield Fault(relation, "a body ends with a semicolon", "a SELECT that a plan can nest", ";")
    if relation.layer != "fact":
        for found in window_faults(relation.body):
            yield Fault(
                relation,
                "a window's frame is not explicit",
                "OVER (PARTITION BY ... ORDER BY ... ROWS ...), no named window refined",
                found,
            )


def _column_faults(relation: Relation, syntax: Syntax) -> Iterator[Fault]:
    columns = syntax.columns
    if None in columns or len(set(columns)) != len(columns):
        yield Fault(relation, "a result column has no name of its own", "AS name", ", ".join(c or "?" for c in columns))
        return
    if relation.layer == "metric":
        expected: tuple[str, ...] = (*relation.grain, *METRIC_COLUMNS)
        wrong = columns != expected
    elif relation.merge is not None:
        expected = (*relation.grain, *relation.merge)
        # What is resampled is rebuilt from grain and merge alone; a state above may add what follows from them.
        wrong = set(columns) != set(expected) if "cluster_id" in relation.grain else not set(expected) <= set(columns)
    else:
        expected = relation.grain
        wrong = not set(expected) <= set(columns)
    if wrong:
        yield Fault(
            relation, "result columns are not those declared", ", ".join(expected), ", ".join(map(str, columns))
        )


def parameters_read(body: str) -> tuple[set[str], bool]:
    """Parameter names read by scalar subquery, and whether protocol_parameters is read in any other way."""
    tokens = [token for token, _ in sql_tokens(body)]
    names = [match["name"] for match in PARAMETER_READ.finditer(" ".join(tokens))]
    return set(names), len(names) != sum(token.strip('"').lower() == PARAMETERS for token in tokens)
