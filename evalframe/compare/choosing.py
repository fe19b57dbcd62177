"""RUN arguments: an id names one run, `key=value[,key=value]` the runs with these tags."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evalframe.errors import UnknownName, UsageError

Tags = Mapping[str, Mapping[str, str]]
"""Tags of every run in the store by run id."""


class Pairing(NamedTuple):
    """Runs compared with one another. baseline, candidate: how they were asked for. grouped: the pairs make one row."""

    baseline: str
    candidate: str
    pairs: tuple[tuple[str, str], ...]
    grouped: bool


def chosen(argument: str, tags: Tags, where: str) -> tuple[tuple[str, ...], bool]:
    """The runs that `argument` names, and whether it names them by tags. Raises UnknownName when there are none."""
    if argument in tags:
        return (argument,), False
    if "=" not in argument:
        raise _unknown(argument, tags, where)
    wanted = dict(part.partition("=")[::2] for part in argument.split(","))
    found = tuple(run for run, has in tags.items() if all(has.get(key) == value for key, value in wanted.items()))
    if not found:
        known = sorted({f"{key}={value}" for has in tags.values() for key, value in has.items()})
        raise UnknownName(
            f"no run has the tags {argument}",
            expected=", ".join(known[:10]) or "runs with tags",
            found=argument,
            where=where,
            hint="evalframe runs --store DIR",
        )
    return found, True


def pairings(baseline: str, candidates: Sequence[str], tags: Tags, pair_on: Sequence[str]) -> tuple[Pairing, ...]:
    """How the arguments pair up. Runs chosen by tags pair one to one on the values of `pair_on`.

    Raises UsageError where tags name several runs and nothing says how they pair, or where a run stays unpaired.
    """
    first, first_by_tags = chosen(baseline, tags, "--baseline")
    found = []
    for argument in candidates:
        second, by_tags = chosen(argument, tags, "--candidate")
        if len(first) == len(second) == 1 and not pair_on:
            pairs: tuple[tuple[str, str], ...] = ((first[0], second[0]),)
        else:
            pairs = _paired(baseline, argument, first, second, tags, pair_on)
        if clash := sorted(set(first) & set(second)):
            raise UsageError(
                f"run {clash[0]!r} stands on both sides",
                expected="two different runs, or groups without a run in common",
                found=f"{baseline} and {argument}",
                where="--candidate",
                hint="evalframe runs --store DIR",
            )
        found.append(Pairing(baseline, argument, pairs, grouped=bool(pair_on) and (first_by_tags or by_tags)))
    return tuple(found)


def _paired(
    baseline: str, candidate: str, first: Sequence[str], second: Sequence[str], tags: Tags, pair_on: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    if not pair_on:
        many = baseline if len(first) > 1 else candidate
        raise UsageError(
            f"{many} names {max(len(first), len(second))} runs",
            expected="one run, or --pair-on with the tags that pair the runs of two groups",
            found=", ".join((first if len(first) > 1 else second)[:5]),
            where="--pair-on",
            hint="--pair-on dataset fold seed",
        )
    left, right = (
        _by_values(argument, runs, tags, pair_on) for argument, runs in ((baseline, first), (candidate, second))
    )
    if unpaired := [by[key] for by, other in ((left, right), (right, left)) for key in by if key not in other]:
        raise UsageError(
            f"{len(unpaired)} runs have no partner",
            expected=f"for every {', '.join(pair_on)} one run on each side",
            found=", ".join(unpaired[:10]),
            where="--pair-on",
            hint="narrow the groups: method=a,dataset=d",
        )
    return tuple((left[key], right[key]) for key in sorted(left))


def _by_values(argument: str, runs: Sequence[str], tags: Tags, pair_on: Sequence[str]) -> dict[tuple[str, ...], str]:
    found: dict[tuple[str, ...], str] = {}
    for run in runs:
        if lacking := [key for key in pair_on if key not in tags[run]]:
            raise UsageError(
                f"run {run!r} has no tag {lacking[0]!r} to pair on",
                expected=f"tags {', '.join(pair_on)} on every run of {argument}",
                found=", ".join(f"{key}={value}" for key, value in tags[run].items()) or "no tags",
                where="--pair-on",
                hint=f"score the run with --tag {lacking[0]}=VALUE",
            )
        key = tuple(tags[run][name] for name in pair_on)
        if key in found:
            raise UsageError(
                f"two runs of {argument} share {', '.join(f'{k}={v}' for k, v in zip(pair_on, key, strict=True))}",
                expected="one run for each combination",
                found=f"{found[key]}, {run}",
                where="--pair-on",
                hint="name one more tag with --pair-on, or narrow the group",
            )
        found[key] = run
    return found


def _unknown(argument: str, tags: Tags, where: str) -> UnknownName:
    near = difflib.get_close_matches(argument, list(tags), n=3) or list(tags)[:3]
    return UnknownName(
        f"there is no run {argument!r} in the store",
        expected=", ".join(near) or "a run",
        found=argument,
        where=where,
        hint="evalframe runs --store DIR",
    )
