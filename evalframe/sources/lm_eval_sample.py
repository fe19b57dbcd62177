"""One sample of lm-evaluation-harness taken apart: options as they were asked, their log-likelihoods, the right one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from evalframe.sources.documents import Part


def softmax(scores: Sequence[float]) -> list[float]:
    """exp(x) / sum of exp, relative to the largest; the sum is correctly rounded."""
    largest = max(scores)
    powers = [math.exp(score - largest) for score in scores]
    total = math.fsum(powers)
    return [power / total for power in powers]


def has_options(value: Any) -> bool:
    """Whether the answers are two or more pairs (log-likelihood, whether greedy decoding gives it)."""
    return (
        isinstance(value, list)
        and len(value) > 1
        and all(isinstance(pair, list) and len(pair) == 2 and str(pair[1]) in ("True", "False") for pair in value)
    )


def likelihood(pair: Part) -> float:
    """The log-likelihood of a pair; newer versions of the harness write it as text. -inf is one, NaN is none."""
    if not has_options([pair.value, pair.value]):
        pair.refuse("a log-likelihood and whether it is greedy")
    try:
        value = float(pair.value[0])
    except (TypeError, ValueError, OverflowError):
        pair.refuse("a log-likelihood")
    if math.isnan(value) or value == math.inf or isinstance(pair.value[0], bool):
        pair.refuse("a log-likelihood")
    return value


def options_asked(sample: Part, n: int) -> list[str]:
    """The options as they were asked: continuations of one prompt."""
    asked = [_asked(argument) for argument in _arguments(sample)]
    if len(asked) != n:
        sample.at("arguments").refuse(f"{n} requests, one for each log-likelihood", f"{len(asked)}")
    if "acc_mutual_info" in metrics_of(sample):  # followed by the same options without a prompt
        half = n // 2
        if n % 2 or [option for _, option in asked[:half]] != [option for _, option in asked[half:]]:
            sample.at("arguments").refuse("every option once with and once without the prompt")
        asked = asked[:half]
    # Prompts that differ before one ending are another kind of task, whose samples do not say which one is right.
    if len(asked) < 2 or len({prompt for prompt, _ in asked}) > 1:
        sample.at("arguments").refuse("two options or more that follow one prompt")
    return [option for _, option in asked]


def _arguments(sample: Part) -> list[Part]:
    """The requests in order: a list of [prompt, option], or an object gen_args_0, gen_args_1, ... of arg_0, arg_1."""
    given = sample.at("arguments")
    if isinstance(given.value, list):
        return list(given.parts())
    return [given.at(f"gen_args_{index}") for index in range(len(given.fields()))]


def _asked(argument: Part) -> tuple[str, str]:
    listed = isinstance(argument.value, list)
    pair = [*argument.parts()][:2] if listed else [argument.at("arg_0"), argument.at("arg_1")]
    if len(pair) != 2 or not all(isinstance(part.value, str) for part in pair):
        argument.refuse("a prompt and an option, both text")
    for part in pair:
        part.text()  # refuses what is no Unicode; lengths are those of the text as it was asked
    return pair[0].value, pair[1].value


def label_of(target: Part, options: Sequence[str], before: str) -> int:
    """The right option: an index, as a number or its digits, or the text of one option."""
    value = target.value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if value >= len(options):
            target.refuse(f"an option from 0 to {len(options) - 1}")
        return value if value >= 0 else target.refuse(f"an option from 0 to {len(options) - 1}")
    texts = [option.removeprefix(before) for option in options]
    if texts.count(target.text() or "") != 1:
        target.refuse("the index of one right option, or its text")
    return texts.index(target.text() or "")


def distinct(options: Sequence[str]) -> list[str]:
    """Option names; where two options are alike, each carries its position."""
    if len(set(options)) == len(options):
        return list(options)
    return [f"{index}:{option}" for index, option in enumerate(options)]


def metrics_of(sample: Part) -> list[str]:
    """The names of the metrics that the harness computed of the sample."""
    return [part.name() for part in sample.at("metrics").parts()]
