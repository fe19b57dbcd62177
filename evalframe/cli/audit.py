"""`evalframe audit ...`: arguments, exit codes and drawing only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from evalframe.cli.common import ForceOption, JsonOption, put, say


def parity(
    *,
    spec: Annotated[Path, Parameter(help="YAML: pinned files, functions, inputs, and which metric each gives.")],
    output: Annotated[Path | None, Parameter(help="A JSON file to write.")] = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> int:
    """Compare metrics with any reference implementation, pinned by digest. Exit 5 on a mismatch.

    Example: evalframe audit parity --spec our_paper.yaml --output parity.json
    """
    from evalframe.verbs.parity import audit_parity

    found = audit_parity(spec, output=output, force=force)
    put(found.to_json() if json else repr(found))
    if output is not None:
        say(f"wrote {output}")
    return found.exit_code
