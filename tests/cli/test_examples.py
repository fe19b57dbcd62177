"""The example in the help of every command works: the program reads it, and it is run where the demo has the data."""

from __future__ import annotations

import re
import shlex
from importlib import import_module

import pytest

from evalframe.cli.app import COMMANDS, GROUPS, tree
from evalframe.cli.run import run

PLACES = COMMANDS | {
    f"{group} {name}": place for group, (_, members) in GROUPS.items() for name, place in members.items()
}


def example(place: str) -> list[str]:
    """The words of the example in the docstring of `module:function`, without the first."""
    module, _, function = place.partition(":")
    said = getattr(import_module(f"evalframe.cli.{module}"), function).__doc__
    (found,) = re.findall(r"^    Example: (.+?)\n *$", said, re.M | re.S)
    program, *words = shlex.split(" ".join(found.split()))
    assert program == "evalframe"
    return words


ON_THE_DEMO = {
    name: words
    for name, place in PLACES.items()
    if (words := example(place)) and ("evalframe-demo" in " ".join(words) or name == "completion") and name != "demo"
}


@pytest.mark.parametrize("name", PLACES)
def test_the_example_of_a_command_is_read_by_it(name: str) -> None:
    words = example(PLACES[name])
    assert words[: len(name.split())] == name.split()
    command, bound, _ = tree(words).parse_args(words, exit_on_error=False, print_error=False)
    assert command.__module__.startswith("evalframe.cli.")
    assert bound.args or bound.kwargs


@pytest.mark.usefixtures("tour")
def test_examples_on_the_demo_run_as_they_stand(capsys: pytest.CaptureFixture[str]) -> None:
    assert example(PLACES["demo"]) == ["demo", "evalframe-demo"]  # which is there
    assert len(ON_THE_DEMO) > 14
    quicker = {"export": ["--no-compare"]}
    # Withdrawing a run comes last: the others want to see it. The page needs an extra and is opened elsewhere.
    for name in sorted(ON_THE_DEMO.keys() - {"report"}, key=lambda name: (name == "store withdraw", name)):
        assert run([*ON_THE_DEMO[name], *quicker.get(name, [])]) == 0, name
        printed = capsys.readouterr()
        assert printed.out or printed.err, name
