"""`evalframe export`: a store for BI tools."""

from typing import Annotated

from cyclopts import Parameter

from evalframe.cli.common import Format, JsonOption, ReplicatesOption, StoreOption, show_json, show_rows
from evalframe.cli.engine import limited


@limited
def export(
    *,
    store: StoreOption,
    to: Annotated[
        str,
        Parameter(
            help="FILE.duckdb, parquet:DIR, csv:DIR, sqlite:FILE, hyper:FILE.hyper, delta:DIR, eee:DIR,"
            " superset:FILE.zip or postgresql://USER@HOST/DB."
        ),
    ],
    database: Annotated[
        str | None, Parameter(help="URI of the database that superset:FILE.zip reads; default: FILE.duckdb beside it.")
    ] = None,
    baseline: Annotated[
        str | None, Parameter(help="Run that the others are compared with; default: the oldest.")
    ] = None,
    no_compare: Annotated[bool, Parameter(help="Leave out comparisons that are not sealed in the store.")] = False,
    replicates: ReplicatesOption = 10_000,
    force: Annotated[bool, Parameter(help="Replace another export.")] = False,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> None:
    """Write runs, metrics, comparisons, counts, events and findings as one star schema for BI tools.

    Example: evalframe export --store evalframe-demo/store --to results.duckdb
    """
    from evalframe.verbs import drawing
    from evalframe.verbs.opened import open_store

    options = {"baseline": baseline, "compare": not no_compare, "replicates": replicates, "force": force}
    done = open_store(store).export(to, database=database, **options)
    if json:
        body = {"to": done.to, "outcome": done.outcome, "content_sha256": done.digest, "left_out": list(done.left_out)}
        show_json({**body, "tables": drawing.rows(done.table)}, "export")
    else:
        show_rows(done, format)
