"""PTT records made by hand: of every Fmt/Type code, in both layouts, with the header bits of pattern v1 too (no recording has those)."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import polars as pl
from hypothesis import strategies as st

from ptttool.decoders.hisi_ptt.findings import Findings
from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.decoders.hisi_ptt.records import Piece, Records
from ptttool.decoders.hisi_ptt.units import LoadedTlpUnit, TlpUnit
from ptttool.pipeline.jobs import load
from ptttool.tlp.bulk import U32
from ptttool.tlp.direction import EITHER, DirectionRule

ALL_CODES = tuple(range(256))
KNOWN_CODES = (
    0x00, 0x20, 0x01, 0x21, 0x40, 0x60, 0x5B, 0x7B, 0x02, 0x42, 0x04, 0x44, 0x05, 0x45, 0x1B, 0x0A, 0x4A, 0x0B, 0x4B,
    0x4C, 0x6C, 0x4D, 0x6D, 0x4E, 0x6E, *range(0x30, 0x38), *range(0x70, 0x78),
)  # fmt: skip
WORD = st.integers(0, 0xFFFFFFFF)
PREFIX = st.one_of(st.just(0), WORD, st.integers(0, 0xFFFFFF).map(lambda low: 0x90000000 | low))

Words = tuple[int, ...]


def eight(dw0: int, dw1: int, dw2: int, dw3: int, *, prefix: int = 0, time: int = 1, check: int = 0xFFFFFFFF) -> Words:
    """An 8DW record."""
    return (check, prefix, dw0, dw1, dw2, dw3, 0, time)


def four(
    code: int, dw1: int, dw2: int, dw3: int, *, length: int = 1, time: int = 1, t9: int = 0, t8: int = 0, th: int = 0, so: int = 0
) -> Words:
    """A 4DW record of a Fmt/Type code below 0x80."""
    dw0 = (code >> 5 & 3) << 30 | (code & 0x1F) << 25 | t9 << 24 | t8 << 23 | th << 22 | so << 21 | length << 11 | time
    return (dw0, dw1, dw2, dw3)


def packed(records: Sequence[Words]) -> bytes:
    """Records as they lie in a file."""
    return b"".join(struct.pack(f"<{len(record)}I", *record) for record in records)


@st.composite
def records_8dw(draw: st.DrawFn) -> Words:
    """Any 8DW record: mostly of known codes; sometimes all zero, sometimes without its check word."""
    kind = draw(st.integers(0, 19))
    if kind == 0:
        return (0,) * 8
    code = draw(st.sampled_from(KNOWN_CODES if kind > 3 else ALL_CODES))
    check = draw(WORD) if kind == 1 else 0xFFFFF800 | draw(st.integers(0, 0x7FF))
    dw0 = code << 24 | draw(st.integers(0, 0xFFFFFF))
    return (check, draw(PREFIX), dw0, draw(WORD), draw(WORD), draw(WORD), draw(WORD), draw(WORD))


@st.composite
def records_4dw(draw: st.DrawFn) -> Words:
    """Any 4DW record: mostly of known codes; sometimes all zero."""
    kind = draw(st.integers(0, 19))
    if kind == 0:
        return (0,) * 4
    code = draw(st.sampled_from(KNOWN_CODES if kind > 3 else range(128)))
    return (four(code, 0, 0, 0, length=0, time=0)[0] | draw(st.integers(0, (1 << 25) - 1)), draw(WORD), draw(WORD), draw(WORD))


def loaded(words: U32, layout: Layout, *, offset: int = 0, cpu: int = -1, direction: DirectionRule = EITHER) -> Records:
    """Records on their way to a decoder. ``words``: shape (n, 4 or 8)."""
    data = memoryview(np.ascontiguousarray(words, dtype="<u4").tobytes())
    unit = load(TlpUnit(layout, (Piece("", 0, len(data), offset, cpu, data),), direction=direction))
    assert isinstance(unit, LoadedTlpUnit)
    return unit.records


def decode_block(
    words: U32,
    layout: Layout,
    columns: Sequence[str],
    *,
    index: int = 0,
    offset: int = 0,
    cpu: int | None = None,
    findings: Findings | None = None,
    direction: DirectionRule = EITHER,
) -> pl.DataFrame:
    """Records as a frame."""
    rows, found = LoadedTlpUnit(loaded(words, layout, offset=offset, cpu=-1 if cpu is None else cpu, direction=direction)).decoded(index)
    frame = rows.batch(tuple(columns)).to_polars()
    if findings is not None:
        findings.merge(found)
    return frame
