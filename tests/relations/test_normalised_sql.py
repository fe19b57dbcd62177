"""What folds and what stays: a fingerprint must survive reformatting and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalframe.identity import normalised_sql, sql_tokens

SAME = [
    ("SELECT a,b FROM t", "SELECT a ,\n\tb\nFROM t -- why\n"),
    ("SELECT /* one */ a FROM t", "SELECT a /* another /* nested */ still comment */ FROM t"),
    ("SELECT f(a)/2", "SELECT f( a ) / 2"),
    ("SELECT 'a' || b", "SELECT 'a'||b"),
    ("SELECT a::DOUBLE", "SELECT a :: DOUBLE"),
]

DIFFERENT = [
    ("SELECT 'a b'", "SELECT 'a  b'"),
    ("SELECT '-- x'", "SELECT ''"),
    ("SELECT '/* x */'", "SELECT ''"),
    ("SELECT 'it''s'", "SELECT 'it' 's'"),
    ('SELECT "a b"', 'SELECT "a  b"'),
    ('SELECT "a"" -- b"', 'SELECT "a"'),
    ("SELECT E'a\\' -- b'", "SELECT E'a\\' -- c'"),
    ("SELECT $$a  b$$", "SELECT $$a b$$"),
    ("SELECT $x$ $$ -- $x$", "SELECT $x$ $$ $x$"),
    ("SELECT a - -1", "SELECT a --1"),
    ("SELECT a.b", "SELECT a, b"),
    ("SELECT ab", "SELECT a b"),
    ("SELECT 1.5", "SELECT 1, 5"),
    ("SELECT 'A'", "SELECT 'a'"),
    ("SELECT a <= b", "SELECT a < = b"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_comments_and_white_space_fold(one: str, other: str) -> None:
    assert normalised_sql(one) == normalised_sql(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_literals_names_and_tokens_stay(one: str, other: str) -> None:
    assert normalised_sql(one) != normalised_sql(other)


def test_a_text_is_read_to_its_end_even_when_it_is_no_sql() -> None:
    assert normalised_sql("SELECT 'open") == "SELECT ' open"
    assert normalised_sql("a /* open") == "a"


@given(st.lists(st.sampled_from(["SELECT", "a", "'x  -- y'", '"q /* "', "+", "(", ")", ",", "1e-3", "::", "$$ z $$"])))
def test_tokens_survive_any_spacing(tokens: list[str]) -> None:
    loose = "  /* c */\n".join(tokens) + " -- end"
    assert [token for token, _ in sql_tokens(loose)] == tokens
    assert normalised_sql(loose) == " ".join(tokens)


@given(st.text(alphabet="a'\"-/*$e1. \n(", max_size=30))
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalised_sql(text)
    assert normalised_sql(once) == once
