"""The sections of a report, each from tables that are exported too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from evalframe.compare.reached import recall_metric
from evalframe.errors import NotComparable, printable
from evalframe.protocols import Protocol, all_protocols
from evalframe.protocols import protocol as protocol_of
from evalframe.publish import chart_data, charts
from evalframe.publish.page import Figure, Html, Section, text
from evalframe.publish.star import Star
from evalframe.relations import catalogue
from evalframe.verbs import drawing
from evalframe.verbs.comparisons import Compared
from evalframe.verbs.leaderboard import leaderboard

if TYPE_CHECKING:
    from evalframe.store import Store
    from evalframe.verbs.compare import Comparison

RUNS_DRAWN = 8
"""Lines of one chart that an eye can follow."""

BOARDS, MATRICES, FOREST_ROWS, PRIMARY_ROWS, TABLE_ROWS = 2, 4, 30, 12, 400


@dataclass(frozen=True)
class Material:
    """What a report is made of."""

    store: Store
    star: Star
    compared: Compared
    protocol: str | None = None

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Rows of one table of the star schema."""
        found: list[dict[str, Any]] = self.star.tables[table].to_pylist()
        return found

    @cached_property
    def values(self) -> list[dict[str, Any]]:
        """Values that stand for their runs."""
        table = self.star.tables["fact_metric"].filter(pc.field("is_authority"))
        found: list[dict[str, Any]] = table.to_pylist()
        return found

    @cached_property
    def protocols(self) -> list[tuple[Protocol, str]]:
        """(protocol, fingerprint) of the results shown, those with most runs first."""
        known = {one.label: one for one in all_protocols()}
        runs: dict[tuple[str, str], set[str]] = {}
        for row in self.values:
            if row["protocol"] in known:
                runs.setdefault((row["protocol"], row["protocol_fingerprint"]), set()).add(row["run_id"])
        order = sorted(runs, key=lambda key: (key[0], -len(runs[key]), key[1]))
        found = [(known[label], fingerprint) for label, fingerprint in order]
        return [(one, print_) for one, print_ in found if self.protocol in (None, one.label, one.name)]

    def runs_of(self, label: str, fingerprint: str) -> list[str]:
        """Runs with results under a fingerprint, oldest first; those that were compared come before others."""
        has = {r["run_id"] for r in self.values if (r["protocol"], r["protocol_fingerprint"]) == (label, fingerprint)}
        compared = dict.fromkeys(
            run for one in self.compared.comparisons for run in (one.request.baseline, *one.request.candidates)
        )
        return [run for run in dict.fromkeys((*compared, *self.store.run_ids())) if run in has]


def sections(material: Material) -> list[Section]:
    """Those that have something to show, and always what was not run."""
    made = [
        _verdicts(material),
        _leaderboards(material),
        _reliability(material),
        _confusion(material),
        _recall(material),
        _denominators(material),
        _protocols(material),
        _trust(material),
        _not_run(material),
    ]
    return [section for section in made if section.blocks]


def _verdicts(material: Material) -> Section:
    section = Section("Verdicts", "verdicts")
    for comparison in material.compared.comparisons:
        section.blocks.append(_verdict(comparison))
        units = chart_data.forest_rows(_drawn_changes(comparison), FOREST_ROWS)
        base = printable(comparison.request.baseline, 80)
        figures = [Figure(f"Change from {base}, {unit}", charts.forest(rows, unit)) for unit, rows in units.items()]
        if figures:
            section.blocks.append(figures)
            section.say(
                "Lines are 95 % percentile intervals from a paired cluster bootstrap. Colour and shape go by them alone;"
                " Holm's adjustment stands in the table.",
                "note",
            )
        _changes(section, comparison)
    return section


def _verdict(comparison: Comparison) -> Html:
    refused = comparison.verdict == "not_comparable"
    request, (_, *more) = comparison.request, comparison.headlines()
    about = f"{comparison.protocol['name']}/{comparison.protocol['version']}: {request.baseline} against "
    about += ", ".join(request.candidates)
    fingerprint = comparison.protocol["fingerprint"] or "the runs have different protocol fingerprints"
    head = comparison.verdict.replace("_", " ")
    if comparison.reasons and not refused:
        head += ", but not every run and metric"
    said = "".join(f"<p>{text(line)}</p>" for line in (*_refusals(comparison), *more))
    return Html(
        f'<div class="verdict {"no" if refused else "yes"}"><b>{"≠" if refused else "✓"} {text(head)}</b>'
        f"<p>{text(about)}</p><p><code>{text(fingerprint)}</code></p>{said}</div>"
    )


def _refusals(comparison: Comparison) -> Iterator[str]:
    """Why what was refused: one line per run and reason."""
    metrics: dict[tuple[str, str], list[str | None]] = {}
    for refusal in comparison.outcome.refusals:
        metrics.setdefault((refusal.candidate_run, refusal.reason), []).append(refusal.metric)
    for (run, reason), names in metrics.items():
        what = "every metric" if None in names else f"{len(set(names))} metrics"
        yield f"{run}: {what} refused, {reason.replace('_', ' ')}"


def _changes(section: Section, comparison: Comparison) -> None:
    """The primary rows as a table, all rows for those who look."""
    whole, legend = comparison.paper(), comparison.legend()
    judged = [metric in comparison.primary for metric in comparison.table["metric"].to_pylist()]
    primary = whole.filter(pa.array(judged, pa.bool_())).slice(0, PRIMARY_ROWS)
    section.table(drawing.html(primary if len(primary) else whole.slice(0, PRIMARY_ROWS)), legend)
    if len(whole) > len(primary):
        section.folded(f"All {len(whole)} rows", drawing.html(whole.slice(0, TABLE_ROWS)))
    if len(whole) > TABLE_ROWS:
        section.say(f"{len(whole) - TABLE_ROWS} more rows are in fact_comparison of an export.", "note")


def _drawn_changes(comparison: Comparison) -> list[dict[str, Any]]:
    """Rows of the primary stratum, primary metrics first; counts of items are no change of a model."""
    stratum = protocol_of(f"{comparison.protocol['name']}/{comparison.protocol['version']}").primary_stratum
    rows = [row for row in comparison.to_pylist() if row["stratum"] == stratum and row["unit"] != "count"]
    return sorted(rows, key=lambda row: row["metric"] not in comparison.primary)


def _leaderboards(material: Material) -> Section:
    section = Section("Leaderboards", "leaderboards")
    for label in dict.fromkeys(one.label for one, _ in material.protocols):
        try:
            board = leaderboard(material.store, protocol=label)
        except NotComparable as refused:
            section.say(f"{label}: {refused.what}", "note")
            continue
        if not len(board.table):
            continue
        section.blocks.append(Html(f"<h3>{text('; '.join(board.headlines()))}</h3>"))
        figures = list(_rankings(board.table, board.metric))
        if figures:
            section.blocks.append(figures)
        paper = board.paper()
        section.table(drawing.html(paper.slice(0, PRIMARY_ROWS)), board.legend())
        if len(paper) > PRIMARY_ROWS:
            section.folded(f"All {len(paper)} rows", drawing.html(paper.slice(0, TABLE_ROWS)))
    return section


def _rankings(table: pa.Table, metric: str) -> Iterator[Figure]:
    boards: dict[int, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        if row["value"] is not None:
            boards.setdefault(row["board"], []).append(row)
    several = [(number, rows) for number, rows in boards.items() if len(rows) > 1]
    for number, rows in several[:BOARDS]:
        words = {True: "best, or tied with it", False: "separable from the best", None: "not looked at"}
        shown = [
            {"run": printable(row["run_id"]), "value": row["value"], "tied": words[row["tied_with_best"]]}
            for row in rows[:30]
        ]
        where = f", horizon {rows[0]['horizon_s']:g} s" if rows[0]["horizon_s"] is not None else ""
        yield Figure(
            f"Board {number}: {metric}{where}",
            charts.ranking(shown, metric, str(rows[0]["unit"]).replace("_", " "), number),
        )


def _reliability(material: Material) -> Section:
    section = Section("Calibration", "calibration")
    figures = []
    for rules, fingerprint in material.protocols:
        runs = material.runs_of(rules.label, fingerprint)[:RUNS_DRAWN]
        bins = material.star.tables["fact_bin"]
        rows = chart_data.reliability_rows(bins, rules.label, fingerprint, rules.primary_stratum, runs)
        if rows:
            note = (
                f"Stratum {rules.primary_stratum}. Wilson 95 % intervals, answers taken as independent;"
                f" empty bins are not drawn. {fingerprint[:20]}"
            )
            figures.append(Figure(f"Reliability under {rules.label}", charts.reliability(rows), note))
    if figures:
        section.blocks.append(figures)
    return section


def _confusion(material: Material) -> Section:
    section = Section("Confusion matrices", "confusion")
    facts = material.star.tables["fact_confusion"]
    has = set(facts["run_id"].to_pylist())
    drawn = [
        (run, fingerprint)
        for rules, fingerprint in material.protocols
        for run in material.runs_of(rules.label, fingerprint)
        if run in has
    ]
    words = material.store.read("class_vocabulary", runs=[run for run, _ in drawn[:MATRICES]]) if drawn else None
    figures = []
    for run, fingerprint in drawn[:MATRICES]:
        own = words.filter(pc.field("run_id") == run).sort_by("class_index") if words is not None else None
        classes = own["class"].to_pylist() if own is not None and len(own) else ["success", "failure"]
        rows, targets, predictions = chart_data.confusion_rows(facts, run, fingerprint, classes)
        if rows:
            note = f"Whole vocabulary, absent classes too; shade is the share of the true class. {fingerprint[:20]}"
            figures.append(Figure(printable(run, 120), charts.confusion(rows, targets, predictions), note))
    if figures:
        section.blocks.append(figures)
    if len(drawn) > MATRICES:
        section.say(f"{len(drawn) - MATRICES} more runs have a matrix: fact_confusion of an export.", "note")
    return section


def _recall(material: Material) -> Section:
    """Each error rate beside the recall it was bought with."""
    section = Section("Error rates at matched recall", "recall")
    for rules, fingerprint in material.protocols:
        if rules.primary_recall is None:
            continue
        wanted, stratum = float(rules.primary_recall), rules.primary_stratum
        runs = set(material.runs_of(rules.label, fingerprint)[:RUNS_DRAWN])
        values = [r for r in material.values if r["run_id"] in runs and r["protocol_fingerprint"] == fingerprint]
        for metric in (catalogue()[name].published for name in rules.primary):
            rate = chart_data.horizon_rows(values, metric, stratum, wanted)
            reached = chart_data.horizon_rows(values, recall_metric(metric) or "", stratum, wanted)
            if not rate or not reached:
                continue
            slug = f"p{len(section.blocks)}"
            recall = str(recall_metric(metric))
            tainted = sorted({str(row["taint_reason"]) for row in values if row["tainted"]})
            note = rules.label + (f". Tainted: {', '.join(tainted)}." if tainted else "")
            section.blocks.append(
                [
                    Figure(metric, charts.by_horizon(rate, metric, "rate", None, f"{slug}_rate"), note),
                    Figure(
                        f"Recall reached: {recall}",
                        charts.by_horizon(reached, recall, "recall", wanted, f"{slug}_recall"),
                        f"Dashed: recall {rules.primary_recall}, for which thresholds were chosen.",
                    ),
                ]
            )
    return section


def _denominators(material: Material) -> Section:
    section = Section("Denominators", "denominators")
    primary = {row["metric_key"] for row in material.rows("dim_metric") if row["is_primary"]}
    strata = {(one.label, fingerprint): one.primary_stratum for one, fingerprint in material.protocols}
    recalls = {one.label: one.primary_recall for one, _ in material.protocols}
    kept = []
    for row in material.values:
        if row["metric_key"] not in primary or row["stratum"] != strata.get(
            (row["protocol"], row["protocol_fingerprint"])
        ):
            continue
        wanted = recalls.get(row["protocol"])
        if row["recall"] is None or wanted is None or row["recall"] == float(wanted):
            kept.append({name: row[name] for name in _DENOMINATORS} | {"fingerprint": _short(row)})
    if kept:
        section.say("Primary metrics with what was divided by what, what was left out and what failed.")
        section.table(drawing.html(_table(kept[:PRIMARY_ROWS])))
        if len(kept) > PRIMARY_ROWS:
            section.folded(f"All {len(kept)} values", drawing.html(_table(kept[:TABLE_ROWS])))
        if len(kept) > TABLE_ROWS:
            section.say(f"{len(kept) - TABLE_ROWS} more values are in fact_metric of an export.", "note")
    return section


_DENOMINATORS = (
    "run_id",
    "metric",
    "horizon_s",
    "value",
    "status",
    "reason",
    "numerator",
    "denominator",
    "n_items",
    "n_excluded",
    "n_failed",
    "tainted",
    "origin",
)


def _short(row: dict[str, Any]) -> str:
    return str(row["metric_fingerprint"] or "recorded")[:20]


def _protocols(material: Material) -> Section:
    section = Section("Protocols", "protocols")
    shown = {fingerprint for _, fingerprint in material.protocols}
    for row in material.rows("dim_protocol"):
        if row["protocol_fingerprint"] not in shown:
            continue
        section.blocks.append(Html(f"<h3>{text(row['protocol'])}: {text(row['title'])}</h3>"))
        section.blocks.append(Html(f"<p><code>{text(row['protocol_fingerprint'])}</code></p>"))
        section.say(f"{len(material.runs_of(row['protocol'], row['protocol_fingerprint']))} runs. {row['claims']}")
        section.blocks.append(
            Html(f"<details><summary>Parameters</summary><p><code>{text(row['parameters'])}</code></p></details>")
        )
    return section


def _trust(material: Material) -> Section:
    """Taint, freezes, findings and errata."""
    section = Section("Taint, freezes and findings", "trust")
    bent = [row for row in material.rows("dim_run") if row["tainted"]]
    section.say(
        f"{len(bent)} tainted runs: the protocol was bent for them on request." if bent else "No run is tainted."
    )
    if bent:
        section.table(drawing.html(_table([{k: row[k] for k in ("run_id", "system", "taint_reason")} for row in bent])))
    frozen = material.store.read("floor_freezes").to_pylist()
    if frozen:
        columns = ("run_id", "question", "n_yes", "n_no", "n_unsure", "n_events", "reviewers", "sheet_sha256")
        section.say("Audit sheets that were answered and frozen:")
        section.table(drawing.html(_table([{k: row[k] for k in columns} for row in frozen])))
    else:
        section.say("No audit sheet is frozen.")
    found = [row for row in material.rows("fact_audit") if row["kind"] != "gate"]
    if found:
        said = ("kind", "run_id", "subject", "metric", "status", "difference", "reason")
        section.folded(
            f"{len(found)} findings and errata",
            drawing.html(_table([{k: row[k] for k in said} for row in found[:TABLE_ROWS]])),
        )
    return section


def _not_run(material: Material) -> Section:
    """What no number on the page speaks for."""
    section = Section("What was not run", "not-run")
    gates = [row for row in material.rows("fact_audit") if row["kind"] == "gate"]
    idle = [row for row in gates if row["status"] == "not_run"]
    if gates:
        section.say(f"Gates: {len(gates) - len(idle)} of {len(gates)} were run; one that was not is no pass.")
        shown = [{k: row[k] for k in ("run_id", "subject", "status", "reason")} for row in gates[:TABLE_ROWS]]
        section.table(drawing.html(_table(shown)))
    else:
        section.say("Gates: none were run on this store.")
    for line in material.compared.left_out:
        section.say(f"Not compared: {line}")
    if not material.compared.comparisons:
        section.say("No runs were compared.")
    unscored = sorted({row["run_id"] for row in material.rows("dim_run")} - {r["run_id"] for r in material.values})
    if unscored:
        section.say(f"Runs without a value: {_some(unscored)}")
    undefined: dict[str, int] = {}
    for row in material.values:
        if row["status"] != "ok":
            undefined[row["reason"]] = undefined.get(row["reason"], 0) + 1
    if undefined:
        counts = ", ".join(f"{reason} {n}" for reason, n in sorted(undefined.items()))
        section.say(f"Undefined values, which are not zero: {counts}.")
    return section


def _some(names: Sequence[str], limit: int = 20) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(printable(name, 80) for name in names[:limit]) + more


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as a table without the columns that none of them fills."""
    used = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    return pa.Table.from_pylist([{name: row[name] for name in used} for row in rows])
