"""`evalframe rescore`: stored runs under the installed definitions."""

from typing import Annotated

from cyclopts import Parameter

from evalframe.cli.common import Format, JsonOption, RelationsOption, StoreOption, show_json, show_rows
from evalframe.cli.engine import engaged


@engaged
def rescore(
    *,
    store: StoreOption,
    run: Annotated[list[str] | None, Parameter(help="Runs to score again; default: all.")] = None,
    relations: RelationsOption = None,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> None:
    """Score stored runs again under the installed definitions and parameters they were scored with. Old results stay.

    Example: evalframe rescore --store evalframe-demo/store
    """
    from evalframe.verbs import drawing
    from evalframe.verbs.opened import open_store

    done = open_store(store).rescore(run, relations=relations)
    if json:
        show_json({"rescored": drawing.rows(done.table)}, "rescore")
    else:
        show_rows(done, format)
