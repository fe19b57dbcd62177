"""A whole comparison: every pair of it, the family of its tests, the verdict. Data in, rows out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evalframe.compare import discordant, family
from evalframe.compare.asked import refuse_values
from evalframe.compare.measuring import Measured
from evalframe.compare.pairs import pair_rows, refused_rows, strata_of
from evalframe.compare.states import Reader
from evalframe.compare.verdicts import Difference, Refusal, Verdict, differences, run_refusals
from evalframe.engines.choosing import open_engine
from evalframe.underway import counted

if TYPE_CHECKING:
    from evalframe.compare.choosing import Pairing
    from evalframe.compare.request import Request
    from evalframe.compare.sides import Side
    from evalframe.engines.duckdb import DuckDB
    from evalframe.protocols import Protocol
    from evalframe.relations import Catalogue, Relation
    from evalframe.store import Store


@dataclass
class Outcome:
    """What a comparison found. rows are dictionaries of the columns of `comparisons` from baseline_run on.

    left_out: per pair on its intersection, the items of each side that the other does not have.
    """

    verdict: Verdict = "not_comparable"
    rows: list[dict[str, Any]] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    protocol_diff: list[Difference] = field(default_factory=list)
    family: dict[str, Any] = field(default_factory=lambda: {"members": [], "m": 0})
    left_out: list[dict[str, Any]] = field(default_factory=list)

    @property
    def reasons(self) -> list[str]:
        """Every reason for which anything was refused, once."""
        return list(dict.fromkeys(refusal.reason for refusal in self.refusals))


@dataclass(frozen=True)
class Comparing:
    """What all steps of one comparison share. metrics: relation names, in the order they are shown."""

    store: Store
    catalogue: Catalogue
    engine: DuckDB
    protocol: Protocol
    request: Request
    metrics: Sequence[str]
    every_metric: Sequence[str]

    def run(self, sides: Mapping[str, Side], pairings: Sequence[Pairing]) -> Outcome:
        """Compare the pairs of `pairings`; `sides` holds every run of them."""
        outcome = Outcome()
        for pairing in pairings:
            pairs = [(sides[first], sides[second]) for first, second in pairing.pairs]
            for pair in pairs:
                outcome.protocol_diff += differences(self.catalogue, self.metrics, *pair)
        grouped = [pairing for pairing in pairings if pairing.grouped]
        single = [(sides[a], sides[b]) for pairing in pairings if not pairing.grouped for a, b in pairing.pairs]
        self._single(single, outcome)
        for pairing in grouped:
            self._group(pairing, [(sides[a], sides[b]) for a, b in pairing.pairs], outcome)
        members = [i for i, row in enumerate(outcome.rows) if self._in_family(row)]
        outcome.family = family.adjust(outcome.rows, members)
        outcome.verdict = self._verdict(outcome)
        return outcome

    def _single(self, pairs: Sequence[tuple[Side, Side]], outcome: Outcome) -> None:
        refused = {pair[1].run_id: found for pair in pairs if (found := run_refusals(*pair))}
        alike = [pair for pair in pairs if pair[1].run_id not in refused]
        additional: list[dict[str, Any]] = []
        if alike and not self.request.on_intersection:
            reader = Reader(self.store, self.catalogue, self.engine)
            measured = self._measured(reader, alike)
        for pair in counted("runs compared", pairs):
            if pair[1].run_id in refused:
                why = refused[pair[1].run_id]
                outcome.refusals += why
                outcome.rows += refused_rows(*pair, self._relations(), self.protocol.primary_stratum, why[0])
            elif self.request.on_intersection:
                additional += self._shared(pair, outcome)
            else:
                additional += self._compared(measured, reader, pair, outcome)
        outcome.rows += additional

    def _shared(self, pair: tuple[Side, Side], outcome: Outcome) -> list[dict[str, Any]]:
        """One pair on the items that both sides have."""
        from evalframe.compare.shared import SharedItems

        with open_engine() as engine:
            shared = SharedItems.of(self.store, self.catalogue, engine, self.protocol, self.every_metric, pair)
            outcome.left_out.append(shared.to_json())
        if shared.refusal is not None:
            outcome.refusals.append(shared.refusal)
            outcome.rows += refused_rows(*pair, self._relations(), self.protocol.primary_stratum, shared.refusal)
            return []
        with open_engine() as engine:
            reader = Reader(self.store, self.catalogue, engine, shared.tables)
            measured = self._measured(reader, [pair])
            return self._compared(measured, reader, pair, outcome, same_items=True)

    def _compared(
        self,
        measured: Measured,
        reader: Reader,
        pair: tuple[Side, Side],
        outcome: Outcome,
        *,
        same_items: bool = False,
    ) -> list[dict[str, Any]]:
        """Add the pair's rows to the outcome; its additional tests are returned."""
        rows, refusals = pair_rows(
            measured, *pair, self._relations(), self.request, self.protocol, same_items=same_items
        )
        outcome.rows += rows
        outcome.refusals += refusals
        if not discordant.wanted(self.protocol, self.metrics):
            return []
        strata = strata_of(self.request, self.protocol)
        return discordant.rows(reader, self.catalogue, self.protocol, rows, pair, strata, measured.clustering)

    def _group(self, pairing: Pairing, pairs: Sequence[tuple[Side, Side]], outcome: Outcome) -> None:
        from evalframe.compare.groups import group_rows

        refusals = [refusal for pair in pairs for refusal in run_refusals(*pair)]
        if refusals:
            outcome.refusals += refusals
            rows = refused_rows(*pairs[0], self._relations(), self.protocol.primary_stratum, refusals[0])
            outcome.rows += [
                {**row, "baseline_run": pairing.baseline, "candidate_run": pairing.candidate} for row in rows
            ]
            return
        measured = self._measured(Reader(self.store, self.catalogue, self.engine), pairs)
        rows, found = group_rows(measured, pairing, pairs, self._relations(), self.request, self.protocol)
        outcome.rows += rows
        outcome.refusals += found

    def _measured(self, reader: Reader, pairs: Sequence[tuple[Side, Side]]) -> Measured:
        sides = list({side.run_id: side for pair in pairs for side in pair}.values())
        measured = Measured(reader, self.protocol, self.metrics, self.every_metric, sides, self.request)
        refuse_values(self.request, measured.points)
        return measured

    def _relations(self) -> list[Relation]:
        return [self.catalogue[metric] for metric in self.metrics]

    def _in_family(self, row: Mapping[str, Any]) -> bool:
        if row["metric"] in discordant.METHODS:
            return False
        if self.request.family_all:
            return True
        primary = {self.catalogue[metric].published for metric in self.protocol.primary}
        return (
            row["metric"] in primary
            and row["stratum"] == self.protocol.primary_stratum
            and self.protocol.judges_at(row["recall"])
        )

    def _verdict(self, outcome: Outcome) -> Verdict:
        if all(row["status"] == "refused" for row in outcome.rows if row["metric"] not in discordant.METHODS):
            return "not_comparable"
        return "comparable_on_intersection" if self.request.on_intersection else "comparable"
