"""What a reader must know to believe the numbers: denominators, protocols, taint, findings, and what was not run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalframe.errors import printable
from evalframe.publish.page import Html, Section, text
from evalframe.verbs import drawing
from evalframe.verbs.report_material import FIRST_ROWS, TABLE_ROWS, Material, table_of


def denominators(material: Material) -> Section:
    """Primary values with what was divided by what."""
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
        section.table(drawing.html(table_of(kept[:FIRST_ROWS])))
        if len(kept) > FIRST_ROWS:
            section.folded(f"All {len(kept)} values", drawing.html(table_of(kept[:TABLE_ROWS])))
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


def protocols(material: Material) -> Section:
    """Every protocol fingerprint in full, with what it was given."""
    section = Section("Protocols", "protocols")
    shown = {fingerprint for _, fingerprint in material.protocols}
    for row in sorted(material.rows("dim_protocol"), key=lambda row: (row["protocol"], row["protocol_fingerprint"])):
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
    bent = [row for row in material.rows("dim_run") if row["tainted"]]
    section.say(f"Tainted runs, for which the protocol was bent on request: {len(bent) or 'none'}.")
    if bent:
        section.table(
            drawing.html(table_of([{k: row[k] for k in ("run_id", "system", "taint_reason")} for row in bent]))
        )
    frozen = material.store.read("floor_freezes").to_pylist()
    if frozen:
        columns = ("run_id", "question", "n_yes", "n_no", "n_unsure", "n_events", "reviewers", "sheet_sha256")
        section.say("Audit sheets that were answered and frozen:")
        section.table(drawing.html(table_of([{k: row[k] for k in columns} for row in frozen])))
    else:
        section.say("No audit sheet is frozen.")
    found = [row for row in material.rows("fact_audit") if row["kind"] != "gate"]
    if found:
        said = ("kind", "run_id", "subject", "metric", "status", "difference", "reason")
        section.folded(
            f"{len(found)} findings and errata",
            drawing.html(table_of([{k: row[k] for k in said} for row in found[:TABLE_ROWS]])),
        )
    return section


def not_run(material: Material) -> Section:
    """What no number on the page speaks for."""
    section = Section("What was not run", "not-run")
    gates = [row for row in material.rows("fact_audit") if row["kind"] == "gate"]
    idle = [row for row in gates if row["status"] == "not_run"]
    if gates:
        section.say(f"Gates: {len(gates) - len(idle)} of {len(gates)} were run; one that was not is no pass.")
        shown = [{k: row[k] for k in ("run_id", "subject", "status", "reason")} for row in gates[:TABLE_ROWS]]
        section.table(drawing.html(table_of(shown)))
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
