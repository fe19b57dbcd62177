"""Every contract file keeps the published standard, and the tables agree with one another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import open_data_contract_standard
import pytest
import yaml
from open_data_contract_standard.model import OpenDataContractStandard

from evalframe.contracts import contract, contracts
from evalframe.contracts.odcs import read_document
from evalframe.errors import ContractFileError
from evalframe.resources import folder

FILES = [*sorted(folder("data_contracts").glob("*")), Path(__file__).with_name("things.odcs.yaml")]
SCHEMA = json.loads((Path(open_data_contract_standard.__file__).parent / "schema.json").read_text())
STORED_WITH_RESULTS = {
    "class_confusion_by_cluster",
    "choice_outcomes",
    "choice_bins",
    "floor_events",
    "progress_calls",
    "failure_calls",
    "filter_ranks",
}
TABLES = {
    "runs",
    "protocols",
    "protocol_parameters",
    "class_vocabulary",
    "class_labels",
    "class_predictions",
    "floor_activity",
    "floor_segments",
    "floor_addressee",
    "floor_forecasts",
    "operating_points",
    "progress_targets",
    "progress_traces",
    "progress_features",
    "choice_questions",
    "choice_probabilities",
    "metric_values",
    "comparisons",
    "frozen_results",
    "audit_findings",
} | STORED_WITH_RESULTS


class _NoRepeats(yaml.SafeLoader):
    """YAML's own answer to a repeated key is to drop the first without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        assert len(set(keys)) == len(keys), f"a key is written twice: {keys} {node.start_mark}"
        return super().construct_mapping(node, deep)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_a_contract_file_is_valid_by_the_standards_own_schema(path: Path) -> None:
    document = yaml.load(path.read_text(encoding="utf-8"), Loader=_NoRepeats)
    validator = jsonschema.validators.validator_for(SCHEMA)(SCHEMA)
    assert [f"{e.json_path}: {e.message}" for e in validator.iter_errors(document)] == []


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_a_contract_file_is_valid_by_the_standards_own_model(path: Path) -> None:
    model = OpenDataContractStandard.from_file(str(path))
    assert model.apiVersion == "v3.1.0"
    assert model.schema_ is not None
    columns = [p.name for p in model.schema_[0].properties or []]
    assert columns == list(read_document(yaml.safe_load(path.read_text()), columns_of(path), str(path)).names)


def columns_of(path: Path) -> str:
    return path.name.removesuffix(".odcs.yaml")


def test_every_table_that_the_commands_speak_of_has_a_contract() -> None:
    assert set(contracts()) >= TABLES


def test_data_contracts_holds_contracts_only() -> None:
    assert [p.name for p in folder("data_contracts").iterdir() if not p.name.endswith(".odcs.yaml")] == []


@pytest.mark.parametrize("name", contracts())
def test_every_column_is_described_in_a_sentence(name: str) -> None:
    c = contract(name)
    for text in (c.description, c.limitations, *(column.description for column in c.columns)):
        assert text.endswith("."), text


@pytest.mark.parametrize("name", contracts())
def test_a_reference_names_a_key_of_its_table_and_agrees_in_type(name: str) -> None:
    c = contract(name)
    for reference in c.references:
        target = contract(reference.table)
        assert set(reference.to_columns) in [set(target.key), *map(set, target.uniques)]
        here = [c.column(n).physical for n in reference.columns]
        there = [target.column(n).physical for n in reference.to_columns]
        assert here == there


def test_a_column_that_identifies_rows_has_one_type_in_all_tables() -> None:
    """Joins then compare equal types: an integer joined with text is compared after a cast, which is guessing."""
    identifying = {
        n for c in contracts().values() for n in c.key if n.endswith(("_id", "_index", "row", "fingerprint"))
    }
    kinds: dict[str, set[str]] = {}
    for c in contracts().values():
        for column in c.columns:
            if column.name in identifying:
                kinds.setdefault(column.name, set()).add(column.physical)
    assert kinds
    assert {n: sorted(k) for n, k in kinds.items() if len(k) > 1} == {}


@pytest.mark.parametrize("table", sorted(STORED_WITH_RESULTS))
def test_tables_stored_with_results_begin_with_their_protocol(table: str) -> None:
    assert contract(table).names[:2] == ("protocol", "protocol_fingerprint")


def edited(*path: Any, to: Any) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(FILES[-1].read_text())
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return document


PROPERTIES = ("schema", 0, "properties")


@pytest.mark.parametrize(
    ("path", "to", "found"),
    [
        (("price",), 1, "price"),
        (("apiVersion",), "v2.2.2", "v2.2.2"),
        (("name",), "other", "other"),
        (("schema",), [], "[]"),
        (("description",), {"purpose": "p"}, "no limitations"),
        (("schema", 0, "tags"), ["t"], "tags"),
        ((*PROPERTIES, 0, "unique"), True, "unique"),
        ((*PROPERTIES, 0, "required"), "yes", "yes"),
        ((*PROPERTIES, 0, "physicalType"), "varchar", "varchar"),
        ((*PROPERTIES, 0, "logicalType"), "integer", "integer"),
        ((*PROPERTIES, 0, "primaryKeyPosition"), 3, "[2, 3]"),
        ((*PROPERTIES, 1, "name"), "box", "box"),
        ((*PROPERTIES, 1, "logicalTypeOptions"), {"exclusiveMinimum": 0}, "exclusiveMinimum"),
        ((*PROPERTIES, 7, "items"), {"logicalType": "string", "physicalType": "utf8", "required": True}, "utf8"),
        ((*PROPERTIES, 7, "items", "required"), None, "None"),
        ((*PROPERTIES, 7, "primaryKey"), True, ""),
        ((*PROPERTIES, 4, "quality", 0, "metric"), "nullValues", "nullValues"),
        ((*PROPERTIES, 4, "quality", 0, "mustBe"), 1, "1"),
        ((*PROPERTIES, 5, "customProperties", 0, "property"), "colour", "colour"),
        ((*PROPERTIES, 5, "customProperties", 0, "value"), {"column": "nowhere", "values": []}, "nowhere"),
        (("schema", 0, "quality", 0, "arguments"), {"properties": ["nowhere"]}, "nowhere"),
        (("schema", 0, "quality", 0, "arguments"), {"properties": ["box", "p"]}, "box, p"),
        (("schema", 0, "relationships", 0, "type"), "other", "other"),
        (("schema", 0, "relationships", 0, "from"), ["things.box"], "2"),
        (("schema", 0, "relationships", 0, "from"), ["boxes.box", "things.lid"], "boxes"),
        (("schema", 0, "relationships", 0, "to"), ["boxes.box", "lids.lid"], "lids"),
    ],
    ids=str,
)
def test_what_is_not_read_is_refused(path: tuple[Any, ...], to: Any, found: str) -> None:
    document = edited(*path, to=to)
    if path[-1] == "primaryKey":
        document["schema"][0]["properties"][7]["primaryKeyPosition"] = 3
    with pytest.raises(ContractFileError) as refusal:
        read_document(document, "things", "things.odcs.yaml")
    assert found in refusal.value.found
    assert "things.odcs.yaml" in refusal.value.where
