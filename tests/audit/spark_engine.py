"""Spark as an engine of the tests: its own environment, its own process, the text of a relation in its dialect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from evalframe.engines.dialects import render
from evalframe.errors import NotPortable
from evalframe.relations.catalogue import PARAMETERS
from evalframe.relations.plan import Plan

PYSPARK = "pyspark==4.3.0"
LAYERS = ("state", "calibration", "metric", "compare", "audit", "view")
"""What is portable by promise: row-level facts are DuckDB's."""

_TYPES = {
    "int64": "BIGINT",
    "int32": "INT",
    "int16": "SMALLINT",
    "double": "DOUBLE",
    "bool": "BOOLEAN",
    "string": "STRING",
    "large_string": "STRING",
}


def interpreter() -> Path:
    """A Python with pyspark: EVALFRAME_SPARK_PYTHON, or an environment that is made once beside other scratch files."""
    if named := os.environ.get("EVALFRAME_SPARK_PYTHON"):
        return Path(named)
    folder = Path(tempfile.gettempdir()) / f"evalframe-{PYSPARK.replace('==', '-')}"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", PYSPARK], check=True)
        (folder / "ready").touch()
    return python


class Spark:
    """Answers plans of one relation. What is bound is written to Parquet when a plan reads it."""

    def __init__(self) -> None:
        self._tables: dict[str, pa.Table] = {}
        self._scratch = tempfile.TemporaryDirectory(prefix="evalframe-spark-")
        self._log = (Path(self._scratch.name) / "log").open("w", encoding="utf-8")
        script = Path(__file__).with_name("spark_process.py")
        self._process = subprocess.Popen(
            [str(interpreter()), str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, "PYTHONPATH": "", "TZ": "UTC"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the session."""
        self._process.communicate(timeout=60)
        self._log.close()
        self._scratch.cleanup()

    def bind(self, name: str, source: Any, contract: Any = None) -> None:
        """Make an Arrow table readable as `name`."""
        self._tables[name] = source

    def unbind(self, *names: str) -> None:
        """Forget what was bound under these names."""
        for name in names:
            self._tables.pop(name, None)

    def evaluate(self, plan: Plan) -> dict[str, pa.Table]:
        """The rows of the one relation of the plan. Raises NotPortable with what Spark said."""
        (relation,) = plan.relations
        names = list(plan.parameters)
        parameters = pa.table(
            {
                "name": pa.array(names, pa.string()),
                "value": pa.array([plan.parameters[name] for name in names], pa.string()),
            }
        )
        read = {name: self._tables[name] for name in relation.inputs} | {PARAMETERS: parameters}
        answer = self._ask({"sql": render(relation.body, "spark", relation.name), "views": self._files(read)})
        if "error" in answer:
            raise NotPortable(
                f"{relation.name} is not spoken by Spark",
                expected="SQL that Spark can bind and run",
                found=answer["error"],
                where=str(relation.path),
                hint="evalframe audit engines --store DIR --run RUN",
                reason="types",
            )
        cells = list(zip(*answer["rows"], strict=True)) or [()] * len(answer["columns"])
        columns = [_column(column) for column in cells]
        return {relation.name: pa.Table.from_arrays(columns, names=answer["columns"])}

    def _ask(self, query: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(query) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, Path(self._log.name).read_text(encoding="utf-8")[-2000:]
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _files(self, tables: dict[str, pa.Table]) -> dict[str, dict[str, str]]:
        made = {}
        for number, (name, table) in enumerate(tables.items()):
            path = Path(self._scratch.name) / f"{number}.parquet"
            pq.write_table(table, path)
            schema = ", ".join(f"`{field.name}` {_word(field.type)}" for field in table.schema)
            made[name] = {"path": str(path), "schema": schema}
        return made


def _word(kind: pa.DataType) -> str:
    """Spark's word for an Arrow type."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"ARRAY<{_word(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"MAP<{_word(kind.key_type)}, {_word(kind.item_type)}>"
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    return "TIMESTAMP" if pa.types.is_timestamp(kind) else _TYPES[str(kind)]


def _column(cells: tuple[Any, ...]) -> pa.Array:
    of_maps = any(isinstance(cell, dict) and "map" in cell for cell in cells)
    return pa.array([_value(cell) for cell in cells], pa.map_(pa.string(), pa.string()) if of_maps else None)


def _value(cell: Any) -> Any:
    if isinstance(cell, list):
        return [_value(held) for held in cell]
    if not isinstance(cell, dict):
        return cell
    ((kind, held),) = cell.items()
    if kind == "float":
        return float(held)
    if kind == "decimal":
        return Decimal(held)
    if kind == "time":
        time = datetime.fromisoformat(held)
        return time if time.tzinfo else time.replace(tzinfo=UTC)
    return [(_value(key), _value(value)) for key, value in held]
