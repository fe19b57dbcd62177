"""What a comparison was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evalframe.errors import UsageError

if TYPE_CHECKING:
    from evalframe.compare.gates import Gate


@dataclass(frozen=True)
class Request:
    """Runs and options of one comparison; () means what the protocol names. What is asked for twice is asked for once.

    baseline, candidates: RUN arguments as given, an id or `key=value,...`. metrics: published names. horizons in
    seconds. pair_on: tags that pair the runs of two groups. recall_slack: by how much less recall may be reached before
    a row is flagged.
    """

    baseline: str
    candidates: tuple[str, ...]
    protocol: str | None = None
    metrics: tuple[str, ...] = ()
    horizons: tuple[float, ...] = ()
    recalls: tuple[float, ...] = ()
    strata: tuple[str, ...] = ()
    cluster: str | None = None
    replicates: int = 10_000
    seed: int = 0
    pair_on: tuple[str, ...] = ()
    on_intersection: bool = False
    allow_tainted: bool = False
    family_all: bool = False
    recall_slack: float = 0.02
    gates: tuple[Gate, ...] = field(default=())

    def __post_init__(self) -> None:
        """Refuse what cannot be meant: no candidate, a run named twice, no replicates."""
        for name in ("metrics", "horizons", "recalls", "strata"):
            # A row that stands twice would be two members of Holm's family.
            object.__setattr__(self, name, tuple(dict.fromkeys(getattr(self, name))))
        if not self.candidates:
            raise _refuse("nothing to compare with", "--candidate RUN ...", "no candidate", "--candidate RUN")
        twice = _repeated((self.baseline, *self.candidates))
        if twice is not None:
            raise _refuse(
                f"run {twice!r} is named twice",
                "each run once",
                twice,
                "evalframe runs --store DIR  # shows other runs",
            )
        if self.replicates < 1:
            raise _refuse("a bootstrap needs replicates", "at least 1", str(self.replicates), "--replicates 10000")
        if self.seed < 0:
            raise _refuse("a seed is not negative", "0 or more", str(self.seed), "--seed 0")
        if not self.recall_slack >= 0:
            raise _refuse("recall slack is not negative", "0 or more", str(self.recall_slack), "--recall-slack 0.02")


def _repeated(names: Sequence[str]) -> str | None:
    return next((name for i, name in enumerate(names) if name in names[:i]), None)


def _refuse(what: str, expected: str, found: str, hint: str) -> UsageError:
    return UsageError(what, expected=expected, found=found, where="compare", hint=hint)
