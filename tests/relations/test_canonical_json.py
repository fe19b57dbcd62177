"""Canonical JSON against the examples of RFC 8785, and what has no canonical form."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalframe.identity import canonical_json, fingerprint

# RFC 8785, appendix B: the IEEE 754 bits of a double and its only JSON spelling.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


@pytest.mark.parametrize(("bits", "spelling"), NUMBERS.items())
def test_numbers_of_the_rfc(bits: str, spelling: str) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_json(value) == spelling


def test_keys_sort_by_utf16_code_units() -> None:
    # RFC 8785, section 3.2.3: the smiling face (U+1F600) sorts before U+FB33 by code units, after it by code points.
    keys = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "\u00f6": 7}
    assert list(json.loads(canonical_json(keys)).values()) == [2, 4, 6, 7, 1, 5, 3]


def test_text_escapes_only_what_it_must() -> None:
    # RFC 8785, section 3.2.2.2.
    assert canonical_json("\u20ac$\x0f\nA'\x42\x22\x5c\\\"/") == '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'


def test_spaces_and_key_order_do_not_matter() -> None:
    assert canonical_json({"b": [1, None, True], "a": {}}) == '{"a":{},"b":[1,null,true]}'


def test_integer_and_double_of_one_value_are_one_number() -> None:
    assert canonical_json(10) == canonical_json(10.0) == "10"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, -(2**53), "\ud800", {"a": float("-inf")}])
def test_values_without_a_canonical_form_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"beyond|no JSON form|surrogates"):
        canonical_json(value)


@pytest.mark.parametrize("value", [b"bytes", {1: "a"}, {"set"}, object()])
def test_types_without_a_json_form_are_refused(value: object) -> None:
    with pytest.raises(TypeError):
        canonical_json(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_reads_back(value: float) -> None:
    assert json.loads(canonical_json(value), parse_int=float) == value


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_the_text_says_the_value_and_nothing_else(value: object) -> None:
    assert json.loads(canonical_json(value)) == value


def test_a_fingerprint_names_its_algorithm() -> None:
    # SHA-256 of the two bytes `{}`.
    assert fingerprint({}) == "ef1-44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
