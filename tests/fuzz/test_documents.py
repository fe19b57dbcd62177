"""JSON that is sound as JSON, with another value in one place: every reader of documents returns or refuses."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalframe.errors import EvalframeError
from tests.fuzz.readers import READERS

DOCUMENTS = [name for name in READERS if name.startswith("json ")]
OTHERS: list[Any] = [
    None, True, False, 0, 1, -1, 0.5, -0.0, 1e308, 10**400, 2**63, float("nan"), float("inf"), "", "a", "0", "1.5",
    "\ud800", "\x00", "e\u0301", "-inf", "[[]]", "{}", [], [None], [[[]]], {}, {"": {}}, {"\ud800": 1},
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a document."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*path, key))


def changed(text: str, place: tuple[Any, ...], other: Any, *, removed: bool) -> str:
    """The document with another value in a place, or without what is there."""
    if not place:
        return json.dumps(other)
    whole = json.loads(text)
    value = whole
    for key in place[:-1]:
        value = value[key]
    if removed:
        del value[place[-1]]
    else:
        value[place[-1]] = other
    return json.dumps(whole)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_with_another_value_is_read_or_refused(name: str) -> None:
    reader = READERS[name]
    has_lines = reader.name.endswith(("jsonl", "ndjson"))
    corpus = [data.decode().splitlines() if has_lines else [data.decode()] for data in reader.corpus()]
    spots = [
        (number, line, place)
        for number, lines in enumerate(corpus)
        for line, text in enumerate(lines)
        for place in places(json.loads(text))
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / reader.name

        @settings(max_examples=30)
        @given(
            st.lists(st.tuples(st.sampled_from(OTHERS), st.booleans()), min_size=1, max_size=1), st.sampled_from(spots)
        )
        def check(others: list[tuple[Any, bool]], spot: tuple[int, int, tuple[Any, ...]]) -> None:
            number, line, place = spot
            lines = list(corpus[number])
            for other, removed in others:
                lines[line] = changed(lines[line], place, other, removed=removed)
            path.write_text("\n".join(lines) + "\n")
            try:
                reader.read(path)
            except EvalframeError as error:
                assert len(str(error).splitlines()) == 4  # noqa: PT017 (most files may be read)

        check()
