"""Hints that are a piece of a command line, as the whole of it: the line that failed, with that piece put right."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

_PIECE = re.compile(r"--[a-z][a-z0-9-]*( |$)")
_FORCE = re.compile(r"(name another --[a-z-]+), or add --force")
_LEAVE_OUT = re.compile(r"leave out (--[a-z][a-z-]*(?: and --[a-z][a-z-]*)*)")
_OTHERWISE = re.compile(r"(name the run otherwise): --run-id ID")
_REMARK = re.compile(r"\s+\((.*)\)$|\s+#\s*(.*)$|,? (or .*)$|: (.*)$")
"""What is said beside a piece: in brackets, as a comment, as another choice, or after a colon."""

_SECRET = re.compile(r"://[^/]*@|://.*\?")
"""Places whose user, password or query no message repeats."""

Groups = list[list[str]]


def pasted(
    hint: str, command: Sequence[str], arguments: Sequence[str], *, overwrites: bool = True, refused: str = ""
) -> str:
    """`hint` as a command that can be pasted, where it is about options of the `arguments` that were given; else as it
    is. command: the words of `arguments` that name the command. overwrites: whether it takes `--force`. refused: what
    was found in place of what was expected: where that is a value that was typed, it is not typed again."""
    if any(_SECRET.search(word) for word in arguments):
        return hint
    asked, _, piece = hint.partition(" ... ")
    given = _groups(arguments)
    if piece and asked == shlex.join(["evalframe", *command]):
        return _again(piece, given, refused) or hint
    if forced := _FORCE.fullmatch(hint):
        return _line([*given, ["--force"]], f"or {forced[1]}") if overwrites else forced[1]
    if left_out := _LEAVE_OUT.match(hint):
        for option in left_out[1].split(" and "):
            given = _without(given, option)
        return _line(given, hint)
    if otherwise := _OTHERWISE.fullmatch(hint):
        # One id cannot name several runs; a prefix tells the runs of one command from those of another.
        return (
            _again(f"{'--run-prefix P' if _has_many_runs(given) else '--run-id ID'}  ({otherwise[1]})", given) or hint
        )
    return (_again(hint, given, refused) if _PIECE.match(hint) else None) or hint


def _again(piece: str, given: Groups, refused: str = "") -> str | None:
    """The command line with the options of `piece` in place of those it has; None where that is no command line."""
    remark = _REMARK.search(piece)
    said = "" if remark is None else next(text for text in remark.groups() if text)
    try:
        new = _groups(shlex.split(piece if remark is None else piece[: remark.start()]))
    except ValueError:
        return None
    for option, *values in new:
        names = {value.partition("=")[0] if "=" in value else None for value in values or [""]}
        # Of options that take NAME=VALUE often, the one that was refused may have another name, or none.
        for name in names if None in names else names | {refused.strip("'").partition("=")[0]}:
            given = _without_twin(_without(given, option, name), option, name)
    return _line([*given, *new], said)


def _has_many_runs(given: Groups) -> bool:
    options = [(group[0].partition("=")[0], max(1, len(group) - 1)) for group in given]
    return sum(n for option, n in options if option == "--run") > 1 or "--run-prefix" in dict(options)


def _without_twin(given: Groups, option: str, name: str | None) -> Groups:
    """The arguments without what says the same as `option`: a protocol parameter may have an option of its own beside
    `--set NAME=VALUE`, and a command refuses to be told it twice."""
    if option == "--set":
        return given if name is None else _without(given, f"--{name.replace('_', '-')}")
    return _without(given, "--set", option.removeprefix("--").replace("-", "_"))


def _groups(words: Iterable[str]) -> Groups:
    """Each option with its values; what stands before the first is a group of its own."""
    groups: Groups = []
    for word in words:
        if word.startswith("--") or not groups:
            groups.append([word])
        else:
            groups[-1].append(word)
    return groups


def _without(given: Groups, option: str, name: str | None = None) -> Groups:
    """The arguments without an option; with `name`, without its values `name=...` alone."""
    kept = []
    for group in given:
        key, _, inline = group[0].partition("=")
        if key != option:
            kept.append(group)
        elif name is not None:
            values = [inline] if inline else group[1:]
            if left := [value for value in values if value.partition("=")[0] != name]:
                kept.append([option, *left])
    return kept


def _line(groups: Groups, remark: str) -> str:
    line = shlex.join(["evalframe", *(word for group in groups for word in group)])
    return f"{line}  # {remark}" if remark else line
