"""YAML from outside: whatever is wrong with it is one kind of error, and nothing unfolds to more than was written."""

from __future__ import annotations

import pytest
import yaml

from evalframe.contracts.yaml_text import parsed


def test_plain_values_come_out_as_they_are() -> None:
    assert parsed("a: [1, 2.5, x & y, null]\n") == {"a": [1, 2.5, "x & y", None]}
    assert parsed("a: &x [1]\nb: *x") == {"a": [1], "b": [1]}


BOMB = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
)
WRONG = {
    "digits": "9" * 5000,
    "date": "a: 2001-99-99",
    "no date": "a: !!timestamp x",
    "no number": "a: !!int x",
    "no truth": "a: !!bool x",
    "key": "? [a]\n: 1",
    "object": "a: !!python/name:os.system",
    "itself": "&a [*a]",
    "bomb": BOMB,
    "deep": "[" * 500 + "]" * 500,
    "deeper": "[" * 3000 + "]" * 3000,
    "dashes": "- " * 3000,
    "nul": "\x00",
    "open": "a: '",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_anything_else_is_a_yaml_error(text: str) -> None:
    with pytest.raises(yaml.YAMLError):
        parsed(text)
