"""The ZIP that Superset imports: YAML files of one database, its datasets, their charts and a dashboard.

What is drawn stands in superset_datasets.yaml and superset_dashboard.yaml; this puts in meanings from the data
dictionary, ids, and the place of the database. Nothing of a run goes into the ZIP: names of runs, classes and data sets
stay in the database.

Superset replaces a dashboard that it knows by its id, and leaves a chart or a data set that it knows as it is. So the
id of a dashboard and its database is that of its name, and the id of a chart or a data set is that of its content too:
importing again duplicates nothing, and what was changed is what is drawn.
"""

from __future__ import annotations

import io
import uuid
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from evalframe.contracts.shards import batches_of
from evalframe.contracts.yaml_text import parsed
from evalframe.errors import printable
from evalframe.identity import canonical_json
from evalframe.publish.star import Star

Tree = dict[str, Any]

MARK = b"evalframe superset bundle 1"
"""The comment of a ZIP that was written here."""

_HERE = Path(__file__).resolve().parent
_NAMESPACE = uuid.UUID("5b0c9b0e-6c0e-5c53-9f0c-6a3f1f6f2d55")
_THEN = "2026-01-01T00:00:00+00:00"  # one moment for all: the bytes follow content alone
_TYPES = {
    "string": "VARCHAR",
    "double": "DOUBLE",
    "int64": "BIGINT",
    "int32": "INTEGER",
    "int16": "SMALLINT",
    "bool": "BOOLEAN",
    "date32[day]": "DATE",
    "timestamp[us, tz=UTC]": "TIMESTAMP",
}


@dataclass(frozen=True)
class Source:
    """The database as Superset reaches it. connect: arguments under which nothing can be written."""

    uri: str
    schema: str
    connect: Mapping[str, Any]


@cache
def drawn() -> Tree:
    """What the two files say, as one mapping; placeholders in SQL are filled."""
    data: Tree = {}
    for name in ("superset_datasets.yaml", "superset_dashboard.yaml"):
        data.update(parsed((_HERE / name).read_text(encoding="utf-8")))
    for dataset in data["datasets"].values():
        for part, text in data["parts"].items():
            dataset["sql"] = dataset["sql"].replace(f"{{{part}}}", text.rstrip("\n"))
    return data


@dataclass(frozen=True)
class Bundle:
    """A dashboard `name` over the star schema in `source`."""

    name: str
    source: Source
    star: Star

    def data(self) -> bytes:
        """The ZIP. Equal content has equal bytes: members are stored, not packed, and carry one fixed time."""
        whole = io.BytesIO()
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as file:
            file.comment = MARK
            for path, content in self.files().items():
                text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)
                file.writestr(zipfile.ZipInfo(f"evalframe/{path}", (2026, 1, 1, 0, 0, 0)), text)
        return whole.getvalue()

    def files(self) -> dict[str, Tree]:
        """Path in the bundle -> content."""
        files = {
            "metadata.yaml": {"version": "1.0.0", "type": "Dashboard", "timestamp": _THEN},
            "databases/evalframe.yaml": self._database(),
        }
        for name, dataset in self._datasets.items():
            files[f"datasets/evalframe/{name}.yaml"] = dataset
        for name, chart in self._charts.items():
            files[f"charts/{_numbers()[name]:02}.yaml"] = chart
        return {**files, "dashboards/evalframe.yaml": self._dashboard()}

    def id_of(self, *what: str) -> str:
        """The id of one thing of this dashboard, the same in every export under its name."""
        return str(uuid.uuid5(_NAMESPACE, canonical_json([self.name, *what])))

    def _with_id(self, kind: str, name: str, content: Tree) -> Tree:
        return {**content, "uuid": self.id_of(kind, name, canonical_json(content)), "version": "1.0.0"}

    @cached_property
    def title(self) -> str:
        """The name as people read it."""
        return f"Evaluation results: {printable(self.name, 80)}"

    @cached_property
    def default_protocol(self) -> str | None:
        """The protocol that most runs have values of; the first by name of several."""
        seen: set[tuple[str, str]] = set()
        for batch in batches_of(self.star.tables["fact_metric"], ["run_id", "protocol"]):
            pairs = pa.Table.from_batches([batch]).group_by(["run_id", "protocol"]).aggregate([])
            seen.update(zip(*(column.to_pylist() for column in pairs.columns), strict=True))
        runs = Counter(protocol for _, protocol in seen if protocol)
        return min(runs, key=lambda protocol: (-runs[protocol], protocol), default=None)

    @cached_property
    def _datasets(self) -> Mapping[str, Tree]:
        return {name: self._dataset(name, said) for name, said in drawn()["datasets"].items()}

    @cached_property
    def _charts(self) -> Mapping[str, Tree]:
        return {name: self._chart(name, said) for name, said in drawn()["charts"].items()}

    @cached_property
    def _dictionary(self) -> Mapping[str, Tree]:
        rows = self.star.table("data_dictionary").to_pylist()
        return {f"{row['table_name']}.{row['column_name']}": row for row in rows}

    def _database(self) -> Tree:
        return {
            "database_name": f"evalframe {printable(self.name, 80)}",
            "sqlalchemy_uri": self.source.uri,
            "expose_in_sqllab": True,
            "allow_ctas": False,
            "allow_cvas": False,
            "allow_dml": False,
            "allow_csv_upload": False,
            "extra": {"engine_params": {"connect_args": dict(self.source.connect)}},
            "uuid": self.id_of("database"),
            "version": "1.0.0",
        }

    def _dataset(self, name: str, dataset: Tree) -> Tree:
        columns = [self._column(column, said) for column, said in dataset["columns"].items()]
        metrics = [
            {
                "metric_name": metric,
                "verbose_name": said["label"],
                "expression": said["expression"].strip(),
                "description": said["description"],
                "d3format": said["format"],
            }
            for metric, said in dataset["metrics"].items()
        ]
        times = [column["column_name"] for column in columns if column["is_dttm"]]
        content = {
            # Where Superset keeps its own tables in SQLite, a dataset's name is unique over all databases.
            "table_name": f"{printable(self.name, 80)}: {name}",
            "main_dttm_col": times[0] if times else None,
            "description": dataset["description"],
            "schema": self.source.schema,
            "sql": dataset["sql"].strip(),
            "filter_select_enabled": True,
            "database_uuid": self.id_of("database"),
            "columns": columns,
            "metrics": metrics,
        }
        return self._with_id("dataset", name, content)

    def _column(self, name: str, said: str | Tree) -> Tree:
        said = {"of": said} if isinstance(said, str) else said
        if "of" in said:
            row = self._dictionary[said["of"]]
            said = {**row, "type": _TYPES[row["type"]], "label": said.get("label")}
        additivity, description = said.get("additivity"), said["description"]
        measure = additivity is not None
        column = {
            "column_name": name,
            "verbose_name": said.get("label") or name.replace("_", " "),
            "type": said["type"],
            "is_dttm": said["type"] in ("TIMESTAMP", "DATE"),
            "groupby": not measure,
            "filterable": True,
            "is_active": True,
            "description": f"{description} [{additivity}]" if measure else description,
        }
        if measure and additivity != "additive":
            meaning = said.get("additivity_meaning") or "neither summed nor averaged"
            column["extra"] = {"warning_markdown": f"{additivity}: {meaning}"}
        return column

    def _chart(self, name: str, chart: Tree) -> Tree:
        kept = [
            {"expressionType": "SIMPLE", "clause": "WHERE", "subject": column, "operator": "==", "comparator": value}
            for column, value in chart.get("where", {}).items()
        ]
        content = {
            "slice_name": name,
            "description": chart.get("description"),
            "viz_type": chart["params"]["viz_type"],
            "params": {**chart["params"], "adhoc_filters": kept},
            "query_context": None,
            "dataset_uuid": self._datasets[chart["dataset"]]["uuid"],
        }
        return self._with_id("chart", name, content)

    def _dashboard(self) -> Tree:
        return {
            "dashboard_title": self.title,
            "description": "Written by `evalframe export`.",
            "slug": f"evalframe-{self.id_of('dashboard')[:8]}",
            "published": True,
            "uuid": self.id_of("dashboard"),
            "position": dict(self._position()),
            "metadata": {
                "native_filter_configuration": list(self._filters()),
                "cross_filters_enabled": False,
                "color_scheme": "supersetColors",
                "filter_bar_orientation": "VERTICAL",
            },
            "version": "1.0.0",
        }

    def _position(self) -> Iterator[tuple[str, Any]]:
        rows, numbers = drawn()["rows"], _numbers()
        names = [f"ROW-{number}" for number in range(1, len(rows) + 1)]
        root, grid = "ROOT_ID", "GRID_ID"
        yield "DASHBOARD_VERSION_KEY", "v2"
        yield root, {"type": "ROOT", "id": root, "children": [grid]}
        yield grid, {"type": "GRID", "id": grid, "children": names, "parents": [root]}
        yield "HEADER_ID", {"type": "HEADER", "id": "HEADER_ID", "meta": {"text": self.title}}
        for place, row in zip(names, rows, strict=True):
            shown = {name: f"CHART-{numbers[name]}" if name in numbers else "MARKDOWN-1" for name in row["charts"]}
            inside, over = list(shown.values()), [root, grid]
            look = {"background": "BACKGROUND_TRANSPARENT"}
            yield place, {"type": "ROW", "id": place, "children": inside, "parents": over, "meta": look}
            for name, key in shown.items():
                meta = {"width": row["charts"][name], "height": row["height"]}
                if name in numbers:
                    meta |= {"chartId": numbers[name], "uuid": self._charts[name]["uuid"], "sliceName": name}
                else:
                    meta |= {"code": drawn()[name]}
                kind = key.partition("-")[0]
                yield key, {"type": kind, "id": key, "children": [], "parents": [*over, place], "meta": meta}

    def _filters(self) -> Iterator[Tree]:
        defaults = {"protocol": [self.default_protocol] if self.default_protocol else []}
        ids = {name: f"NATIVE_FILTER-{self.id_of('filter', name)}" for name in drawn()["filters"]}
        for name, said in drawn()["filters"].items():
            dataset, column = said["column"]
            chosen = defaults.get(said.get("default", ""), [])
            excluded = [n for chart, n in _numbers().items() if "charts" in said and chart not in said["charts"]]
            data = {"filters": [{"col": column, "op": "IN", "val": chosen}]} if chosen else {}
            yield {
                "id": ids[name],
                "name": said["name"],
                "description": said["description"],
                "type": "NATIVE_FILTER",
                "filterType": "filter_select",
                "requiredFirst": said.get("default") == "first",
                "targets": [{"column": {"name": column}, "datasetUuid": self._datasets[dataset]["uuid"]}],
                "scope": {"rootPath": ["ROOT_ID"], "excluded": excluded},
                "sortMetric": said.get("order"),
                "controlValues": {
                    "sortAscending": True,
                    "multiSelect": not said["only_one"],
                    "enableEmptyFilter": said["only_one"],
                    "defaultToFirstItem": said.get("default") == "first",
                    "searchAllOptions": False,
                    "inverseSelection": False,
                },
                "defaultDataMask": {"extraFormData": data, "filterState": {"value": chosen} if chosen else {}},
                "cascadeParentIds": [ids[parent] for parent in said.get("within", [])],
            }


def _numbers() -> dict[str, int]:
    """Chart -> the number by which a bundle refers to it; Superset puts its own there on import."""
    return {name: number for number, name in enumerate(drawn()["charts"], start=1)}
