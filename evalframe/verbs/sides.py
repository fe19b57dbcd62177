"""The sides of a comparison from a store: which results of which runs, and what identifies them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any

from evalframe.compare.sides import FROZEN, Side
from evalframe.errors import ResultsMissing, UsageError
from evalframe.protocols import protocol as protocol_of
from evalframe.verbs.identifying import Identity, identify, vocabulary_of

if TYPE_CHECKING:
    from evalframe.relations import Catalogue
    from evalframe.store import Store
    from evalframe.store.seals import ResultSeal

_COLUMNS = ("run_id", "protocol_fingerprint", "metric", "metric_fingerprint", "stratum", "origin", "value")


class SideReader:
    """Reads sides from one store under the installed definitions."""

    def __init__(self, store: Store, relations: Catalogue) -> None:
        self._store = store
        self._relations = relations
        self._identities: dict[tuple[Any, ...], Identity] = {}

    def read(self, runs: Sequence[str], asked: str | None) -> dict[str, Side]:
        """One side per run, under the protocol asked for (name or name/version), or else the newest they share.

        Of several results of a run, those under a fingerprint that all runs have, else its newest. Runs that share no
        protocol come each under its own. Raises ResultsMissing (hint rescore) where a run has no results that the
        installed definitions would make again, UsageError where the runs share several protocols.
        """
        seals = {run: self._store.results(run) for run in runs}
        label = self._label(seals, asked)
        values = self._store.read("metric_values", runs=runs, columns=_COLUMNS).to_pylist()
        current: dict[str, list[Side]] = {}
        for run in runs:
            of_run = [row for row in values if row["run_id"] == run]
            wanted = label or seals[run][-1].protocol
            current[run] = [
                side for seal in seals[run] if seal.protocol == wanted for side in self._sides(seal, of_run)
            ]
            if not current[run]:
                raise self._missing(run, wanted)
        common = set.intersection(*({side.fingerprint for side in sides} for sides in current.values()))
        order = [side.fingerprint for side in current[runs[0]] if side.fingerprint in common]
        if not order:
            return {run: sides[-1] for run, sides in current.items()}
        return {run: next(s for s in sides if s.fingerprint == order[-1]) for run, sides in current.items()}

    def _label(self, seals: Mapping[str, Sequence[ResultSeal]], asked: str | None) -> str | None:
        """The protocol to compare under; None where the runs share none."""
        label = chosen_label(set.intersection(*({seal.protocol for seal in each} for each in seals.values())), asked)
        empty = next((run for run, each in seals.items() if not each), None)
        if label is None and empty is not None:
            raise self._missing(empty, "any protocol")
        return label

    def _sides(self, seal: ResultSeal, values: Sequence[Mapping[str, Any]]) -> list[Side]:
        """The side of one result; none where the installed definitions would not make it again."""
        run = self._store.run(seal.run_id)
        vocabulary: tuple[str, ...] = ()
        if "class_vocabulary" in run.contracts:
            table = self._store.read("class_vocabulary", runs=[run.run_id])
            vocabulary = tuple(vocabulary_of({"class_vocabulary": table}))
        own = self._relations.own_metrics([name for name in run.contracts if name != "runs"])
        identity = self._identity(seal, vocabulary, own)
        made = {
            row["metric"]: row["metric_fingerprint"]
            for row in values
            if row["protocol_fingerprint"] == seal.protocol_fingerprint and row["metric_fingerprint"] is not None
        }
        now = {self._relations[name].published: (name, p) for name, p in identity.metric_fingerprints.items()}
        if any(metric in now and now[metric][1] != made[metric] for metric in made):
            return []
        return [
            Side(
                run_id=run.run_id,
                dataset_id=run.dataset_id,
                protocol=seal.protocol,
                fingerprint=seal.protocol_fingerprint,
                parameters=dict(identity.parameters),
                prints={name: p for metric, (name, p) in now.items() if metric in made or name in own},
                vocabulary=vocabulary,
                data_digest=seal.inputs["data_digest"],
                taint=seal.inputs["taint"],
                kept=frozenset(seal.contracts),
                frozen={
                    row["metric"]: row["value"]
                    for row in values
                    if row["origin"] == FROZEN and row["stratum"] == "all" and row["value"] is not None
                },
                tags=dict(run.tags),
                inputs=dict(run.inputs),
            )
        ]

    def _identity(self, seal: ResultSeal, vocabulary: tuple[str, ...], own: tuple[str, ...]) -> Identity:
        """Fingerprints under the seal's settings, worked out once for all runs that share them."""
        rules = protocol_of(seal.protocol)
        settings = rules.settings_of(seal.inputs["parameters"])
        key = (seal.protocol, tuple(sorted(settings.items())), vocabulary, own)
        if key not in self._identities:
            self._identities[key] = identify(rules, settings, self._relations, vocabulary, own)
        return self._identities[key]

    def _missing(self, run: str, protocol: str) -> ResultsMissing:
        from evalframe.store.refusals import command, never_scored

        scored = sorted({seal.protocol for seal in self._store.results(run)})
        if not scored:
            return ResultsMissing(
                f"run {run!r} was never scored",
                expected=f"results under {protocol}",
                found="a run of which only recorded values are known",
                where=str(self._store.path),
                hint=never_scored(self._store.path, [run]),
            )
        others = scored if protocol not in scored else []
        return ResultsMissing(
            f"run {run!r} has no results under {protocol} as it is defined now",
            expected="results under the installed definitions",
            found=f"results under {', '.join(others)}" if others else "results under older definitions",
            where=str(self._store.path),
            hint=f"--protocol {others[0]}"
            if others
            else command(f"rescore --run {quote(run)} --store", self._store.path),
        )


def chosen_label(labels: Collection[str], asked: str | None) -> str | None:
    """Of protocols `name/version` the one asked for, by name or by name/version; the newest version where it is open.

    None where there are none. Raises UsageError where several are there and none is asked for, UnknownName for a name
    that is no protocol.
    """
    names = {label.rpartition("/")[0] for label in labels}
    if asked is not None:
        named = [label for label in labels if asked in (label, label.rpartition("/")[0])]
        return max(named, key=_version, default=protocol_of(asked).label)
    if len(names) > 1:
        raise UsageError(
            "there are results under several protocols",
            expected="one of them by name",
            found=", ".join(sorted(labels)),
            where="--protocol",
            hint=f"--protocol {min(names)}",
        )
    return max(labels, key=_version, default=None)


def _version(label: str) -> int:
    return int(label.rpartition("/")[2])
