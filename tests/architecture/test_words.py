"""The text speaks of the project as it is: not of how it was made, where, or what it used to be."""

from __future__ import annotations

import re

from tests.architecture.tree import files, text

# Spelled in two halves, so that this file does not find itself.
FORBIDDEN = [
    ("iss", "ues?"),
    ("tick", "ets?"),
    ("help", "ers?"),
    ("age", "nts?"),
    ("work", "place"),
    ("TO", "DO"),
    ("FIX", "ME"),
    ("form", "erly"),
    ("previous", "ly"),
    ("back", "wards?[- ]compat\\w*"),
    ("py", "pi"),
    ("chat", "gpt"),
    ("clau", "de"),
]
PATHS = [("/wo", "rk/"), ("/ro", "ot/"), ("/ho", "me/"), ("\\.\\./sha", "red")]

_WORDS = re.compile(
    rf"\b(?:{'|'.join(a + b for a, b in FORBIDDEN)})\b|{'|'.join(a + b for a, b in PATHS)}", re.IGNORECASE
)
_TEXTS = (".py", ".sql", ".yaml", ".md", ".toml", ".json", ".csv", ".js", ".html", ".txt", "")


def test_nothing_speaks_of_how_it_was_made() -> None:
    found = [
        f"{path}:{number}: {line.strip()[:120]}"
        for path in files(*_TEXTS)
        if path.name != "LICENSE"
        for number, line in enumerate(text(path).splitlines(), 1)
        if _WORDS.search(line)
    ]
    assert found == []


def test_the_words_are_found_where_they_stand() -> None:
    assert all(_WORDS.search(f"see {a}{b.split('?')[0].split('[')[0]} here") for a, b in FORBIDDEN if "\\" not in b)
