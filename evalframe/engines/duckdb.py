"""DuckDB, the engine of record. No other module but its parse tree reader knows the driver."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Self

import duckdb

from evalframe.engines.choosing import chosen
from evalframe.engines.duckdb_errors import STEPS, engine_errors, through_arrow
from evalframe.engines.limits import check_limits, default_memory_limit
from evalframe.engines.materialise import beside, constants, kept, without
from evalframe.engines.pooling import CLUSTER, as_one_cluster, pooled
from evalframe.engines.spilling import SpillFolder
from evalframe.errors import EngineError, RelationError
from evalframe.relations.body import with_values
from evalframe.relations.catalogue import PARAMETERS
from evalframe.relations.plan import Plan, literal, parameters_sql, quoted
from evalframe.relations.relation import Relation

if TYPE_CHECKING:
    import pyarrow as pa

    from evalframe.contracts import Contract
    from evalframe.engines.base import Answers, Engine, Source
    from evalframe.relations.syntax import SqlParser, Syntax

_BATCH = 1 << 16  # rows of a stream's batch
_HELD = "kept "  # tables behind views of the same plan
_HOLDER = "__bound "  # registered Arrow tables; a space keeps them apart from any relation's name


class DuckDB:
    """One in-memory database that stays within its limits: memory, threads, spill folder, UTC. See engines/base.py."""

    def __init__(
        self, memory_limit: str | None = None, threads: int | None = None, spill_folder: Path | None = None
    ) -> None:
        """memory_limit as DuckDB writes it (`4GB`); default: as chosen, else a share of what the machine has."""
        memory_limit = chosen().memory_limit if memory_limit is None else memory_limit
        threads = chosen().threads if threads is None else threads
        check_limits(memory_limit, threads)
        self._spill = SpillFolder(spill_folder)
        self._bound: set[str] = set()
        self._files: set[str] = set()
        self._made: dict[str, str] = {}
        self._unread: dict[str, Relation] = {}
        self._locked = False
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": memory_limit or f"{default_memory_limit()}B",
            "temp_directory": str(self._spill.path),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            # No relation has an order of its own; keeping one costs memory.
            "preserve_insertion_order": False,
            # A table name never means a Python variable of the caller.
            "python_enable_replacements": False,
        }
        if threads is not None:
            config["threads"] = threads
        # Opening takes as long as reading the seals of a few runs, and holds up nothing in Python: both at once.
        self._opening = Thread(target=self._open, args=(config,))
        self._opening.start()

    def _open(self, config: dict[str, str | bool | int | float | list[str]]) -> None:
        try:
            with engine_errors("DuckDB cannot start", "a memory limit such as 4GB and at least one thread"):
                opened = duckdb.connect(":memory:", config=config)
                opened.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
            self._opened: duckdb.DuckDBPyConnection | BaseException = opened
        except BaseException as refused:  # for whoever asks first
            self._opened = refused

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        """The database once it is open. Raises EngineError where it cannot be opened."""
        self._opening.join()
        if isinstance(self._opened, BaseException):
            raise self._opened
        return self._opened

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back memory and spill files."""
        try:
            self._connection.close()
        finally:
            self._spill.remove()

    # ---- binding ----------------------------------------------------------------------------------------------------

    def bind(self, name: str, source: Source, contract: Contract | None = None) -> None:
        """Make `source` readable as `name`, replacing what was bound before.

        A list of Parquet paths is checked against `contract` (default: the one of that name) shard by shard:
        ContractError where one has other columns or types. An empty list binds the table without rows.
        """
        from evalframe.engines.parquet import paths_of

        source = paths_of(source)
        if isinstance(source, Sequence):
            source = self._checked(name, [Path(path).absolute() for path in source], contract)
        if isinstance(source, str):
            self.view(name, source)
            return
        with engine_errors(f"{name} cannot be bound"):
            self._connection.register(_HOLDER + name, source)
        self.view(name, f"SELECT * FROM {quoted(_HOLDER + name)}")

    def unbind(self, *names: str) -> None:
        """Forget what was bound under these names."""
        for name in names:
            self._execute(f"DROP VIEW IF EXISTS main.{quoted(name)}", f"{name} cannot be unbound")
            with engine_errors(f"{name} cannot be unbound"):
                self._connection.unregister(_HOLDER + name)
            self._bound.discard(name)

    def _checked(self, name: str, paths: Sequence[Path], contract: Contract | None) -> pa.Table | str:
        from evalframe.contracts import contract as contract_of
        from evalframe.engines.parquet import check_shards, scan

        declared = contract or contract_of(name)
        if not paths:
            return declared.empty()
        check_shards(declared, paths)
        self._files.update(map(str, paths))
        return scan(declared, paths)

    def view(self, name: str, query: str) -> None:
        """Make the rows of `query` readable as `name`, computed when asked for; `query` may read what is bound."""
        self._execute(f"CREATE OR REPLACE VIEW main.{quoted(name)} AS\n{query}", f"view {name} cannot be bound")
        self._bound.add(name)

    def lock(self) -> None:
        """From here on `query` takes one SELECT over what is bound; no other file, no setting, no way back."""
        files = ", ".join(literal(path) for path in sorted(self._files))
        settings = (
            f"allowed_paths = [{files}]",
            "enable_external_access = false",
            "allow_community_extensions = false",
            "lock_configuration = true",
        )
        self._execute("; ".join(f"SET {setting}" for setting in settings), "DuckDB cannot be locked")
        self._locked = True

    # ---- evaluation -------------------------------------------------------------------------------------------------

    def evaluate(self, plan: Plan) -> dict[str, pa.Table]:
        """The rows of the plan's outputs. What is read twice is computed once, kept for the plan and dropped."""
        with self.answering(plan) as answers:
            return {name: answers.table(name) for name in plan.outputs}

    @contextmanager
    def answering(self, plan: Plan) -> Iterator[Answers]:
        """The plan's outputs to be asked for one by one; see engines/base.py."""
        tables = kept(plan)
        of_one_cluster = pooled(plan)
        read = {name for relation in plan.relations for name in relation.inputs}
        with self._scope(plan):
            for relation in plan.relations:
                body = with_values(relation.body, plan.parameters)
                if relation.name in of_one_cluster:
                    body = as_one_cluster(body, self._clustered(relation.inputs))
                relation = replace(relation, body=body)
                if relation.name in tables and (same := constants(relation, plan, of_one_cluster)):
                    held = _HELD + relation.name
                    self._create(replace(relation, body=without(body, same)), as_table=True, name=held)
                    self._create(replace(relation, body=beside(held, same)), as_table=False)
                elif relation.name in read or relation.name in tables:
                    self._create(relation, as_table=relation.name in tables)
                else:
                    # Nobody but the caller asks for it: a view would be bound once more than its answer.
                    self._unread[relation.name] = relation
            yield self.answers(plan)

    def source(self, name: str) -> str:
        """What a FROM reads for a relation of the plan that is answered."""
        if name in self._unread:
            body = self._unread[name].body.rstrip(";\n ")  # a statement may end with what a subquery may not
            return f"(\n{body}\n) AS {quoted(name)}"
        return quoted(name)

    def answers(self, plan: Plan) -> Answers:
        """The outputs of a plan whose relations stand."""
        return _Answers(self, plan)

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
            return {name: self._fetch(f"SELECT * FROM {quoted(name)} LIMIT 0", name).schema for name in plan.outputs}

    def query(self, sql: str) -> pa.Table:
        """The rows of one SELECT over what is bound. After `lock`, anything but plain reading is refused."""
        if self._locked:
            self._refuse_writes(sql)
        return self._fetch(sql, "the query", "evalframe explain TABLE  # its columns, with an example")

    @contextmanager
    def _scope(self, plan: Plan) -> Iterator[None]:
        """Parameters and relations of one plan, in front of what is bound; gone afterwards, also after an error."""
        self._require_bound(plan)
        try:
            self._stand(PARAMETERS, "VIEW", parameters_sql(plan.parameters), "parameters")
            yield
        finally:
            drops = [f"DROP {kind} temp.{quoted(name)}" for name, kind in self._made.items()]
            self._made, self._unread = {}, {}
            self._execute("; ".join(drops), "what a plan made cannot be dropped")

    def _stand(self, name: str, kind: str, query: str, what: str, where: str = "") -> None:
        """Make a temporary view or table that the plan's scope drops."""
        self._execute(f"CREATE TEMP {kind} {quoted(name)} AS\n{query}", what, where)
        self._made[name] = kind

    def _temporary(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """(name, VIEW or TABLE) of those that exist."""
        return self._values(
            "SELECT table_name, if(table_type = 'VIEW', 'VIEW', 'TABLE') FROM information_schema.tables "
            f"WHERE table_catalog = 'temp' AND list_contains({_texts(names)}, table_name)"
        )

    def _clustered(self, names: Sequence[str]) -> dict[str, str]:
        """Those of the named inputs that have a cluster_id, and where: a plan's own stand before what is bound."""
        rows = self._values(
            "SELECT table_name, max(database_name = 'temp') FROM duckdb_columns() "
            f"WHERE column_name = {literal(CLUSTER)} AND list_contains({_texts(names)}, table_name) GROUP BY table_name"
        )
        return {name: f"{'temp' if own else 'main'}.{quoted(name)}" for name, own in rows}

    def _require_bound(self, plan: Plan) -> None:
        if missing := [name for name in plan.sources if name not in self._bound]:
            raise EngineError(
                f"{missing[0]} is not bound",
                expected=", ".join(plan.sources),
                found=", ".join(sorted(self._bound)) or "nothing bound",
                hint=f"bind({missing[0]!r}, table)",
            )

    def _create(self, relation: Relation, *, as_table: bool, name: str | None = None) -> None:
        what = f"relation {relation.name} cannot be evaluated"
        self._stand(name or relation.name, "TABLE" if as_table else "VIEW", relation.body, what, str(relation.path))

    def _rows(self, name: str, plan: Plan) -> pa.Table:
        return self._fetch(self._selected(name, plan), f"relation {name}", where=self._where(name))

    def _records(self, name: str, plan: Plan) -> list[dict[str, Any]]:
        rows = self._execute(self._selected(name, plan), f"relation {name} cannot be evaluated", self._where(name))
        names = [column[0] for column in self._connection.description or ()]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _where(self, name: str) -> str:
        """The file of a relation that is evaluated as it is asked for."""
        return str(self._unread[name].path) if name in self._unread else ""

    def _selected(self, name: str, plan: Plan) -> str:
        """A SELECT of an output: facts in no order, everything else by grain."""
        relation = next((relation for relation in plan.relations if relation.name == name), None)
        by = relation.grain if relation is not None and relation.layer != "fact" else ()
        return f"SELECT * FROM {self.source(name)}{in_order(by)}"

    def _execute(self, sql: str, what: str, where: str = "") -> list[tuple[Any, ...]]:
        with engine_errors(what, where=where):
            return self._connection.execute(sql).fetchall()  # a result left unread blocks the connection

    def _fetch(self, sql: str, what: str, hint: str = STEPS, where: str = "") -> pa.Table:
        with engine_errors(f"{what} cannot be evaluated", hint=hint, where=where):
            return self._result(sql).to_arrow_table()

    def _result(self, sql: str) -> duckdb.DuckDBPyRelation:
        result = self._connection.sql(sql)
        if result is None:
            raise duckdb.InvalidInputException("the statement yields no rows")
        return result

    def stream(self, sql: str, what: str = "the query") -> pa.RecordBatchReader:
        """The rows of one SELECT as a stream, to be read to its end before anything else is asked."""
        import pyarrow as pa

        what = f"{what} cannot be evaluated"
        with engine_errors(what, hint=STEPS):
            batches = self._result(sql).to_arrow_reader(_BATCH)

        def told() -> Iterator[pa.RecordBatch]:
            with engine_errors(what, hint=STEPS), through_arrow():
                yield from batches

        return pa.RecordBatchReader.from_batches(batches.schema, told())

    def _values(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query of the engine's own."""
        return self._execute(sql, "a query of the engine's own cannot be evaluated")

    @contextmanager
    def _registered(self, table: pa.Table) -> Iterator[str]:
        """The name under which statements inside can read the rows of `table`."""
        with engine_errors("rows cannot be read"):
            self._connection.register(_HOLDER, table)
        try:
            yield quoted(_HOLDER)
        finally:
            self._connection.unregister(_HOLDER)

    # ---- parsing ----------------------------------------------------------------------------------------------------

    def syntax(self, sql: str) -> Syntax:
        """What the query reads, yields and uses; RelationError for text that is not one SELECT."""
        from evalframe.engines.duckdb_syntax import syntax_of, unparsed

        parsed = self._parse(sql)
        statements = parsed.get("statements", [])
        if parsed["error"] or len(statements) != 1:
            raise RelationError(
                "the text is not one query",
                expected="one SELECT",
                found=unparsed(parsed, sql) if parsed["error"] else f"{len(statements)} statements",
                hint='evalframe sql "SELECT run_id FROM runs" --store DIR  # one that can be read',
            )
        return syntax_of(statements[0], sql)

    def inputs_of(self, sql: str) -> frozenset[str]:
        """The tables the query reads."""
        return self.syntax(sql).inputs

    def _parse(self, sql: str) -> Any:
        with engine_errors("the query cannot be parsed"):
            ((tree,),) = self._connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchall()
        return json.loads(tree)

    def _refuse_writes(self, sql: str) -> None:
        """A statement's own word does not do: a SELECT may hold COPY in a CTE, and could replace an allowed file."""
        from evalframe.engines.duckdb_syntax import unparsed, writes

        parsed = self._parse(sql)
        statements = parsed.get("statements", [])
        found = unparsed(parsed, sql) if parsed["error"] else None
        if found is None:
            found = f"{len(statements)} statements" if len(statements) != 1 else writes(statements[0])
        if found:
            raise EngineError(
                "the query does more than read",
                expected="one SELECT over the views of the store",
                found=found,
                hint='evalframe sql "SELECT run_id FROM runs" --store DIR',
            )


class _Answers:
    """The outputs of a plan whose relations stand in the engine."""

    def __init__(self, engine: DuckDB, plan: Plan) -> None:
        self._engine, self._plan = engine, plan

    def table(self, name: str) -> pa.Table:
        return self._engine._rows(name, self._plan)

    def records(self, name: str) -> list[dict[str, Any]]:
        return self._engine._records(name, self._plan)

    def reader(self, name: str, order: Sequence[str] = ()) -> pa.RecordBatchReader:
        by = in_order(order, nulls="LAST")
        sql = f"SELECT * FROM {self._engine.source(name)}{by}" if order else self._engine._selected(name, self._plan)
        return self._engine.stream(sql, f"relation {name}")


def in_order(columns: Sequence[str], nulls: str = "FIRST") -> str:
    """An ORDER BY over columns, if there are any."""
    return " ORDER BY " + ", ".join(f"{quoted(column)} NULLS {nulls}" for column in columns) if columns else ""


def _texts(texts: Sequence[str]) -> str:
    """A list of texts as DuckDB writes it, also an empty one."""
    return f"[{', '.join(map(literal, texts))}]::VARCHAR[]"


if TYPE_CHECKING:
    _AN_ENGINE: type[Engine] = DuckDB
    _A_PARSER: type[SqlParser] = DuckDB
