"""`evalframe compare` and `evalframe leaderboard`: arguments, exit codes and drawing only."""

from typing import Annotated, Literal

from cyclopts import Parameter

from evalframe.cli.common import (
    Format,
    JsonOption,
    RelationsOption,
    ReplicatesOption,
    StoreOption,
    pairs,
    put,
    show_rows,
)
from evalframe.cli.engine import engaged, limited


@engaged
def compare(
    *,
    store: StoreOption,
    baseline: Annotated[str, Parameter(help="A run, or key=value[,key=value] for the runs with these tags.")],
    candidate: Annotated[list[str], Parameter(help="Runs, or groups by tags, to compare with the baseline.")],
    protocol: Annotated[str | None, Parameter(help="Where the runs share several protocols.")] = None,
    metric: Annotated[list[str] | None, Parameter(help="Metrics; default: all of the protocol.")] = None,
    horizon: Annotated[list[float] | None, Parameter(help="Horizons in seconds; default: all.")] = None,
    recall: Annotated[list[float] | None, Parameter(help="Matched recalls; default: the protocol's.")] = None,
    stratum: Annotated[list[str] | None, Parameter(help="Strata; default: the protocol's and the whole.")] = None,
    cluster: Annotated[str | None, Parameter(help="Column to resample by; default: the protocol's.")] = None,
    replicates: ReplicatesOption = 10_000,
    seed: Annotated[int, Parameter(help="Seed of the draws.")] = 0,
    pair_on: Annotated[list[str] | None, Parameter(help="Tags that pair the runs of two groups.")] = None,
    on_intersection: Annotated[bool, Parameter(help="Compare on the items that both runs have.")] = False,
    allow_tainted: Annotated[bool, Parameter(help="Let tainted runs pass with exit code 0.")] = False,
    family: Annotated[Literal["primary", "all"], Parameter(help="Rows that share Holm's correction.")] = "primary",
    recall_slack: Annotated[float, Parameter(help="Lower recall than the baseline's by more is flagged.")] = 0.02,
    fail_if_worse: Annotated[
        list[str] | None, Parameter(help="METRIC[:X[:ci]]: exit 1 if it worsens by over X.")
    ] = None,
    save: Annotated[bool, Parameter(help="Seal the rows in the store, for SQL and exports.")] = False,
    relations: RelationsOption = None,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> int:
    """Compare runs: verdict, changes with intervals, paired tests. Exit 3 if they answer different questions.

    Example: evalframe compare --store evalframe-demo/store --baseline cnn --candidate gru-wide --fail-if-worse macro_f1
    """
    from evalframe.verbs.opened import open_store

    found = open_store(store).compare(
        baseline,
        candidate,
        save=save,
        protocol=protocol,
        metrics=metric or (),
        horizons=horizon or (),
        recalls=recall or (),
        strata=stratum or (),
        cluster=cluster,
        replicates=replicates,
        seed=seed,
        pair_on=pair_on or (),
        on_intersection=on_intersection,
        allow_tainted=allow_tainted,
        family_all=family == "all",
        recall_slack=recall_slack,
        fail_if_worse=fail_if_worse or (),
        relations=relations,
    )
    if json:
        put(found.to_json())
    else:
        show_rows(found, format, found.exit_code)
    return found.exit_code


@limited
def leaderboard(
    *,
    store: StoreOption,
    metric: Annotated[str | None, Parameter(help="What to rank by; default: the protocol's first primary one.")] = None,
    by: Annotated[str, Parameter(help="run_id, or a tag whose runs are averaged.")] = "run_id",
    where: Annotated[list[str] | None, Parameter(help="KEY=VALUE tags that a run must have.")] = None,
    protocol: Annotated[str | None, Parameter(help="Where the store holds several protocols.")] = None,
    relations: RelationsOption = None,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> None:
    """Rank the runs of one protocol, best first, with those that cannot be told from the best.

    Example: evalframe leaderboard --store evalframe-demo/store --protocol wisp-har --metric macro_f1
    """
    from evalframe.verbs.opened import open_store

    board = open_store(store).leaderboard(
        metric=metric, by=by, where=pairs(where, "--where"), protocol=protocol, relations=relations
    )
    if json:
        put(board.to_json())
    else:
        show_rows(board, format)
