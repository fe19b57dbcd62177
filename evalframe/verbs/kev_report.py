"""OUT.json of choice questions, put together from evaluated rows. Pure: no engine, no file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

NAMED = ("all", "clean", "headline", "unknowable")
GROUPED = ("task", "type", "source", "variant")
CUTOFFS = {"0.9": "error_rate_at_0_9", "0.95": "error_rate_at_0_95", "0.99": "error_rate_at_0_99"}
FRACTIONS = ("0.5", "0.8")
PAIRS = (
    "pairs",
    "flip_rate",
    "both_correct_rate",
    "invariant_pairs",
    "invariance_rate",
    "invariant_both_correct_rate",
    "incomplete_pairs",
)
CONTROLS = ("control_pairs", "incomplete_control_pairs", "control_both_correct_rate", "control_flip_rate")
PERTURBATIONS = ("perturbation_change", "largest_perturbation_change", "perturbation_flip_rate")
_OF_THE_RUN = frozenset({*PAIRS, *CONTROLS, *PERTURBATIONS, "objective"})
_SHOWN = ("value", "numerator", "denominator", "n_items", "n_excluded", "n_failed")


def report(values: Iterable[Row], bins: Iterable[Row], selections: Iterable[Row]) -> dict[str, Any]:
    """The populations with their metrics, bins, top_bins and selective, and what is said of the run as a whole.

    values: rows of metric_values of one run. bins: of choice_bins. selections: of choice_selections. A metric is
    {value, numerator, denominator, n_items, n_excluded, n_failed}, with `reason` where it has no value. A metric that
    the run cannot have, for lack of probabilities or of questions of its type, is absent. Why a rate of the run as a
    whole has no value stands under `reasons`.
    """
    metrics = _by_stratum(values)
    binned = _by_stratum(bins)
    cutoffs = {(row["stratum"], row["fraction"]): row["cutoff"] for row in selections}
    populations: dict[str, Any] = {name: {} for name in NAMED} | {f"by_{field}": {} for field in GROUPED}
    for stratum, rows in metrics.items():
        field, _, name = stratum.partition("=")
        here, key = (populations, stratum) if stratum in NAMED else (populations[f"by_{field}"], name)
        here[key] = _population(stratum, rows, binned.get(stratum, ()), cutoffs)
    whole = {row["metric"]: row for row in metrics.get("all", ())}
    told: dict[str, Any] = {"populations": populations}
    if "objective" in whole:
        told["objective"] = whole["objective"]["value"]
        told["pairs"] = _counts_and_rates(whole, PAIRS)
        told["controls"] = _counts_and_rates(whole, CONTROLS)
        told["reasons"] = {
            part: {name: whole[name]["reason"] for name in names if whole[name]["value"] is None}
            for part, names in (("pairs", PAIRS), ("controls", CONTROLS), ("perturbations", PERTURBATIONS))
        }
        told["perturbations"] = _perturbations(whole) | {
            "by_variant": {
                stratum.partition("=")[2]: _perturbations(found)
                for stratum, rows in metrics.items()
                if PERTURBATIONS[0] in (found := {row["metric"]: row for row in rows}) and stratum != "all"
            }
        }
    return told


def _by_stratum(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["stratum"], []).append(row)
    return found


def _population(
    stratum: str, rows: Sequence[Row], bins: Iterable[Row], cutoffs: Mapping[tuple[str, str], float]
) -> dict[str, Any]:
    metrics = {row["metric"]: row for row in rows if row["metric"] not in _OF_THE_RUN}
    accuracy, confidence = metrics["accuracy"], metrics["mean_confidence"]
    return {
        "n": accuracy["n_items"],
        "n_labelled": int(metrics["ece"]["denominator"]) + accuracy["n_failed"],
        "n_failed": confidence["n_failed"],
        **{name: _metric(row) for name, row in metrics.items()},
        "bins": [
            {
                "bin": row["bin"],
                "lo": row["lo"],
                "hi": row["hi"],
                "n": row["n"],
                "correct": row["correct"],
                "confidence_sum": float(row["confidence_sum"]),
            }
            for row in bins
        ],
        "top_bins": {
            cutoff: {
                "n": int(metrics[name]["denominator"]),
                "errors": int(metrics[name]["numerator"]),
                "error_rate": metrics[name]["value"],
            }
            for cutoff, name in CUTOFFS.items()
        },
        "selective": {
            fraction: {
                "coverage": metrics[f"selective_coverage_{fraction}"]["value"],
                "accuracy": metrics[f"selective_accuracy_{fraction}"]["value"],
                "confidence_cutoff": cutoffs.get((stratum, fraction)),
            }
            for fraction in FRACTIONS
        },
    }


def _metric(row: Row) -> dict[str, Any]:
    told = {name: row[name] for name in _SHOWN}
    return told if row["status"] == "ok" else told | {"reason": row["reason"]}


def _counts_and_rates(whole: Mapping[str, Row], names: Sequence[str]) -> dict[str, Any]:
    """Counts as integers, rates as numbers or null."""
    return {
        name: int(whole[name]["value"]) if whole[name]["unit"] == "count" else whole[name]["value"] for name in names
    }


def _perturbations(whole: Mapping[str, Row]) -> dict[str, Any]:
    first = whole[PERTURBATIONS[0]]
    return {
        "n": int(first["denominator"]),
        "incomplete": first["n_excluded"],
        **{name: whole[name]["value"] for name in PERTURBATIONS},
    }
