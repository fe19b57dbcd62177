"""Results are immutable per run and fingerprint; several fingerprints of a run stand side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalframe.errors import ContractError, ExitCode, ResultsMissing, StoreConflict, UnknownName
from evalframe.store import Store
from tests.store.things import FIRST, PROTOCOL, SECOND, comparison, table, values, write_results, write_run


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.open(tmp_path / "store", create=True, durable=False)
    for run_id in ("a", "b"):
        write_run(store, run_id)
        write_results(store, run_id, {"accuracy": 0.5, "macro_f1": 0.25})
    return store


def test_results_lie_where_the_layout_says(store: Store) -> None:
    folder = store.path / "metric_values" / "part_protocol=p-wisp-har%2F1" / "part_run=r-a"
    assert store.files("metric_values", runs=["a"]) == [folder / "1111111111111111-0.parquet"]


def test_several_fingerprints_of_a_run_are_kept(store: Store) -> None:
    assert write_results(store, "a", {"accuracy": 0.75}, SECOND) == "written"
    assert [seal.protocol_fingerprint for seal in store.results("a")] == [FIRST, SECOND]
    assert store.read("metric_values", runs=["a"], fingerprints=[SECOND])["value"].to_pylist() == [0.75]
    assert store.read("metric_values", runs=["a"], fingerprints=[FIRST])["value"].to_pylist() == [0.5, 0.25]
    assert store.read("metric_values").num_rows == 5


def test_the_same_again_is_a_no_op_and_other_inputs_are_refused(store: Store) -> None:
    assert write_results(store, "a") == "unchanged"
    with pytest.raises(StoreConflict) as refused:
        write_results(store, "a", inputs={"data": "e"})
    assert refused.value.found == 'inputs.data: "d" is sealed, "e" was given'


def test_results_need_their_run(store: Store) -> None:
    with pytest.raises(UnknownName, match="'c' is not in the store"):
        write_results(store, "c")


@pytest.mark.parametrize("wrong", [values("b", {"m": 1.0}), values("a", {"m": 1.0}, SECOND)])
def test_rows_of_other_results_are_refused(store: Store, wrong: object) -> None:
    with pytest.raises(ContractError, match="belong to something else"):
        write_results(store, "a", fingerprint="ef1-" + "3" * 64, tables={"metric_values": wrong})


def test_recorded_values_carry_no_fingerprint(store: Store) -> None:
    recorded = table(
        "metric_values",
        1,
        run_id="a",
        metric="accuracy",
        stratum="all",
        value=0.5,
        status="ok",
        tainted=False,
        unit="proportion",
        better="higher",
        origin="frozen_catalogue",
        claimed_protocol="wisp",
        source_digest="s",
    )
    write_results(store, "a", fingerprint="recorded-s", tables={"metric_values": recorded})
    assert store.read("metric_values", runs=["a"]).num_rows == 3
    assert store.read("metric_values", runs=["a"], fingerprints=[FIRST]).num_rows == 2


def test_the_newest_fingerprint_is_one_that_all_have(store: Store) -> None:
    assert store.newest_fingerprint(PROTOCOL, ["a", "b"]) == FIRST
    write_results(store, "a", fingerprint=SECOND)
    assert store.newest_fingerprint(PROTOCOL, ["a"]) == SECOND
    assert store.newest_fingerprint(PROTOCOL, ["a", "b"]) == FIRST
    assert store.newest_fingerprint(PROTOCOL) == FIRST
    write_results(store, "b", fingerprint=SECOND)
    assert store.newest_fingerprint(PROTOCOL) == SECOND


def test_no_common_fingerprint_says_rescore(store: Store) -> None:
    write_run(store, "c")
    write_results(store, "c", fingerprint=SECOND)
    with pytest.raises(ResultsMissing) as refused:
        store.newest_fingerprint(PROTOCOL, ["a", "b", "c"])
    assert refused.value.exit_code == ExitCode.NOT_COMPARABLE
    assert refused.value.found == "none for 'c'"
    assert refused.value.hint == f"evalframe rescore --store {store.path}"
    with pytest.raises(ResultsMissing, match="kev-choice/2"):
        store.newest_fingerprint("kev-choice/2")


def test_the_scored_table_lists_every_result(store: Store) -> None:
    write_results(store, "a", fingerprint=SECOND)
    found = store.scored().select(["run_id", "protocol", "protocol_fingerprint"]).to_pylist()
    assert [tuple(row.values()) for row in found] == [
        ("a", PROTOCOL, FIRST),
        ("b", PROTOCOL, FIRST),
        ("a", PROTOCOL, SECOND),
    ]
    assert store.scored(["b"]).num_rows == 1


def test_parameters_are_read_once_per_fingerprint(store: Store) -> None:
    def write(run_id: str, fingerprint: str) -> None:
        parameters = table(
            "protocol_parameters", 2, protocol_fingerprint=fingerprint, name=["failed", "k"], value=["wrong", "30"]
        )
        write_results(store, run_id, fingerprint=fingerprint, tables={"protocol_parameters": parameters})

    third, fourth = "ef1-" + "3" * 64, "ef1-" + "4" * 64
    for run_id, fingerprint in [("a", third), ("b", third), ("b", fourth)]:
        write(run_id, fingerprint)
    assert store.read("protocol_parameters").num_rows == 4
    assert store.read("protocol_parameters", runs=["b"], fingerprints=[third]).num_rows == 2


def test_records_are_sealed_alike(store: Store) -> None:
    rows = comparison("a", "b")
    assert store.write_record("comparisons", "c/1", rows, inputs={"seed": 0}, runs=["a", "b"]) == "written"
    assert store.write_record("comparisons", "c/1", rows, inputs={"seed": 0}, runs=["b", "a"]) == "unchanged"
    with pytest.raises(StoreConflict) as refused:
        store.write_record("comparisons", "c/1", rows, inputs={"seed": 1}, runs=["a", "b"])
    assert "inputs.seed" in refused.value.found
    assert store.files("comparisons")[0].parent.name == "part_record=r-c%2F1"
    assert store.read("comparisons").equals(rows)
    assert store.read("comparisons", runs=["a"]).equals(rows)
    assert len(store.verify()) == 0


@pytest.mark.parametrize("compacted", [False, True])
def test_a_withdrawn_run_is_hidden_from_every_reader(store: Store, compacted: bool) -> None:
    store.write_record("comparisons", "c", comparison("a", "b"), inputs={}, runs=["a", "b"])
    store.write_record("comparisons", "d", comparison("b", "b"), inputs={}, runs=["b"])
    if compacted:
        store.compact()
    assert store.withdraw("a", "labels were shifted") == "written"
    assert store.run_ids() == store.runs()["run_id"].to_pylist() == ["b"]
    assert set(store.read("metric_values")["run_id"].to_pylist()) == {"b"}
    assert set(store.read("class_predictions")["run_id"].to_pylist()) == {"b"}
    assert store.scored()["run_id"].to_pylist() == ["b"]
    assert store.read("comparisons")["baseline_run"].to_pylist() == ["b"]
    for views in (store.views(), Store.open(store.path).views()):
        assert not [path for files in views.values() for path in files if "part_run=r-a" in str(path)]
    with pytest.raises(UnknownName) as refused:
        store.read("metric_values", runs=["a"])
    assert refused.value.found == "withdrawn because: labels were shifted"
    assert len(store.verify()) == 0
    assert store.gc() == []  # its files are sealed still


def test_a_withdrawn_id_stays_taken(store: Store) -> None:
    store.withdraw("a", "labels were shifted")
    assert store.withdraw("a", "labels were shifted") == "unchanged"
    for write in (write_run, write_results):
        with pytest.raises(StoreConflict, match="is withdrawn") as refused:
            write(store, "a")
        assert refused.value.found == "withdrawn because: labels were shifted"
    with pytest.raises(StoreConflict, match="withdrawal of run 'a' is sealed with different content"):
        store.withdraw("a", "another reason")
    with pytest.raises(UnknownName):
        store.withdraw("never there", "no reason")


def test_views_name_every_table(store: Store) -> None:
    views = store.views()
    assert len(views["metric_values"]) == 2
    assert len(views["runs"]) == 2
    assert views["floor_events"] == []
