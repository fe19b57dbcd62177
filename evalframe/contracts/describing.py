"""A contract in words and values that print or serialise: what `evalframe explain TABLE` shows."""

from __future__ import annotations

from typing import Any

from evalframe.contracts.examples import example
from evalframe.contracts.model import Column, Contract, Reference
from evalframe.contracts.rules import expectation
from evalframe.contracts.writing import plain


def describe(contract: Contract) -> dict[str, Any]:
    """JSON-able: name, version, description, limitations, grain, key, columns (name, type, required, key, description,
    rules), rules of the table as sentences, and a three-row example (times as ISO 8601, decimals as text).
    """
    rows = example(contract)
    return {
        "name": contract.name,
        "version": contract.version,
        "description": contract.description,
        "limitations": contract.limitations,
        "grain": contract.grain,
        "key": list(contract.key),
        "columns": [
            {
                "name": c.name,
                "type": c.physical,
                "required": c.required,
                "key": c.name in contract.key,
                "description": c.description,
                "rules": column_rules(c),
            }
            for c in contract.columns
        ],
        "rules": table_rules(contract),
        "example": [
            {name: plain(value, rows.schema.field(name).type) for name, value in row.items()}
            for row in rows.to_pylist()
        ],
    }


def column_rules(column: Column) -> list[str]:
    """What values of the column must be, a phrase each; that numbers are finite and text is NFC goes without saying."""
    told = {
        "out_of_range": column.minimum is not None or column.maximum is not None,
        "not_in_set": column.allowed is not None,
        "wrong_length": column.min_items is not None or column.max_items is not None,
        "presence": column.present_when is not None,
    }
    rules = ["never null"] if column.required else []
    rules += [expectation(column, rule) for rule, holds in told.items() if holds]
    return rules if column.finite else [*rules, "NaN and infinities may stand"]


def table_rules(contract: Contract) -> list[str]:
    """Keys and references, a sentence each."""
    sentences = [f"no two rows share {', '.join(contract.key)}"]
    sentences += [f"no two rows share {', '.join(u)}, nulls apart" for u in contract.uniques]
    return sentences + [_refers(r) for r in contract.references]


def _refers(reference: Reference) -> str:
    return f"{', '.join(reference.columns)} is found in {reference.table} ({', '.join(reference.to_columns)})"
