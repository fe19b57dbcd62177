"""What an engine does, so that another one can follow: bind data to names, evaluate plans, say what a query reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

    from evalframe.contracts import Contract
    from evalframe.contracts.shards import Shards
    from evalframe.relations import Plan

Source: TypeAlias = "pa.Table | pa.RecordBatchReader | Shards | Sequence[Path]"


class Answers(Protocol):
    """What a plan yields, while its scope is open: each output as a table, or as batches where it may be large."""

    def table(self, name: str) -> pa.Table:
        """The rows of one output."""

    def records(self, name: str) -> list[dict[str, Any]]:
        """The rows of one output as dictionaries: of a few rows in two thirds of the time, as they are bound once."""

    def reader(self, name: str, order: Sequence[str] = ()) -> pa.RecordBatchReader:
        """The rows as a stream, sorted by columns (text by its UTF-8 bytes, nulls last) or as `table` has them.

        It must be read to its end, or let go of, before the engine is asked for anything else.
        """


class Engine(Protocol):
    """Runs plans over bound data. The SQL text of a relation is the same on every engine.

    What a plan computes stands in front of what is bound under the same name, and is gone when the plan is done.
    Results are Arrow tables; rows of facts come in no order, those of other relations by grain. A failure is an
    EngineError, data of other types than the contract's a ContractError.
    """

    def bind(self, name: str, source: Source, contract: Contract | None = None) -> None:
        """Make `source` readable as `name`: an Arrow table, a stream for one reading, or a contract's Parquet files."""

    def unbind(self, *names: str) -> None:
        """Forget what was bound under these names."""

    def evaluate(self, plan: Plan) -> dict[str, pa.Table]:
        """The rows of the plan's outputs."""

    def steps(self, plan: Plan) -> Iterator[tuple[str, pa.Table]]:
        """Every relation of the plan in order with its rows: what `explain --steps` shows."""

    def schema(self, plan: Plan) -> dict[str, pa.Schema]:
        """Column names and types of the plan's outputs; nothing is computed."""

    def query(self, sql: str) -> pa.Table:
        """The rows of one SELECT over what is bound."""

    def close(self) -> None:
        """Give back memory and spill files."""
