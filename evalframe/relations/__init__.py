"""sql/ as a graph: front matter, closure, layers, plans, lint and fingerprints. Runs nothing."""

from evalframe.relations.catalogue import Catalogue, catalogue
from evalframe.relations.explain import Explanation, explanation
from evalframe.relations.fingerprints import metric_fingerprint, protocol_fingerprint
from evalframe.relations.plan import Plan, plan
from evalframe.relations.relation import Relation
from evalframe.relations.syntax import SqlParser

__all__ = [
    "Catalogue",
    "Explanation",
    "Plan",
    "Relation",
    "SqlParser",
    "catalogue",
    "explanation",
    "metric_fingerprint",
    "plan",
    "protocol_fingerprint",
]
