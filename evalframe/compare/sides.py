"""One side of a comparison: a run, the results it is compared by, and what identifies them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FROZEN = "frozen_catalogue"
"""Origin of recorded values that are the authority for their runs."""


@dataclass(frozen=True)
class Side:
    """A run as one protocol scored it.

    fingerprint: of the protocol; results are filed under it. parameters: the settings, canonical text. prints: metric
    fingerprint per metric under the installed definitions. data_digest: names the evaluation set. taint: why the
    numbers are not a result, or None. kept: tables stored with the results. frozen: recorded values by metric, of a
    catalogue that is the authority for them. tags and inputs belong to the run record.
    """

    run_id: str
    dataset_id: str | None
    protocol: str
    fingerprint: str
    parameters: Mapping[str, str]
    prints: Mapping[str, str]
    vocabulary: tuple[str, ...]
    data_digest: str
    taint: str | None
    kept: frozenset[str]
    frozen: Mapping[str, float]
    tags: Mapping[str, str]
    inputs: Mapping[str, object]
