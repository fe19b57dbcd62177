"""`evalframe sql`: a question to a store, in SQL, read-only."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from evalframe.cli.common import ForceOption, Format, RelationsOption, StoreOption, say, show
from evalframe.cli.engine import limited


class SqlFormat(StrEnum):
    """How the answer is printed or written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MD = "md"
    LATEX = "latex"
    HTML = "html"
    PARQUET = "parquet"


@limited
def sql(
    query: Annotated[str, Parameter(help="One SELECT; every contract table and every relation of sql/ is a view.")],
    /,
    *,
    store: StoreOption,
    run: Annotated[list[str] | None, Parameter(help="Look at these runs alone; default: all.")] = None,
    format: SqlFormat = SqlFormat.TABLE,
    relations: RelationsOption = None,
    output: Annotated[Path | None, Parameter(help="File to write instead of stdout; needed for parquet.")] = None,
    force: ForceOption = False,
    json: Annotated[bool, Parameter(help="The same as --format json; an error is a JSON object on stdout.")] = False,
) -> None:
    """Ask a store a question in SQL. Nothing can be written, attached or read from outside the store.

    Example: evalframe sql "SELECT run_id, metric, value FROM metric_values ORDER BY value" --store evalframe-demo/store
    """
    from evalframe.store.refusals import naming
    from evalframe.verbs.opened import open_store

    format = SqlFormat.JSON if json else format
    answer = open_store(store).sql(query, runs=run, relations=relations)
    if output is not None:
        answer.write(output, format.value, force=force)
        say(f"wrote {output}")
    elif format is SqlFormat.PARQUET:
        with naming(store):
            answer.refuse_parquet_on_stdout()
    else:
        show(answer.table, Format(format.value))
