"""Completion is a static script that shells read by themselves; here bash and, where it is installed, zsh are asked."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from evalframe.cli.run import run

ASK = """
source "$1"
shift
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMPREPLY=()
_evalframe evalframe "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "evalframe.bash"
    assert run(["completion", "bash", "--output", str(path)]) == 0
    return path


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("lead", "leaderboard"),
        ("wisp ", "evaluate score audit gate compare-exports"),
        ("compare --can", "--candidate"),
        ("compare --format ", "table json csv md latex html"),
        ("completion ", "bash zsh fish"),
        ("compare --store ", ""),
    ],
)
def test_bash_is_offered_commands_options_and_choices(words: str, offered: str, script: Path) -> None:
    command = ["bash", "-c", ASK, "bash", str(script), "evalframe", *words.split(" ")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert set(done.stdout.removesuffix("\n").split("\n")) == set(offered.split(" "))
    assert "complete -o default -F _evalframe evalframe" in script.read_text()


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_registers_it_when_sourced(tmp_path: Path) -> None:
    path = tmp_path / "_evalframe"
    assert run(["completion", "zsh", "--output", str(path)]) == 0
    code = f"autoload -Uz compinit && compinit -u -d {tmp_path}/dump; source {path}; print $_comps[evalframe]"
    done = subprocess.run(["zsh", "-f", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "_evalframe"


def test_fish_gets_a_script_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", "fish"]) == 0
    assert "complete -c evalframe" in capsys.readouterr().out
