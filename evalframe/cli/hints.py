"""Hints that are a piece of a command line, as the whole of it: the line that failed, with that piece put right."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

_PIECE = re.compile(r"--[a-z][a-z0-9-]*( |$)")
_FORCE = re.compile(r"(name another --[a-z-]+), or add --force")
_LEAVE_OUT = re.compile(r"leave out (--[a-z][a-z-]*)")
_REMARK = re.compile(r"\s+\((.*)\)$|\s+#\s*(.*)$|,? (or .*)$|: (.*)$")
"""What is said beside a piece: in brackets, as a comment, as another choice, or after a colon."""

_SECRET = re.compile(r"://[^/]*@|://.*\?")
"""Places whose user, password or query no message repeats."""

Groups = list[list[str]]


def pasted(hint: str, command: Sequence[str], arguments: Sequence[str]) -> str:
    """`hint` as a command that can be pasted, where it is about options of the `arguments` that were given; else as it
    is. command: the words of `arguments` that name the command."""
    if any(_SECRET.search(word) for word in arguments):
        return hint
    asked, _, piece = hint.partition(" ... ")
    given = _groups(arguments)
    if piece and asked == shlex.join(["evalframe", *command]):
        return _again(piece, given) or hint
    if forced := _FORCE.fullmatch(hint):
        return _line([*given, ["--force"]], f"or {forced[1]}")
    if left_out := _LEAVE_OUT.match(hint):
        return _line(_without(given, left_out[1]), hint)
    return (_again(hint, given) if _PIECE.match(hint) else None) or hint


def _again(piece: str, given: Groups) -> str | None:
    """The command line with the options of `piece` in place of those it has; None where that is no command line."""
    remark = _REMARK.search(piece)
    said = "" if remark is None else next(text for text in remark.groups() if text)
    try:
        new = _groups(shlex.split(piece if remark is None else piece[: remark.start()]))
    except ValueError:
        return None
    for option, *values in new:
        for name in {value.partition("=")[0] if "=" in value else None for value in values or [""]}:
            given = _without(given, option, name)
    return _line([*given, *new], said)


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
