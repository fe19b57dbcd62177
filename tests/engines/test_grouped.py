"""A plan over groups of rows gives what one engine over all rows gives, bit for bit, whatever the groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalframe.contracts import contract, contracts
from evalframe.contracts.shards import Shards
from evalframe.engines.duckdb import DuckDB
from evalframe.engines.grouped import Work
from evalframe.engines.splitting import Group
from evalframe.errors import EngineError
from evalframe.relations import Plan, Relation, catalogue
from tests.engines.in_turn import InTurn
from tests.engines.systems import LABELS, System, system

small = cache(system)
DIVIDED = [each for each in catalogue().of_layer("fact", "state", "calibration") if each.split]


COUNT = 7


class Apart(InTurn):
    """The last group first."""

    def __init__(self) -> None:
        super().__init__(COUNT)

    def ordered(self, groups: Sequence[Group]) -> Iterator[Group]:
        return reversed(groups)


def both(one: System, wanted: Plan) -> tuple[dict[str, pa.Table], dict[str, pa.Table]]:
    with DuckDB(threads=1) as record, Apart() as grouped:
        found = one.asked(record, wanted), one.asked(grouped, wanted)
        assert grouped.seen > 1
        return found


def assert_equal(grouped: Mapping[str, pa.Table], whole: Mapping[str, pa.Table]) -> None:
    assert list(grouped) == list(whole)
    for name, table in whole.items():
        assert grouped[name].equals(table), name


@pytest.mark.parametrize("label", LABELS)
def test_scores_and_states_per_cluster_are_those_of_one_engine(label: str) -> None:
    for wanted in (small(label).plan(), small(label).per_cluster()):
        whole, grouped = both(small(label), wanted)
        assert_equal(grouped, whole)
        assert any(len(table) for table in whole.values())


@pytest.mark.parametrize("relation", DIVIDED, ids=lambda relation: relation.name)
def test_every_relation_that_says_so_can_be_computed_apart(relation: Relation) -> None:
    label = next(name for name in LABELS if set(catalogue().tables(relation.name)) <= set(small(name).tables))
    whole, grouped = both(small(label), small(label).plan([relation.name], pooled=False))
    assert_equal(grouped, whole)
    assert len(whole[relation.name]) > 0


@pytest.mark.parametrize("relation", DIVIDED, ids=lambda relation: relation.name)
def test_what_a_relation_is_divided_by_exists(relation: Relation) -> None:
    below = {each.name for each in catalogue().closure(relation.name)} | set(catalogue().tables(relation.name))
    for table, column in (relation.split or {}).items():
        assert table in below
        assert column in contracts()[table].names


def test_files_are_read_where_groups_are_answered(tmp_path: Path) -> None:
    one = small("wisp-har/1")
    with DuckDB(threads=1) as record:
        whole = one.asked(record, one.plan())
    files: dict[str, list[Path]] = {}
    for name, table in one.tables.items():
        files[name] = [tmp_path / f"{name}-{i}.parquet" for i in range(2)]
        for path, part in zip(files[name], (table.slice(0, 100), table.slice(100)), strict=True):
            pq.write_table(part, path)
    with Apart() as grouped:
        for name, paths in files.items():
            grouped.bind(name, paths, contract(name))
        found = grouped.evaluate(one.plan())
        assert grouped.seen == COUNT
    for metric in ("macro_f1", "accuracy", "worst_class_f1", "class_confusion_by_cluster"):
        assert found[metric].sort_by("run_id").equals(whole[metric].sort_by("run_id")) or metric.startswith("class_")
        assert sorted(map(str, found[metric].to_pylist())) == sorted(map(str, whole[metric].to_pylist()))


def test_the_rows_of_a_table_that_happens_to_be_in_files_are_sent(tmp_path: Path) -> None:
    """Its files may be in a folder that no other machine sees."""
    one = small("wisp-har/1")
    sent: list[str] = []

    class Noting(Apart):
        def _answers(self, work: Work, groups: Sequence[Group]) -> Iterator[Mapping[str, pa.Table]]:
            sent.extend(name for name in work.plan.sources if name not in work.files)
            return super()._answers(work, groups)

    shards = {}
    for name, table in one.tables.items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
        shards[name] = Shards(table.schema, [tmp_path / f"{name}.parquet"])
    with DuckDB(threads=1) as record, Noting() as grouped:
        whole = one.asked(record, one.plan())
        assert_equal(System(one.label, shards).asked(grouped, one.plan()), whole)
    assert {"class_labels", "class_predictions"} <= set(sent)


@pytest.mark.parametrize("table", ["class_labels", "class_predictions"])
def test_no_rows_are_one_group_and_no_error(table: str) -> None:
    one = small("wisp-har/1")
    one = System(one.label, {**one.tables, table: one.tables[table].slice(0, 0)})
    with DuckDB(threads=1) as record, Apart() as grouped:
        assert_equal(one.asked(grouped, one.plan()), one.asked(record, one.plan()))


def test_a_plan_leaves_nothing_behind_also_after_an_error() -> None:
    one = small("robometer-ood/1")
    with Apart() as grouped:
        before = one.asked(grouped, one.plan())
        grouped.unbind("progress_features")
        with pytest.raises(EngineError, match="is not bound"):
            grouped.evaluate(one.plan())
        grouped.bind("progress_features", one.tables["progress_features"].slice(0, 0))
        assert len(grouped.evaluate(one.plan(["progress_calls"]))["progress_calls"]) == 0
        assert_equal(one.asked(grouped, one.plan()), before)
