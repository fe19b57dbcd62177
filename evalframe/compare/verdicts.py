"""Whether two sides answer the same question: run by run, then metric by metric, each refusal with its reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from evalframe.compare.points import Point
from evalframe.compare.sides import Side
from evalframe.relations import Catalogue, Relation

Verdict = Literal["comparable", "comparable_on_intersection", "not_comparable"]
Kind = Literal["score_affecting", "inert"]


class Refusal(NamedTuple):
    """Why a pair, or one metric of it (None: all of them), is not compared. reason is of the closed list."""

    reason: str
    baseline_run: str
    candidate_run: str
    metric: str | None
    detail: str

    def to_json(self) -> dict[str, Any]:
        """As an object of `explanations`."""
        return self._asdict()


class Difference(NamedTuple):
    """One field in which two sides differ, and whether a requested number depends on it."""

    field: str
    baseline: Any
    candidate: Any
    kind: Kind
    candidate_run: str

    def to_json(self) -> dict[str, Any]:
        """As an object of `protocol_diff`."""
        return {
            "field": self.field,
            "baseline": self.baseline,
            "candidate": self.candidate,
            "class": self.kind,
            "candidate_run": self.candidate_run,
        }


def run_refusals(baseline: Side, candidate: Side) -> list[Refusal]:
    """What forbids every metric of the pair."""

    def refuse(reason: str, detail: str) -> Refusal:
        return Refusal(reason, baseline.run_id, candidate.run_id, None, detail)

    found = []
    if baseline.protocol != candidate.protocol:
        found.append(refuse("fingerprint_differs", f"{baseline.protocol} against {candidate.protocol}"))
    if baseline.taint != candidate.taint:
        found.append(refuse("taint_differs", f"{baseline.taint or 'clean'} against {candidate.taint or 'clean'}"))
    return found


def metric_refusal(
    baseline: Side, candidate: Side, relation: Relation, points: tuple[Point | None, Point | None], *, same_items: bool
) -> Refusal | None:
    """What forbids one row of one metric, or None. `same_items`: the sides were cut to the items they share."""

    def refuse(reason: str, detail: str) -> Refusal:
        return Refusal(reason, baseline.run_id, candidate.run_id, relation.published, detail)

    first, second = points
    lacking = [
        side.run_id
        for side, point in zip((baseline, candidate), points, strict=True)
        if point is None or relation.name not in side.prints
    ]
    if lacking or first is None or second is None:
        known = all(relation.name in side.prints for side in (baseline, candidate))
        reason = "unsupported_stratum" if known and first is None and second is None else "metric_absent"
        return refuse(reason, f"no value for {' and '.join(lacking)}")
    prints = (baseline.prints[relation.name], candidate.prints[relation.name])
    if prints[0] != prints[1]:
        return refuse("fingerprint_differs", f"{prints[0]} against {prints[1]}")
    if baseline.data_digest != candidate.data_digest and not same_items:
        return refuse("items_differ", f"data digest {baseline.data_digest} against {candidate.data_digest}")
    if first.n_items != second.n_items:
        return refuse("items_differ", f"{first.n_items} items against {second.n_items}")
    return _exclusions(first, second, relation, refuse)


def _exclusions(first: Point, second: Point, relation: Relation, refuse: Any) -> Refusal | None:
    """Exclusions that labels fix must agree; those that follow from predictions only where failures made them."""
    left_out = (first.n_excluded or 0, second.n_excluded or 0)
    detail = f"{left_out[0]} items excluded against {left_out[1]}"
    refusal: Refusal | None = None
    if relation.denominator == "data":
        divided = (first.denominator, second.denominator)
        if left_out[0] != left_out[1] or (None not in divided and divided[0] != divided[1]):
            refusal = refuse("exclusions_differ", f"{detail}, denominators {divided[0]} and {divided[1]}")
    elif left_out[0] != left_out[1] and left_out[0] - left_out[1] == (first.n_failed or 0) - (second.n_failed or 0):
        refusal = refuse("exclusions_differ", f"{detail}, as many as failed")
    return refusal


def differences(catalogue: Catalogue, metrics: Sequence[str], baseline: Side, candidate: Side) -> list[Difference]:
    """Every field in which the sides differ. A parameter affects scores where a requested metric's closure reads it."""
    read = set(catalogue.parameters(*metrics)) if metrics else set()
    vocabulary = any("class_vocabulary" in catalogue.tables(metric) for metric in metrics)
    found = []

    def compare(field: str, first: Any, second: Any, kind: Kind) -> None:
        if first != second:
            found.append(Difference(field, first, second, kind, candidate.run_id))

    before, after = (side.protocol.rpartition("/")[::2] for side in (baseline, candidate))
    compare("protocol.name", before[0], after[0], "score_affecting")
    compare("protocol.version", before[1], after[1], "score_affecting")
    for parameter in sorted({*baseline.parameters, *candidate.parameters}):
        first, second = baseline.parameters.get(parameter), candidate.parameters.get(parameter)
        compare(f"parameters.{parameter}", first, second, "score_affecting" if parameter in read else "inert")
    compare(
        "vocabulary",
        list(baseline.vocabulary),
        list(candidate.vocabulary),
        "score_affecting" if vocabulary else "inert",
    )
    compare("data_digest", baseline.data_digest, candidate.data_digest, "score_affecting")
    compare("taint", baseline.taint, candidate.taint, "score_affecting")
    compare("dataset_id", baseline.dataset_id, candidate.dataset_id, "inert")
    compare("protocol_fingerprint", baseline.fingerprint, candidate.fingerprint, "inert")
    for kind, first_map, second_map in (
        ("tags", baseline.tags, candidate.tags),
        ("inputs", baseline.inputs, candidate.inputs),
    ):
        _compare_maps(compare, kind, first_map, second_map)
    return found


def _compare_maps(compare: Any, kind: str, first: Mapping[str, object], second: Mapping[str, object]) -> None:
    for key in sorted({*first, *second}):
        compare(f"{kind}.{key}", first.get(key), second.get(key), "inert")
