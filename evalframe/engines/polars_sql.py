"""Polars SQL: a second opinion. It runs the same text as the engine of record, one relation after another, in memory.

It shares nothing with DuckDB but the SQL: another parser, other sums, other joins. What it does not speak is told as
NotPortable with a reason of a closed list, so that a table of relations and engines can be made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

import polars as pl

from evalframe.engines.parquet import check_shards, paths_of
from evalframe.errors import ContractError, EngineError, NotPortable
from evalframe.relations.catalogue import PARAMETERS
from evalframe.relations.plan import Plan
from evalframe.relations.relation import Relation

if TYPE_CHECKING:
    import pyarrow as pa

    from evalframe.contracts import Contract
    from evalframe.engines.base import Engine, Source

_REASONS = (
    ("function", ("unsupported function", "unknown function", "not a valid function", "no function matches")),
    ("window frame", ("window frame", "frame")),
    ("subquery", ("subquer",)),
    ("syntax", ("unsupported", "not currently supported", "not supported in", "expected", "unexpected")),
)
"""Reason and the words of the engine that give it away, in the order of the search; anything else is `types`."""


class PolarsSql:
    """Frames by name. See engines/base.py for what the methods promise."""

    def __init__(self) -> None:
        self._frames: dict[str, pl.LazyFrame] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Forget everything."""
        self._frames.clear()

    def bind(self, name: str, source: Source, contract: Contract | None = None) -> None:
        """Make `source` readable as `name`: an Arrow table, or Parquet files, which are read whole."""
        self._frames[name] = _frame(name, source, contract).lazy()

    def unbind(self, *names: str) -> None:
        """Forget what was bound under these names."""
        for name in names:
            self._frames.pop(name, None)

    def evaluate(self, plan: Plan) -> dict[str, pa.Table]:
        """The rows of the plan's outputs. Raises NotPortable for text that this engine does not speak."""
        made = dict(self.steps(plan))
        return {name: made[name] if name in made else self._frames[name].collect().to_arrow() for name in plan.outputs}

    def steps(self, plan: Plan) -> Iterator[tuple[str, pa.Table]]:
        """Every relation of the plan in order with its rows."""
        frames = dict(self._frames)
        if missing := [name for name in plan.sources if name not in frames]:
            raise EngineError(
                f"{missing[0]} is not bound",
                expected=", ".join(plan.sources),
                found=", ".join(sorted(frames)) or "nothing bound",
                hint=f"bind({missing[0]!r}, table)",
            )
        frames[PARAMETERS] = _parameters(plan.parameters)
        for relation in plan.relations:
            with _told(relation.name, str(relation.path)):
                made = pl.SQLContext(frames=_read(relation, frames)).execute(relation.body, eager=True)
                if relation.layer != "fact" and relation.grain:
                    made = made.sort(relation.grain, nulls_last=False)
            frames[relation.name] = made.lazy()
            yield relation.name, made.to_arrow()

    def schema(self, plan: Plan) -> dict[str, pa.Schema]:
        """Column names and types of the plan's outputs."""
        return {name: table.schema for name, table in self.evaluate(plan).items()}

    def query(self, sql: str) -> pa.Table:
        """The rows of one SELECT over what is bound."""
        with _told("the query", ""):
            return pl.SQLContext(frames=self._frames).execute(sql, eager=True).to_arrow()


def _frame(name: str, source: Source, contract: Contract | None) -> pl.DataFrame:
    from evalframe.contracts import contract as contract_of

    source = paths_of(source)
    if isinstance(source, Sequence):
        declared = contract or contract_of(name)
        check_shards(declared, source)
        if not source:
            return pl.DataFrame(declared.empty())
        return pl.concat([pl.read_parquet(path, hive_partitioning=False) for path in source]).select(declared.names)
    return pl.DataFrame(source)


def _parameters(parameters: Mapping[str, str]) -> pl.LazyFrame:
    columns = {"name": list(parameters), "value": list(parameters.values())}
    return pl.LazyFrame(columns, schema={"name": pl.String, "value": pl.String})


def _read(relation: Relation, frames: Mapping[str, pl.LazyFrame]) -> dict[str, pl.LazyFrame]:
    """Only what the relation declares: a name it does not is an error here as it is elsewhere."""
    return {name: frames[name] for name in (*relation.inputs, PARAMETERS) if name in frames}


@contextmanager
def _told(what: str, where: str) -> Iterator[None]:
    try:
        yield
    except (ContractError, EngineError):
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        said = " ".join(str(error).split())[:300]
        raise NotPortable(
            f"{what} is not spoken by Polars SQL: {_reason(error, said)}",
            expected="SQL that Polars can bind and run",
            found=said,
            where=where,
            hint="evalframe audit engines --store DIR --run RUN",
            reason=_reason(error, said),
        ) from None


def _reason(error: BaseException, said: str) -> str:
    if not isinstance(error, pl.exceptions.SQLInterfaceError | pl.exceptions.SQLSyntaxError):
        return "types"
    lower = said.lower()
    return next((reason for reason, words in _REASONS if any(word in lower for word in words)), "syntax")


if TYPE_CHECKING:
    _AN_ENGINE: type[Engine] = PolarsSql
