"""McNemar rows: paired items that only one side has right. Additional to the tests on clusters, and never in Holm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evalframe.compare import columns
from evalframe.compare.cells import Cell
from evalframe.compare.columns import places
from evalframe.compare.rows import blank, with_percentage_points
from evalframe.stats.mcnemar import mcnemar

if TYPE_CHECKING:
    import pyarrow as pa

    from evalframe.compare.clustering import Clustering
    from evalframe.compare.sides import Side
    from evalframe.compare.states import Reader
    from evalframe.protocols import Protocol
    from evalframe.relations import Catalogue

METHODS = ("mcnemar_exact", "mcnemar_midp")


class Paired(NamedTuple):
    """Items both sides answered: both right, only one right, neither; the most of them in one cluster."""

    n: int
    both: int
    only_baseline: int
    only_candidate: int
    largest_cluster: int


def wanted(protocol: Protocol, metrics: Sequence[str]) -> bool:
    """Whether the protocol pairs items, and the metric that they are the items of is compared."""
    return protocol.paired is not None and protocol.paired[0] in metrics


def rows(
    reader: Reader,
    catalogue: Catalogue,
    protocol: Protocol,
    compared: Sequence[Mapping[str, Any]],
    pair: tuple[Side, Side],
    strata: Sequence[str],
    clustering: Clustering | None = None,
) -> list[dict[str, Any]]:
    """Two rows (exact, mid-p) for every stratum in which the metric itself is compared; `compared`: the pair's rows.

    clustering: other clusters than the protocol's.
    """
    assert protocol.paired is not None
    metric, source = protocol.paired
    relation = catalogue[metric]
    allowed = {r["stratum"] for r in compared if r["metric"] == relation.published and r["status"] != "refused"}
    chosen = [stratum for stratum in strata if stratum in allowed]
    if not chosen:
        return []
    read = reader.read([source], pair) if clustering is None else clustering.read(reader, [source], pair)
    answers = read[source]
    found = []
    for stratum in chosen:
        inside = columns.rows(answers, places(answers["stratum"], [stratum]) == 0)
        paired = _paired(inside, pair[0].run_id, pair[1].run_id)
        for method in METHODS:
            row = {**blank(pair[0].run_id, pair[1].run_id, relation, Cell(stratum)), "metric": method}
            found.append(_filled({**row, "method": method}, paired))
    return found


def _filled(row: dict[str, Any], paired: Paired | None) -> dict[str, Any]:
    if paired is None:
        return {**row, "status": "undefined", "reason": "items_not_identified"}
    if paired.n == 0:
        return {**row, "status": "undefined", "reason": "no_pairs", "n_pairs": 0}
    test = mcnemar(paired.only_baseline, paired.only_candidate)
    first, second = paired.both + paired.only_baseline, paired.both + paired.only_candidate
    row.update(
        baseline=first / paired.n,
        candidate=second / paired.n,
        baseline_numerator=float(first),
        candidate_numerator=float(second),
        baseline_denominator=float(paired.n),
        candidate_denominator=float(paired.n),
        change=(second - first) / paired.n,
        p_value=test.exact if row["method"] == METHODS[0] else test.mid_p,
        n_pairs=paired.n,
        wins=paired.only_candidate,
        ties=paired.n - paired.only_baseline - paired.only_candidate,
        losses=paired.only_baseline,
        flags=["additional", *(["ignores_clusters"] if paired.largest_cluster > 1 else [])],
    )
    return with_percentage_points(row)


def _paired(answers: pa.Table, baseline: str, candidate: str) -> Paired | None:
    """Counts over the items that both runs answered; None where items have no identity.

    answers: run_id, item_id, cluster_id, correct (null: not counted).
    """
    if answers["item_id"].null_count:
        return None
    right = places(answers["correct"], [False, True])
    inside = [(places(answers["run_id"], [run]) == 0) & (right >= 0) for run in (baseline, candidate)]
    first, second = (columns.rows(answers, rows_of) for rows_of in inside)
    place = places(first["item_id"], second["item_id"])
    shared = place >= 0
    before, after = right[inside[0]][shared] == 1, right[inside[1]][place[shared]] == 1
    sizes = np.bincount(columns.codes(first["cluster_id"])[0][shared], minlength=1)
    return Paired(
        n=int(np.count_nonzero(shared)),
        both=int(np.count_nonzero(before & after)),
        only_baseline=int(np.count_nonzero(before & ~after)),
        only_candidate=int(np.count_nonzero(~before & after)),
        largest_cluster=int(sizes.max()),
    )
