"""HiSilicon PTT trace records: their layouts and how to tell them apart.

Source: the kernel's document on PTT (Documentation/trace/hisi-ptt.rst, section 4) and, for pattern 1, the fields that perf names since
2026. Words are little-endian; as numbers they are TLP header words, most significant bit first.

8DW, 32 bytes: check word (bits 31:11 all ones), prefix, header words 0 to 3, a reserved word, Time.
4DW, 16 bytes: Fmt 31:30, Type 29:25, T9 24, T8 23, TH 22, SO 21, Length 20:11, Time 10:0; then header words 1 to 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ptttool.tlp.bulk import KNOWN, NO_RECORD, U32, Headers, traits_of

CHECK_WORD = 0xFFFFF800
# Words at a chunk's begin that may be zero before its layout is left to what the recording says of it: 16 MiB, the device's ring.
MOST_ZEROS = 4 << 20
# Columns whose bits the 4DW layout leaves out, and the one that only it has.
LOST_IN_4DW = frozenset(("tc", "attr", "at", "td", "ep", "ln", "prefix"))
ONLY_IN_4DW = frozenset(("so",))
# Units of 32 bytes looked at together.
_STEP = 1 << 14


@dataclass(frozen=True)
class Layout:
    """How records lie and what their spare header bits mean (``pattern``: 0 legacy, 1 PCIe 6 parts)."""

    eight_dw: bool
    pattern: int = 0

    @property
    def words(self) -> int:
        """32-bit words of a record."""
        return 8 if self.eight_dw else 4

    @property
    def record_size(self) -> int:
        """Bytes of a record."""
        return 4 * self.words

    @property
    def name(self) -> str:
        """``8dw`` or ``4dw``."""
        return "8dw" if self.eight_dw else "4dw"

    @property
    def pattern_name(self) -> str:
        """``v1`` or ``legacy``."""
        return "v1" if self.pattern == 1 else "legacy"

    @property
    def title(self) -> str:
        """``8DW``, ``4DW, header pattern v1``."""
        return self.name.upper() + (f", header pattern {self.pattern_name}" if self.pattern else "")

    @property
    def absent(self) -> frozenset[str]:
        """Columns that no record of this layout has."""
        return ONLY_IN_4DW if self.eight_dw else LOST_IN_4DW

    def headers(self, records: U32) -> Headers:
        """Return the standard TLP headers of records, shape (n, DWs)."""
        v1 = self.pattern == 1
        if not self.eight_dw:
            return Headers(_standard_word(records[:, 0]), lambda i: np.ascontiguousarray(records[:, i]), v1=v1)
        dw0 = np.ascontiguousarray(records[:, 2])
        traits = traits_of(dw0)
        checks = np.ascontiguousarray(records[:, 0])
        if int(checks.min(initial=0xFFFFFFFF)) < CHECK_WORD:
            traits[checks < CHECK_WORD] = NO_RECORD
        return Headers(
            dw0,
            lambda i: np.ascontiguousarray(records[:, 2 + i]),
            prefix=lambda: np.ascontiguousarray(records[:, 1]),
            v1=v1,
            traits=traits,
        )

    def times(self, records: U32) -> U32:
        """Return the Time field of records, shape (n, DWs): 32 bits in 8DW, 11 in 4DW."""
        return np.ascontiguousarray(records[:, 7]) if self.eight_dw else records[:, 0] & 0x7FF

    def header_word(self, records: U32, number: int) -> U32:
        """Header word 0 to 3 as recorded."""
        return records[:, number + (2 if self.eight_dw else 0)]


def _standard_word(dw0: U32) -> U32:
    """First words of 4DW records as the header words that they were made from, as far as bits were kept."""
    dw0 = np.ascontiguousarray(dw0)
    return (dw0 >> 1) & 0x7F800000 | (dw0 >> 4) & 0x00080000 | (dw0 >> 6) & 0x00010000 | (dw0 >> 11) & 0x3FF


class Declared(NamedTuple):
    """What a recording says of its layout; None where it says nothing that is understood."""

    eight_dw: bool | None = None
    pattern: int | None = None


def declared_layout(config: int | None, private: Sequence[int] = ()) -> Declared:
    """Layout by an event's ``config`` (bits 35:32 format, 39:36 pattern) and the words of PERF_RECORD_AUXTRACE_INFO.

    ``private``: the PMU's type number and, from a perf that knows patterns, the pattern. The config decides where there is one.
    """
    if config is not None:
        form, pattern = config >> 32 & 0xF, config >> 36 & 0xF
        return Declared({0: False, 1: True}.get(form), pattern if pattern <= 1 else None)
    if len(private) > 1 and private[1] in (0, 1):
        return Declared(None, private[1])
    return Declared()


def layout_in_data(words: U32, *, sample: int = 64) -> bool | None:
    """Whether the words of a chunk are 8DW records (True), 4DW records (False), or could be anything (None).

    Looks at the first ``sample`` units of 32 bytes that are not all zero. 8DW: every one begins with a check word; a 4DW record
    never does, since it would be of Fmt 3 and Type 31, a reserved code. 4DW: not one does, and every record's code is a known one.
    """
    # Memory that was looked at is not given back until the chunk is done with: zeros without end are not read twice.
    units = words[: min(len(words), MOST_ZEROS) // 8 * 8].reshape(-1, 8)
    picked = np.empty((0, 8), dtype=np.uint32)
    start, step = 0, 4 * sample  # most chunks begin with records: a look at a few units is enough
    while start < len(units):
        part = units[start : start + step]
        start, step = start + step, _STEP
        picked = np.concatenate((picked, part[part.any(axis=1)][:sample]))
        if len(picked) >= sample:
            break
    picked = picked[:sample]
    if not len(picked):
        rest = words[len(words) // 8 * 8 :]
        if len(rest) < 4 or not rest[:4].any():
            return None
        picked = rest[:4].reshape(1, 4)
    checked = picked[:, 0] >= CHECK_WORD
    if checked.all() and picked.shape[1] == 8:
        return True
    if not checked.any():
        records = picked.reshape(-1, 4)
        records = records[records.any(axis=1)]
        if (traits_of(_standard_word(records[:, 0])) & KNOWN).all():
            return False
    return None


def doubts(config: int | None, private: Sequence[int]) -> list[str]:
    """Sentences on what a recording says of its layout and is not understood, or is said twice and differently."""
    told = []
    if config is not None:
        form, pattern = config >> 32 & 0xF, config >> 36 & 0xF
        if form > 1:
            told.append(f"the event's format term is {form}, which no document names: 4DW or 8DW was told from the data")
        if pattern > 1:
            told.append(f"the event's pattern term is {pattern}, which no document names: header bits were read as legacy")
        elif len(private) > 1 and private[1] in (0, 1) and private[1] != pattern:
            told.append(f"perf noted header pattern {private[1]}, the event asked for {pattern}: the event was followed")
    if len(private) > 1 and private[1] not in (0, 1):
        told.append(f"perf noted header pattern {private[1]}, which no document names: it was ignored")
    return told


class Choice(NamedTuple):
    """The layout of a chunk. ``conflict``: the data plainly contradict what was declared, and were followed. ``decided``: by the data."""

    layout: Layout
    conflict: bool
    decided: bool


def choose_layout(words: U32, declared: Declared) -> Choice:
    """Determine the layout of the DWs of a chunk. If nothing else decides, the first DW does, as in perf."""
    seen = layout_in_data(words)
    pattern = declared.pattern or 0
    if seen is not None:
        return Choice(Layout(seen, pattern), declared.eight_dw is not None and declared.eight_dw != seen, True)
    if declared.eight_dw is not None:
        return Choice(Layout(declared.eight_dw, pattern), False, False)
    return Choice(Layout(bool(len(words)) and int(words[0]) >= CHECK_WORD, pattern), False, False)
