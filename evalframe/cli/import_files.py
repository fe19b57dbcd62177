"""`evalframe import`: files of other evaluation tools."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from evalframe.cli.common import JsonOption, RunIdOption, SetOption, StoreOption, TagOption, pairs, put_rows, show_json
from evalframe.cli.engine import limited


@limited
def import_(
    files: Annotated[list[Path], Parameter(help="Files of one tool; samples and results of lm-eval go together.")],
    /,
    *,
    store: StoreOption,
    format: Annotated[
        Literal["every-eval-ever", "lm-eval", "inspect"] | None,
        Parameter(help="The tool, where the files do not say it."),
    ] = None,
    normalisation: Annotated[
        Literal["total", "characters", "bytes"] | None,
        Parameter(help="lm-eval: what the softmax is taken of: log-likelihoods in total, per character or per byte."),
    ] = None,
    filter: Annotated[str | None, Parameter(help="lm-eval: whose answers, where samples have several filters.")] = None,
    metric: Annotated[str | None, Parameter(help="lm-eval: take this metric's 1 and 0 as right and wrong.")] = None,
    scorer: Annotated[str | None, Parameter(help="inspect: whose scores, where samples have several.")] = None,
    policy: Annotated[str, Parameter(help="Protocol for options with probabilities.")] = "kev-choice/2",
    run_id: RunIdOption = None,
    tag: TagOption = None,
    set_: SetOption = None,
    json: JsonOption = False,
) -> None:
    """Import logs of lm-evaluation-harness and Inspect, or Every Eval Ever records.

    Answers are scored here; what the tool published is kept beside, as its word.

    Example: evalframe import samples_arc_easy.jsonl results.json --store results --run-id base
    """
    from evalframe.verbs import drawing
    from evalframe.verbs.import_files import import_files

    done = import_files(
        files,
        store=store,
        format=format,
        run_id=run_id,
        tags=pairs(tag, "--tag"),
        normalisation=normalisation,
        filter=filter,
        metric=metric,
        scorer=scorer,
        policy=policy,
        settings=pairs(set_, "--set"),
    )
    if json:
        show_json({"files": drawing.rows(done.table), "differing": done.differing()}, "import")
    else:
        put_rows(done)
