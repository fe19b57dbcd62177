"""`evalframe kev ...`: arguments and drawing only."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from evalframe.cli.common import (
    ForceOption,
    Format,
    JsonOption,
    OptionalStore,
    RelationsOption,
    RunIdOption,
    SetOption,
    TagOption,
    pairs,
    put,
    say,
    show_rows,
)
from evalframe.cli.engine import engaged


@engaged
def score(
    *,
    output: Annotated[Path, Parameter(help="The JSON file to write.")],
    rows: Annotated[Path | None, Parameter(help="KEV rows: a JSON list or JSON lines.")] = None,
    outcomes: Annotated[
        Path | None, Parameter(help="Confidence and correctness only: .parquet, .arrow or .csv.")
    ] = None,
    policy: Annotated[
        str, Parameter(help="kev-choice/1 (prefix rule) or kev-choice/2 (whole tie groups).")
    ] = "kev-choice/2",
    calibration_rows: Annotated[Path | None, Parameter(help="KEV rows that a temperature is fitted on.")] = None,
    allow_in_sample: Annotated[bool, Parameter(help="Fit on evaluated rows too; taints every number.")] = False,
    store: OptionalStore = None,
    run_id: RunIdOption = None,
    tag: TagOption = None,
    set_: SetOption = None,
    relations: RelationsOption = None,
    force: ForceOption = False,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> None:
    """Score answers to choice questions: every metric in every population, bins, pairs, selective answering.

    Example: evalframe kev score --rows evalframe-demo/data/kev-base.jsonl --output base.json --set n_bins=15
    """
    from evalframe.verbs.kev import score as score_rows

    scored = score_rows(
        rows=rows,
        outcomes=outcomes,
        output=output,
        policy=policy,
        calibration_rows=calibration_rows,
        allow_in_sample=allow_in_sample,
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
        show_rows(scored, format)
        say(f"wrote {output}")


def verify_metrics(
    *,
    kev_root: Annotated[Path, Parameter(help="Checkout of the reference implementation.")],
    pins: Annotated[
        Path | None, Parameter(help="JSON list of {file, sha256, functions} in place of the known.")
    ] = None,
    output: Annotated[Path | None, Parameter(help="A JSON file to write.")] = None,
    force: ForceOption = False,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> int:
    """Compare every scalar metric with the pinned reference on 5,000 seeded rows and ten pairs. Exit 5 on a mismatch.

    Example: evalframe kev verify-metrics --kev-root kev-reference --output parity.json
    """
    from evalframe.verbs.parity import verify_metrics as verify

    found = verify(kev_root, pins=pins, output=output, force=force)
    if json:
        put(found.to_json())
    else:
        show_rows(found, format, found.exit_code)
    if output is not None:
        say(f"wrote {output}")
    return found.exit_code
