"""Contract files -> `Contract`. The part of the standard that is used is closed: any other key is an error.

Ranges and list lengths are logicalTypeOptions, sets are the library check invalidValues, further keys the library check
duplicateValues, foreign keys are relationships; what the standard has no word for is a custom property.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from evalframe.contracts import physical
from evalframe.contracts.model import Column, Contract, Reference
from evalframe.errors import ContractFileError, UnknownName
from evalframe.resources import folder

SUFFIX = ".odcs.yaml"


@cache
def contract(name: str) -> Contract:
    """The contract of one table. An unknown name raises UnknownName listing the known ones."""
    path = folder("data_contracts") / f"{name}{SUFFIX}"
    if name not in _names():
        raise UnknownName(
            f"there is no table {name!r}",
            expected=", ".join(_names()),
            found=name,
            hint="evalframe explain runs",
        )
    return load(path)


class _Contracts(Mapping[str, Contract]):
    """Every contract by name; a file is read when its contract is first asked for."""

    def __getitem__(self, name: str) -> Contract:
        if name not in _names():
            raise KeyError(name)
        return contract(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_names())

    def __len__(self) -> int:
        return len(_names())


def contracts() -> Mapping[str, Contract]:
    """Every contract of this installation, by table name."""
    return _Contracts()


@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(p.name.removesuffix(SUFFIX) for p in folder("data_contracts").glob(f"*{SUFFIX}")))


def load(path: Path) -> Contract:
    """Read one contract file; a file that is not exactly what is described above raises ContractFileError."""
    # The C parser is ten times as fast, and every command reads contracts.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ContractFileError(
            "a contract file cannot be read",
            expected="a YAML document in UTF-8",
            found=" ".join(str(error).split()),
            where=str(path),
            hint="correct the file; evalframe explain runs shows a sound contract",
        ) from error
    return _Reader(path).contract(document)


class _Reader:
    """Takes one parsed document apart, naming the file and the place in every refusal."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def contract(self, document: Any) -> Contract:
        top = self.fields(document, "the document", "apiVersion kind id name version status description schema")
        self.expect(
            top["apiVersion"] == "v3.1.0" and top["kind"] == "DataContract",
            "apiVersion",
            "v3.1.0 DataContract",
            top["apiVersion"],
        )
        prose = self.fields(top["description"], "description", "purpose limitations")
        self.expect(isinstance(top["schema"], list) and len(top["schema"]) == 1, "schema", "one table", top["schema"])
        table = self.fields(
            top["schema"][0],
            "schema",
            "name physicalType dataGranularityDescription properties",
            "relationships quality",
        )
        name = str(top["name"])
        expected = self.path.name.removesuffix(SUFFIX)
        self.expect(
            name == table["name"] == expected, "name", f"{expected}, as the file is named", f"{name}, {table['name']}"
        )
        columns = tuple(self.column(p) for p in table["properties"])
        names = [c.name for c in columns]
        self.expect(len(set(names)) == len(names), "properties", "different column names", ", ".join(names))
        return Contract(
            name=name,
            version=str(top["version"]),
            description=prose["purpose"],
            limitations=prose["limitations"],
            grain=table["dataGranularityDescription"],
            columns=columns,
            key=self.key(table["properties"]),
            references=tuple(self.reference(name, names, r) for r in table.get("relationships", ())),
            uniques=tuple(self.unique(names, q) for q in table.get("quality", ())),
        )

    def column(self, given: Any) -> Column:
        where = f"column {given.get('name') if isinstance(given, dict) else given}"
        p = self.fields(
            given,
            where,
            "name logicalType physicalType required description",
            "primaryKey primaryKeyPosition logicalTypeOptions items quality customProperties",
        )
        kind = p["physicalType"]
        self.check_type(where, kind, p["logicalType"])
        length: dict[str, Any] = {}
        element = p
        inner = physical.element(kind)
        if inner:
            length = self.fields(p.get("logicalTypeOptions", {}), where, "", "minItems maxItems")
            element = self.fields(
                p.get("items"), f"{where}, items", "logicalType physicalType required", "logicalTypeOptions quality"
            )
            self.check_type(f"{where}, items", inner, element["logicalType"])
            self.expect(element["physicalType"] == inner, f"{where}, items", inner, element["physicalType"])
        limits = self.fields(element.get("logicalTypeOptions", {}), where, "", "minimum maximum")
        return Column(
            name=p["name"],
            physical=kind,
            required=p["required"],
            description=p["description"],
            minimum=limits.get("minimum"),
            maximum=limits.get("maximum"),
            allowed=self.allowed(where, element.get("quality", ())),
            finite=self.finite(where, p.get("customProperties", ())),
            element_required=bool(element["required"]) if inner else True,
            min_items=length.get("minItems"),
            max_items=length.get("maxItems"),
        )

    def check_type(self, where: str, kind: Any, logical: Any) -> None:
        self.expect(isinstance(kind, str) and physical.is_physical(kind), where, "a known physicalType", kind)
        self.expect(
            logical == physical.logical_type(kind), where, f"logicalType {physical.logical_type(kind)}", logical
        )

    def allowed(self, where: str, checks: Any) -> tuple[Any, ...] | None:
        values: tuple[Any, ...] | None = None
        for check in checks:
            c = self.fields(check, where, "type metric mustBe arguments")
            self.expect(
                (c["type"], c["metric"], c["mustBe"]) == ("library", "invalidValues", 0),
                where,
                "invalidValues mustBe 0",
                check,
            )
            values = tuple(self.fields(c["arguments"], where, "validValues")["validValues"])
        return values

    def finite(self, where: str, properties: Any) -> bool:
        finite = True
        for given in properties:
            p = self.fields(given, where, "property value")
            self.expect(
                p["property"] == "finite" and isinstance(p["value"], bool),
                where,
                "custom property finite: true or false",
                given,
            )
            finite = p["value"]
        return finite

    def unique(self, names: list[str], check: Any) -> tuple[str, ...]:
        c = self.fields(check, "quality", "type metric mustBe arguments")
        self.expect(
            (c["type"], c["metric"], c["mustBe"]) == ("library", "duplicateValues", 0),
            "quality",
            "duplicateValues mustBe 0",
            check,
        )
        columns = tuple(self.fields(c["arguments"], "quality", "properties")["properties"])
        self.expect(set(columns) <= set(names), "quality", "columns of the table", ", ".join(columns))
        return columns

    def key(self, properties: Any) -> tuple[str, ...]:
        placed = [(p["primaryKeyPosition"], p["name"]) for p in properties if p.get("primaryKey")]
        positions = sorted(position for position, _ in placed)
        self.expect(
            bool(placed) and positions == list(range(1, len(placed) + 1)),
            "primaryKeyPosition",
            "1, 2, ... once each",
            positions,
        )
        return tuple(name for _, name in sorted(placed))

    def reference(self, table: str, names: list[str], given: Any) -> Reference:
        r = self.fields(given, "relationships", "type from to")
        self.expect(r["type"] == "foreignKey", "relationships", "foreignKey", r["type"])
        sources = [str(s).split(".") for s in r["from"]]
        targets = [str(t).split(".") for t in r["to"]]
        columns, to = tuple(s[-1] for s in sources), {t[0] for t in targets}
        self.expect(
            all(s == [table, s[-1]] for s in sources) and set(columns) <= set(names),
            "relationships",
            f"columns of {table}",
            r["from"],
        )
        self.expect(
            len(to) == 1 and len(sources) == len(targets),
            "relationships",
            "as many columns of one other table",
            r["to"],
        )
        return Reference(columns, to.pop(), tuple(t[-1] for t in targets))

    def fields(self, given: Any, where: str, required: str, optional: str = "") -> dict[str, Any]:
        """`given` as a mapping that has every required key and none beyond the optional ones."""
        wanted, known = required.split(), {*required.split(), *optional.split()}
        self.expect(isinstance(given, dict), where, "a mapping", given)
        missing = [k for k in wanted if k not in given]
        unknown = sorted(str(k) for k in given if k not in known)
        self.expect(not missing, where, f"the keys {', '.join(wanted)}", f"no {', '.join(missing)}")
        self.expect(not unknown, where, f"only the keys {', '.join(sorted(known))}", ", ".join(unknown))
        return dict(given)

    def expect(self, holds: bool, where: str, expected: str, found: object) -> None:
        if not holds:
            raise ContractFileError(
                "a contract file is not of the form that is read",
                expected=expected,
                found=str(found),
                where=f"{self.path}, {where}",
                hint="correct the file; evalframe explain runs shows a sound contract",
            )
