"""HiSilicon PTT trace records: their layouts and how to tell them apart.

Source: the kernel documentation on PTT (Documentation/trace/hisi-ptt.rst, section 4). For pattern 1: the fields that perf has named since
2026. DWs are stored as little-endian numbers; bit 31 of such a number is the first bit of the DW in the PCIe specification.

8DW, 32 bytes: check word (bits 31:11 all ones), prefix, header DWs 0 to 3, a reserved DW, Time.
4DW, 16 bytes: Fmt 31:30, Type 29:25, T9 24, T8 23, TH 22, SO 21, Length 20:11, Time 10:0; then header DWs 1 to 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from ptttool.tlp.bulk import KNOWN, NO_RECORD, U32, Headers, traits_of

CHECK_WORD = 0xFFFFF800
# If a chunk begins with more zero DWs than this, the recording's own statement decides its layout. 16 MiB: the device's ring.
MOST_ZEROS = 4 << 20
# Columns that the 4DW layout has no bits for, and the one that only it has.
LOST_IN_4DW = frozenset(("tc", "attr", "at", "td", "ep", "ln", "prefix"))
ONLY_IN_4DW = frozenset(("so",))
# Units of 32 bytes that are checked at a time.
_STEP = 1 << 14


class Layout(Struct, frozen=True):
    """The layout of records.

    Parameters
    ----------
    eight_dw : bool
        Whether a record has eight DWs; otherwise it has four.
    pattern : int
        What spare header bits mean: 0 for legacy, 1 for PCIe 6 parts.
    """

    eight_dw: bool
    pattern: int = 0

    @property
    def dws(self) -> int:
        """Number of DWs of a record."""
        return 8 if self.eight_dw else 4

    @property
    def record_size(self) -> int:
        """Bytes of a record."""
        return 4 * self.dws

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
            return Headers(standard_dw0(records[:, 0]), lambda i: np.ascontiguousarray(records[:, i]), v1=v1)
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

    def header_dw(self, records: U32, number: int) -> U32:
        """Return header DW 0 to 3 as recorded: shape (n,)."""
        return records[:, number + (2 if self.eight_dw else 0)]


def standard_dw0(dw0: U32) -> U32:
    """Return the standard header DW 0 of 4DW records, from their first DWs; bits that the record does not keep are 0."""
    dw0 = np.ascontiguousarray(dw0)
    return (dw0 >> 1) & 0x7F800000 | (dw0 >> 4) & 0x00080000 | (dw0 >> 6) & 0x00010000 | (dw0 >> 11) & 0x3FF


class Declared(NamedTuple):
    """What a recording says about its layout; None if it says nothing, or an unknown value."""

    eight_dw: bool | None = None
    pattern: int | None = None


def declared_layout(config: int | None, private: Sequence[int] = ()) -> Declared:
    """Return the layout that a recording declares.

    Parameters
    ----------
    config : int or None
        The event's config: bits 35:32 are the format, bits 39:36 the pattern. If there is one, it decides.
    private : sequence of int
        Values of PERF_RECORD_AUXTRACE_INFO: the PMU's type number and, from newer perf, the pattern.
    """
    if config is not None:
        form, pattern = config >> 32 & 0xF, config >> 36 & 0xF
        return Declared({0: False, 1: True}.get(form), pattern if pattern <= 1 else None)
    if len(private) > 1 and private[1] in (0, 1):
        return Declared(None, private[1])
    return Declared()


def layout_in_data(dws: U32, *, sample: int = 64) -> bool | None:
    """Determine from data whether they are 8DW or 4DW records.

    The records are 8DW if every unit begins with a check word. A 4DW record never begins with one: it would have Fmt 3 and Type 31, a
    reserved code. The records are 4DW if no unit begins with a check word and every record has a known code.

    Parameters
    ----------
    dws : ndarray of uint32, shape (n,)
        The DWs of a chunk.
    sample : int
        How many units of 32 bytes are checked; all-zero units are skipped.

    Returns
    -------
    bool or None
        True for 8DW, False for 4DW, None if the data do not decide.
    """
    # A long run of zeros is not looked at to its end.
    units = dws[: min(len(dws), MOST_ZEROS) // 8 * 8].reshape(-1, 8)
    picked = np.empty((0, 8), dtype=np.uint32)
    start, step = 0, 4 * sample  # most chunks begin with records: a few units are enough
    while start < len(units):
        part = units[start : start + step]
        start, step = start + step, _STEP
        picked = np.concatenate((picked, part[part.any(axis=1)][:sample]))
        if len(picked) >= sample:
            break
    picked = picked[:sample]
    if not len(picked):
        rest = dws[len(dws) // 8 * 8 :]
        if len(rest) < 4 or not rest[:4].any():
            return None
        picked = rest[:4].reshape(1, 4)
    checked = picked[:, 0] >= CHECK_WORD
    if checked.all() and picked.shape[1] == 8:
        return True
    if not checked.any():
        records = picked.reshape(-1, 4)
        records = records[records.any(axis=1)]
        if (traits_of(standard_dw0(records[:, 0])) & KNOWN).all():
            return False
    return None


def doubts(config: int | None, private: Sequence[int]) -> list[str]:
    """Return a sentence for each unknown or contradictory statement of a recording about its layout.

    The parameters are those of :func:`declared_layout`.
    """
    sentences = []
    if config is not None:
        form, pattern = config >> 32 & 0xF, config >> 36 & 0xF
        if form > 1:
            sentences.append(f"the event's format term is {form}, which is not documented: 4DW or 8DW was determined from the data")
        if pattern > 1:
            sentences.append(f"the event's pattern term is {pattern}, which is not documented: header bits were read as legacy")
        elif len(private) > 1 and private[1] in (0, 1) and private[1] != pattern:
            sentences.append(f"perf recorded header pattern {private[1]}, but the event asked for {pattern}: the event was followed")
    if len(private) > 1 and private[1] not in (0, 1):
        sentences.append(f"perf recorded header pattern {private[1]}, which is not documented: it was ignored")
    return sentences


class Choice(NamedTuple):
    """The layout of a chunk.

    Parameters
    ----------
    layout : Layout
        The layout.
    conflict : bool
        Whether the data contradict the declared layout; then `layout` is that of the data.
    decided : bool
        Whether the data decided.
    """

    layout: Layout
    conflict: bool
    decided: bool


def choose_layout(dws: U32, declared: Declared) -> Choice:
    """Determine the layout of the DWs of a chunk. If nothing else decides, the first DW does, as in perf."""
    eight_dw = layout_in_data(dws)
    pattern = declared.pattern or 0
    if eight_dw is not None:
        return Choice(Layout(eight_dw, pattern), declared.eight_dw is not None and declared.eight_dw != eight_dw, True)
    if declared.eight_dw is not None:
        return Choice(Layout(declared.eight_dw, pattern), False, False)
    return Choice(Layout(bool(len(dws)) and int(dws[0]) >= CHECK_WORD, pattern), False, False)
