"""What to run for some outputs: the closure in order, in one of three styles. A plan is text; engines run it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from evalframe.errors import UnknownName
from evalframe.relations.catalogue import PARAMETERS, Catalogue
from evalframe.relations.relation import Relation

Style = Literal["steps", "ctes", "views"]


@dataclass(frozen=True)
class Plan:
    """Relations in dependency order, the tables they expect and the parameters they read.

    relations: what is computed. given: relations whose rows are supplied as data. tables: contract tables read.
    style: `steps` (an engine may keep intermediate results), `ctes` (one query per output), `views` (text that BI
    tools and other engines can keep). pooled: an engine may add up over all clusters where no output shows one.
    one_cluster: for a part of a plan, which relations that means; None where the plan's own outputs say. run_id: the
    only run that the sources hold rows of; None where there may be several.
    """

    outputs: tuple[str, ...]
    relations: tuple[Relation, ...]
    tables: tuple[str, ...]
    given: frozenset[str]
    parameters: Mapping[str, str] = field(default_factory=dict)
    style: Style = "steps"
    pooled: bool = False
    one_cluster: frozenset[str] | None = None
    run_id: str | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """Every name that must be bound before the plan can run, sorted."""
        read = {name for relation in self.relations for name in relation.inputs}
        return tuple(sorted({*self.tables, *(read & self.given), *(set(self.outputs) & self.given)}))

    def part(self, outputs: Iterable[str], given: frozenset[str], one_cluster: frozenset[str]) -> Plan:
        """What this plan computes below `outputs`, which `given` further relations need not be computed for."""
        named = {relation.name: relation for relation in self.relations}
        kept = {name: relation for name, relation in named.items() if name not in given}
        outputs = tuple(outputs)
        needed = {relation.name for output in outputs for relation in _needed(output, kept)}
        relations = tuple(relation for name, relation in kept.items() if name in needed)
        read = {name for relation in relations for name in relation.inputs}
        return replace(
            self,
            outputs=outputs,
            relations=relations,
            tables=tuple(name for name in self.tables if name in read),
            given=frozenset(self.given | given),
            one_cluster=one_cluster,
        )

    def query(self, output: str) -> str:
        """One SELECT for `output`, with the closure as common table expressions."""
        needed = _needed(output, {relation.name: relation for relation in self.relations})
        ctes = [f"{PARAMETERS} AS (\n{parameters_sql(self.parameters)}\n)"]
        ctes += [f"{quoted(relation.name)} AS (\n{relation.body}\n)" for relation in needed]
        return f"WITH {', '.join(ctes)}\nSELECT * FROM {quoted(output)}"

    def statements(self) -> tuple[str, ...]:
        """The plan as text in its style: one query per output, or a view per relation in order."""
        if self.style == "ctes":
            return tuple(self.query(output) for output in self.outputs)
        return tuple(f"CREATE VIEW {quoted(relation.name)} AS\n{self.view(relation)}" for relation in self.relations)

    def view(self, relation: Relation) -> str:
        """The query of one relation that carries its parameters with it, so that a view of it can outlive the plan."""
        if not relation.parameters:
            return relation.body
        values = {name: self.parameters[name] for name in relation.parameters}
        return f"WITH {PARAMETERS} AS (\n{parameters_sql(values)}\n)\nSELECT * FROM (\n{relation.body}\n) AS body"


def plan(
    catalogue: Catalogue,
    outputs: Iterable[str],
    style: Style = "steps",
    parameters: Mapping[str, str] | None = None,
    given: frozenset[str] = frozenset(),
    pooled: bool = False,
    run_id: str | None = None,
) -> Plan:
    """The plan for `outputs`.

    `parameters` are the settings of one protocol; those that the closure reads must be there (UnknownName otherwise)
    and only those enter the plan. `given` names relations supplied as data instead of being computed. `pooled`: the
    outputs are all that is wanted, so clusters that none of them shows need not be kept apart. `run_id`: all rows are
    of this run, so that an engine need not keep its name with each.
    """
    outputs = tuple(dict.fromkeys(outputs))
    relations = catalogue.closure(*outputs, given=given)
    needed = sorted({name for relation in relations for name in relation.parameters})
    settings = dict(parameters or {})
    if missing := [name for name in needed if name not in settings]:
        raise UnknownName(
            f"the plan for {', '.join(outputs)} needs parameters that were not given",
            expected=", ".join(needed),
            found=", ".join(sorted(settings)) or "no parameters",
            where=", ".join(relation.name for relation in relations if set(relation.parameters) & set(missing)),
            hint=f"set {missing[0]} in the protocol",
        )
    return Plan(
        outputs=outputs,
        relations=relations,
        tables=catalogue.tables(*outputs, given=given),
        given=given,
        parameters={name: settings[name] for name in needed},
        style=style,
        pooled=pooled,
        run_id=run_id,
    )


def parameters_sql(parameters: Mapping[str, str]) -> str:
    """A SELECT of the parameters as rows (name, value), both text, sorted by name."""
    if not parameters:
        return "SELECT CAST(NULL AS VARCHAR) AS name, CAST(NULL AS VARCHAR) AS value WHERE 1 = 0"
    rows = (
        f"SELECT CAST({literal(name)} AS VARCHAR) AS name, CAST({literal(value)} AS VARCHAR) AS value"
        for name, value in sorted(parameters.items())
    )
    return "\nUNION ALL ".join(rows)


def quoted(name: str) -> str:
    """`name` as an SQL identifier, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """`text` as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def _needed(output: str, relations: Mapping[str, Relation]) -> tuple[Relation, ...]:
    wanted: set[str] = set()
    queue = [output]
    while queue:
        name = queue.pop()
        if name in relations and name not in wanted:
            wanted.add(name)
            queue += relations[name].inputs
    return tuple(relation for name, relation in relations.items() if name in wanted)
