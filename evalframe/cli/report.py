"""`evalframe report`: one page that shows a store or a comparison."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from evalframe.cli.common import ForceOption, JsonOption, ReplicatesOption, StoreOption, say, show_json
from evalframe.cli.engine import limited


@limited
def report(
    *,
    store: StoreOption,
    output: Annotated[Path, Parameter(help="The page to write, one .html file.")],
    baseline: Annotated[str | None, Parameter(help="Run that others are compared with; default: the oldest.")] = None,
    candidate: Annotated[list[str] | None, Parameter(help="Runs to compare with it; default: all of its kind.")] = None,
    protocol: Annotated[str | None, Parameter(help="Show this protocol only.")] = None,
    replicates: ReplicatesOption = 10_000,
    png: Annotated[Path | None, Parameter(help="Folder for every chart as a PNG file.")] = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Write one self-contained page: verdicts, leaderboards, charts, denominators, taint, and what was not run.

    Example: evalframe report --store evalframe-demo/store --output report.html
    """
    from evalframe.verbs.opened import open_store

    made = open_store(store).report(
        output,
        baseline=baseline,
        candidates=candidate or (),
        protocol=protocol,
        replicates=replicates,
        png=png,
        force=force,
    )
    if json:
        show_json({"output": str(output), "charts": [figure.caption for figure in made.figures]}, "report")
    say(f"wrote {output}: {len(made.figures)} charts")
