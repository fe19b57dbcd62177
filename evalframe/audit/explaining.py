"""Why a recorded number differs from the frozen one: the conventions, fewest steps first, that give that number.

One definition: explained. Several: ambiguous, all of them told. None within two steps: unexplained. A number of fewer
than four significant digits fits too much to explain anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from evalframe.audit.conventions import Convention, class_conventions, further
from evalframe.audit.inventory import Model
from evalframe.audit.recorded import Recorded
from evalframe.audit.replaying import Replay

Status = Literal["explained", "ambiguous", "unexplained"]

MOST_STEPS = 2
LEAST_DIGITS = 4
DIGITS_OF_A_RUN = 9
"""Significant digits from which one number alone may name another run; below, two of many runs agree by chance."""

NO_STEP = "no step: the saved predictions give this value, and the frozen record does not follow from them"


@dataclass(frozen=True)
class Explanation:
    """definitions: every definition that gives the recorded number in the fewest steps, in words."""

    status: Status
    definitions: tuple[str, ...] = ()


class Explainer:
    """Explains disagreements. disagreements: by model, the recorded numbers that are not the frozen ones, by metric."""

    def __init__(
        self, models: Iterable[Model], replay: Replay, disagreements: Mapping[str, Mapping[str, Recorded]]
    ) -> None:
        self._models = {model.model_id: model for model in models}
        self._replay = replay
        self._disagreements = disagreements

    def explain(self, model_id: str, metric: str) -> Explanation:
        """Why the number recorded for this model and metric is another than the frozen one."""
        recorded = self._disagreements[model_id][metric]
        if recorded.value is None:
            return Explanation("unexplained")
        by_steps = self._conventions(model_id, metric)
        for steps in range(MOST_STEPS + 1):
            found: dict[tuple[object, ...], list[str]] = {}
            for convention in by_steps[steps]:
                if self._replay.gives(convention, model_id, metric, recorded):
                    told = self._told(convention, model_id, metric)
                    if told is not None:
                        found.setdefault(self._replay.effect(convention, model_id, metric), []).append(told)
            if found:
                definitions = tuple(sorted(" = ".join(dict.fromkeys(names)) for names in found.values()))
                sure = len(found) == 1 and recorded.significant >= LEAST_DIGITS
                return Explanation("explained" if sure else "ambiguous", definitions)
        return Explanation("unexplained")

    def _conventions(self, model_id: str, metric: str) -> list[list[Convention]]:
        """The conventions of 0, 1, ... MOST_STEPS steps, of the model's own predictions and of those of other runs.

        A definition stands at the fewest steps that lead to it.
        """
        by_steps: list[list[Convention]] = [[] for _ in range(MOST_STEPS + 1)]
        for each in class_conventions(metric):
            by_steps[each.steps].append(each)
            for source, name in self._sources(model_id):
                if each.steps < MOST_STEPS:
                    by_steps[each.steps + 1].append(replace(each, source=source, names=(name, *each.names)))
        seen: set[tuple[object, ...]] = set()
        for steps in range(MOST_STEPS + 1):
            fresh = [each for each in by_steps[steps] if each.key not in seen]
            seen.update(each.key for each in fresh)
            by_steps[steps] = fresh
            if steps < MOST_STEPS:
                by_steps[steps + 1] += [after for each in fresh for after in further(each)]
        return [_once(level) for level in by_steps]

    def _sources(self, model_id: str) -> Iterator[tuple[str, str]]:
        """Other runs on the same data set, with the name of the step; a neighbouring fold is an off-by-one as well."""
        own = self._models[model_id]
        if not self._replay.has_predictions(model_id):
            return
        for other in self._models.values():
            if other is not own and other.dataset == own.dataset:
                yield other.model_id, f"value of run {other.model_id}"
                if _are_neighbours(own, other):
                    yield other.model_id, f"partition off by one: fold {other.fold}"

    def _told(self, convention: Convention, model_id: str, metric: str) -> str | None:
        """The steps in words; None where another run would be named on too little."""
        names = list(convention.names)
        if not names:
            return NO_STEP
        if names[0].startswith("value of run"):
            mutual = self._is_mutual(convention, model_id, metric)
            digits = self._disagreements[model_id][metric].significant
            if not (mutual or digits >= DIGITS_OF_A_RUN or self._is_joint(convention, model_id, metric)):
                return None
            names[0] = f"swapped with run {convention.source}" if mutual else names[0]
        return " + ".join(names)

    def _is_mutual(self, convention: Convention, model_id: str, metric: str) -> bool:
        """Whether the other run's record holds this model's value in exchange."""
        theirs = self._disagreements.get(convention.source, {}).get(metric)
        back = replace(convention, source=model_id)
        return theirs is not None and self._replay.gives(back, convention.source, metric, theirs)

    def _is_joint(self, convention: Convention, model_id: str, metric: str) -> bool:
        """Whether the other run gives everything in which this model's record disagrees, and that is more than this."""
        others = {m: recorded for m, recorded in self._disagreements[model_id].items() if m != metric}
        return bool(others) and all(
            self._replay.gives(
                replace(convention, treatments=class_conventions(m)[0].treatments), model_id, m, recorded
            )
            for m, recorded in others.items()
        )


def _once(conventions: Iterable[Convention]) -> list[Convention]:
    """Without those that are the same definition by the same first step, reached in another order."""
    found: dict[tuple[object, ...], Convention] = {}
    for each in conventions:
        found.setdefault((each.key, each.names[:1] if each.source else ()), each)
    return list(found.values())


def _are_neighbours(own: Model, other: Model) -> bool:
    if (own.method, own.seed) != (other.method, other.seed) or not (own.fold.isdecimal() and other.fold.isdecimal()):
        return False
    return abs(int(own.fold) - int(other.fold)) == 1
