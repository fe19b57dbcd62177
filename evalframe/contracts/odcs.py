"""One parsed document of the Open Data Contract Standard -> `Contract`. Any key that is not read is an error.

Ranges and list lengths are logicalTypeOptions, sets are the library check invalidValues, further keys the library check
duplicateValues, foreign keys are relationships; what the standard has no word for is a custom property: `finite: false`
(NaN and infinities may stand) and `presentExactlyWhen: {column: c, values: [...]}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalframe.contracts import physical
from evalframe.contracts.model import Column, Contract, Reference
from evalframe.errors import ContractFileError


def read_document(document: Any, name: str, path: str) -> Contract:
    """The contract of table `name` that `document` declares; `path` is where it stands, for the refusals."""
    return _Reader(path).contract(document, name)


def refused(where: str, expected: str, found: object) -> ContractFileError:
    """The error for a contract file that is not of the form that is read."""
    return ContractFileError(
        "a contract file is not of the form that is read",
        expected=expected,
        found=str(found),
        where=where,
        hint="correct the file; evalframe explain runs shows a sound contract",
    )


def _frozen(value: Any) -> Any:
    """An example as a hashable value: a list as a tuple, a mapping as its pairs."""
    if isinstance(value, dict):
        return tuple((k, _frozen(v)) for k, v in value.items())
    return tuple(_frozen(v) for v in value) if isinstance(value, list) else value


class _Reader:
    """Takes one parsed document apart. `place` is where it stands, for the refusals."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.place = "the document"

    def contract(self, document: Any, named: str) -> Contract:
        top = self.fields(document, "apiVersion kind id name version status description schema")
        self.equal(f"{top['apiVersion']} {top['kind']}", "v3.1.0 DataContract")
        prose = self.fields(top["description"], "purpose limitations")
        table = self.fields(
            self.only(top["schema"], "one table"),
            "name physicalType dataGranularityDescription properties",
            "relationships quality",
        )
        self.equal([top["name"], table["name"]], [named, named])
        columns = tuple(self.column(p) for p in self.sequence(table["properties"]))
        self.place = "properties"
        names = [c.name for c in columns]
        self.equal(sorted(set(names)), sorted(names))
        for column in columns:
            self.known([column.present_when[0]] if column.present_when else [], names)
        # Keys and references are compared value by value: nested columns have no place in them.
        names = [c.name for c in columns if c.physical != physical.MAP and physical.element(c.physical) is None]
        return Contract(
            name=named,
            version=str(top["version"]),
            description=prose["purpose"],
            limitations=prose["limitations"],
            grain=table["dataGranularityDescription"],
            columns=columns,
            key=self.known(self.key(table["properties"]), names),
            references=tuple(self.reference(named, names, r) for r in table.get("relationships", ())),
            uniques=tuple(self.unique(names, q) for q in table.get("quality", ())),
        )

    def column(self, given: Any) -> Column:
        self.place = f"column {given.get('name') if isinstance(given, dict) else given}"
        p = self.fields(
            given,
            "name logicalType physicalType required description",
            "primaryKey primaryKeyPosition logicalTypeOptions items quality customProperties examples",
        )
        self.typed(p)
        inner = physical.element(p["physicalType"])
        length: dict[str, Any] = {}
        values = p  # where the rules of values stand: in a list, with its elements
        if inner:
            length = self.fields(p.get("logicalTypeOptions", {}), "", "minItems maxItems")
            values = self.fields(p.get("items"), "logicalType physicalType required", "logicalTypeOptions quality")
            self.typed(values)
            self.equal(values["physicalType"], inner)
        limits = self.fields(values.get("logicalTypeOptions", {}), "", "minimum maximum")
        custom = self.custom(p.get("customProperties", ()))
        return Column(
            name=p["name"],
            physical=p["physicalType"],
            required=self.flag(p["required"]),
            description=p["description"],
            minimum=limits.get("minimum"),
            maximum=limits.get("maximum"),
            allowed=self.allowed(values.get("quality", ())),
            finite=self.flag(custom.get("finite", True)),
            element_required=self.flag(values["required"]) if inner else True,
            min_items=length.get("minItems"),
            max_items=length.get("maxItems"),
            present_when=self.present_when(custom.get("presentExactlyWhen")),
            examples=tuple(_frozen(e) for e in self.sequence(p.get("examples", []))),
        )

    def typed(self, p: dict[str, Any]) -> None:
        kind = p["physicalType"]
        if not isinstance(kind, str) or not physical.is_physical(kind):
            raise self.refused("a known physicalType", kind)
        self.equal(p["logicalType"], physical.logical_type(kind))

    def allowed(self, checks: Any) -> tuple[Any, ...] | None:
        return tuple(self.check(self.only(checks, "one check"), "invalidValues", "validValues")) if checks else None

    def check(self, given: Any, metric: str, argument: str) -> list[Any]:
        """The argument of a library check, which always says that nothing may offend."""
        c = self.fields(given, "type metric mustBe arguments")
        self.equal([c["type"], c["metric"], c["mustBe"]], ["library", metric, 0])
        return self.sequence(self.fields(c["arguments"], argument)[argument])

    def custom(self, properties: Any) -> dict[str, Any]:
        given = [self.fields(p, "property value") for p in properties]
        return self.fields({p["property"]: p["value"] for p in given}, "", "finite presentExactlyWhen")

    def present_when(self, given: Any) -> tuple[str, tuple[Any, ...]] | None:
        if given is None:
            return None
        p = self.fields(given, "column values")
        return p["column"], tuple(self.sequence(p["values"]))

    def unique(self, names: list[str], check: Any) -> tuple[str, ...]:
        self.place = "quality"
        return self.known(self.check(check, "duplicateValues", "properties"), names)

    def key(self, properties: Any) -> tuple[str, ...]:
        self.place = "primaryKeyPosition"
        placed = sorted((p["primaryKeyPosition"], p["name"]) for p in properties if p.get("primaryKey"))
        self.equal([position for position, _ in placed], list(range(1, max(len(placed), 1) + 1)))
        return tuple(name for _, name in placed)

    def reference(self, table: str, names: list[str], given: Any) -> Reference:
        self.place = "relationships"
        r = self.fields(given, "type from to")
        self.equal(r["type"], "foreignKey")
        sources = [str(s).rpartition(".") for s in self.sequence(r["from"])]
        targets = [str(t).rpartition(".") for t in self.sequence(r["to"])]
        self.equal({s[0] for s in sources}, {table})
        target = self.only(sorted({t[0] for t in targets}), "columns of one other table")
        self.equal(len(targets), len(sources))
        return Reference(self.known([s[2] for s in sources], names), target, tuple(t[2] for t in targets))

    def fields(self, given: Any, required: str, optional: str = "") -> dict[str, Any]:
        """`given` as a mapping that has every required key and none beyond the optional ones."""
        if not isinstance(given, dict):
            raise self.refused("a mapping", given)
        missing = [k for k in required.split() if k not in given]
        unknown = [str(k) for k in given if k not in f"{required} {optional}".split()]
        if missing:
            raise self.refused(f"the keys {', '.join(required.split())}", f"no {', '.join(missing)}")
        if unknown:
            raise self.refused(f"only the keys {', '.join(f'{required} {optional}'.split())}", ", ".join(unknown))
        return given

    def sequence(self, given: Any) -> list[Any]:
        if not isinstance(given, list):
            raise self.refused("a list", given)
        return given

    def only(self, given: Any, expected: str) -> Any:
        if not isinstance(given, list) or len(given) != 1:
            raise self.refused(expected, given)
        return given[0]

    def known(self, columns: Sequence[str], names: list[str]) -> tuple[str, ...]:
        if not set(columns) <= set(names):
            raise self.refused(f"columns among {', '.join(names)}", ", ".join(map(str, columns)))
        return tuple(columns)

    def flag(self, given: Any) -> bool:
        if not isinstance(given, bool):
            raise self.refused("true or false", given)
        return given

    def equal(self, given: Any, expected: Any) -> None:
        if given != expected:
            raise self.refused(str(expected), given)

    def refused(self, expected: str, found: object) -> ContractFileError:
        return refused(f"{self.path}, {self.place}", expected, found)
