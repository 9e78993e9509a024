"""Rows and columns of a recording: ranges, conditions, and how little of the recording they read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptttool
from ptttool.decoders.hisi_ptt import units as units_module
from ptttool.decoders.hisi_ptt.columns import decode
from ptttool.decoders.hisi_ptt.records import Records
from ptttool.errors import UsageError
from ptttool.pipeline.query import Query, parse_query
from ptttool.pipeline.work import UNIT_RECORDS
from ptttool.table.batch import Batch
from ptttool.table.where import compile_where
from ptttool.tlp.columns import TLP_SCHEMA
from tests.support import captures
from tests.support.recordings import words_8dw
from tests.support.rows import Read

REAL = captures.FOLDER / "6.12" / "m-8dw-port10-type7-dir2.data"


def selected(query: Query, path: Path = REAL) -> pl.DataFrame:
    with Read(path) as trace:
        return pl.concat(trace.frames((), query=query))


@settings(max_examples=30)
@given(
    st.sampled_from([None, "kind = 'MRd'", "kind = 'MWr' AND length_dw > 1", "kind = 'Msg'"]),
    st.integers(0, 6000),
    st.none() | st.integers(0, 6000),
)
def test_a_range_of_rows(condition: str | None, offset: int, limit: int | None) -> None:
    where = None if condition is None else compile_where(condition, TLP_SCHEMA)
    everything = selected(Query(("index", "kind", "length_dw", "tag")))
    expected = everything if where is None else where.filter(everything)
    found = selected(Query(("index", "tag"), where, offset, limit))
    assert found.equals(expected.select("index", "tag").slice(offset, limit))


def test_only_what_is_needed_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[tuple[str, ...], int]] = []

    def spied(records: Records, columns: tuple[str, ...], **rest: Any) -> Batch:
        asked.append((tuple(columns), records.size))
        return decode(records, columns, **rest)

    monkeypatch.setattr(units_module, "decode", spied)
    found = selected(Query(("tag",), compile_where("kind = 'MRd' AND tag > 3 OR dw0 = 1", TLP_SCHEMA)))
    assert found.columns == ["tag"]
    (condition, everything), (result, rest) = asked
    assert (condition, result) == (("kind", "tag", "dw0"), ("tag",))
    assert everything > rest == found.height > 0


@pytest.mark.parametrize(("limit", "blocks"), [(0, 1), (1, 1), (UNIT_RECORDS, 1), (UNIT_RECORDS + 1, 2), (None, 3)])
def test_the_walk_ends_when_there_are_enough(tmp_path: Path, limit: int | None, blocks: int) -> None:
    path = tmp_path / "dump"
    with path.open("wb") as file:
        for _ in range(3 * UNIT_RECORDS // (1 << 15)):
            file.write(words_8dw(1) * (1 << 15))
    with Read(path, raw_format="8dw") as trace:
        heights = [frame.height for frame in trace.frames((), query=Query(("time",), limit=limit))]
        assert sum(heights) == (3 * UNIT_RECORDS if limit is None else limit)
        assert trace.progress.records == blocks * UNIT_RECORDS


def test_at_least_one_frame() -> None:
    with Read(captures.FOLDER / "6.12" / "x-idle.data") as trace:
        (frame,) = trace.frames(("index", "kind"))
    assert (frame.height, frame.columns) == (0, ["index", "kind"])


def test_names_of_columns() -> None:
    def columns(text: str) -> tuple[str, ...]:
        return parse_query(TLP_SCHEMA, columns=text, everything=TLP_SCHEMA.usual_names).columns

    assert columns("tag") == ("tag",)
    assert columns(" kind , dw0,index") == ("kind", "dw0", "index")
    assert columns("all") == TLP_SCHEMA.usual_names
    with pytest.raises(UsageError) as caught:
        columns("kind,adress")
    assert (caught.value.code, caught.value.hint) == ("unknown-column", "did you mean address or lower_address?")
    with pytest.raises(UsageError) as caught:
        columns("kind,kind")
    assert caught.value.code == "column-twice"


def test_rows_that_are_skipped_are_not_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All-zero records are no rows: those before the range are counted, whatever their number."""
    with Read(REAL) as trace:
        records = b"".join(bytes(chunk.read(0, chunk.size)) for chunk in trace.recording.source().chunks())
    pieces = [records[at : at + 32] for at in range(0, len(records) // 32 * 32, 32)]
    mixed = b"".join(piece if number % 5 else piece + bytes(32) for number, piece in enumerate(pieces * 60))
    dump = tmp_path / "dump.bin"
    dump.write_bytes(mixed)
    count = len(pieces) * 60
    decoded: list[int] = []

    def counting(records: Records, *arguments: Any, **options: Any) -> Batch:
        decoded.append(records.size)
        return decode(records, *arguments, **options)

    with ptttool.open(dump, "hisi-ptt", parameters={"input": "8dw"}) as recording:
        monkeypatch.setattr(units_module, "decode", counting)
        for jobs in (1, 2):
            found = recording.to_polars(["index", "tag", "offset"], offset=count - 10, limit=5, jobs=jobs)
            assert found["index"].to_list() == list(range(count - 10, count - 5))
        assert 0 < sum(decoded) <= UNIT_RECORDS
        assert recording.to_polars(["index"], offset=count).height == 0
        assert recording.to_polars(["index"], offset=count - 1).height == 1
