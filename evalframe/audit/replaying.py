"""Saved predictions of an inventory replayed under a convention: the numbers it would have written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import ROUND_DOWN, Decimal

from evalframe.audit.conventions import Convention, Counts, Treatments, class_conventions, class_scores, spelled, value
from evalframe.audit.recorded import Record, Recorded

Saved = Mapping[str, Counts]
"""The saved predictions of one model as counts, by the name of the window that is left out ("": none)."""


class Replay:
    """Numbers of models under conventions, each computed once.

    load: the counts of a model, None where it has no saved predictions. frozen: the frozen record by model.
    """

    def __init__(self, load: Callable[[str], Saved | None], frozen: Mapping[str, Record], tolerance: float) -> None:
        self._load = load
        self._frozen = frozen
        self._tolerance = tolerance
        self._saved: dict[str, Saved | None] = {}
        self._numbers: dict[tuple[str, str, str, Treatments], float | None] = {}

    def has_predictions(self, model_id: str) -> bool:
        """Whether there is more to replay than the frozen value."""
        return self._saved_of(model_id) is not None

    def gives(self, convention: Convention, model_id: str, metric: str, recorded: Recorded) -> bool:
        """Whether the convention gives the recorded number, at the precision it was written with."""
        number = self._number(convention.source or model_id, metric, convention.drop, convention.treatments)
        if number is None or recorded.value is None:
            return False
        return any(self._is_written(each, recorded, convention) for each in spelled(number, convention))

    def effect(self, convention: Convention, model_id: str, metric: str) -> tuple[object, ...]:
        """What the convention comes to on the model's predictions. Where no class is treated otherwise by two
        conventions, they are one definition under two names."""
        source = convention.source or model_id
        saved = self._saved_of(source)
        made: object = convention.treatments
        if saved is not None and metric != "accuracy":
            made = class_scores(metric, saved[convention.drop], convention.treatments).tobytes()
        return (made, source, convention.drop, convention.percent, convention.width, convention.digits)

    def _is_written(self, number: float, recorded: Recorded, convention: Convention) -> bool:
        assert recorded.value is not None
        close = abs(number - recorded.value) <= self._tolerance
        if convention.digits == "all" or close:
            return close and convention.digits == "all"
        unit = 10.0**-recorded.decimals
        if unit <= self._tolerance:
            return False
        rounded = abs(number - recorded.value) <= unit / 2 + self._tolerance
        if convention.digits == "rounded":
            return rounded
        cut = Decimal(repr(number)).quantize(Decimal(1).scaleb(-recorded.decimals), ROUND_DOWN)
        return not rounded and float(cut) == recorded.value

    def _number(self, model_id: str, metric: str, drop: str, treatments: Treatments) -> float | None:
        key = (model_id, metric, drop, treatments)
        if key not in self._numbers:
            self._numbers[key] = self._computed(*key)
        return self._numbers[key]

    def _computed(self, model_id: str, metric: str, drop: str, treatments: Treatments) -> float | None:
        saved = self._saved_of(model_id)
        if saved is not None:
            return value(metric, saved[drop], treatments)
        # Without predictions only what was done to the finished number can be replayed.
        frozen = self._frozen[model_id].values.get(metric) if model_id in self._frozen else None
        plain = not drop and treatments == class_conventions(metric)[0].treatments
        return frozen.value if frozen is not None and plain else None

    def _saved_of(self, model_id: str) -> Saved | None:
        if model_id not in self._saved:
            self._saved[model_id] = self._load(model_id)
        return self._saved[model_id]
