"""Every Eval Ever records (schema 0.2 and 0.3) -> published values.

The schema's required fields are asked for and nothing is filled in: a field that is not there is null. Records that
evalframe exported say more in the schema's free fields, under names that start with `evalframe.`; what stands there is
taken as the record's own word, like the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalframe.errors import FileUnreadable
from evalframe.sources.documents import Part, parsed, read_document, spelled
from evalframe.sources.recorded import UNKNOWN_UNIT, Published, Result

FORMAT = "every-eval-ever"
KNOWN = ("evaluation_id", "evaluation_results")
"""Keys by which a document is known to be a record."""

VERSIONS = ("0.2.", "0.3.")

OURS = "evalframe."
"""How names in free fields start that evalframe writes and reads."""

RUN_ID, SYSTEM, PROTOCOL, FINGERPRINT, CLAIMED, UNDEFINED, TAGS = (
    f"{OURS}{name}"
    for name in (
        "run_id",
        "system",
        "protocol",
        "protocol_fingerprint",
        "claimed_protocol",
        "results_without_value",
        "tags",
    )
)
"""In eval_library.additional_details. results_without_value and tags: JSON text."""

COUNTS = ("n_items", "n_excluded", "n_failed")
QUOTIENT = ("numerator", "denominator")
POINTS = ("horizon_s", "recall", "step")
"""In metric_parameters, under their own names."""

_HINT = "compare the record with the schema at https://github.com/evaleval/every_eval_ever"
_UNKNOWN_LEVEL = -1


def read_record(path: Path) -> Published:
    """The results of one record. Raises InputError (unreadable) or ContractError (not what the schema asks for)."""
    document, digest = read_document(path)
    return record_of(document, path, digest)


def record_of(document: Any, path: Path, sha256: str) -> Published:
    """`read_record` for a document that is in memory already."""
    record = Part(document, "", str(path), _HINT)
    version = record.at("schema_version")
    if not version.name().startswith(VERSIONS):
        version.refuse("a version " + " or ".join(f"{start}x" for start in VERSIONS), what="the schema is not known")
    library = record.at("eval_library")
    if library.value is not None:  # which older records do not have
        library.at("name").name(), library.at("version").name()
    free = library.at("additional_details")
    run_id = free.at(RUN_ID)
    run_id.text()  # refuses what is no text; a run may have an empty name
    own = run_id.value is not None
    results = [_result(part, own=own) for part in record.at("evaluation_results").parts()]
    results += _without_value(free.at(UNDEFINED))
    tags = {
        "model": record.at("model_info").at("id").name(),
        "developer": record.at("model_info").at("developer").text(),
        "organization": record.at("source_metadata").at("source_organization_name").name(),
        "evaluator_relationship": record.at("source_metadata").at("evaluator_relationship").name(),
        "evaluation_id": record.at("evaluation_id").name(),
    }
    said = [free.at(name).text() for name in (PROTOCOL, FINGERPRINT, CLAIMED)]
    return Published(
        path.name,
        sha256,
        FORMAT,
        _told_apart(results, record),
        run_id=run_id.value if own else tags["evaluation_id"],
        system=free.at(SYSTEM).text(),
        claimed_protocol=" ".join(text for text in said if text is not None) or None,
        tags=_own_tags(free.at(TAGS)) if own else {name: value for name, value in tags.items() if value is not None},
        head={name: value for name, value in record.fields().items() if name != "evaluation_results"},
    )


def _result(part: Part, *, own: bool) -> Result:
    config, score = part.at("metric_config"), part.at("score_details")
    uncertainty = score.at("uncertainty")
    interval, details = uncertainty.at("confidence_interval"), score.at("details")
    if interval.value is None:  # where schema 0.2.0 has it
        interval = score.at("confidence_interval")
    lower = config.at("lower_is_better").truth()
    evaluation = part.at("evaluation_name").name()
    if lower is None:
        config.at("lower_is_better").refuse("true or false")
    common = Result(
        metric=config.at("metric_id").text() or config.at("metric_name").text() or "score",
        stratum=f"evaluation={evaluation}",
        value=_value(score.at("score"), config),
        details=spelled(part.value),
        evaluation=evaluation,
        unit=config.at("metric_unit").text() or UNKNOWN_UNIT,
        better="lower" if lower else "higher",
        standard_error=uncertainty.at("standard_error").at("value").number(),
        interval_low=interval.at("lower").number(),
        interval_high=interval.at("upper").number(),
        confidence_level=interval.at("confidence_level").number(),
        n_samples=uncertainty.at("num_samples").count(),
    )
    parameters = config.at("metric_parameters")
    if own:
        return replace(common, **_ours(details, parameters, config))
    named = ", ".join(f"{name}={spelled(parameters.at(name).value)}" for name in sorted(parameters.names()))
    return replace(common, metric=f"{common.metric}({named})") if named else common


def _value(score: Part, config: Part) -> float | None:
    """The score; null where the record declares -1 to stand for an unknown level, and says -1."""
    value = score.number()
    if value is None:
        score.refuse("a finite number")
    unknown = config.at("score_type").text() == "levels" and config.at("has_unknown_level").truth()
    return None if unknown and value == _UNKNOWN_LEVEL else value


def _ours(details: Part, parameters: Part, config: Part) -> dict[str, Any]:
    """What an exported result says in its free fields."""
    read = {name: _spelled_number(details.at(OURS + name)) for name in QUOTIENT}
    tainted = details.at(OURS + "tainted").text()
    better = config.at("additional_details").at(OURS + "better").text()
    return {
        **read,
        **{name: _spelled_count(details.at(OURS + name)) for name in COUNTS},
        "horizon_s": parameters.at("horizon_s").number(),
        "recall": parameters.at("recall").number(),
        "step": parameters.at("step").count(),
        "stratum": details.at(OURS + "stratum").name(),
        "tainted": tainted == "true",
        "taint_reason": details.at(OURS + "taint_reason").text(),
        **({} if better is None else {"better": better}),
    }


def _spelled_number(part: Part) -> float | None:
    text = part.text()
    return None if text is None else Part(_json(part, text), part.place, part.where, part.hint).number()


def _spelled_count(part: Part) -> int | None:
    text = part.text()
    return None if text is None else Part(_json(part, text), part.place, part.where, part.hint).count()


def _json(part: Part, text: str) -> Any:
    try:
        return parsed(text.encode(), part.where, part.place)
    except FileUnreadable:
        part.refuse("JSON text")


def _without_value(given: Part) -> list[Result]:
    """Results that have no value: the schema has no place for them, so they stand in a free field."""
    text = given.text()
    if text is None:
        return []
    made = []
    for part in Part(_json(given, text), given.place, given.where, given.hint).parts():
        made.append(
            Result(
                metric=part.at("metric").name(),
                stratum=part.at("stratum").name(),
                value=None,
                details=spelled(part.value),
                evaluation=part.at("evaluation").text(),
                unit=part.at("unit").name(),
                better=part.at("better").name(),
                status=part.at("status").name(),
                reason=part.at("reason").name(),
                tainted=bool(part.at("tainted").truth()),
                taint_reason=part.at("taint_reason").text(),
                horizon_s=part.at("horizon_s").number(),
                recall=part.at("recall").number(),
                step=part.at("step").count(),
                numerator=part.at("numerator").number(),
                denominator=part.at("denominator").number(),
                n_items=part.at("n_items").count(),
                n_excluded=part.at("n_excluded").count(),
                n_failed=part.at("n_failed").count(),
            )
        )
    return made


def _own_tags(given: Part) -> dict[str, str]:
    text = given.text()
    tags = Part({} if text is None else _json(given, text), given.place, given.where, given.hint)
    return {name: tags.at(name).text() or "" for name in tags.names()}


def _told_apart(results: Sequence[Result], record: Part) -> list[Result]:
    """Each under a key of its own: what shares one is told apart by the id that the record gives each result."""
    keys = Counter(result.key for result in results)
    parts = list(record.at("evaluation_results").parts())
    made = []
    seen: dict[tuple[object, ...], int] = {}
    for index, result in enumerate(results):
        named = parts[index].at("evaluation_result_id").text() if index < len(parts) else None
        if keys[result.key] > 1 and named is not None:
            result = replace(result, stratum=f"result={named}")
        if result.key in seen:
            record.refuse(
                "every metric of an evaluation once, or results with ids of their own",
                f"{result.metric} of {result.stratum} at {seen[result.key]} and {index} (from 0)",
                what="two results have one name",
            )
        seen[result.key] = index
        made.append(result)
    return made
