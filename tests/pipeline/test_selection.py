"""Rows and columns of a recording: ranges, conditions, and how little of the recording they read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptttool.decoders.hisi_ptt.columns import decode
from ptttool.decoders.hisi_ptt.records import Records
from ptttool.errors import UsageError
from ptttool.pipeline import selection as selection_module
from ptttool.pipeline.selection import Selection, all_of, parse_columns
from ptttool.pipeline.trace import FRAME_ROWS, open_trace
from ptttool.table.block import Block
from ptttool.table.where import compile_where
from tests.support import captures
from tests.support.recordings import words_8dw

REAL = captures.FOLDER / "6.12" / "m-8dw-port10-type7-dir2.data"


def selected(selection: Selection, path: Path = REAL) -> pl.DataFrame:
    with open_trace(path) as trace:
        return pl.concat(selection.frames(trace))


@settings(max_examples=30)
@given(
    st.sampled_from([None, "kind = 'MRd'", "kind = 'MWr' AND length_dw > 1", "kind = 'Msg'"]),
    st.integers(0, 6000),
    st.none() | st.integers(0, 6000),
)
def test_a_range_of_rows(condition: str | None, offset: int, limit: int | None) -> None:
    where = None if condition is None else compile_where(condition)
    everything = selected(Selection(("index", "kind", "length_dw", "tag")))
    expected = everything if where is None else where.filter(everything)
    found = selected(Selection(("index", "tag"), where, offset, limit))
    assert found.equals(expected.select("index", "tag").slice(offset, limit))


def test_only_what_is_needed_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[tuple[str, ...], int]] = []

    def spied(records: Records, columns: tuple[str, ...], **rest: Any) -> Block:
        asked.append((columns, records.size))
        return decode(records, columns, **rest)

    monkeypatch.setattr(selection_module, "decode", spied)
    found = selected(Selection(("tag",), compile_where("kind = 'MRd' AND tag > 3 OR dw0 = 1")))
    assert found.columns == ["tag"]
    (condition, everything), (result, rest) = asked
    assert (condition, result) == (("kind", "tag", "dw0"), ("tag",))
    assert everything > rest == found.height > 0


@pytest.mark.parametrize(("limit", "blocks"), [(0, 1), (1, 1), (FRAME_ROWS, 1), (FRAME_ROWS + 1, 2), (None, 3)])
def test_the_walk_ends_when_there_are_enough(tmp_path: Path, limit: int | None, blocks: int) -> None:
    path = tmp_path / "dump"
    with path.open("wb") as file:
        for _ in range(3 * FRAME_ROWS // (1 << 15)):
            file.write(words_8dw(1) * (1 << 15))
    with open_trace(path, raw_format="8dw") as trace:
        heights = [frame.height for frame in Selection(("time",), limit=limit).frames(trace)]
        assert sum(heights) == (3 * FRAME_ROWS if limit is None else limit)
        assert trace.progress.records == blocks * FRAME_ROWS


def test_at_least_one_frame() -> None:
    with open_trace(captures.FOLDER / "6.12" / "x-idle.data") as trace:
        (frame,) = Selection(("index", "kind")).frames(trace)
    assert (frame.height, frame.columns) == (0, ["index", "kind"])


def test_names_of_columns() -> None:
    assert parse_columns("tag") == ("tag",)
    assert parse_columns(" kind , dw0,index") == ("kind", "dw0", "index")
    assert all_of(("kind", "dw1"), ("dw0", "dw1")) == ("kind", "dw1", "dw0")
    with pytest.raises(UsageError) as caught:
        parse_columns("kind,adress")
    assert caught.value.hint == "did you mean address or lower_address?"
    with pytest.raises(UsageError, match="twice"):
        parse_columns("kind,kind")
