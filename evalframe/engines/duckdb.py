"""DuckDB, the engine of record. No other module touches the driver."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import duckdb

from evalframe.engines.limits import default_memory_limit
from evalframe.errors import EngineError
from evalframe.relations.catalogue import PARAMETERS
from evalframe.relations.plan import Plan, parameters_sql, quoted
from evalframe.relations.relation import Relation

if TYPE_CHECKING:
    import pyarrow as pa


class DuckDB:
    """One in-memory database that never leaves its limits: memory, threads, spill folder, UTC."""

    def __init__(
        self, memory_limit: str | None = None, threads: int | None = None, spill_folder: Path | None = None
    ) -> None:
        """memory_limit as DuckDB writes it (`4GB`); default: a share of what the machine or control group has."""
        self._spill = Path(tempfile.mkdtemp(prefix="evalframe-spill-", dir=spill_folder))
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": memory_limit or f"{default_memory_limit()}B",
            "temp_directory": str(self._spill),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            # No relation has an order of its own; keeping one costs memory.
            "preserve_insertion_order": False,
        }
        if threads is not None:
            config["threads"] = threads
        with _engine_errors("DuckDB cannot start"):
            self._connection = duckdb.connect(":memory:", config=config)
            self._connection.execute("SET TimeZone = 'UTC'")
            self._connection.execute("SET enable_progress_bar = false")
        self._bound: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give back memory and spill files."""
        self._connection.close()
        shutil.rmtree(self._spill, ignore_errors=True)

    def bind(self, name: str, source: pa.Table) -> None:
        """Make `source` readable as `name`, replacing what was bound before."""
        holder = f"__bound_{name}"
        with _engine_errors(f"{name} cannot be bound"):
            self._connection.register(holder, source)
            self._connection.execute(f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS SELECT * FROM {quoted(holder)}")
        self._bound.add(name)

    def evaluate(self, plan: Plan) -> dict[str, pa.Table]:
        """The rows of the plan's outputs. States and shared facts are computed once and dropped at the end."""
        kept = _kept(plan)
        with self._scope(plan):
            for relation in plan.relations:
                self._create(relation, as_table=relation.name in kept)
            return {name: self._rows(name, plan) for name in plan.outputs}

    def steps(self, plan: Plan) -> Iterator[tuple[str, pa.Table]]:
        """Every relation of the plan in order with its rows."""
        with self._scope(plan):
            for relation in plan.relations:
                self._create(relation, as_table=True)
                yield relation.name, self._rows(relation.name, plan)

    def schema(self, plan: Plan) -> dict[str, pa.Schema]:
        """Column names and types of the plan's outputs; nothing is computed."""
        with self._scope(plan):
            for relation in plan.relations:
                self._create(relation, as_table=False)
            return {name: self.query(f"SELECT * FROM {quoted(name)} LIMIT 0").schema for name in plan.outputs}

    def query(self, sql: str) -> pa.Table:
        """The rows of one SELECT over what is bound."""
        with _engine_errors("the query cannot be run"):
            return self._connection.sql(sql).to_arrow_table()

    @contextmanager
    def _scope(self, plan: Plan) -> Iterator[None]:
        """Parameters and relations of one plan; gone afterwards, also after an error."""
        if missing := [name for name in plan.sources if name not in self._bound]:
            raise EngineError(
                f"{missing[0]} is not bound",
                expected=", ".join(plan.sources),
                found=", ".join(sorted(self._bound)) or "nothing bound",
                hint=f"bind({missing[0]!r}, table)",
            )
        self._connection.execute(f"CREATE TEMP VIEW {PARAMETERS} AS {parameters_sql(plan.parameters)}")
        try:
            yield
        finally:
            made = [PARAMETERS, *(relation.name for relation in plan.relations)]
            kinds = dict(
                self._connection.execute(
                    "SELECT table_name, table_type FROM information_schema.tables WHERE table_catalog = 'temp'"
                ).fetchall()
            )
            for name in reversed(made):
                if name in kinds and name not in self._bound:
                    kind = "VIEW" if kinds[name] == "VIEW" else "TABLE"
                    self._connection.execute(f"DROP {kind} temp.{quoted(name)}")

    def _create(self, relation: Relation, *, as_table: bool) -> None:
        kind = "TABLE" if as_table else "VIEW"
        with _engine_errors(f"relation {relation.name} cannot be evaluated", where=str(relation.path)):
            self._connection.execute(f"CREATE TEMP {kind} {quoted(relation.name)} AS\n{relation.body}")

    def _rows(self, name: str, plan: Plan) -> pa.Table:
        relation = next((relation for relation in plan.relations if relation.name == name), None)
        order = ""
        if relation is not None and relation.layer != "fact" and relation.grain:
            order = " ORDER BY " + ", ".join(f"{quoted(column)} NULLS FIRST" for column in relation.grain)
        where = str(relation.path) if relation else ""
        with _engine_errors(f"relation {name} cannot be evaluated", where=where):
            return self._connection.sql(f"SELECT * FROM {quoted(name)}{order}").to_arrow_table()


def _kept(plan: Plan) -> frozenset[str]:
    """Relations to compute once and keep: states that are read, facts that are declared, output or read twice."""
    readers: dict[str, int] = {}
    for relation in plan.relations:
        for name in relation.inputs:
            readers[name] = readers.get(name, 0) + 1
    kept = set()
    for relation in plan.relations:
        uses = readers.get(relation.name, 0) + (relation.name in plan.outputs)
        if relation.layer in ("state", "calibration"):
            keep = uses > 0 and readers.get(relation.name, 0) > 0
        elif relation.layer == "fact":
            keep = uses > 1 if relation.materialize is None else relation.materialize
        else:
            keep = False
        if keep:
            kept.add(relation.name)
    return frozenset(kept)


@contextmanager
def _engine_errors(what: str, where: str = "") -> Iterator[None]:
    """Driver errors as ours: four lines, no traceback of the driver."""
    try:
        yield
    except duckdb.Error as error:
        lines: Sequence[str] = str(error).strip().splitlines() or [type(error).__name__]
        raise EngineError(
            what,
            expected="SQL that DuckDB can bind and run",
            found=" ".join(line.strip() for line in lines if line.strip()),
            where=where,
            hint="evalframe explain METRIC --steps",
        ) from None
