"""What a relation is: one SELECT with a name, a layer and the prose that makes its number readable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from evalframe.identity import normalised_sql, sha256_text

Layer = Literal["fact", "state", "calibration", "metric", "audit", "compare", "view"]
LAYERS: tuple[Layer, ...] = get_args(Layer)

METRIC_COLUMNS = ("value", "numerator", "denominator", "n_items", "n_excluded", "n_failed", "status", "reason")
"""What every metric yields after its grain columns, in this order."""

METRIC_GRAIN = ("run_id", "stratum", "horizon_s", "recall", "step")
"""The columns a metric may be keyed by, in this order."""


@dataclass(frozen=True)
class Relation:
    """One file of sql/: its front matter and its body.

    inputs: contract tables and relations it reads. grain: the columns that identify a row. parameters: names it reads
    from protocol_parameters. merge (states): how each further column adds up over shards. materialize (facts,
    states, calibration): True or False where the author decided, None where the engine may. metric: the name under
    which a metric is published, where another system's relation has it as its own. poolable (facts, states): its
    columns follow row by row from its inputs or add up over rows, so that clusters may be left together where no output
    shows one. split: the tables over whose rows it can be computed apart, each with the column whose equal values
    belong together; what groups of rows yield is put together, or added up as merge says. whole: below a split
    relation, needs all rows.
    """

    name: str
    layer: Layer
    title: str
    inputs: tuple[str, ...]
    grain: tuple[str, ...]
    parameters: tuple[str, ...]
    definition: str
    body: str
    path: Path
    unit: str | None = None
    better: Literal["higher", "lower", "none"] | None = None
    denominator: Literal["data", "model"] | None = None
    merge: Mapping[str, Literal["sum", "min", "max"]] | None = None
    materialize: bool | None = None
    poolable: bool = False
    split: Mapping[str, str] | None = None
    whole: bool = False
    secondary: bool = False
    metric: str | None = None
    not_: str | None = None
    source: str | None = None
    reading: str | None = None

    @property
    def published(self) -> str:
        """What column `metric` of a result row says."""
        return self.metric or self.name

    @cached_property
    def digest(self) -> str:
        """64 hex of the SHA-256 of the normalised body: prose, comments and white space are not part of it."""
        return sha256_text(normalised_sql(self.body))
