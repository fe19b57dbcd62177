"""Every relation of sql/ keeps the rules: lint, its folder, a case, the types that merging and comparing rely on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from evalframe.contracts import conform, contract, contracts
from evalframe.engines.cases import Cases, read_case
from evalframe.engines.duckdb import DuckDB
from evalframe.relations import catalogue
from evalframe.relations.layers import FOLDERS, STORED
from evalframe.relations.lint import faults
from evalframe.relations.relation import METRIC_COLUMNS
from evalframe.resources import folder

HERE = Path(__file__).parent
NAMES = sorted(catalogue().relations)
MERGED = [name for name in NAMES if catalogue()[name].merge]
METRICS = [relation.name for relation in catalogue().of_layer("metric")]
KEPT = [relation.name for relation in catalogue().of_layer(*STORED) if relation.name in contracts()]

EXACT_SUMS = (pa.int16(), pa.int32(), pa.int64(), pa.decimal128(38, 15))
NUMBERS = (pa.int64(), pa.float64())


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDB]:
    with DuckDB(threads=1) as db:
        yield db


@pytest.fixture(scope="module")
def cases(engine: DuckDB) -> Cases:
    return Cases(catalogue(), engine)


@pytest.mark.parametrize("name", NAMES)
def test_it_passes_lint(engine: DuckDB, name: str) -> None:
    assert [str(fault) for fault in faults(catalogue(), engine, contracts(), [name])] == []


@pytest.mark.parametrize("name", NAMES)
def test_it_stands_in_the_folder_of_its_layer(name: str) -> None:
    relation = catalogue()[name]
    assert relation.path.relative_to(folder("sql")).parts[0] == FOLDERS[relation.layer]


@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_case(name: str) -> None:
    beside = HERE / catalogue()[name].path.relative_to(folder("sql")).parent
    assert (beside / f"{name}.yaml").is_file() or list(beside.glob(f"{name}__*.yaml"))


@pytest.mark.parametrize("path", sorted(HERE.rglob("*.yaml")), ids=lambda path: path.stem)
def test_a_case_stands_where_its_relation_does(path: Path) -> None:
    relation = catalogue()[read_case(path).relation]
    assert path.parent.relative_to(HERE) == relation.path.relative_to(folder("sql")).parent


@pytest.mark.parametrize("name", MERGED)
def test_what_shards_add_up_is_exact(cases: Cases, name: str) -> None:
    relation, schema = catalogue()[name], cases.schema(name)
    sums = {column: schema.field(column).type for column, rule in (relation.merge or {}).items() if rule == "sum"}
    assert {column: str(kind) for column, kind in sums.items() if kind not in EXACT_SUMS} == {}, (
        "sums are BIGINT (cast them: DuckDB sums to HUGEINT) or DECIMAL(38, 15)"
    )


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_yields_the_types_of_metric_values(cases: Cases, name: str) -> None:
    schema = cases.schema(name)
    found = {column: schema.field(column).type for column in METRIC_COLUMNS}
    assert found["value"] == pa.float64()
    assert {str(found[column]) for column in ("numerator", "denominator") if found[column] not in NUMBERS} == set()
    assert {str(found[column]) for column in ("n_items", "n_excluded", "n_failed")} == {"int64"}
    assert {str(found[column]) for column in ("status", "reason")} == {"string"}


def test_an_undefined_value_shows_its_denominator() -> None:
    """Only a metric that never divides has none."""
    undefined, divided = set(), set()
    for case in (read_case(path) for path in sorted((HERE / "metrics").rglob("*.yaml"))):
        for row in case.rows or ():
            if row.get("denominator", 0) is None and row.get("status") == "undefined":
                undefined.add(case.relation)
            elif row.get("denominator") is not None:
                divided.add(case.relation)
    assert undefined & divided == set()


@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept_with_results_fits_its_contract(cases: Cases, name: str) -> None:
    rows = cases.schema(name).empty_table()
    for stamp in ("protocol_fingerprint", "protocol"):
        if stamp in contract(name).names and stamp not in rows.column_names:
            rows = rows.add_column(0, stamp, pa.array([], pa.large_string()))
    assert conform(contract(name), rows).schema.equals(contract(name).arrow_schema())
