"""Compare runs of a store: verdict, changes, intervals, tests. `evalframe compare` and `Store.compare` call this."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from evalframe.compare.asked import refuse_dimensions
from evalframe.compare.choosing import Pairing, pairings
from evalframe.compare.comparing import Comparing, Outcome
from evalframe.compare.discordant import METHODS
from evalframe.compare.reading import BETTER, UNCLEAR, WORSE, reading
from evalframe.compare.request import Request
from evalframe.contracts import contract, from_rows
from evalframe.engines.choosing import open_engine
from evalframe.errors import ExitCode
from evalframe.identity import canonical_json
from evalframe.protocols import protocol as protocol_of
from evalframe.relations import catalogue
from evalframe.verbs import marks
from evalframe.verbs.arguments import loosely
from evalframe.verbs.naming import listed, no_metric
from evalframe.verbs.outputs import to_json
from evalframe.verbs.results import Rows
from evalframe.verbs.sides import SideReader

if TYPE_CHECKING:
    from evalframe.compare.gates import Gate, GateResult
    from evalframe.compare.sides import Side
    from evalframe.protocols import Protocol
    from evalframe.relations import Catalogue
    from evalframe.store import Store

_HIDDEN = ("comparison_id", "protocol", "protocol_fingerprint", "verdict")
_SHOWN = (
    "candidate_run",
    "metric",
    "stratum",
    "horizon_s",
    "recall",
    "baseline",
    "candidate",
    "change",
    "ci_low",
    "ci_high",
    "p_value",
    "p_adjusted",
    "status",
    "reason",
    "flags",
)


@dataclass(frozen=True, repr=False)
class Comparison(Rows):
    """Table `comparisons` of one request, with the verdict and what led to it. runs: every run that took part."""

    runs: tuple[str, ...]
    request: Request
    outcome: Outcome
    protocol: Mapping[str, str | None]
    gates: tuple[GateResult, ...]
    primary: frozenset[str]

    @property
    def verdict(self) -> str:
        """comparable, comparable_on_intersection or not_comparable."""
        return self.outcome.verdict

    @property
    def reasons(self) -> list[str]:
        """Why rows were refused, each reason once."""
        return self.outcome.reasons

    @property
    def exit_code(self) -> ExitCode:
        """What the process says: 3 before 1, since what is no comparison neither passes nor fails a gate.

        A gate that failed because its metric is absent or refused is a failed gate.
        """
        if self.verdict == "not_comparable" or self._taint_not_allowed():
            return ExitCode.NOT_COMPARABLE
        if any(not gate.passed for gate in self.gates):
            return ExitCode.GATE_FAILED
        judged = set(self.request.metrics) or self.primary
        rows = (row for row in self.outcome.rows if row["metric"] in judged and row["metric"] not in METHODS)
        return ExitCode.NOT_COMPARABLE if any(row["status"] != "ok" for row in rows) else ExitCode.OK

    def _taint_not_allowed(self) -> bool:
        return not self.request.allow_tainted and any("tainted" in row["flags"] for row in self.outcome.rows)

    def body(self) -> dict[str, Any]:
        """The parts of the JSON object."""
        from evalframe.verbs.drawing import rows

        shown = self.table.drop_columns(list(_HIDDEN))
        return {
            "verdict": self.verdict,
            "reasons": self.reasons,
            "explanations": [refusal.to_json() for refusal in self.outcome.refusals],
            "protocol_diff": [difference.to_json() for difference in self.outcome.protocol_diff],
            "family": self.outcome.family,
            "left_out": self.outcome.left_out,
            "fail_if_worse": [gate.to_json() for gate in self.gates],
            "rows": rows(shown),
        }

    def to_json(self) -> str:
        """What `--json` prints."""
        return to_json("compare", self.body(), self.protocol)

    def headlines(self) -> list[str]:
        """The verdict with its reasons, the family of tests, what was left out, and every gate."""
        partly = ", but not every run and metric" if self.reasons and self.verdict != "not_comparable" else ""
        lines = [": ".join([f"{self.verdict}{partly}", *([", ".join(self.reasons)] if self.reasons else [])])]
        lines += [
            f"{d.field}: {d.baseline} -> {d.candidate} ({d.candidate_run}; {d.kind.replace('_', ' ')})"
            for d in self.outcome.protocol_diff
            if d.kind == "score_affecting"
        ]
        lines += self.summary()
        members = self.outcome.family["members"]
        untested = sum(not member["tested"] for member in members)
        lines.append(f"Holm over {self.outcome.family['m']} tests" + (f"; {untested} untestable" if untested else ""))
        lines += [
            f"{n['candidate_run']}: {n['n_shared']} shared items; left out {n['baseline_left_out']} of the baseline,"
            f" {n['candidate_left_out']} of the candidate"
            for n in self.outcome.left_out
        ]
        for gate in self.gates:
            lines += [f"gate {gate.gate.metric}: {'passed' if gate.passed else 'FAILED'}", *gate.failures]
        return lines

    def summary(self) -> list[str]:
        """For every candidate, on how many primary values it is better or worse; of all, where none is primary."""
        lines = []
        judged, called = self._judged()
        for run in dict.fromkeys(row["candidate_run"] for row in self.outcome.rows):
            rows = [r for r in judged if r["candidate_run"] == run and r["ci_low"] is not None]
            if not rows:
                continue
            read = [reading(row) for row in rows]
            counts = ", ".join(f"{word} on {read.count(word)}" for word in (BETTER, WORSE, UNCLEAR) if word in read)
            held = sum(row["p_adjusted"] is not None and row["p_adjusted"] < marks.ALPHA for row in rows)
            lines.append(
                f"{run} against {self.request.baseline}: {counts} of {len(rows)} {called};"
                f" p < {marks.ALPHA} after Holm on {held}"
            )
        return lines

    def _judged(self) -> tuple[list[dict[str, Any]], str]:
        """The rows that a verdict is about, and what they are called: primary metrics where the protocol judges by
        them, or else all, and no additional test of either."""
        rules = protocol_of(f"{self.protocol['name']}/{self.protocol['version']}")
        rows = [row for row in self.outcome.rows if row["metric"] not in METHODS]
        primary = [
            row
            for row in rows
            if row["metric"] in self.primary
            and row["stratum"] == rules.primary_stratum
            and rules.judges_at(row["recall"])
        ]
        return (primary, "primary values") if primary else (rows, "values")

    def specs(self) -> dict[str, Any]:
        """Forest plots of the changes, one per unit."""
        from evalframe.verbs.plots import of_comparison

        return of_comparison(self)

    def screen(self) -> pa.Table:
        """What is compared, how the change reads, between which bounds it lies, and then what it is made of."""
        rows, table = self.to_pylist(), self.paper()
        several = len({row["candidate_run"] for row in rows}) > 1
        places = ("stratum", "horizon_s", "recall")
        shown = ["metric", *(["candidate_run"] if several else []), *(n for n in places if n in table.column_names)]
        found = table.select(shown)
        for name, column in marks.for_a_screen(rows, table["marks"].to_pylist()).items():
            found = found.append_column(name, column)
        return found

    def closing(self) -> list[str]:
        """The legend, by the names that columns have in a terminal."""
        names = {"ci_low, ci_high: 95 %": "95 % interval:", "p_value:": "p:"}
        lines = self.legend()
        for name, said in names.items():
            lines = [line.replace(name, said, 1) if line.startswith(name) else line for line in lines]
        return lines

    def paper(self) -> pa.Table:
        """The columns shown, with marks in place of the states and flags that they stand for."""
        shown = self.shown().drop_columns(["status", "flags"])
        return marks.of_comparison(self.to_pylist(), shown, self.outcome.family["m"])

    def legend(self) -> list[str]:
        """What the marks mean, and how intervals and p-values were made."""
        return marks.legend_of_comparison(self.to_pylist(), self.outcome.family["m"], self.request.replicates)

    def shown(self) -> pa.Table:
        """The change with its interval and p; dimensions that no row uses are left out."""
        used = [n for n in _SHOWN if n not in ("horizon_s", "recall") or self.table[n].null_count < len(self.table)]
        return self.table.select(used)


@loosely
def compare(
    store: Store,
    baseline: str,
    candidates: Sequence[str] | str,
    *,
    protocol: str | None = None,
    metrics: Sequence[str] | str = (),
    horizons: Sequence[float] | float = (),
    recalls: Sequence[float] | float = (),
    strata: Sequence[str] | str = (),
    cluster: str | None = None,
    replicates: int = 10_000,
    seed: int = 0,
    pair_on: Sequence[str] | str = (),
    on_intersection: bool = False,
    allow_tainted: bool = False,
    family_all: bool = False,
    recall_slack: float = 0.02,
    fail_if_worse: Sequence[str] | str = (),
    relations: Path | None = None,
) -> Comparison:
    """Compare `candidates` with `baseline`: run ids, or `key=value,...` for the runs with these tags.

    protocol: name or name/version, default the newest the runs share. metrics: published names, default all of the
    protocol. horizons, recalls, strata: default every horizon, the protocol's recall, its stratum and the whole.
    One text or number is a list of one. cluster: the column that is resampled. pair_on: tags that pair the runs of
    groups. fail_if_worse: checks as `METRIC[:X[:ci]]`. relations: a folder of the user's own relations, whose metrics
    are compared too.
    Raises UsageError or UnknownName (exit 2) and ResultsMissing (exit 3); a comparison that is none is a result with
    verdict not_comparable.
    """
    request = Request(
        baseline=baseline,
        candidates=listed(candidates),
        protocol=protocol,
        metrics=listed(metrics),
        horizons=listed(horizons),
        recalls=listed(recalls),
        strata=listed(strata),
        cluster=cluster,
        replicates=replicates,
        seed=seed,
        pair_on=listed(pair_on),
        on_intersection=on_intersection,
        allow_tainted=allow_tainted,
        family_all=family_all,
        recall_slack=recall_slack,
        gates=_gates(listed(fail_if_worse)),
    )
    known = catalogue(relations)
    pairs = _pairings(store, request)
    runs = list(dict.fromkeys(run for pairing in pairs for pair in pairing.pairs for run in pair))
    with open_engine() as engine:  # it opens while the sides are read
        sides = SideReader(store, known).read(runs, protocol)
        rules = protocol_of(sides[runs[0]].protocol)
        every = _metrics(rules, sides.values())
        asked = _asked(known, request, every, rules)
        refuse_dimensions(request, [known[metric] for metric in asked], [known[metric] for metric in every])
        outcome = Comparing(store, known, engine, rules, request, asked, every).run(sides, pairs)
    prints = {side.fingerprint for side in sides.values()}
    shared = next(iter(prints)) if len(prints) == 1 else None
    return Comparison(
        table=_table(request, rules, shared, outcome, sides),
        runs=tuple(runs),
        request=request,
        outcome=outcome,
        protocol={"name": rules.name, "version": rules.version, "fingerprint": shared},
        gates=tuple(gate.verdict(outcome.rows) for gate in request.gates),
        primary=frozenset(known[metric].published for metric in rules.primary),
    )


def _gates(checks: Sequence[str]) -> tuple[Gate, ...]:
    if not checks:
        return ()
    from evalframe.compare.gates import Gate

    return tuple(map(Gate.parse, checks))


def _pairings(store: Store, request: Request) -> tuple[Pairing, ...]:
    tags = {row["run_id"]: dict(row["tags"] or []) for row in store.runs().select(["run_id", "tags"]).to_pylist()}
    return pairings(request.baseline, request.candidates, tags, request.pair_on)


def _metrics(rules: Protocol, sides: Iterable[Side]) -> tuple[str, ...]:
    """Relations of every metric that a side has, in the protocol's order, the user's own last."""
    has = dict.fromkeys(metric for side in sides for metric in side.prints)
    return tuple(dict.fromkeys((*(m for m in rules.metrics if m in has), *has)))


def _asked(known: Catalogue, request: Request, every: Sequence[str], rules: Protocol) -> tuple[str, ...]:
    """Relations of the metrics asked for by published name; by default all that are not secondary. Gates add theirs.

    A metric that the protocol has and no run does stays: its row says that it is absent.
    """
    names = {known[metric].published: metric for metric in (*rules.metrics, *every)}
    default = tuple(known[metric].published for metric in every if metric not in rules.secondary)
    wanted = tuple(dict.fromkeys((*(request.metrics or default), *(gate.metric for gate in request.gates))))
    if missing := [name for name in wanted if name not in names]:
        raise no_metric(missing[0], rules, names, "--metric" if missing[0] in request.metrics else "--fail-if-worse")
    return tuple(names[name] for name in wanted)


def _table(
    request: Request, rules: Protocol, shared: str | None, outcome: Outcome, sides: Mapping[str, Side]
) -> pa.Table:
    """The rows in the columns of the contract `comparisons`."""
    identity = {
        "request": repr(request),
        "results": sorted([side.run_id, side.fingerprint, side.data_digest] for side in sides.values()),
    }
    stamps = {
        "comparison_id": hashlib.sha256(canonical_json(identity).encode()).hexdigest()[:16],
        "protocol": rules.label,
        "protocol_fingerprint": shared,
        "verdict": outcome.verdict,
    }
    return from_rows(contract("comparisons"), [{**stamps, **row} for row in outcome.rows])
