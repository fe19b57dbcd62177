"""A local Spark session that answers queries: `python spark_process.py`, in an environment that has pyspark alone.

One JSON object a line on stdin: {"sql", "views": {view: {"path", "schema"}}} with Parquet files and their types in
Spark's words. One a line on stdout: {"columns", "rows"} or {"error"}. Floats that JSON does not have, decimals, times
and maps are objects that name their kind.
"""

from __future__ import annotations

import json
import math
import os
import sys
from datetime import datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import SparkSession


def main() -> None:
    """Answer until stdin ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a JVM prints is no answer
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.adaptive.enabled", "false")
        # Many tiny queries: compiling each costs more than running it.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    for line in sys.stdin:
        answers.write(json.dumps(_answer(session, json.loads(line))) + "\n")
        answers.flush()
    session.stop()


def _answer(session: SparkSession, query: dict[str, Any]) -> dict[str, Any]:
    try:
        for view, file in query["views"].items():
            session.read.schema(file["schema"]).parquet(file["path"]).createOrReplaceTempView(view)
        frame = session.sql(query["sql"])
        return {"columns": frame.columns, "rows": [[_plain(cell) for cell in row] for row in frame.collect()]}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:600]}


def _plain(cell: Any) -> Any:
    if isinstance(cell, float) and not math.isfinite(cell):
        return {"float": str(cell)}
    if isinstance(cell, Decimal):
        return {"decimal": str(cell)}
    if isinstance(cell, datetime):
        return {"time": cell.isoformat()}
    if isinstance(cell, list):
        return [_plain(held) for held in cell]
    if isinstance(cell, dict):
        return {"map": [[_plain(key), _plain(held)] for key, held in cell.items()]}
    return cell


if __name__ == "__main__":
    main()
