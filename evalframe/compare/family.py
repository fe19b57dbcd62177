"""The family of tests that Holm's correction runs over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalframe.stats.holm import holm

_MEMBER = ("candidate_run", "metric", "stratum", "horizon_s", "recall", "step")


def adjust(rows: Sequence[dict[str, Any]], members: Sequence[int]) -> dict[str, Any]:
    """Set `p_adjusted` of the rows at positions `members`; what they are, and how many could be tested.

    A refused or undefined test is a member that is listed and not counted.
    """
    family = holm([rows[i]["p_value"] for i in members])
    for i, adjusted in zip(members, family.adjusted, strict=True):
        rows[i]["p_adjusted"] = adjusted
    return {"members": [_member(rows[i]) for i in members], "m": family.m}


def _member(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**{name: row[name] for name in _MEMBER}, "p_value": row["p_value"], "tested": row["p_value"] is not None}
