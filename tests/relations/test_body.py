"""The steps inside a body, by name."""

from __future__ import annotations

import pytest

from evalframe.relations.body import cte_names, cte_query, with_values

BODY = """-- WITH in a comment
WITH a AS (
    WITH inner_one AS (SELECT 1 AS x) SELECT x FROM inner_one -- SELECT here
),
"b.c" (y) AS MATERIALIZED (SELECT ')' AS y FROM a)
SELECT y FROM "b.c"
"""


def test_names_of_the_outer_steps() -> None:
    assert cte_names(BODY) == ("a", "b.c")
    assert cte_names("WITH RECURSIVE r AS (SELECT 1) SELECT 1 FROM r") == ("r",)
    assert cte_names("SELECT 1") == ()


def test_a_step_keeps_all_steps_and_replaces_the_end() -> None:
    assert cte_query(BODY, "b.c").endswith('FROM a)\nSELECT * FROM "b.c"')
    assert cte_query(BODY, "a").startswith("-- WITH in a comment\nWITH a AS (")
    with pytest.raises(KeyError):
        cte_query(BODY, "inner_one")


def test_parameters_that_are_read_become_literals() -> None:
    body = """SELECT CASE WHEN (SELECT value FROM protocol_parameters WHERE name = 'rule') = 'x' THEN 1 END,
    CAST((SELECT p.value
          FROM protocol_parameters AS p WHERE p.name = 'limit') AS DOUBLE),
    (SELECT value FROM protocol_parameters WHERE name = 'unknown'), 'value'"""
    assert with_values(body, {"rule": "it's", "limit": "0.5"}) == (
        "SELECT CASE WHEN 'it''s' = 'x' THEN 1 END,\n    CAST('0.5' AS DOUBLE),\n"
        "    (SELECT value FROM protocol_parameters WHERE name = 'unknown'), 'value'"
    )
