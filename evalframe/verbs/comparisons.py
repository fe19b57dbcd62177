"""The comparisons that an export or a report carries where nobody names the runs: each run with the first of its kind.

Of one kind are runs of one protocol over one evaluation set. What is not compared is said, never dropped in silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalframe.engines.duckdb import DuckDB
from evalframe.errors import NotComparable
from evalframe.protocols import protocol as protocol_of
from evalframe.relations import catalogue
from evalframe.relations.plan import literal
from evalframe.underway import counted
from evalframe.verbs.compare import Comparison, compare

if TYPE_CHECKING:
    from evalframe.store import Store

REPLICATES = 10_000
GROUPS, CANDIDATES = 6, 12
"""Beyond so many kinds, and runs of one kind, nobody reads them all on one page and resampling takes long."""


@dataclass(frozen=True)
class Compared:
    """Comparisons, and in words what was left out."""

    comparisons: tuple[Comparison, ...]
    left_out: tuple[str, ...]


def comparisons(
    store: Store,
    baseline: str | None = None,
    candidates: Sequence[str] = (),
    *,
    protocol: str | None = None,
    replicates: int = REPLICATES,
) -> Compared:
    """Those asked for, or else each kind's runs with its oldest one.

    With a baseline and no candidates: all runs that share a kind with it. With candidates alone: each with the oldest
    run of its kind. UnknownName for a run that is not there.
    """
    if baseline is not None and candidates:
        return Compared((compare(store, baseline, candidates, protocol=protocol, replicates=replicates),), ())
    kinds = _kinds(store, protocol)
    if baseline is not None:
        store.run(baseline)  # refuses a run that is not there
        kinds = [(label, _first(baseline, runs)) for label, runs in kinds if baseline in runs]
    elif candidates:
        for run in candidates:
            store.run(run)
        kinds = [(label, [runs[0], *(run for run in runs[1:] if run in candidates)]) for label, runs in kinds]
    made, left = [], []
    kinds = [(label, runs) for label, runs in kinds if len(runs) > 1]
    for label, (first, *others) in counted("comparisons", kinds[:GROUPS]):
        try:
            made.append(compare(store, first, others[:CANDIDATES], protocol=label, replicates=replicates))
        except NotComparable as refused:
            left.append(f"{label}: {first} and {len(others)} more: {refused.what}")
        if beyond := others[CANDIDATES:]:
            left.append(f"{label}: {len(beyond)} more runs over the same data as {first} were not compared")
    if len(kinds) > GROUPS:
        left.append(f"{len(kinds) - GROUPS} more evaluation sets with several runs were not compared")
    return Compared(tuple(made), tuple(left))


def _first(baseline: str, runs: Sequence[str]) -> list[str]:
    return [baseline, *(run for run in runs if run != baseline)]


def _scored(label: str, metric: str) -> str:
    """Which runs have a value of a metric under a protocol, and over which data."""
    return (
        "SELECT DISTINCT data_digest, run_id FROM metric_values"
        f" WHERE protocol = {literal(label)} AND metric = {literal(metric)} AND data_digest <> '' ORDER BY ALL"
    )


def _kinds(store: Store, protocol: str | None) -> list[tuple[str, list[str]]]:
    """(protocol label, its runs over one evaluation set, oldest first), those with most runs first."""
    order = {run: place for place, run in enumerate(store.run_ids())}
    known = catalogue()
    found = []
    with DuckDB() as engine:
        engine.bind("metric_values", store.files("metric_values"))
        labels = engine.query("SELECT DISTINCT protocol FROM metric_values WHERE protocol <> '' ORDER BY protocol")
        for label in labels["protocol"].to_pylist():
            rules = protocol_of(label)
            if protocol is not None and protocol not in (rules.label, rules.name):
                continue
            kinds: dict[str, list[str]] = {}
            for row in engine.query(_scored(label, known[rules.primary[0]].published)).to_pylist():
                kinds.setdefault(row["data_digest"], []).append(row["run_id"])
            found += [(label, sorted(runs, key=order.__getitem__)) for runs in kinds.values()]
    return sorted(found, key=lambda kind: (-len(kind[1]), kind[0], order[kind[1][0]]))
