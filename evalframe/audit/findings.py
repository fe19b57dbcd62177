"""What the gates found, one row per model, gate and subject."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

import pyarrow as pa

from evalframe.contracts import contract, from_rows

Gate = Literal["checkpoint_loading", "prediction_equivalence", "export_equivalence", "metric_equivalence"]
GATES: tuple[Gate, ...] = (
    "checkpoint_loading",
    "prediction_equivalence",
    "export_equivalence",
    "metric_equivalence",
)
Status = Literal["passed", "failed", "not_run"]


@dataclass(frozen=True)
class Finding:
    """How one gate ended on one subject of one model. reason: of a failure or of a gate not run."""

    run_id: str
    gate: Gate
    subject: str
    status: Status
    reason: str | None = None
    n_compared: int | None = None
    n_different: int | None = None
    decides: bool = True


def findings_table(gate_id: str, findings: Iterable[Finding]) -> pa.Table:
    """Table `gate_findings`."""
    rows = [{"gate_id": gate_id, **asdict(finding)} for finding in findings]
    return from_rows(contract("gate_findings"), rows)
