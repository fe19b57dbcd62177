"""Who may read whom: contract tables -> facts -> states -> metrics -> audit, compare, views."""

from __future__ import annotations

from collections.abc import Mapping

from evalframe.relations.relation import Layer

TABLE = "contract table"

MAY_READ: Mapping[Layer, tuple[str, ...]] = {
    "fact": (TABLE, "fact"),
    # A state may count at a threshold: what is resampled then keeps the operating point as selected.
    "state": (TABLE, "fact", "state", "calibration"),
    # Thresholds are chosen from the calibration rows' facts and states; metrics are read at them.
    "calibration": (TABLE, "fact", "state", "calibration"),
    # Not facts: a metric is computed from states, so that merged shards and resampled clusters need nothing else.
    "metric": (TABLE, "state", "calibration", "metric"),
    "audit": (TABLE, "fact", "state", "calibration", "metric", "audit"),
    "compare": (TABLE, "fact", "state", "calibration", "metric", "compare"),
    # What BI opens; nothing else reads them.
    "view": (TABLE, "fact", "state", "calibration", "metric", "audit", "compare"),
}

FOLDERS: Mapping[Layer, str] = {
    "fact": "facts",
    "state": "states",
    "calibration": "calibration",
    "metric": "metrics",
    "audit": "audit",
    "compare": "compare",
    "view": "views",
}
"""Where a layer's files stand under sql/."""

STORED: tuple[Layer, ...] = ("fact", "state", "calibration")
"""Layers whose rows may be kept with results, under a contract of the relation's name."""

STAMPS = ("protocol", "protocol_fingerprint")
"""Columns that such rows get when they are sealed."""
