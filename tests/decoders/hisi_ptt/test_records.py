"""The fast decoder against the slow one, and the laws that hold between its own parts."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.decoders.hisi_ptt.findings import Findings
from ptttool.decoders.hisi_ptt.layout import (
    Declared,
    Layout,
    choose_layout,
    declared_layout,
    doubts,
    layout_in_data,
)
from ptttool.tlp.bulk import U32
from ptttool.tlp.columns import ALL_COLUMNS, DW_COLUMNS, TLP_SCHEMA
from tests.reference import hisi_ptt as reference
from tests.support.records import ALL_CODES, Words, decode_block, eight, four, packed, records_4dw, records_8dw
from tests.support.rows import schema_of

COLUMNS = (*ALL_COLUMNS, *DW_COLUMNS)
LAYOUTS = [Layout(eight_dw, pattern) for eight_dw in (True, False) for pattern in (0, 1)]
by_layout = pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: f"{layout.name}-{layout.pattern_name}")


def array(records: list[Words], layout: Layout) -> U32:
    return np.frombuffer(packed(records), dtype="<u4").reshape(-1, layout.dws)


def expected(records: list[Words], layout: Layout, *, index: int = 0, offset: int = 0, cpu: int | None = None) -> list[dict[str, Any]]:
    rows = reference.decode_bytes(packed(records), eight_dw=layout.eight_dw, pattern=layout.pattern)
    return [{"index": index + i, "offset": offset + place, "cpu": cpu, **row} for i, (place, row) in enumerate(rows)]


def assert_same(frame: pl.DataFrame, rows: list[dict[str, Any]]) -> None:
    assert frame.height == len(rows)
    for name in frame.columns:
        assert frame[name].to_list() == [row[name] for row in rows], name


def any_records(layout: Layout, size: int) -> st.SearchStrategy[list[Words]]:
    return st.lists(records_8dw() if layout.eight_dw else records_4dw(), max_size=size)


@by_layout
def test_every_code_with_and_without_hints(layout: Layout) -> None:
    """All Fmt/Type codes, TH 0 and 1, with many fillings, all columns; some with a TPH prefix."""
    rng = random.Random(1)
    records: list[Words] = []
    for code in ALL_CODES if layout.eight_dw else range(128):
        for th in (0, 1):
            for _ in range(6):
                words = [rng.getrandbits(32) for _ in range(6)]
                if layout.eight_dw:
                    dw0 = code << 24 | words[0] & 0xFEFFFF | th << 16
                    prefix = rng.choice((0, words[4], 0x90000000 | words[4] & 0xFFFFFF))
                    records.append(eight(dw0, *words[1:4], prefix=prefix, time=words[5]))
                else:
                    dw0 = four(code, 0, 0, 0, length=0, time=0)[0] | words[0] & 0x1BFFFFF | th << 22
                    records.append((dw0, *words[1:4]))
    rng.shuffle(records)
    rows = expected(records, layout, index=3, offset=4096, cpu=2)
    frame = decode_block(array(records, layout), layout, COLUMNS, index=3, offset=4096, cpu=2)
    assert_same(frame, rows)
    assert set(frame["kind"]) == set(TLP_SCHEMA["kind"].values)
    for name in COLUMNS:  # nothing is null by mistake of this test
        absent = layout.absent | (frozenset() if layout.pattern else {"segment", "completer_segment"})
        assert (frame[name].null_count() == frame.height) == (name in absent), name


@by_layout
@given(data=st.data())
def test_any_records(layout: Layout, data: st.DataObject) -> None:
    records = data.draw(any_records(layout, 40))
    findings = Findings()
    frame = decode_block(array(records, layout), layout, COLUMNS, offset=64, cpu=1, findings=findings)
    rows = expected(records, layout, offset=64, cpu=1)
    assert_same(frame, rows)
    assert frame.schema == schema_of(COLUMNS)
    assert findings.records == len(rows)
    assert findings.zero_records == len(records) - len(rows)
    assert findings.unchecked_records + findings.unknown_codes.total() == sum(row["kind"] == "Unknown" for row in rows)
    assert findings.unchecked_records == (sum(row["time"] is None for row in rows) if layout.eight_dw else 0)


@by_layout
@given(data=st.data())
def test_a_projection_is_a_part_of_the_whole(layout: Layout, data: st.DataObject) -> None:
    block = array(data.draw(any_records(layout, 30)), layout)
    columns = data.draw(st.lists(st.sampled_from(COLUMNS), unique=True))
    part = decode_block(block, layout, columns)
    assert part.columns == columns
    assert part.equals(decode_block(block, layout, COLUMNS).select(columns))


@by_layout
@given(data=st.data())
def test_two_parts_are_the_whole(layout: Layout, data: st.DataObject) -> None:
    block = array(data.draw(any_records(layout, 30)), layout)
    cut = data.draw(st.integers(0, len(block)))
    whole_findings, findings = Findings(), Findings()
    whole = decode_block(block, layout, COLUMNS, findings=whole_findings)
    first = decode_block(block[:cut], layout, COLUMNS, findings=findings)
    second = decode_block(
        block[cut:], layout, COLUMNS, index=findings.records, offset=cut * layout.record_size, findings=findings
    )  # fmt: skip
    assert pl.concat([first, second]).equals(whole)
    assert findings == whole_findings


@by_layout
def test_more_records_than_one_step(layout: Layout) -> None:
    """Steps that lack a kind altogether lie beside steps that have it."""
    write, completion = (0x60000001, 0x4A000001) if layout.eight_dw else (four(0x60, 0, 0, 0)[0], four(0x4A, 0, 0, 0)[0])
    rest = (0x01000F0F, 0x02000304, 0x1000)
    records: list[Words] = []
    for dw0, count in ((write, 40_000), (completion, 40_000), (write, 5)):
        records += [eight(dw0, *rest) if layout.eight_dw else (dw0, *rest)] * count
    frame = decode_block(array(records, layout), layout, ("kind", "requester", "address", "completer", "status", "class", "tag"))
    runs = frame.drop("tag").unique(maintain_order=True).rows()
    assert runs[0][:2] == ("MWr", 0x0100) and runs[1][:2] == ("CplD", 0x0200)
    assert runs[0][3:5] == (None, None) and runs[1][2:5] == (None, 0x0100, "SC")
    assert frame["kind"].to_list() == ["MWr"] * 40_000 + ["CplD"] * 40_000 + ["MWr"] * 5
    assert frame["completer"].null_count() == 40_005


def test_the_records_of_the_kernel_document() -> None:
    """The one published 8DW record, and the same TLP as 4DW."""
    columns = ("time", "kind", "class", "length_dw", "payload_bytes", "requester", "tag", "address", "first_be", "last_be")
    values = ("MWr", "P", 1, 4, 0x0100, 0x1E, 0x4_0281_0040, 0xF, 0)
    record = eight(0x60000001, 0x01001E0F, 0x00000004, 0x02810040, time=0x4C033)
    assert decode_block(array([record], LAYOUTS[0]), LAYOUTS[0], columns).row(0) == (0x4C033, *values)
    small = four(0x60, 0x01001E0F, 0x00000004, 0x02810040, time=0x33)
    assert decode_block(array([small], LAYOUTS[2]), LAYOUTS[2], columns).row(0) == (0x33, *values)


def test_hand_made_pattern_v1() -> None:
    """Spare header bits of PCIe 6 parts; as legacy the same records give an absurd address and a shorter tag."""
    records = [
        eight(0x20000010, 0x0100_12_FF, 5 << 23 | 1 << 21 | 0xA << 16 | 0x00FE, 0xDCBA9870),
        eight(0x00800010, 0x0100_12_FF, 0xDCBA9870, 7 << 24 | 0x3),
        eight(0x4A000010, 0x0000_0040, 0x0100_1200, 7 << 24 | 9 << 16 | 0x3),
        eight(0x04000001, 0x0000_120F, 0x0100_0FFC, 5 << 23 | 1 << 22 | 0xA << 16),
        eight(0x30000000, 0x0100_1218, 0, 0xFFFFFFFF),
    ]
    columns = ("kind", "tag", "address", "segment", "completer_segment")
    v1 = decode_block(array(records, LAYOUTS[1]), LAYOUTS[1], columns)
    assert v1.rows() == [
        ("MRd", 0xA << 10 | 0x12, 0xFE_DCBA_9870, 5, None),
        ("MRd", 0x3 << 10 | 0x212, 0xDCBA9870, 7, None),
        ("CplD", 0x3 << 10 | 0x12, None, 7, 9),
        ("CfgRd0", 0xA << 10 | 0x12, None, 5, None),
        ("Msg", 0x12, None, None, None),
    ]
    legacy = decode_block(array(records, LAYOUTS[0]), LAYOUTS[0], columns)
    assert legacy.row(0) == ("MRd", 0x12, 0x2AA00FE << 32 | 0xDCBA9870, None, None)


def test_steering_tags() -> None:
    """Where TH is set: in the byte enables of reads, in the tag of writes; the upper byte from a prefix or from pattern v1."""
    columns = ("kind", "st", "ph", "tag", "first_be", "last_be", "address")
    read, write = 0x00010004, 0x40010004
    records = [
        eight(read, 0x0100_12_AB, 0x1003, 0),
        eight(write, 0x0100_AB_FF, 0x1002, 0),
        eight(read, 0x0100_12_AB, 0x1001, 0x00CD0000),
        eight(write, 0x0100_AB_FF, 0x1000, 0, prefix=0x90EF0000),
        eight(0x6C010002, 0x0100_12_FF, 0, 0x1001),
    ]
    assert decode_block(array(records, LAYOUTS[0]), LAYOUTS[0], columns).rows() == [
        ("MRd", 0xAB, 3, 0x12, None, None, 0x1000),
        ("MWr", 0xAB, 2, None, 0xF, 0xF, 0x1000),
        ("MRd", 0xAB, 1, 0x12, None, None, 0x1000),
        ("MWr", 0xEFAB, 0, None, 0xF, 0xF, 0x1000),
        ("FetchAdd", None, 1, 0x12, None, None, 0x1000),
    ]
    assert decode_block(array(records, LAYOUTS[1]), LAYOUTS[1], ("st",))["st"].to_list() == [0xAB, 0xAB, 0xCDAB, 0xEFAB, None]


def test_what_is_not_understood_is_counted_and_told() -> None:
    layout = LAYOUTS[0]
    records = [(0,) * 8, eight(0x03000001, 0, 0, 0), eight(0x91000001, 0, 0, 0), eight(0x60000001, 0, 0, 0, check=1), (0,) * 8]
    findings = Findings()
    frame = decode_block(array(records, layout), layout, ("index", "offset", "time", "kind", "class", "length_dw"), findings=findings)
    assert frame.rows() == [
        (0, 32, 1, "Unknown", None, 1),
        (1, 64, 1, "Unknown", None, 1),
        (2, 96, None, "Unknown", None, None),
    ]
    assert findings.counts() == {
        "records": 3, "zero_records": 2, "tails": 0, "tail_bytes": 0, "unchecked_records": 1, "unknown_codes": {"0x03": 1, "0x91": 1},
        "format_conflicts": 0, "formats": {}, "undecided_payloads": 0, "missing_bytes": 0,
    }  # fmt: skip
    assert [(sign.code, sign.details["count"]) for sign in findings.diagnostics()] == [
        ("zero-records", 2), ("no-check-word", 1), ("unknown-code", 1), ("unknown-code", 1),
    ]  # fmt: skip
    assert Findings().diagnostics() == []


def test_an_all_zero_4dw_record_is_left_out_but_not_a_read_with_time_zero() -> None:
    layout = LAYOUTS[2]
    frame = decode_block(array([(0, 0, 0, 0), (0, 0, 0, 4)], layout), layout, ("offset", "kind", "length_dw", "address"))
    assert frame.rows() == [(16, "MRd", 1024, 0)]


def test_unknown_cpu_is_null() -> None:
    record = array([eight(0x60000001, 0, 0, 0)], LAYOUTS[0])
    assert decode_block(record, LAYOUTS[0], ("cpu",), cpu=-1)["cpu"].to_list() == [None]


def test_no_records_is_an_empty_frame_with_every_type() -> None:
    frame = decode_block(np.empty((0, 8), dtype="<u4"), LAYOUTS[0], COLUMNS)
    assert frame.height == 0 and frame.schema == schema_of(COLUMNS)
    assert [TLP_SCHEMA[name].dtype for name in frame.columns] == [TLP_SCHEMA[name].dtype for name in COLUMNS]


READ_4, READ_8 = four(0x20, 0x0100000F, 0, 0x1000), eight(0x20000001, 0x0100000F, 0, 0x1000)


def words(*records: Words) -> U32:
    return np.frombuffer(packed(records), dtype="<u4")


def test_layouts_are_told_apart_by_the_data() -> None:
    zero = (0,) * 32
    assert layout_in_data(words(*[READ_8] * 3)) is True
    assert layout_in_data(words(*[READ_4] * 3)) is False
    assert layout_in_data(words(READ_4)) is False
    assert layout_in_data(words(zero, READ_8)) is True
    assert layout_in_data(words(zero, READ_4, READ_4)) is False
    assert layout_in_data(words(*[zero] * 5000, READ_8)) is True
    assert layout_in_data(words()) is None
    assert layout_in_data(words(zero)) is None
    assert layout_in_data(words(READ_8, (7,) * 8)) is None  # some with, some without
    assert layout_in_data(words((0x0C000000,) * 8)) is None  # neither a check word nor a known code


@pytest.mark.parametrize("size", range(18))
def test_less_than_a_record_decides_nothing(size: int) -> None:
    some = np.frombuffer(packed([READ_8, READ_8, READ_8]), dtype="<u4")[:size]
    assert layout_in_data(some) is (True if size >= 8 else None)
    other = np.frombuffer(packed([READ_4, READ_4, READ_4, READ_4, READ_4]), dtype="<u4")[:size]
    assert layout_in_data(other) is (False if size >= 4 else None)


@given(records=st.lists(records_4dw(), min_size=1, max_size=20))
def test_4dw_is_never_taken_for_8dw(records: list[Words]) -> None:
    """Unless every other record is of the reserved code 0x7f."""
    if any(record[0] < 0xFFFFF800 for record in records[::2]):
        assert layout_in_data(words(*records)) is not True


def test_what_was_declared_holds_unless_the_data_plainly_contradict() -> None:
    eight_v1, four_legacy = Declared(True, 1), Declared(False, 0)
    assert choose_layout(words(READ_8), eight_v1) == (Layout(True, 1), False, True)
    assert choose_layout(words(READ_4, READ_4), eight_v1) == (Layout(False, 1), True, True)
    assert choose_layout(words(READ_8), four_legacy) == (Layout(True, 0), True, True)
    assert choose_layout(words((0,) * 32), eight_v1) == (Layout(True, 1), False, False)
    assert choose_layout(words(READ_8, (7,) * 8), four_legacy) == (Layout(False, 0), False, False)
    assert choose_layout(words(READ_8, (7,) * 8), Declared()) == (Layout(True, 0), False, False)


def test_config_and_info_declare_the_layout() -> None:
    assert declared_layout(0x1_0728_0001) == (True, 0)
    assert declared_layout(0x0728_0001) == (False, 0)
    assert declared_layout(0x11_0728_0001) == (True, 1)
    assert declared_layout(0x11_0728_0001, (9, 0)) == (True, 1)
    assert declared_layout(0x2F_0728_0001) == (None, None)
    assert declared_layout(None, (9, 1)) == (None, 1)
    assert declared_layout(None, (9, 2)) == (None, None)
    assert declared_layout(None, (9,)) == (None, None)


def test_doubts_about_the_layout() -> None:
    assert doubts(0x1_0728_0001, (9, 0)) == []
    assert doubts(0x1_0728_0001, (9,)) == []
    assert "format term is 2" in doubts(0x2_0000_0000, ())[0]
    assert "pattern term is 3" in doubts(0x30_0000_0000, ())[0]
    assert "the event was followed" in doubts(0x1_0728_0001, (9, 1))[0]
    assert "ignored" in doubts(0x1_0728_0001, (9, 2))[0]
