"""The runs of one protocol, best first, with those that cannot be told from the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from evalframe.compare.leaderboard import Board, boards
from evalframe.compare.standings import averaged, place, ranked
from evalframe.engines.duckdb import DuckDB
from evalframe.errors import ResultsMissing, UnknownName, UsageError
from evalframe.protocols import protocol as protocol_of
from evalframe.relations import catalogue
from evalframe.verbs import drawing, marks
from evalframe.verbs.arguments import loosely
from evalframe.verbs.naming import no_metric
from evalframe.verbs.outputs import to_json
from evalframe.verbs.results import Rows
from evalframe.verbs.sides import chosen_label

if TYPE_CHECKING:
    from evalframe.protocols import Protocol
    from evalframe.relations import Catalogue, Relation
    from evalframe.stats.intervals import Interval
    from evalframe.store import Store

# Beyond so many runs on one board nobody looks at who is tied with the best, and resampling all of them takes long.
TIES_AMONG = 50
_REPLICATES = 2_000

_SCHEMA = pa.schema(
    [
        ("board", pa.int64()),
        ("rank", pa.int64()),
        ("name", pa.large_string()),
        ("value", pa.float64()),
        ("status", pa.large_string()),
        ("reason", pa.large_string()),
        ("from_best", pa.float64()),
        ("from_best_low", pa.float64()),
        ("from_best_high", pa.float64()),
        ("tied_with_best", pa.bool_()),
        ("n_runs", pa.int64()),
        ("n_undefined", pa.int64()),
        ("n_items", pa.int64()),
        ("origin", pa.large_string()),
        ("metric", pa.large_string()),
        ("unit", pa.large_string()),
        ("better", pa.large_string()),
        ("stratum", pa.large_string()),
        ("horizon_s", pa.float64()),
        ("recall", pa.float64()),
        ("step", pa.int64()),
        ("metric_fingerprint", pa.large_string()),
        ("data_digest", pa.large_string()),
    ]
)
_SHOWN = ("value", "from_best_low", "from_best_high", "tied_with_best", "n_runs", "n_items", "origin")
_DIMENSIONS = ("horizon_s", "recall", "step")
_NAME = _SCHEMA.get_field_index("name")
"""The column that is called after what is ranked: run_id, or the tag."""


@dataclass(frozen=True, repr=False)
class Leaderboard(Rows):
    """Ranked rows. A board holds one metric fingerprint over one evaluation set; ranks start anew on each.

    tied_with_best: the 95 % interval of the difference from the best holds 0; null where that was not looked at.
    """

    protocol: str
    metric: str
    by: str
    n_tainted: int

    def headlines(self) -> list[str]:
        """What is ranked, how many boards there are, and what was left out."""
        lines = [f"{self.metric}  {self.protocol}"]
        count = len(set(self.table["board"].to_pylist()))
        if count > 1:
            lines.append(f"{count} boards: values on different boards answer different questions")
        if self.n_tainted:
            lines.append(f"{self.n_tainted} tainted run{'s are' if self.n_tainted > 1 else ' is'} left out")
        if True in self.table["tied_with_best"].to_pylist():
            lines.append(f"{marks.TIED}: {marks.NOT_SEPARABLE} (paired cluster bootstrap, {_REPLICATES} replicates)")
        return lines

    def shown(self) -> pa.Table:
        """Rank, name and value first; columns that say nothing are left out."""
        used = [name for name in (*_DIMENSIONS, *_SHOWN) if self.table[name].null_count < len(self.table)]
        boards = ["board"] if len(set(self.table["board"].to_pylist())) > 1 else []
        return self.table.select([*boards, "rank", self.table.column_names[_NAME], *used])

    def specs(self) -> dict[str, Any]:
        """The first boards that rank several runs."""
        from evalframe.verbs.plots import of_boards

        return of_boards(self.table, self.metric, self.by)

    def screen(self) -> pa.Table:
        """Board, rank and name, the value, whether it can be told from the best and by how much."""
        table = self.paper()
        if marks.TIED not in table.column_names:
            return table
        place = table.column_names.index("from_best_low")
        bounds = marks.bounds(self.table["from_best_low"].to_pylist(), self.table["from_best_high"].to_pylist())
        table = table.drop_columns(["from_best_low", "from_best_high"])
        return table.add_column(place, "from best, 95 %", bounds)

    def closing(self) -> list[str]:
        """Where the values come from; a headline has said what the mark means."""
        return [line for line in self.legend() if not line.startswith("=")]

    def paper(self) -> pa.Table:
        """The columns that differ between rows, a mark for each run that cannot be told from the best."""
        alike = [name for name, value in (("n_runs", 1), ("origin", self._origin())) if self._all(name, value)]
        return marks.of_leaderboard(self.shown().drop_columns(alike))

    def legend(self) -> list[str]:
        """What the mark means."""
        origin = self._origin()
        said = [f"origin: {origin}, of every value"] if origin is not None and self._all("origin", origin) else []
        return [*marks.legend_of_leaderboard(self.paper(), _REPLICATES), *said]

    def _origin(self) -> str | None:
        return next(iter(self.table["origin"].to_pylist()), None)

    def _all(self, name: str, value: object) -> bool:
        """Whether a column that is shown holds nothing else."""
        return name in self.shown().column_names and set(self.table[name].to_pylist()) == {value}

    def body(self) -> dict[str, Any]:
        """The parts of the JSON object."""
        return {"metric": self.metric, "by": self.by, "n_tainted": self.n_tainted, "rows": drawing.rows(self.table)}

    def to_json(self) -> str:
        """What `--json` prints. The fingerprints stand in the rows: each metric's own."""
        name, _, version = self.protocol.rpartition("/")
        return to_json("leaderboard", self.body(), {"name": name, "version": version, "fingerprint": None})


@loosely
def leaderboard(
    store: Store,
    *,
    metric: str | None = None,
    by: str = "run_id",
    where: Mapping[str, str] | None = None,
    protocol: str | None = None,
    relations: Path | None = None,
) -> Leaderboard:
    """Rank the runs of a protocol by a metric, or by its mean over the runs that share a tag.

    metric: published name, default the first primary one of the protocol. by: `run_id` or a tag. where: tags that a run
    must have. protocol: name or name/version, needed where the store holds several. relations: a folder of the user's.
    Raises UnknownName or UsageError (exit 2), ResultsMissing (exit 3).
    """
    rows = []
    with DuckDB() as engine:  # it opens while the seals are read
        known = catalogue(relations)
        rules = _protocol(store, protocol)
        relation = _relation(known, rules, metric)
        tags = _tags(store, where or {}, by)
        found = boards(engine, store, known, rules.label, relation, rules.primary_stratum, tags)
        for number, board in enumerate(found.boards, start=1):
            if not rules.judges_at(board.cell.recall):
                continue
            kept = ranked(board, relation) if by == "run_id" else averaged(board, relation, tags, by)
            intervals = _from_best(engine, store, known, rules, relation, board) if by == "run_id" else {}
            rows += [{**place(board, relation), **row, **_tie(row, intervals), "board": number} for row in kept]
    numbers = {old: new for new, old in enumerate(dict.fromkeys(row["board"] for row in rows), start=1)}
    table = pa.Table.from_pylist([{**row, "board": numbers[row["board"]]} for row in rows], schema=_SCHEMA)
    title = by if by not in table.column_names else "name"
    table = table.rename_columns([title if name == "name" else name for name in table.column_names])
    return Leaderboard(table, rules.label, relation.published, by, found.n_tainted)


def _protocol(store: Store, asked: str | None) -> Protocol:
    label = chosen_label(set(store.scored()["protocol"].to_pylist()), asked)
    if label is None:
        from evalframe.store.refusals import never_scored

        runs = store.run_ids() or tuple(sorted(set(store.read("metric_values")["run_id"].to_pylist())))
        raise UsageError(
            "the store holds no results",
            expected="scored runs",
            found=f"{len(runs)} of which only recorded values are known" if runs else "no runs",
            where=str(store.path),
            hint=never_scored(store.path, runs),
        )
    return protocol_of(label)


def _relation(known: Catalogue, rules: Protocol, metric: str | None) -> Relation:
    if metric is None:
        return known[rules.primary[0]]
    names = {known[name].published: name for name in rules.metrics}
    names.update({one.published: one.name for one in known.own() if one.layer == "metric"})
    if metric not in names:
        raise no_metric(metric, rules, names)
    return known[names[metric]]


def _tags(store: Store, where: Mapping[str, str], by: str) -> dict[str, dict[str, str]]:
    """Tags of the runs that have those of `where`, and the tag `by`. UnknownName or UsageError where no run does."""
    from evalframe.store.refusals import command

    every = {row["run_id"]: dict(row["tags"] or []) for row in store.runs().select(["run_id", "tags"]).to_pylist()}
    found = {run: has for run, has in every.items() if where.items() <= has.items()}
    if where and not found:
        known = sorted({f"{tag}={value}" for has in every.values() for tag, value in has.items()})
        raise UnknownName(
            f"no run has the tags {','.join(f'{tag}={value}' for tag, value in where.items())}",
            expected=", ".join(known[:10]) or "runs with tags",
            found=", ".join(f"{tag}={value}" for tag, value in where.items()),
            where="--where",
            hint=command("runs --store", store.path),
        )
    if by != "run_id" and not any(by in has for has in found.values()):
        tags = sorted({tag for has in found.values() for tag in has})
        raise UsageError(
            f"no run has the tag {by!r}",
            expected=", ".join(("run_id", *tags)),
            found=by,
            where="--by",
            hint=f"score runs with --tag {by}=VALUE",
        )
    return found


def _from_best(
    engine: DuckDB, store: Store, known: Catalogue, rules: Protocol, relation: Relation, board: Board
) -> dict[str, Interval]:
    """Intervals of the differences from the best run, by run; none where a board is too long or was not computed."""
    from evalframe.verbs.ties import intervals_from_best

    runs: Sequence[str] = [row["name"] for row in ranked(board, relation) if row["value"] is not None]
    if not 2 <= len(runs) <= TIES_AMONG or board.metric_fingerprint is None:
        return {}
    try:
        return intervals_from_best(
            engine, store, known, rules, relation.name, board.metric_fingerprint, board.cell, runs, _REPLICATES
        )
    except ResultsMissing:
        return {}  # results under older definitions are ranked as they are; nothing can be resampled for them


def _tie(row: Mapping[str, Any], intervals: Mapping[str, Interval]) -> dict[str, Any]:
    """The interval of the difference from the best. The best is tied with itself, where others were looked at."""
    interval = intervals.get(row["name"])
    if interval is None or interval.low is None or interval.high is None:
        is_best = bool(intervals) and row["from_best"] == 0.0 and row["name"] not in intervals
        return {"from_best_low": None, "from_best_high": None, "tied_with_best": True if is_best else None}
    return {
        "from_best_low": interval.low,
        "from_best_high": interval.high,
        "tied_with_best": interval.low <= 0.0 <= interval.high,
    }
