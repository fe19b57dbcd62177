"""`evalframe validate`: a file against the contract of a table."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from evalframe.cli.common import Format, JsonOption, put_rows, show_json, show_rows
from evalframe.errors import ExitCode


def validate(
    table: Annotated[str, Parameter(help="Name of the contract, e.g. class_predictions.")],
    file: Annotated[Path, Parameter(help="Parquet, CSV, NDJSON or Arrow file.")],
    /,
    *,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> int:
    """Check a file against the contract of a table: every rule in one pass, with counts and the offending rows.

    Example: evalframe validate class_predictions predictions.parquet
    """
    from evalframe.verbs.validate import validate as check

    checked = check(table, file)
    if json:
        show_json(checked.to_json(), "validate")
    elif checked.ok:
        put_rows(checked, ExitCode.OK)
    else:
        show_rows(checked, format, ExitCode.CONTRACT)
    return ExitCode.OK if checked.ok else ExitCode.CONTRACT
