"""Spark, as an independent check of what is portable: `pytest -m spark` makes an environment for it."""

from __future__ import annotations

import pytest

from evalframe.relations import catalogue
from tests.audit.engines_table import outcomes, over_cases, told
from tests.audit.spark_engine import LAYERS, Spark

AGAIN = "python -m tests.audit.engines_table spark"


@pytest.mark.spark
def test_every_relation_above_facts_agrees_over_its_cases(request: pytest.FixtureRequest) -> None:
    if "spark" not in request.config.getoption("markexpr"):
        pytest.skip("needs an environment with Spark of its own: pytest -m spark")
    listed = outcomes()["spark"]
    with Spark() as engine:
        found = told(over_cases(engine, LAYERS))
    assert set(found) == {each.name for each in catalogue().of_layer(*LAYERS)}
    assert {name: word for name, word in found.items() if word.startswith("no")} == {}
    worse = {name for name, word in found.items() if word != "exact" and listed.get(name) in (None, "exact")}
    assert worse == set(), AGAIN
