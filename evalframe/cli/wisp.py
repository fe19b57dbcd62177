"""`evalframe wisp ...`: arguments and drawing only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from evalframe.cli.common import (
    ForceOption,
    JsonOption,
    KeyOption,
    OptionalStore,
    RelationsOption,
    RunIdOption,
    SetOption,
    TagOption,
    pairs,
    put,
    say,
)


def score(
    *,
    predictions: Annotated[Path, Parameter(help="Saved predictions: .npz, .parquet, .arrow or .csv.")],
    output: Annotated[Path, Parameter(help="The JSON file to write.")],
    classes: Annotated[Path | None, Parameter(help="JSON list of all class names, in order.")] = None,
    key: KeyOption = None,
    store: OptionalStore = None,
    run_id: RunIdOption = None,
    tag: TagOption = None,
    set_: SetOption = None,
    relations: RelationsOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Score saved predictions: four metrics, per class, confusion matrix.

    Example: evalframe wisp score --predictions fold0.npz --output fold0.json --store results
    """
    from evalframe.verbs.wisp import score as score_predictions

    scored = score_predictions(
        predictions,
        output=output,
        classes=classes,
        keys=pairs(key, "--key"),
        store=store,
        run_id=run_id,
        tags=pairs(tag, "--tag"),
        settings=pairs(set_, "--set"),
        relations=relations,
        force=force,
    )
    if json:
        put(scored.to_json())
    else:
        put(repr(scored))
        say(f"wrote {output}")
