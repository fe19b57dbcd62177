"""`explain NAME --dialect spark`: the chain of a relation as text for another engine, from the facts on."""

from __future__ import annotations

from collections.abc import Mapping

from evalframe.engines.dialects import rendered
from evalframe.relations import Catalogue, plan
from evalframe.verbs.explanations import Explanation, Verbatim
from evalframe.verbs.sql import default_parameters


def in_dialect(known: Catalogue, name: str, dialect: str, settings: Mapping[str, str]) -> Explanation:
    """A view for each relation above facts, in order, with the parameters in it; the facts are tables to be supplied.

    Raises UnknownName for a name that is no relation, UsageError or NotPortable as engines/dialects.py does.
    """
    facts = frozenset(
        each.name for each in known.closure(known[name].name) if each.layer == "fact" and each.name != name
    )
    whole = plan(known, [name], parameters={**default_parameters(), **settings}, given=facts)
    views = rendered(whole, dialect)
    reads = f"-- reads: {', '.join(whole.sources) or 'nothing'}"
    text = "\n\n".join([reads, *(f"{sql};" for sql in views.values())])
    body = {"kind": "dialect", "name": name, "dialect": dialect, "reads": list(whole.sources), "views": dict(views)}
    return Explanation((Verbatim(text),), body)
