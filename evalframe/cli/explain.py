"""`evalframe explain`: what a metric, protocol or table means."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from evalframe.cli.common import JsonOption, RelationsOption, SetOption, pairs, put_parts, show_json
from evalframe.cli.engine import limited


@limited
def explain(
    name: Annotated[str, Parameter(help="A metric, a protocol (name or name/version) or a table.")],
    /,
    *,
    steps: Annotated[bool, Parameter(help="Run the metric's relations one by one on a stored run.")] = False,
    store: Annotated[str | None, Parameter(help="Folder or URI of the store, for --steps.")] = None,
    run: Annotated[str | None, Parameter(help="The stored run, for --steps.")] = None,
    example: Annotated[Path | None, Parameter(help="Write a table's three-row example to this file.")] = None,
    limit: Annotated[int, Parameter(help="Rows shown of each step.")] = 10,
    where: Annotated[
        list[str] | None,
        Parameter(help="COLUMN=TEXT: of each step, only the rows that hold it, where it has the column."),
    ] = None,
    set_: SetOption = None,
    relations: RelationsOption = None,
    dialect: Annotated[str | None, Parameter(help="Show the chain above facts as SQL of this engine: spark.")] = None,
    json: JsonOption = False,
) -> None:
    """Say what a metric, protocol or table means, from the files that define it.

    Example: evalframe explain worst_class_f1 --steps --store evalframe-demo/store --run cnn
    """
    from evalframe.verbs.explain import explain as explained

    answer = explained(
        name,
        steps=steps,
        store=store,
        run=run,
        example=example,
        limit=limit,
        where=pairs(where, "--where"),
        settings=pairs(set_, "--set"),
        relations=relations,
        dialect=dialect,
    )
    if json:
        show_json(answer.body, "explain")
    else:
        put_parts(answer.parts)
