"""Explanations of a relation, a protocol and a contract table: text for people, JSON values for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalframe.contracts import Contract, describe, example, table_bytes
from evalframe.errors import FileFormatUnknown
from evalframe.protocols import all_protocols
from evalframe.protocols.base import Protocol
from evalframe.relations import Catalogue
from evalframe.relations.explain import Explanation as Chain
from evalframe.relations.explain import Link, explanation
from evalframe.verbs import drawing
from evalframe.verbs.outputs import write_bytes

WIDTH = 110
"""Columns of text where no terminal says how many there are."""


class Verbatim(str):
    """Text that a program reads, SQL or CSV: its lines are never broken."""


@dataclass(frozen=True, repr=False)
class Explanation:
    """The same explanation as text and tables for people, and as JSON values for programs."""

    parts: tuple[str | pa.Table, ...]
    body: Mapping[str, Any]

    @property
    def text(self) -> str:
        """All of it as text."""
        return "\n".join(_prose(part) if isinstance(part, str) else drawing.table(part) for part in self.parts)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return "".join(
            f"<pre style='white-space: pre-wrap'>{escape(part)}</pre>" if isinstance(part, str) else drawing.html(part)
            for part in self.parts
        )


def of_relation(known: Catalogue, name: str, settings: Mapping[str, str]) -> Explanation:
    """What a relation means: prose, chain from tables to value, parameters, readings, fingerprints."""
    chains = {
        one.label: explanation(
            known, name, protocol=one.name, version=one.version, parameters=one.settings(_own(one, settings))
        )
        for one in all_protocols()
        if name in one.metrics
    }
    first = next(iter(chains.values()), None) or explanation(known, name)
    values = {s.name: _by_protocol(s.name, chains) for s in first.settings}
    fingerprints = {label: chain.fingerprint for label, chain in chains.items()}
    relation = first.relation
    facts = {
        "unit": relation.unit,
        "better": relation.better,
        "denominator": relation.denominator,
        "grain": ", ".join(relation.grain),
        "source": relation.source,
        "file": _where(relation.path),
    }
    text = [f"{relation.name} ({relation.layer}): {relation.title}", *_paragraph(relation.definition)]
    if relation.not_:
        text += _paragraph(f"Not: {relation.not_}")
    text += [f"  {key + ':':13}{value}" for key, value in facts.items() if value]
    text += ["", "chain, from tables to value:", *(f"  table    {table}" for table in first.tables)]
    text += [f"  {link.layer:8} {link.name}: {link.definition}" for link in first.chain]
    if first.settings:
        text += [
            "",
            "parameters it reads:",
            *(f"  {s.name}{_value(values[s.name])}  (in {', '.join(s.read_by)})" for s in first.settings),
        ]
    if first.readings:
        text += ["", "choices of ours that the source does not spell out:"]
        text += [line for where, reading in first.readings for line in _paragraph(f"{where}: {reading}")]
    if fingerprints:
        text += ["", "fingerprint (a run's vocabulary, where it has one, enters too):"]
        text += [f"  {label}: {value}" for label, value in fingerprints.items()]
    body = {
        "kind": relation.layer,
        "name": relation.name,
        "title": relation.title,
        "definition": relation.definition,
        "not": relation.not_,
        **facts,
        "tables": list(first.tables),
        "chain": [_link(link) for link in first.chain],
        "parameters": [
            {"name": s.name, "value": s.value, "values": values[s.name], "read_by": list(s.read_by)}
            for s in first.settings
        ],
        "readings": [{"relation": where, "reading": reading} for where, reading in first.readings],
        "fingerprints": fingerprints,
        "sql": relation.body,
    }
    return Explanation(("\n".join(text),), body)


def _by_protocol(name: str, chains: Mapping[str, Chain]) -> dict[str, str | None]:
    """The value of a parameter under each protocol that has the relation as a metric."""
    return {label: next(s.value for s in chain.settings if s.name == name) for label, chain in chains.items()}


def _value(values: Mapping[str, str | None]) -> str:
    """What a parameter is set to, said once where all protocols agree; nothing below metrics, where none says."""
    if len(set(values.values())) == 1:
        return f" = {next(iter(values.values()))}"
    return f" = {', '.join(f'{value} ({label})' for label, value in values.items())}" if values else ""


def _link(link: Link) -> dict[str, Any]:
    return {
        "name": link.name,
        "layer": link.layer,
        "definition": link.definition,
        "grain": list(link.grain),
        "reads": list(link.reads),
        "digest": link.digest,
    }


def of_protocol(known: Catalogue, one: Protocol, given: Mapping[str, str]) -> Explanation:
    """What a protocol chooses: parameters with their meaning, metrics, fingerprint under `given` settings."""
    from evalframe.verbs.identifying import identify

    settings = one.settings(given)
    identity = identify(one, settings, known, ())
    text = [f"{one.label} (protocol of {one.system}): {one.title}"]
    if one.claims:
        text += _paragraph(one.claims)
    text += [
        f"  fingerprint: {identity.fingerprint}",
        f"  cluster:     {one.cluster}",
        "",
        "parameters (--set NAME=VALUE):",
    ]
    for parameter in one.parameters:
        choices = f" of {' | '.join(parameter.choices)}" if parameter.choices else ""
        mark = " [reading: the source does not spell this out]" if parameter.reading else ""
        text += [
            f"  {parameter.name} = {settings[parameter.name]}{choices}{mark}",
            *_paragraph(parameter.meaning, "      "),
        ]
    text += ["", "metrics:"]
    for metric in one.metrics:
        relation = known.relations[metric]
        marks = [f"relation {metric}"] * (metric != relation.published) + ["primary"] * (metric in one.primary)
        mark = f" ({', '.join(marks)})" if marks else ""
        text += [
            f"  {relation.published}{mark}: {relation.unit}, {relation.better} is better",
            *_paragraph(relation.definition, "      "),
        ]
    body = {
        "kind": "protocol",
        "name": one.name,
        "version": one.version,
        "system": one.system,
        "title": one.title,
        "claims": one.claims,
        "fingerprint": identity.fingerprint,
        "parameters": [
            {
                "name": p.name,
                "value": settings[p.name],
                "default": p.default,
                "choices": list(p.choices),
                "meaning": p.meaning,
                "reading": p.reading,
            }
            for p in one.parameters
        ],
        "metrics": [
            {"name": identity.published[metric], "relation": metric, "fingerprint": fingerprint}
            for metric, fingerprint in identity.metric_fingerprints.items()
        ],
        "primary": [identity.published[metric] for metric in one.primary],
        "stored": list(one.stored),
    }
    return Explanation(("\n".join(text),), body)


def of_table(table: Contract, target: Path | None = None) -> Explanation:
    """Columns, rules and three rows that keep them; with `target`, the rows are also written to that file."""
    told = describe(table)
    columns = pa.Table.from_pylist(
        [
            {
                "column": ("* " if column["key"] else "  ") + column["name"],
                "type": column["type"],
                "rules": "; ".join(column["rules"]),
                "meaning": column["description"],
            }
            for column in told["columns"]
        ]
    )
    text = [f"{table.name} (table, contract version {table.version})", *_paragraph(table.description)]
    text += _paragraph(table.limitations) if table.limitations else []
    above, text = text, ["", "(* key)", *told["rules"]]
    text += ["", "three rows that keep the contract, as CSV:"]
    rows = Verbatim(table_bytes(example(table), ".csv").decode().rstrip("\n"))
    written = []
    if target is not None:
        _write_example(table, target)
        written = [f"\nwritten to {target}"]
    parts = ("\n".join([*above, ""]), columns, "\n".join(text), rows, *written)
    return Explanation(parts, {"kind": "table", "ddl": table.ddl(), **told})


def _write_example(table: Contract, target: Path) -> None:
    try:
        data = table_bytes(example(table), target.suffix.lower())
    except KeyError:
        raise FileFormatUnknown(
            f"{target.name} is of no known format",
            expected=".parquet, .csv, .ndjson, .arrow or .arrows",
            found=target.suffix or "no suffix",
            where="--example",
            hint=f"evalframe explain {table.name} --example {table.name}.csv",
        ) from None
    write_bytes(target, data)


def _own(one: Protocol, settings: Mapping[str, str]) -> dict[str, str]:
    """Of `settings`, what this protocol has: one metric may belong to several protocols."""
    names = {parameter.name for parameter in one.parameters}
    return {name: value for name, value in settings.items() if name in names}


def _prose(text: str) -> str:
    if isinstance(text, Verbatim):
        return text
    return "\n".join(part for line in text.split("\n") for part in drawing.wrapped(line, WIDTH))


def _paragraph(text: str, indent: str = "  ") -> list[str]:
    return [indent + " ".join(text.split())]


def _where(path: Path) -> str:
    """A relation's file as people name it: from `sql/` on."""
    parts = path.parts
    return "/".join(parts[parts.index("sql") :]) if "sql" in parts else str(path)
