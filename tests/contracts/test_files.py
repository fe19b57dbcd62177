"""Files that are read as the contract types them, and files that are refused by name."""

from __future__ import annotations

import math
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalframe.contracts import conform, contract, contracts, example, read_table, table_bytes, validate
from evalframe.contracts.model import Contract
from evalframe.errors import ContractError, EvalframeError, InputError
from tests.contracts.things import THINGS, things

LABELS = contract("class_labels")
HEADER = b"run_id,item_index,sample_id,participant,time,class_index\n"
FORMATS = [".parquet", ".csv", ".ndjson", ".jsonl", ".arrow", ".arrows"]


@pytest.fixture
def written(tmp_path: Path) -> Any:
    def write(name: str, content: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("name", contracts())
def test_the_example_of_every_table_survives_every_format(name: str, suffix: str, written: Any) -> None:
    c = contract(name)
    table = read_table(c, written(f"{name}{suffix}", table_bytes(example(c), suffix)))
    assert validate(c, table).ok
    assert conform(c, table).equals(example(c))


@pytest.mark.parametrize("suffix", FORMATS)
def test_an_empty_table_survives_every_format(suffix: str, written: Any) -> None:
    table = read_table(THINGS, written(f"t{suffix}", table_bytes(THINGS.empty(), suffix)))
    assert validate(THINGS, table).ok
    assert conform(THINGS, table).equals(THINGS.empty())


def test_nan_survives_where_the_format_has_a_word_for_it(written: Any) -> None:
    table = things({"signal": math.nan}, {"signal": -math.inf})
    for suffix in (".parquet", ".csv", ".arrow"):
        first, second = read_table(THINGS, written(f"t{suffix}", table_bytes(table, suffix)))["signal"].to_pylist()
        assert math.isnan(first)
        assert second == -math.inf
    with pytest.raises(ValueError, match="JSON"):
        table_bytes(table, ".ndjson")


# ---- CSV: text, typed by the contract ------------------------------------------------------------------------------


def test_csv_ids_stay_as_they_are_written(written: Any) -> None:
    rows = b'00042,0,001,1.10,,0\n12e4567,0,"",true,,0\nNULL,0,, p ,,0\n"",0,NULL,"a,b",,0\n'
    table = read_table(LABELS, written("ids.csv", HEADER + rows))
    assert table["run_id"].to_pylist() == ["00042", "12e4567", "NULL", ""]
    assert table["sample_id"].to_pylist() == ["001", "", None, "NULL"]
    assert table["participant"].to_pylist() == ["1.10", "true", " p ", "a,b"]
    assert validate(LABELS, table).ok


def test_csv_with_a_byte_order_mark_and_windows_line_ends(written: Any) -> None:
    content = b"\xef\xbb\xbf" + (HEADER + b"r,0,,p,1.5,0\n").replace(b"\n", b"\r\n")
    assert validate(LABELS, read_table(LABELS, written("bom.csv", content))).ok


@pytest.mark.parametrize(
    ("column", "cell", "why"),
    [
        ("item_index", "0x10", "hexadecimal"),
        ("item_index", "1.0", "a float"),
        ("item_index", "1e3", "an exponent"),
        ("item_index", " 1", "a space"),
        ("item_index", "one", "a word"),
        ("item_index", "9223372036854775808", "wider than 64 bits"),
        ("class_index", "40000", "wider than 16 bits"),
        ("time", "1,5", "a decimal comma"),
        ("time", "12:30", "a clock time"),
    ],
)
def test_csv_cells_of_another_type_are_told_one_by_one(column: str, cell: str, why: str, written: Any) -> None:
    rows = [["r", str(i), "", "p", "1.5", "0"] for i in range(3)]
    rows[1][LABELS.names.index(column)] = f'"{cell}"'
    table = read_table(LABELS, written("x.csv", HEADER + "\n".join(map(",".join, rows)).encode()))
    report = validate(LABELS, table)
    assert [(f.rule, f.column, f.count) for f in report.failures] == [("wrong_type", column, 1)]
    assert report.failures[0].rows["row_number"].to_pylist() == [1]
    assert str(report.failures[0].rows[column][0].as_py()) == cell
    assert report.valid["item_index"].to_pylist() == [0, 2]
    with pytest.raises(ContractError, match=column):
        conform(LABELS, table)


CELLS = {
    "n": ["7", "-7", "9007199254740993"],
    "width": ["1", "1.", ".5", "+0.5", "1e-3", "5e-324"],
    "signal": ["NaN", "inf", "-Infinity"],
    "sold": ["true", "False", "TRUE"],
    "made": ["2026-01-01T00:30:00Z", "2026-01-01 00:30:00.000001+02:00"],
    "price": ["1.5", "0.000000000000001", "-3", "1E-15"],
    "p": ["[0.5, 0.5]", "[1, 0]"],
    "flags": ["[]", '["new", null]'],
    "tags": ["{}", '{"a": "b", "c": "="}'],
}
NO_CELLS = {
    "sold": ["1", "yes", "t"],
    "made": ["2026-01-01", "2026-01-01T00:30:00", "yesterday", "2026-13-01T00:00:00Z", "2026-01-01T00:30:00.0000001Z"],
    "price": ["1.0000000000000001", "NaN", "1,5", "1e99"],
    "p": ["0.5", "[0.5, NaN]", '["0.5", "0.5"]', "[0.5", "{}", "null"],
    "flags": ["new", "[1]", '["\\ud800"]'],
    "tags": ["[]", '{"a": 1}', '{"a": "b", "a": "c"}', '{"a": "\\udfff"}', "[" * 100_000],
}


def one_cell(column: str, cell: str) -> bytes:
    quoted = '"' + cell.replace('"', '""') + '"'
    return f"{column}\n{quoted}\n".encode()


@pytest.mark.parametrize(("column", "cell"), [(c, cell) for c, cells in CELLS.items() for cell in cells])
def test_csv_cells_that_are_read(column: str, cell: str, written: Any) -> None:
    table = read_table(THINGS, written("cell.csv", one_cell(column, cell)))
    assert "wrong_type" not in [f.rule for f in validate(THINGS, table).failures]
    assert table[column].null_count == 0


@pytest.mark.parametrize(("column", "cell"), [(c, cell) for c, cells in NO_CELLS.items() for cell in cells])
def test_csv_cells_that_are_not_guessed(column: str, cell: str, written: Any) -> None:
    report = validate(THINGS, read_table(THINGS, written("cell.csv", one_cell(column, cell))))
    assert [(f.column, f.count) for f in report.failures if f.rule == "wrong_type"] == [(column, 1)]


def test_undeclared_and_missing_columns_are_told_not_refused(written: Any) -> None:
    report = validate(LABELS, read_table(LABELS, written("x.csv", b"run_id,extra\nr,1\n")))
    told = {f.column: f.rule for f in report.failures}
    assert told["extra"] == "undeclared_column"
    assert told["participant"] == "missing_column"


# ---- NDJSON: values keep their types -------------------------------------------------------------------------------


def test_ndjson_values_are_never_converted(written: Any) -> None:
    lines = (
        b'{"run_id": 1, "item_index": 0, "participant": "p", "class_index": 0, "time": 1, "sample_id": null}\n'
        b'{"run_id": "1", "item_index": 1.0, "participant": "p", "class_index": true, "time": "2"}\n'
        b"\n"
        b'{"run_id": "1", "item_index": 2, "participant": "p", "class_index": 1}\n'
    )
    report = validate(LABELS, read_table(LABELS, written("x.ndjson", lines)))
    assert {f.column: (f.rule, f.rows["row_number"].to_pylist()) for f in report.failures} == {
        "run_id": ("wrong_type", [0]),
        "item_index": ("wrong_type", [1]),
        "class_index": ("wrong_type", [1]),
        "time": ("wrong_type", [1]),
    }
    assert report.valid.to_pylist() == [
        {"run_id": "1", "item_index": 2, "sample_id": None, "participant": "p", "time": None, "class_index": 1}
    ]


def test_ndjson_without_a_column_in_any_line_lacks_it(written: Any) -> None:
    report = validate(LABELS, read_table(LABELS, written("x.ndjson", b'{"run_id": "r", "more": {"a": [1]}}\n')))
    assert {f.rule for f in report.failures} == {"missing_column", "undeclared_column"}


def test_decimals_keep_all_their_digits(written: Any) -> None:
    prices = ["99999999999999999999999.999999999999999", "-99999999999999999999999.999999999999999", "1e-15"]
    for suffix, cells in ((".csv", prices), (".ndjson", [f'"{p}"' for p in prices])):
        lines = "price\n" + "\n".join(cells) if suffix == ".csv" else "\n".join(f'{{"price": {c}}}' for c in cells)
        table = read_table(THINGS, written(f"x{suffix}", lines.encode()))
        assert table["price"].to_pylist() == [Decimal(p) for p in prices]


@pytest.mark.parametrize("price", ["1e23", "1e-16", '"NaN"', '"sNaN"', '"Infinity"', '"1_0 "', "true", "[]"])
def test_what_no_decimal_of_the_type_holds_is_told(price: str, written: Any) -> None:
    report = validate(THINGS, read_table(THINGS, written("x.ndjson", f'{{"price": {price}}}\n'.encode())))
    assert [f.column for f in report.failures if f.rule == "wrong_type"] == ["price"]


@pytest.mark.parametrize("made", NO_CELLS["made"])
def test_ndjson_times_need_a_zone_and_no_more_than_microseconds(made: str, written: Any) -> None:
    report = validate(THINGS, read_table(THINGS, written("x.ndjson", f'{{"made": "{made}"}}\n'.encode())))
    assert [f.column for f in report.failures if f.rule == "wrong_type"] == ["made"]


# ---- files that cannot be read -------------------------------------------------------------------------------------

BROKEN = {
    "empty.csv": b"",
    "twice.csv": b"run_id,run_id\na,b\n",
    "ragged.csv": HEADER + b"r,0\n",
    "cut_within_quotes.csv": HEADER + b'r,0,,"p',
    "cut_within_a_row.csv": HEADER + b"r,0,,p,1,0\nr,1",
    "utf16.csv": HEADER.decode().encode("utf-16"),
    "latin1.csv": HEADER + b"caf\xe9,0,,p,1,0\n",
    "cut.ndjson": b'{"run_id": "r"}\n{"run_id": ',
    "no_object.ndjson": b"[1, 2]\n",
    "nan.ndjson": b'{"time": NaN}\n',
    "twice.ndjson": b'{"run_id": "a", "run_id": "b"}\n',
    "utf16.ndjson": '{"run_id": "r"}\n'.encode("utf-16"),
    "deep.ndjson": b'{"run_id": ' + b"[" * 100_000,
    "digits.ndjson": b'{"item_index": ' + b"9" * 5000 + b"}\n",
    "empty.parquet": b"",
    "magic_only.parquet": b"PAR1PAR1",
    "csv.parquet": HEADER,
    "empty.arrow": b"",
    "magic_only.arrow": b"ARROW1",
    "parquet.arrow": table_bytes(example(LABELS), ".parquet"),
    "cut.arrows": table_bytes(example(LABELS), ".arrows")[:300],
    "table.txt": HEADER,
    "table": HEADER,
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_read_is_refused_by_name(name: str, written: Any) -> None:
    path = written(name, BROKEN[name])
    with pytest.raises(InputError) as refusal:
        read_table(LABELS, path)
    assert refusal.value.where == str(path)
    assert name in refusal.value.what
    assert refusal.value.code in ("EF111", "EF112", "EF113")
    assert str(refusal.value).count("\n") == 3


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_missing_file_and_a_folder_are_refused(suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"folder{suffix}").mkdir()
    for name in ("missing", "folder"):
        with pytest.raises(InputError, match=f"{name}{suffix}"):
            read_table(LABELS, tmp_path / f"{name}{suffix}")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".arrows"])
def test_every_cut_of_a_binary_file_is_refused(suffix: str, written: Any) -> None:
    whole = table_bytes(example(LABELS), suffix)
    # The last bytes of a stream only say that nothing follows.
    for size in range(0, len(whole) - (8 if suffix == ".arrows" else 1), 23):
        with pytest.raises(InputError):
            read_table(LABELS, written(f"cut{suffix}", whole[:size]))


@settings(max_examples=100)
@given(data=st.data())
def test_a_damaged_file_never_ends_in_a_traceback(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    c: Contract = data.draw(st.sampled_from([THINGS, LABELS]))
    suffix = data.draw(st.sampled_from(FORMATS))
    raw = bytearray(table_bytes(example(c), suffix))
    for place, byte in data.draw(st.lists(st.tuples(st.integers(0, len(raw) - 1), st.integers(0, 255)), max_size=4)):
        raw[place] = byte
    path = tmp_path_factory.getbasetemp() / f"damaged{suffix}"
    path.write_bytes(raw)
    with suppress(EvalframeError):  # nothing else may come out
        validate(c, read_table(c, path)).raise_for_failures()


def test_a_folder_name_is_never_read_as_a_column(tmp_path: Path) -> None:
    folder = tmp_path / "run_id=000"
    folder.mkdir()
    pq.write_table(example(LABELS), folder / "part.parquet")
    assert conform(LABELS, read_table(LABELS, folder / "part.parquet")).equals(example(LABELS))


def test_text_in_parquet_that_is_no_utf8_is_refused(written: Any) -> None:
    broken = pa.Array.from_buffers(
        pa.large_string(), 1, [None, pa.array([0, 1], pa.int64()).buffers()[1], pa.py_buffer(b"\xff")]
    )
    with pytest.raises(InputError):
        read_table(LABELS, written("x.parquet", table_bytes(pa.table({"run_id": broken}), ".parquet")))
