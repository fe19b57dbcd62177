"""What a partition of predictions costs, and what many of them would: the figures of SCALE.md.

    python -m tests.benchmarks.scale [--rows 2e6] [--groups 16 4] [--predictions 1e10] [--workers 100]

Generated answers of both kinds (classes of windows, probabilities of questions) are divided into groups of rows, each
answered by an engine of one thread, and merged. Printed per kind and number of groups: processor time of the groups
per million rows, bytes that one group sends to the merge (states, and rows of facts that a rank is taken over), seconds
of the merge and of what is computed from it. Below, the same for what no group can share: the digest of the evaluation
set. Then what PREDICTIONS on WORKERS cores cost if every million rows costs what it cost here, in groups as large as
the largest measured; nothing of that part is measured.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from evalframe.identity import data_digest
from evalframe.relations import Plan, catalogue, plan
from evalframe.store import Store
from tests.benchmarks import choice, classification
from tests.engines.in_turn import Answer, InTurn

MILLION = 1e6


class Counted(InTurn):
    """Counts what the groups cost."""

    def __init__(self, groups: int) -> None:
        super().__init__(groups)
        self.seconds, self.states, self.facts = 0.0, 0, 0

    def told(self, answered: Callable[[], Answer]) -> Answer:
        start = time.process_time()
        found = answered()
        self.seconds += time.process_time() - start
        for name, table in found.items():
            if catalogue()[name].layer == "fact":
                self.facts += table.nbytes
            else:
                self.states += table.nbytes
        return found


@dataclass(frozen=True)
class Kind:
    """Stored predictions of one run: its plan, its files, and the bytes that they take."""

    name: str
    plan: Plan
    files: Mapping[str, Sequence[Path]]

    @property
    def stored(self) -> int:
        return sum(path.stat().st_size for paths in self.files.values() for path in paths)


def windows(folder: Path, rows: int, pooled: bool) -> Kind:
    """Classes of `rows` windows of 1,000 people, 12 classes."""
    if not folder.exists():
        classification.build(folder, classification.Size(rows, 1, 12, 1000))
    store = Store.open(folder, read_only=True)
    wanted = plan(catalogue(), classification.WISP.metrics, parameters=classification.WISP.settings(), pooled=pooled)
    return Kind("windows", wanted, {name: store.files(name) for name in wanted.sources})


def questions(folder: Path, rows: int, pooled: bool) -> Kind:
    """Probabilities of `rows` questions with ten options, 1,000 clusters."""
    if not folder.exists():
        folder.mkdir()
        choice.build(folder, choice.Size(rows, 10, False, 1000))
    wanted = plan(catalogue(), choice.SEVEN, parameters=choice.KEV.settings(), pooled=pooled)
    return Kind("questions", wanted, {name: [folder / f"{name}.parquet"] for name in choice.TABLES})


@dataclass(frozen=True)
class Cost:
    """seconds: of the groups, on one core. states, facts: bytes that they send. rest: seconds of merge and values."""

    seconds: float
    states: int
    facts: int
    rest: float


def measured(kind: Kind, groups: int) -> Cost:
    with Counted(groups) as engine:
        for name, paths in kind.files.items():
            engine.bind(name, paths)
        start = time.process_time()
        engine.evaluate(kind.plan)
        whole = time.process_time() - start
        return Cost(engine.seconds, engine.states, engine.facts, whole - engine.seconds)


def digest_seconds(rows: int) -> float:
    """Seconds of processor time of the digest over an evaluation set of `rows` items."""
    index = pa.array(np.arange(rows)).cast(pa.large_string())
    cluster = pa.array(np.arange(rows) % 1000).cast(pa.large_string())
    text = pa.large_string()
    items = {
        "item_id": index,
        "label": cluster,
        "cluster_id": cluster,
        "stratum": pa.repeat(pa.scalar("all", text), rows),
    }
    table = pa.table(items)
    start = time.process_time()
    data_digest(table)
    return time.process_time() - start


def main(rows: int, groups: Sequence[int], predictions: float, workers: int, folder: Path) -> None:
    print(f"{rows:,} rows of each kind; one thread a group\n")
    print(
        "| kind | clusters | groups | s per million rows | KB of states a group | KB of facts a group | s of the rest |"
    )
    print("|---|---|--:|--:|--:|--:|--:|")
    found: dict[str, Cost] = {}
    for make in (windows, questions):
        for pooled in (False, True):
            kind = make(folder / make.__name__, rows, pooled)
            for count in groups:
                cost = found[kind.name] = measured(kind, count)
                print(
                    f"| {kind.name} | {'together' if pooled else 'apart'} | {count} | "
                    f"{cost.seconds / rows * MILLION:.2f} | {cost.states / count / 1000:,.0f} | "
                    f"{cost.facts / count / 1000:,.0f} | {cost.rest:.2f} |"
                )
    digest = digest_seconds(rows) / rows * MILLION
    print(f"\ndigest of the evaluation set: {digest:.2f} s per million items, on one core")
    print(f"\n{predictions:.0e} predictions on {workers} cores, scored, at these costs:\n")
    print("| kind | stored, GB | minutes of the groups | GB of states | GB of facts | minutes of the digest |")
    print("|---|--:|--:|--:|--:|--:|")
    times = predictions / rows
    for make in (windows, questions):
        kind = make(folder / make.__name__, rows, True)
        cost = found[kind.name]
        print(
            f"| {kind.name} | {kind.stored * times / 1e9:,.0f} | {cost.seconds * times / workers / 60:.1f} | "
            f"{cost.states * times / 1e9:,.1f} | {cost.facts * times / 1e9:,.0f} | "
            f"{digest * predictions / MILLION / 60:,.0f} |"
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=2e6)
    parser.add_argument("--groups", type=int, nargs="+", default=[16, 4])
    parser.add_argument("--predictions", type=float, default=1e10)
    parser.add_argument("--workers", type=int, default=100)
    return parser.parse_args()


if __name__ == "__main__":
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="evalframe-benchmark-") as made:
        main(int(given.rows), given.groups, given.predictions, given.workers, Path(made))
