"""Traffic of requests and completions for analyses of transactions: as records, as batches cut anywhere, and as rows of the reference."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from ptttool.analyses.matching.analysis import MATCHING_COLUMNS, MatchingAnalysis
from ptttool.analyses.scope import Scope
from ptttool.analyses.time.model import TimeModel
from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.decoders.hisi_ptt.records import Piece
from ptttool.decoders.hisi_ptt.units import TlpUnit
from ptttool.generate import tlps
from ptttool.pipeline.jobs import load
from ptttool.table.batch import Batch
from ptttool.tlp.direction import EITHER, DirectionRule
from tests.reference import hisi_ptt as reference

Words = tuple[int, ...]


@dataclass
class Traffic:
    """Records of AUX streams, one behind the other.

    Parameters
    ----------
    eight_dw : bool
        Whether records have eight DWs.
    pattern : int
        Header pattern.
    records : list
        (cpu, offset, words) of each record, all-zero ones too.
    """

    eight_dw: bool
    pattern: int = 0
    records: list[tuple[int, int, Words]] = field(default_factory=list)

    @property
    def layout(self) -> Layout:
        """The layout of the records."""
        return Layout(self.eight_dw, self.pattern)

    @property
    def size(self) -> int:
        """Bytes of a record."""
        return 32 if self.eight_dw else 16

    def add(self, tlp: tlps.Tlp, time: int, cpu: int = 0, offset: int | None = None) -> None:
        """Add a TLP at the end of its stream, or at an offset."""
        words = (tlp.dw0, tlp.dw1, tlp.dw2, tlp.dw3)
        if self.pattern:
            words = (*words[:2], words[2] | tlp.spare2, words[3] | tlp.spare3)
        if self.eight_dw:
            record: Words = (0xFFFFFFFF, tlp.prefix, *words, 0, time & 0xFFFFFFFF)
        else:
            dw0 = words[0]
            first = (dw0 & 0x7F80_0000) << 1 | (dw0 & 0x8_0000) << 4 | (dw0 & 0x1_0000) << 6 | (dw0 & 0x3FF) << 11 | time & 0x7FF
            record = (first, *words[1:])
        self.add_words(record, cpu, offset)

    def add_words(self, words: Words, cpu: int = 0, offset: int | None = None) -> None:
        """Add a record as it is."""
        if offset is None:
            ends = [at + self.size for one, at, _ in self.records[-1:] if one == cpu]
            offset = ends[0] if ends else 0
        self.records.append((cpu, offset, words))

    def rows(self) -> list[dict[str, Any]]:
        """The rows as the reference decodes them."""
        rows: list[dict[str, Any]] = []
        for cpu, offset, words in self.records:
            row = reference.decode(list(words), pattern=self.pattern)
            if row is not None:
                rows.append({"index": len(rows), "cpu": cpu, "offset": offset, "size": self.size, **row})
        return rows

    def batches(
        self, cuts: Sequence[int] = (), columns: Sequence[str] = MATCHING_COLUMNS, direction: DirectionRule = EITHER
    ) -> list[Batch]:
        """The records as batches, cut in front of the records with these numbers."""
        borders = sorted({0, len(self.records), *(min(cut, len(self.records)) for cut in cuts)})
        batches, index = [], 0
        for start, stop in pairwise(borders):
            unit = load(TlpUnit(self.layout, tuple(self._pieces(start, stop)), direction=direction))
            decoded, findings = unit.decoded(index)
            index += findings.records
            batches.append(decoded.batch(tuple(columns)))
        return batches

    def _pieces(self, start: int, stop: int) -> list[Piece]:
        pieces: list[Piece] = []
        for cpu, offset, words in self.records[start:stop]:
            data = struct.pack(f"<{len(words)}I", *words)
            last = pieces[-1] if pieces else None
            if last is not None and last.cpu == cpu and last.offset + last.size == offset:
                assert last.data is not None
                data = last.data.tobytes() + data
                pieces[-1] = replace(last, size=len(data), data=memoryview(data))
            else:
                pieces.append(Piece("", 0, len(data), offset, cpu, memoryview(data)))
        return pieces


def merged(analysis: type[MatchingAnalysis[Any]], batches: Sequence[Batch], scope: Scope, *, tree: bool = False) -> MatchingAnalysis[Any]:
    """An analysis that has seen batches, each in a part of its own; parts merge one by one, or neighbours first."""
    parts = []
    for batch in batches:
        part = analysis(scope)
        part.update(batch)
        parts.append(part)
    if not parts:
        return analysis(scope)
    if not tree:
        for later in parts[1:]:
            parts[0].merge(later)
        return parts[0]
    while len(parts) > 1:
        for first, second in zip(parts[::2], parts[1::2], strict=False):
            first.merge(second)
        parts = parts[::2]
    return parts[0]


REQUESTERS = (0x0100, 0x0101, 0x0000)
TAGS = (0, 1, 0x12, 0x112, 0x312)
READ_KINDS = (tlps.MRD, tlps.MRDLK)


@dataclass
class _Open:
    """A request that the generated traffic may answer."""

    requester: int
    tag: int
    address: int
    left: int
    code: int
    operand: int = 0


@st.composite
def traffic(draw: st.DrawFn, *, most: int = 60, holes: bool = True) -> Traffic:
    """Requests of all kinds and their completions: split, lost, repeated, with errors, of other requests; both ends cut off.

    With `holes`, records are missing here and there, all-zero records are among them, and other CPUs go on.
    """
    eight_dw = draw(st.booleans())
    made = Traffic(eight_dw, draw(st.sampled_from((0, 0, 0, 1))))
    open_: list[_Open] = []
    time, cpu, offset = draw(st.integers(0, 1 << 32)), 0, None
    for _ in range(draw(st.integers(0, most))):
        time += draw(st.integers(0, 300))
        what = draw(st.integers(0, 31))
        if holes and what == 31:
            cpu += 1
            continue
        if holes and what == 30:
            offset = (made.records[-1][1] if made.records else 0) + made.size * draw(st.integers(2, 4))
            continue
        if holes and what == 29:
            made.add_words((0,) * (made.size // 4), cpu, offset)
            offset = None
            continue
        if what == 28:
            tlp = tlps.request(tlps.MWR, draw(st.sampled_from(REQUESTERS)), 3, 0x1000, 64)
        elif what == 27:
            tlp = tlps.message(0x30, tlps.TO_ROOT, 0x0100)
        elif what < 12:
            tlp = _request(draw, open_)
        elif what < 24 and open_:
            tlp = _answer(draw, open_)
        else:
            tlp = _any_completion(draw)
        made.add(tlp, time, cpu, offset)
        offset = None
    return made


def _request(draw: st.DrawFn, open_: list[_Open]) -> tlps.Tlp:
    requester, tag = draw(st.sampled_from(REQUESTERS)), draw(st.sampled_from(TAGS))
    address = draw(st.sampled_from((0x1000, 0x1FC0, 0x2_0000_0000))) + draw(st.integers(0, 127))
    kind = draw(st.integers(0, 9))
    if kind < 5:
        size = draw(st.one_of(st.integers(0, 16), st.sampled_from((64, 512, 4096))))
        code = draw(st.sampled_from(READ_KINDS))
        steering = (1, 0x5A) if code == tlps.MRD and draw(st.integers(0, 5)) == 0 else None
        tlp = tlps.request(code, requester, tag, address, size, steering=steering)
        size = 4 * (tlp.dw0 & 0x3FF or 1024) if steering else size
        open_.append(_Open(requester, tag, address, max(size, 1), code))
        return tlp
    if kind == 5:
        code, operand = draw(st.sampled_from((tlps.FETCH_ADD, tlps.SWAP, tlps.CAS))), draw(st.sampled_from((4, 8)))
        open_.append(_Open(requester, tag, 0, operand, code, operand))
        return tlps.request(code, requester, tag, address & ~7, operand)
    if kind == 6:
        open_.append(_Open(requester, tag, 0, 0, tlps.DMWR))
        return tlps.request(tlps.DMWR, requester, tag, address, draw(st.integers(0, 64)))
    code = draw(st.sampled_from((tlps.CFGRD0, tlps.CFGWR0, tlps.CFGRD1, tlps.IORD, tlps.IOWR)))
    open_.append(_Open(requester, tag, 0, 0 if code & 0x40 else 4, code))
    if code in (tlps.IORD, tlps.IOWR):
        return tlps.request(code, requester, tag, 0x300, draw(st.integers(0, 4)))
    return tlps.configuration(code, requester, tag, 0x0200, 0x10, enabled=draw(st.integers(0, 15)))


def _answer(draw: st.DrawFn, open_: list[_Open]) -> tlps.Tlp:
    """The next completion of an open request; sometimes it is lost before, or comes again."""
    number = draw(st.integers(0, len(open_) - 1))
    one = open_[number]
    fate = draw(st.integers(0, 11))
    if fate == 0:
        open_.pop(number)
        status = draw(st.sampled_from((tlps.UNSUPPORTED, tlps.RETRY, tlps.ABORT, 0b101)))
        return tlps.completion(tlps.CPL, 0, one.requester, one.tag, status=status, byte_count=one.left or 4)
    if not one.left:
        open_.pop(number)
        return tlps.completion(tlps.CPL, 0, one.requester, one.tag)
    if one.code not in READ_KINDS:
        open_.pop(number)
        return tlps.completion(tlps.CPLD, 0, one.requester, one.tag, size=one.left, byte_count=one.left)
    limit = draw(st.sampled_from((64, 128, 256, 4096)))
    part = min(one.left, limit - one.address % limit)
    if fate == 1:  # this piece is lost
        one.address, one.left = one.address + part, one.left - part
        if not one.left:
            open_.pop(number)
            return _any_completion(draw)
        part = min(one.left, limit - one.address % limit)
    tlp = tlps.completion(tlps.CPLD, 0, one.requester, one.tag, size=part, byte_count=one.left, lower_address=one.address & 0x7F)
    if fate != 2:  # else it comes again
        one.address, one.left = one.address + part, one.left - part
        if not one.left:
            open_.pop(number)
    return tlp


def _any_completion(draw: st.DrawFn) -> tlps.Tlp:
    requester, tag = draw(st.sampled_from(REQUESTERS)), draw(st.sampled_from(TAGS))
    code = draw(st.sampled_from((tlps.CPL, tlps.CPLD, tlps.CPLD, tlps.CPLLK, tlps.CPLDLK)))
    return tlps.completion(
        code, 0, requester, tag, size=draw(st.integers(1, 256)), byte_count=draw(st.integers(0, 4095)),
        lower_address=draw(st.integers(0, 127)), status=draw(st.sampled_from((0, 0, 0, 1, 2, 3, 4))),
    )  # fmt: skip


def scopes() -> st.SearchStrategy[Scope]:
    """Every way to read the Time field."""
    return st.sampled_from([Scope(time_model=model, time_bits=32) for model in TimeModel])
