"""Every relation on other engines: `python -m tests.audit.engines_table [ENGINE]` computes it and writes the README.

EVALFRAME_REAL_DATA must name the real data: the outcome of a relation is the gravest over its cases and those. What
came out stands in engines.json, from which the README's table is drawn; an engine that is not named keeps its column.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from evalframe.audit.engines import Agreement, Evaluates, compare, compare_plan, worst
from evalframe.engines.cases import Cases, read_case
from evalframe.engines.duckdb import DuckDB
from evalframe.engines.polars_sql import PolarsSql
from evalframe.protocols import protocol
from evalframe.relations import catalogue, plan
from evalframe.sources.choice import read_rows
from evalframe.sources.classification import read_predictions
from evalframe.store import Store
from evalframe.verbs import floor
from evalframe.verbs.rescore import stored_run
from tests.audit.spark_engine import LAYERS, Spark
from tests.protocols.robometer_frozen.scoring import tables as trace_tables
from tests.protocols.robometer_frozen.worlds import TRACE_SCHEMA

OUTCOMES = Path(__file__).with_name("engines.json")
README = Path(__file__).parents[2] / "README.md"
CASES = Path(__file__).parents[1] / "sql"
MARKERS = ("<!-- generated: engines -->", "<!-- /generated: engines -->")
TITLES = {"polars": "Polars SQL", "spark": "Spark"}

Outcomes = Mapping[str, str]
"""relation -> `exact`, the power of ten that bounds the relative difference, or `no: REASON`."""


def over_cases(engine: Evaluates, layers: Collection[str] | None = None) -> Iterator[Agreement]:
    """Each relation over each of its cases; `layers` restricts which."""
    relations = catalogue()
    with DuckDB(threads=1) as record:
        cases = Cases(relations, record)
        for path in sorted(CASES.rglob("*.yaml")):
            case = read_case(path)
            relation = relations[case.relation]
            if layers is not None and relation.layer not in layers:
                continue
            inputs = cases.inputs(case)
            for name, table in inputs.items():
                record.bind(name, table)
            given = frozenset(inputs)
            whole = plan(relations, [relation.name], parameters=case.parameters, given=given)
            expected = record.evaluate(whole)[relation.name]
            record.unbind(*inputs)
            yield compare(relation, inputs, case.parameters, expected, engine)


def over_real_data(engine: Evaluates, folder: Path, layers: Collection[str] | None = None) -> Iterator[Agreement]:
    """Each relation that a protocol reads over published answers, windows, forecasts and traces."""
    relations = catalogue()
    for label, settings, tables in _real_runs(folder):
        chosen = protocol(label)
        whole = plan(relations, (*chosen.metrics, *chosen.stored), parameters=chosen.settings() | settings)
        with DuckDB(threads=1) as record:
            read = {name: table for name, table in tables.items() if name in whole.tables}
            for _, found in compare_plan(whole, read, record, {"other": engine}, layers):
                yield found


def _real_runs(folder: Path) -> Iterator[tuple[str, dict[str, str], Mapping[str, pa.Table]]]:
    answers = read_rows(folder / "kev" / "autojev_semif_rows.json", "answers")
    yield "kev-choice/2", {}, answers.tables
    yield "kev-choice/1", {}, answers.tables
    windows = read_predictions(
        folder / "har_loso" / "sbhar_1x512_seed2.npz", run_id="windows", keys={"classes": "class_names"}
    )
    yield "wisp-har/1", {}, windows.tables
    with tempfile.TemporaryDirectory() as scratch:
        meetings = folder / "ami_floor"
        sessions = ["ES2004a", "ES2005a", "ES2010a"]
        floor.evaluate(
            meetings / "target",
            runs={"forecasts": meetings / "baseline"},
            sessions=sessions,
            calibration_sessions=["ES2011a"],
            store=Path(scratch) / "store",
        )
        store = Store.open(Path(scratch) / "store")
        (seal,) = store.results("forecasts")
        yield seal.protocol, seal.inputs["parameters"], stored_run(store, "forecasts").tables
    yield "robometer-ind/1", {"top_k": "1"}, _traces(folder / "robometer_traces")


def _traces(folder: Path) -> Mapping[str, pa.Table]:
    traces, targets = [], []
    for path in sorted(folder.glob("*_rewards.npy")):
        name = path.name.removesuffix("_rewards.npy")
        progress = np.load(path).astype(np.float64)
        success = np.load(folder / f"{name}_rewards_success_probs.npy").astype(np.float64)
        for i, (p, s, t) in enumerate(zip(progress, success, np.linspace(0, 1, len(progress)), strict=True)):
            key = {"run_id": "traces", "step": 0, "error": None, "trajectory_id": name, "query_task": "t"}
            traces.append({**key, "prefix_index": i, "frame_index": i, "progress": p, "success_probability": s})
            outcome = "failure" if name.startswith("soar") else "success"
            targets.append(
                {"trajectory_id": name, "task": "t", "outcome": outcome, "frame_index": i, "target_progress": t}
            )
    return trace_tables(pl.DataFrame(traces, schema=TRACE_SCHEMA), pl.DataFrame(targets))


def told(agreements: Iterable[Agreement]) -> dict[str, str]:
    """One word for each relation: the gravest of what came out. A difference is an error."""
    by_relation: dict[str, list[Agreement]] = defaultdict(list)
    for agreement in agreements:
        by_relation[agreement.relation].append(agreement)
    differ = [f"{each.relation}: {each.detail}" for found in by_relation.values() for each in found if not each.passed]
    assert not differ, "\n".join(differ)
    return {name: word(worst(found)) for name, found in sorted(by_relation.items())}


def word(agreement: Agreement) -> str:
    """`exact`, `1e-15` (a bound of the largest relative difference), or `no: REASON`."""
    if agreement.outcome == "not portable":
        return f"no: {agreement.reason}"
    return "exact" if agreement.outcome == "exact" else f"1e{math.ceil(math.log10(agreement.largest))}"


def outcomes() -> dict[str, Outcomes]:
    """What engines.json says: engine -> relation -> word."""
    found: dict[str, Outcomes] = json.loads(OUTCOMES.read_text(encoding="utf-8"))
    return found


def table(found: Mapping[str, Outcomes]) -> str:
    """The table of the README."""
    relations = catalogue()
    engines = [engine for engine in TITLES if engine in found]
    counts = []
    for engine in engines:
        words = list(found[engine].values())
        no = sum(each.startswith("no") for each in words)
        exact = words.count("exact")
        counts.append(f"{TITLES[engine]}: {exact} exact, {len(words) - exact - no} within a bound, {no} not spoken")
    lines = [
        f"{'. '.join(counts)}. DuckDB is the engine of record.",
        "",
        "<details><summary>Every relation</summary>",
        "",
        f"| relation | layer | {' | '.join(TITLES[engine] for engine in engines)} |",
        f"|---|---|{'---|' * len(engines)}",
    ]
    names = sorted({name for engine in engines for name in found[engine]})
    for name in names:
        cells = " | ".join(found[engine].get(name, "") for engine in engines)
        lines.append(f"| {name} | {relations[name].layer} | {cells} |")
    return "\n".join([*lines, "", "</details>"])


def in_readme() -> str:
    """What stands between the markers."""
    text = README.read_text(encoding="utf-8")
    return text.partition(MARKERS[0])[2].partition(MARKERS[1])[0].strip()


def write(found: Mapping[str, Outcomes]) -> None:
    """Put the outcomes into engines.json and their table into the README."""
    OUTCOMES.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    head, opened, rest = text.partition(MARKERS[0])
    _, closed, tail = rest.partition(MARKERS[1])
    assert closed, f"README.md has no {MARKERS[0]} ... {MARKERS[1]}"
    README.write_text(f"{head}{opened}\n{table(found)}\n{closed}{tail}", encoding="utf-8")


def main() -> None:
    """Compute the column of one engine (default polars)."""
    engine = sys.argv[1] if len(sys.argv) > 1 else "polars"
    folder = Path(os.environ["EVALFRAME_REAL_DATA"])
    known: dict[str, Outcomes] = outcomes() if OUTCOMES.exists() else {}
    if engine == "polars":
        with PolarsSql() as other:
            known[engine] = told([*over_cases(other), *over_real_data(other, folder)])
    elif engine == "spark":
        with Spark() as other:
            found = [*over_cases(other, LAYERS), *over_real_data(other, folder, LAYERS)]
        known[engine] = told(found)
    else:
        sys.exit(f"no engine {engine}: polars, spark")
    write(known)


if __name__ == "__main__":
    main()
