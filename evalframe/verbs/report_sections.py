"""The sections of a report, each from tables that are exported too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from evalframe.compare.reached import recall_metric
from evalframe.contracts import contract
from evalframe.errors import NotComparable, printable
from evalframe.publish import chart_data, charts
from evalframe.publish.page import Figure, Html, Section, text
from evalframe.relations import catalogue
from evalframe.relations.plan import literal
from evalframe.verbs import drawing, report_timelines, report_trust
from evalframe.verbs.leaderboard import leaderboard
from evalframe.verbs.report_material import AUTHORITY, FIRST_ROWS, PLACE, TABLE_ROWS, Material, among

if TYPE_CHECKING:
    from evalframe.verbs.compare import Comparison

RUNS_DRAWN = 8
"""Lines of one chart that an eye can follow."""

MATRICES, TRACED, TRAJECTORIES = 4, 2, 16


def sections(material: Material) -> list[Section]:
    """Those that have something to show, and always what was not run."""
    made = [
        _verdicts(material),
        _leaderboards(material),
        _reliability(material),
        _confusion(material),
        _recall(material),
        report_timelines.timelines(material),
        _traces(material),
        report_trust.denominators(material),
        report_trust.protocols(material),
        report_trust.trust(material),
        report_trust.not_run(material),
    ]
    return [section for section in made if section.blocks]


def _verdicts(material: Material) -> Section:
    section = Section("Verdicts", "verdicts")
    for comparison in material.compared.comparisons:
        section.blocks.append(_verdict(comparison))
        figures = [Figure(caption, spec) for caption, spec in comparison.specs().items()]
        if figures:
            section.blocks.append(figures)
            section.say(
                "Lines are 95 % percentile intervals from a paired cluster bootstrap. Colour and shape go by them;"
                " Holm's adjustment stands in the table.",
                "note",
            )
        _changes(section, comparison)
    return section


def _verdict(comparison: Comparison) -> Html:
    refused = comparison.verdict == "not_comparable"
    request, summary = comparison.request, comparison.summary()
    more = [line.replace(" -> ", " → ") for line in comparison.headlines()[1:] if line not in summary]
    about = f"{comparison.protocol['name']}/{comparison.protocol['version']}: {request.baseline} against "
    about += ", ".join(request.candidates)
    fingerprint = comparison.protocol["fingerprint"] or "the runs have different protocol fingerprints"
    head = comparison.verdict.replace("_", " ")
    if comparison.reasons and not refused:
        head += ", but not every run and metric"
    said = "".join(f"<p>{text(line)}</p>" for line in (*_refusals(comparison), *more))
    first = "".join(f"<p>{text(line)}</p>" for line in summary)
    return Html(
        f'<div class="verdict {"no" if refused else "yes"}"><b>{"≠" if refused else "✓"} {text(head)}</b>'
        f"{first}<p>{text(about)}</p><p><code>{text(fingerprint)}</code></p>{said}</div>"
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
    whole, brief = comparison.paper(), comparison.screen()
    judged = [metric in comparison.primary for metric in comparison.table["metric"].to_pylist()]
    primary = brief.filter(pa.array(judged, pa.bool_())).slice(0, FIRST_ROWS)
    shown = drawing.without_empty(primary if len(primary) else brief.slice(0, FIRST_ROWS))
    section.table(drawing.html(shown), comparison.closing())
    if len(whole) > len(primary):
        section.folded(f"All {len(whole)} rows", drawing.html(whole.slice(0, TABLE_ROWS)))
    if len(whole) > TABLE_ROWS:
        section.say(f"{len(whole) - TABLE_ROWS} more rows are in fact_comparison of an export.", "note")


def _leaderboards(material: Material) -> Section:
    section = Section("Leaderboards", "leaderboards")
    if material.only is not None:
        return section  # a board of the runs that a page is about would leave out those they are ranked among
    for label in dict.fromkeys(one.label for one, _ in material.protocols):
        try:
            board = leaderboard(material.store, protocol=label)
        except NotComparable as refused:
            section.say(f"{label}: {refused.what}", "note")
            continue
        if not len(board.table):
            continue
        title, *more = board.headlines()
        section.blocks.append(Html(f"<h3>{text(title)}</h3>"))
        for line in more:
            section.say(line, "note")
        figures = [Figure(caption, spec) for caption, spec in board.specs().items()]
        if figures:
            section.blocks.append(figures)
        paper = board.paper()
        section.table(drawing.html(board.screen().slice(0, FIRST_ROWS)), board.closing())
        if len(paper) > FIRST_ROWS:
            section.folded(f"All {len(paper)} rows", drawing.html(paper.slice(0, TABLE_ROWS)))
    return section


def _reliability(material: Material) -> Section:
    section = Section("Calibration", "calibration")
    figures = []
    for rules, fingerprint in material.protocols:
        runs = material.runs_of(rules.label, fingerprint)[:RUNS_DRAWN]
        bins = material.engine.query(
            f"SELECT * FROM fact_bin WHERE protocol_fingerprint = {literal(fingerprint)}"
            f" AND stratum = {literal(rules.primary_stratum)} AND run_id IN ({among(runs)}) ORDER BY {PLACE}"
        )
        rows = chart_data.reliability_rows(bins, rules.label, fingerprint, rules.primary_stratum, runs)
        if rows:
            note = (
                f"Stratum {rules.primary_stratum}. Wilson 95 % intervals, answers taken as independent;"
                f" empty bins are not drawn. {fingerprint[:20]}"
            )
            figures.append(Figure(f"Reliability under {rules.label}", charts.reliability(rows), note))
            risk = chart_data.risk_coverage_rows(bins, rules.label, fingerprint, rules.primary_stratum, runs)
            said = "A point per confidence bin, from the most confident down; within a bin nothing is told apart."
            figures.append(Figure(f"Risk against coverage under {rules.label}", charts.risk_coverage(risk), said))
    if figures:
        section.blocks.append(figures)
    return section


def _confusion(material: Material) -> Section:
    section = Section("Confusion matrices", "confusion")
    has = set(material.texts("run_id", "fact_confusion"))
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
        cells = material.engine.query(_CELLS.format(run=literal(run), fingerprint=literal(fingerprint)))
        rows, targets, predictions = chart_data.confusion_rows(cells, classes)
        if rows:
            note = f"Whole vocabulary, absent classes too; shade is the share of the true class. {fingerprint[:20]}"
            figures.append(Figure(printable(run, 120), charts.confusion(rows, targets, predictions), note))
    if figures:
        section.blocks.append(figures)
    if len(drawn) > MATRICES:
        section.say(f"{len(drawn) - MATRICES} more runs have a matrix: fact_confusion of an export.", "note")
    return section


_CELLS = """
SELECT target_class, predicted_class, CAST(sum(n) AS BIGINT) AS n
FROM fact_confusion
WHERE run_id = {run} AND protocol_fingerprint = {fingerprint} AND stratum = 'all' AND is_counted
GROUP BY target_class, predicted_class
"""


def _recall(material: Material) -> Section:
    """Each error rate beside the recall it was bought with."""
    section = Section("Error rates at matched recall", "recall")
    headed: set[str] = set()
    for rules, fingerprint in material.protocols:
        if rules.primary_recall is None:
            continue
        wanted, stratum = float(rules.primary_recall), rules.primary_stratum
        runs = material.runs_of(rules.label, fingerprint)[:RUNS_DRAWN]
        drawn = f"{AUTHORITY} WHERE protocol_fingerprint = {literal(fingerprint)} AND run_id IN ({among(runs)})"
        for metric in (catalogue()[name].published for name in rules.primary):
            recall = str(recall_metric(metric))
            values = material.ask(
                f"SELECT * FROM {drawn} AND metric IN ({among([metric, recall])})"
                f" AND stratum = {literal(stratum)} ORDER BY {PLACE}"
            )
            rate = chart_data.horizon_rows(values, metric, stratum, wanted)
            reached = chart_data.horizon_rows(values, recall, stratum, wanted)
            if not rate or not reached:
                continue
            slug = f"p{len(section.blocks)}"
            if fingerprint not in headed:
                headed.add(fingerprint)
                tainted = material.texts("taint_reason", f"{drawn} AND tainted")
                said = f" tainted: {', '.join(tainted)}" if tainted else ""
                section.blocks.append(Html(f"<h3>{text(f'{rules.label}, {fingerprint[:20]}{said}')}</h3>"))
            section.blocks.append(
                [
                    Figure(metric, charts.by_horizon(rate, metric, "rate", None, f"{slug}_rate")),
                    Figure(
                        f"Recall reached: {recall}",
                        charts.by_horizon(reached, recall, "recall", wanted, f"{slug}_recall"),
                        f"Dashed: recall {rules.primary_recall}, for which thresholds were chosen.",
                    ),
                ]
            )
    return section


def _traces(material: Material) -> Section:
    """Predicted progress with the failure calls made on it."""
    section = Section("Progress traces", "traces")
    figures: list[Figure] = []
    for rules, fingerprint in material.protocols:
        for run in material.runs_of(rules.label, fingerprint) if "failure_calls" in rules.stored else ():
            if len(figures) == TRACED:
                break
            n, ids = _trajectories(material.store.parts("failure_calls", [run], [fingerprint], ["trajectory_id"]))
            drawn = ids[:: max(1, -(-len(ids) // TRAJECTORIES))]  # spread evenly over the ids
            calls = _among(drawn, "failure_calls", material.store.parts("failure_calls", [run], [fingerprint]))
            traces = _among(drawn, "progress_traces", material.store.parts("progress_traces", [run]))
            rows = chart_data.trace_rows(traces, calls)
            if rows:
                shown = len({row["trajectory"] for row in rows})
                note = f"{shown} of {n} trajectories, each on its own task. {rules.label}"
                figures.append(Figure(printable(run, 120), charts.traces(rows), note))
    if figures:
        section.blocks.append(figures)
    return section


def _trajectories(calls: Iterable[pa.Table]) -> tuple[int, pa.Array]:
    """How many rows there are, and the trajectories that they are about, sorted."""
    ids = pa.chunked_array((part["trajectory_id"].combine_chunks() for part in calls), pa.large_string())
    found = ids.unique()
    return len(ids), found.take(pc.sort_indices(found))


def _among(trajectories: pa.Array, table: str, parts: Iterable[pa.Table]) -> pa.Table:
    """The rows of a table that are about these trajectories."""
    kept = (part.filter(pc.is_in(part["trajectory_id"], trajectories)) for part in parts)
    return pa.concat_tables([contract(table).empty(), *kept])
