"""`evalframe audit ...`: arguments, exit codes and drawing only."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from evalframe.cli.common import ForceOption, Format, JsonOption, StoreOption, put, put_rows, say, show_rows
from evalframe.cli.engine import limited


def parity(
    *,
    spec: Annotated[Path, Parameter(help="YAML: pinned files, functions, inputs, and which metric each gives.")],
    output: Annotated[Path | None, Parameter(help="A JSON file to write.")] = None,
    force: ForceOption = False,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> int:
    """Compare metrics with any reference implementation, pinned by digest. Exit 5 on a mismatch.

    Example: evalframe audit parity --spec our_paper.yaml --output parity.json
    """
    from evalframe.verbs.parity import audit_parity

    found = audit_parity(spec, output=output, force=force)
    if json:
        put(found.to_json())
    else:
        show_rows(found, format, found.exit_code)
    if output is not None:
        say(f"wrote {output}")
    return found.exit_code


def values(
    *,
    store: Annotated[str, Parameter(help="Folder or URI of a store, or a CSV file of results.")],
    run: Annotated[list[str] | None, Parameter(help="Runs of the store; default: all.")] = None,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> int:
    """Find numbers that cannot be, from result tables alone: a count that is no count, an F1 above 1. Exit 5 if any.

    Example: evalframe audit values --store evalframe-demo/store
    """
    from evalframe.verbs.audit_values import audit_values

    found = audit_values(store, runs=run)
    if json:
        put(found.to_json())
    elif len(found.table):
        show_rows(found, format, found.exit_code)
    else:
        put_rows(found, found.exit_code)
    return found.exit_code


@limited
def engines(
    *,
    store: StoreOption,
    run: Annotated[str, Parameter(help="The run whose relations are computed twice.")],
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> int:
    """Compute every relation of a stored run on a second engine and store what differs. Exit 5 if anything does.

    Example: evalframe audit engines --store evalframe-demo/store --run cnn
    """
    from evalframe.verbs.audit_engines import audit_engines

    found = audit_engines(store, run)
    if json:
        put(found.to_json())
    else:
        show_rows(found, format, found.exit_code)
    return found.exit_code
