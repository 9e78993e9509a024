"""Lines of CSV and JSON: the loop, compiled and as plain Python, writes what polars writes, and readers read the values."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.kernel import lines as loop
from ptttool.table import lines
from ptttool.table.batch import Batch
from ptttool.table.schema import Column, DType, Schema, Style
from ptttool.table.values import NUMPY_DTYPES, Strings, Texts, Values
from tests import ROOT

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["", '"', ",", "a\nb", "\r", "\x00\x1f\x7f\x08", "é\\"]
)
NAMES = ("SC", "a,b", 'c"d', "é", "")


def plain_loop() -> ModuleType:
    """The loop as it runs without a compiler."""
    spec = importlib.util.spec_from_file_location("plain_lines", ROOT / "ptttool" / "kernel" / "lines.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PLAIN = plain_loop()


@st.composite
def columns(draw: st.DrawFn, number: int, size: int) -> tuple[Column, Values]:
    dtype = draw(st.sampled_from(list(DType)))
    style = (
        draw(st.sampled_from([Style.INT, *([Style.HEX] if dtype.value[0] == "u" else []), *([Style.ID] if dtype == DType.U16 else [])]))
        if dtype.is_integer
        else Style.PLAIN
    )
    ids = tuple(draw(st.dictionaries(st.integers(0, 0xFFFF), st.text('ab, "', min_size=1), max_size=2)).items())
    column = Column(f"c{number}", dtype, values=NAMES if dtype == DType.ENUM else (), style=style, names=ids if style == Style.ID else ())
    has: Any = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)), dtype=np.bool_)
    count = size
    rows: Any = None
    if draw(st.booleans()):  # sparse
        rows, has = np.flatnonzero(has), None
        count = len(rows)
    array: Any
    if dtype in (DType.TEXT, DType.BYTES):
        texts = draw(st.lists(TEXT, min_size=count, max_size=count))
        if dtype == DType.TEXT and draw(st.booleans()):
            different = tuple(dict.fromkeys(texts)) or ("x",)
            array = Texts(np.array([different.index(text) for text in texts], dtype=np.uint8), different)
        else:
            parts = [text.encode() for text in texts]
            lengths = np.array([len(part) for part in parts], dtype=np.int64)
            start = np.cumsum(lengths) - lengths
            if rows is None:
                start, lengths, has = np.where(has, start, -1), np.where(has, lengths, 0), None
            array = Strings(np.frombuffer(b"".join(parts), dtype=np.uint8), start, lengths)
    else:
        kind: Any = NUMPY_DTYPES[dtype]
        if dtype == DType.ENUM:
            low, high = 0, len(NAMES) - 1
        else:
            low, high = (0, 1) if dtype == DType.BOOL else (int(np.iinfo(kind).min), int(np.iinfo(kind).max))
        number_ = st.integers(low, high) | st.sampled_from([low, high, max(low, 0)])
        array = np.array(draw(st.lists(number_, min_size=count, max_size=count)), dtype=kind)
    return column, Values(array, has, rows)


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    size = draw(st.integers(0, 6))
    made = [draw(columns(number, size)) for number in range(draw(st.integers(1, 4)))]
    absent = draw(st.sets(st.integers(0, 3)))
    return Batch(
        Schema(tuple(column for column, _ in made)),
        size,
        {column.name: values for number, (column, values) in enumerate(made) if number not in absent},
    )


def texts_of(batch: Batch, *, is_json: bool, monkeypatch: pytest.MonkeyPatch) -> tuple[bytes, bytes, bytes]:
    installed = bytes(lines.by_loop(batch.schema, is_json=is_json)(batch))
    with monkeypatch.context() as patched:
        patched.setattr(lines, "write_rows", PLAIN.write_rows)
        plain = bytes(lines.by_loop(batch.schema, is_json=is_json)(batch))
    return installed, plain, bytes(lines.by_polars(batch.schema, is_json=is_json)(batch))


@pytest.mark.parametrize("is_json", [False, True])
def test_the_loop_writes_what_polars_writes(is_json: bool) -> None:
    @given(batches())
    def check(batch: Batch) -> None:
        with pytest.MonkeyPatch.context() as monkeypatch:
            installed, plain, by_polars = texts_of(batch, is_json=is_json, monkeypatch=monkeypatch)
        assert installed == plain == by_polars
        if is_json:
            found = [list(json.loads(line).values()) for line in installed.split(b"\n")[:-1]]
            assert [len(row) for row in found] == [len(batch.schema)] * batch.size
        else:
            read = list(csv.reader(io.StringIO(installed.decode(), newline="")))
            assert [len(row) for row in read] == [len(batch.schema)] * batch.size

    check()


def test_more_rows_than_are_laid_out_at_a_time() -> None:
    count = 2 * lines._STEP + 3
    schema = Schema((Column("a", DType.U64, style=Style.HEX), Column("b", DType.TEXT)))
    texts = Texts((np.arange(count) % 2).astype(np.uint8), ("x", "y\n"))
    batch = Batch(schema, count, {"a": Values(range(0, 3 * count, 3)), "b": Values(texts)})
    for is_json in (False, True):
        assert lines.by_loop(schema, is_json=is_json)(batch) == lines.by_polars(schema, is_json=is_json)(batch)


@pytest.mark.parametrize("module", [loop, PLAIN], ids=["installed", "plain"])
@pytest.mark.parametrize(
    "wrong",
    [
        {"out": 10},  # too short for a number
        {"values": 9},  # a text that is not listed
        {"values": -1},
        {"places": (0, 9)},  # beyond the listed bytes
        {"slot": 1, "form": loop.CSV_TEXT},
        {"form": loop.CSV_TEXT, "values": 2},  # beyond the texts
        {"form": loop.CSV_TEXT, "lengths": -1},
        {"valid": 2},  # of another shape
    ],
    ids=str,
)
def test_nothing_is_read_or_written_out_of_bounds(module: ModuleType, wrong: dict[str, Any]) -> None:
    """Whatever arrays it is given: their bounds are not checked byte by byte."""
    form = wrong.get("form", loop.LISTED if "out" not in wrong else loop.UNSIGNED)
    arguments: list[Any] = [
        np.empty(wrong.get("out", 100), dtype=np.uint8),
        np.array([[form, 0, 0, 0, wrong.get("slot", 0), 0]], dtype=np.int64),
        np.array([wrong.get("places", (0, 1))], dtype=np.int64),
        np.zeros(1, dtype=np.uint8),
        np.array([[wrong.get("values", 0)]], dtype=np.int64),
        np.ones((1, wrong.get("valid", 1)), dtype=np.uint8),
        np.array([[wrong.get("lengths", 1)]], dtype=np.int64),
        np.zeros(2, dtype=np.uint8),
    ]
    out, *others = [memoryview(one) for one in arguments]
    with pytest.raises(IndexError):
        module.write_rows(out, 0, *others)
