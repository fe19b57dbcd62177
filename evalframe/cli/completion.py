"""`evalframe completion`: what a shell needs to complete our commands, options and choices, without running us."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from evalframe.cli.common import put, say

_ZSH_END = """
if [ "$funcstack[1]" = "_evalframe" ]; then
  _evalframe "$@"
elif whence compdef >/dev/null; then
  compdef _evalframe evalframe
fi
"""
"""Lets the script be sourced after `compinit`, or lie in a folder of `$fpath` as `_evalframe`."""


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="The shell that completes.")],
    /,
    *,
    output: Annotated[Path | None, Parameter(help="File to write instead of stdout.")] = None,
) -> None:
    """Print what a shell needs to complete commands, options and choices. It is static: no keypress starts Python.

    Example: evalframe completion bash --output evalframe.bash
    """
    from evalframe.cli.app import tree
    from evalframe.verbs.outputs import write_text

    script = tree().generate_completion(shell=shell)
    if shell == "bash":
        # Where no command, option or choice fits, as after --store, files are completed.
        script = script.replace("complete -F _evalframe evalframe", "complete -o default -F _evalframe evalframe")
    elif shell == "zsh":
        script = script.replace("_cyclopts_evalframe", "_evalframe").replace("]:store'", "]:store:_files'") + _ZSH_END
    if output is None:
        put(script)
    else:
        write_text(output, script, force=True)
        say(f"wrote {output}")
