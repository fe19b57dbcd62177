"""What a reader must know to believe the numbers: denominators, protocols, taint, findings, and what was not run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from evalframe.errors import printable
from evalframe.publish.page import Html, Section, text
from evalframe.verbs import drawing
from evalframe.verbs.report_material import AUTHORITY, FIRST_ROWS, PLACE, TABLE_ROWS, Material, table_of


def denominators(material: Material) -> Section:
    """Primary values with what was divided by what."""
    section = Section("Denominators", "denominators")
    material.engine.bind("shown", _shown(material))
    n = material.count(_PRIMARY)
    rows = material.ask(f"SELECT v.* FROM {_PRIMARY} ORDER BY v.{PLACE} LIMIT {TABLE_ROWS}")
    kept = [{name: row[name] for name in _DENOMINATORS} | {"fingerprint": _short(row)} for row in rows]
    if kept:
        section.say("Primary metrics with what was divided by what, what was left out and what failed.")
        section.table(drawing.html(table_of(kept[:FIRST_ROWS])))
        if n > FIRST_ROWS:
            section.folded(f"All {n} values", drawing.html(table_of(kept)))
        if n > TABLE_ROWS:
            section.say(f"{n - TABLE_ROWS} more values are in fact_metric of an export.", "note")
    return section


_PRIMARY = f"""
{AUTHORITY} AS v
JOIN dim_metric AS m ON m.metric_key = v.metric_key AND m.is_primary
JOIN shown AS s ON s.protocol = v.protocol AND s.fingerprint = v.protocol_fingerprint AND s.stratum = v.stratum
    AND (v.recall IS NULL OR s.recall IS NULL OR v.recall = s.recall)
"""


def _shown(material: Material) -> pa.Table:
    """The protocols shown, each with the stratum and the recall that its primary values have."""
    rows = [
        (one.label, fingerprint, one.primary_stratum, one.primary_recall and float(one.primary_recall))
        for one, fingerprint in material.protocols
    ]
    columns = list(zip(*rows, strict=True)) or [()] * 4
    kinds = {"protocol": pa.string(), "fingerprint": pa.string(), "stratum": pa.string(), "recall": pa.float64()}
    return pa.table({name: pa.array(column, kinds[name]) for name, column in zip(kinds, columns, strict=True)})


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


def protocols(material: Material) -> Section:
    """Every protocol fingerprint in full, with what it was given."""
    section = Section("Protocols", "protocols")
    shown = {fingerprint for _, fingerprint in material.protocols}
    for row in material.ask("SELECT * FROM dim_protocol ORDER BY protocol, protocol_fingerprint"):
        if row["protocol_fingerprint"] not in shown:
            continue
        section.blocks.append(Html(f"<h3>{text(row['protocol'])}: {text(row['title'])}</h3>"))
        section.blocks.append(Html(f"<p><code>{text(row['protocol_fingerprint'])}</code></p>"))
        section.say(f"{row['claims']} Runs: {_some(material.runs_of(row['protocol'], row['protocol_fingerprint']))}.")
        section.blocks.append(
            Html(f"<details><summary>Parameters</summary><p><code>{text(row['parameters'])}</code></p></details>")
        )
    return section


def trust(material: Material) -> Section:
    """Taint, freezes, findings and errata."""
    section = Section("Taint, freezes and findings", "trust")
    bent = material.ask(f"SELECT run_id, system, taint_reason FROM dim_run WHERE tainted ORDER BY {PLACE}")
    section.say(f"Tainted runs, for which the protocol was bent on request: {len(bent) or 'none'}.")
    if bent:
        section.table(drawing.html(table_of(bent)))
    frozen = material.store.read("floor_freezes").to_pylist()
    if frozen:
        columns = ("run_id", "question", "n_yes", "n_no", "n_unsure", "n_events", "reviewers", "sheet_sha256")
        section.say("Audit sheets that were answered and frozen:")
        section.table(drawing.html(table_of([{k: row[k] for k in columns} for row in frozen])))
    else:
        section.say("No audit sheet is frozen.")
    n = material.count("fact_audit WHERE kind <> 'gate'")
    if n:
        found = material.ask(
            "SELECT kind, run_id, subject, metric, status, difference, reason FROM fact_audit"
            f" WHERE kind <> 'gate' ORDER BY {PLACE} LIMIT {TABLE_ROWS}"
        )
        section.folded(f"{n} findings and errata", drawing.html(table_of(found)))
    return section


def not_run(material: Material) -> Section:
    """What no number on the page speaks for."""
    section = Section("What was not run", "not-run")
    gates = "fact_audit WHERE kind = 'gate'"
    if n := material.count(gates):
        run = n - material.count(f"{gates} AND status = 'not_run'")
        section.say(f"Gates: {run} of {n} were run; one that was not is no pass.")
        shown = f"SELECT run_id, subject, status, reason FROM {gates} ORDER BY {PLACE} LIMIT {TABLE_ROWS}"
        section.table(drawing.html(table_of(material.ask(shown))))
    else:
        section.say("Gates: none were run on this store.")
    for line in material.compared.left_out:
        section.say(f"Not compared: {line}")
    if not material.compared.comparisons:
        section.say("No runs were compared.")
    unscored = material.texts("run_id", f"dim_run WHERE run_id NOT IN (SELECT run_id FROM {AUTHORITY})")
    if unscored:
        section.say(f"Runs without a value: {_some(unscored)}")
    undefined = material.ask(
        f"SELECT reason, count(*) AS n FROM {AUTHORITY} WHERE status IS DISTINCT FROM 'ok' GROUP BY reason"
    )
    if undefined:
        counts = ", ".join(f"{reason} {n}" for reason, n in sorted((row["reason"], row["n"]) for row in undefined))
        section.say(f"Undefined values, which are not zero: {counts}.")
    return section


def _some(names: Sequence[str], limit: int = 20) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(printable(name, 80) for name in names[:limit]) + more
