"""`evalframe demo`: the first hour, on data that it makes itself."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from evalframe.cli.common import JsonOption, put, put_rows, show_json
from evalframe.cli.engine import limited
from evalframe.cli.terminal import SOFT, STRONG, Terminal

NEXT = """What to try next:
  evalframe explain worst_class_f1
  evalframe explain macro_f1 --steps --store {store} --run cnn
  evalframe compare --store {store} --baseline kev-base --candidate kev-tuned
  evalframe runs --store {store}
  evalframe wisp score --predictions YOUR.npz --output OUT.json --store {store}"""


@limited
def demo(
    folder: Annotated[Path, Parameter(help="Where the data and the store go.")] = Path("evalframe-demo"),
    /,
    *,
    json: JsonOption = False,
) -> None:
    """Show the first hour on generated data: score, rank, compare, refuse, query. A second call changes nothing.

    Example: evalframe demo evalframe-demo
    """
    from evalframe.verbs import drawing
    from evalframe.verbs.demo import demo as steps

    if json:
        shown = [
            {
                "title": s.title,
                "command": s.command,
                "exit_code": s.exit_code or 0,
                "rows": drawing.rows(s.result.table),
            }
            for s in steps(folder)
        ]
        show_json({"store": str(folder / "store"), "steps": shown}, "demo")
        return
    terminal = Terminal.of()
    for step in steps(folder):
        put(f"{terminal.paint(f'# {step.title}', SOFT)}\n{terminal.paint(f'$ {step.command}', STRONG)}")
        put_rows(step.result, step.exit_code)
        put(f"(exit code {step.exit_code})\n\n" if step.exit_code else "\n")
    put(NEXT.format(store=folder / "store"))
