"""Why reads of devices waited: what went to devices while they were open, and how many others were outstanding when they were asked."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_LATENCY_BINS
from ptttool.analyses.latency.bins import BIN_BITS, bin_of
from ptttool.analyses.latency.sums import SIZES
from ptttool.analyses.matching.part import Border
from ptttool.analyses.sums import SumTable
from ptttool.kernel.loops import UNSEEN, WAITS
from ptttool.tlp.columns import DIRECTIONS, KINDS
from ptttool.tlp.transactions import UNKNOWN_DIRECTION, Transactions

Array = npt.NDArray[Any]

_IS_READ: Final[Array] = np.isin(np.arange(256), [KINDS.index(kind) for kind in ("MRd", "MRdLk")])
_OUTBOUND: Final = DIRECTIONS.index("outbound")
_BIN_MASK: Final = (1 << BIN_BITS) - 1
_NO_REQUESTER: Final = 1 << 16
# Levels are counted from the start of a part, so they can be below 0.
_ZERO: Final = 1 << 31
_MOST: Final = np.iinfo(np.int64).max
# Of the key of a gap: that it reaches back to the part before, and the bits of its ticks.
_OPEN_GAP: Final = 1 << 6
_GAP_MASK: Final = _OPEN_GAP - 1
_UNSEEN_GAP: Final = UNSEEN.bit_length()
(_SENT, _WENT, _MINE, _OWN, _FRONT, _LEVEL, _POSTED, _QUIET) = range(len(WAITS))


class Line(NamedTuple):
    """Exact sums of pairs of numbers, for a straight line through them.

    Parameters
    ----------
    n, x, y, xx, xy, yy : int
        How many, and the sums of the numbers and of their products.
    """

    n: int = 0
    x: int = 0
    y: int = 0
    xx: int = 0
    xy: int = 0
    yy: int = 0

    @classmethod
    def of(cls, x: Array, y: Array) -> Line:
        """Return the sums of pairs: ndarrays of int64, shape (n,), from 0 on."""
        return cls(len(x), _product(x), _product(y), _product(x, x), _product(x, y), _product(y, y))

    def __add__(self, other: tuple[Any, ...]) -> Line:
        """Return the sums of both."""
        return Line(*(one + more for one, more in zip(self, other, strict=True)))

    def moved(self, by: int) -> Line:
        """Return the sums with a number added to each x."""
        return self._replace(x=self.x + by * self.n, xx=self.xx + 2 * by * self.x + by * by * self.n, xy=self.xy + by * self.y)

    @property
    def slope(self) -> float | None:
        """Least squares: how much more y there is for each x; None where all x are equal."""
        spread = self.n * self.xx - self.x * self.x
        return (self.n * self.xy - self.x * self.y) / spread if spread else None

    @property
    def explained(self) -> float | None:
        """R²: the share of the variance of y that the line explains; None where all x or all y are equal."""
        across, along = self.n * self.xx - self.x * self.x, self.n * self.yy - self.y * self.y
        # Whole numbers of any size: their quotient is exact to the last bit.
        return (self.n * self.xy - self.x * self.y) ** 2 / (across * along) if across and along else None


class Idle(NamedTuple):
    """Reads in front of whose first completion no other one went to devices.

    Parameters
    ----------
    line : Line
        The time to the first completion over the bytes of posted requests behind the last TLP that went to devices, in front of the read.
    behind, ticks : int
        Those with such bytes, and their time.
    """

    line: Line = Line()
    behind: int = 0
    ticks: int = 0

    @classmethod
    def of(cls, posted: Array, times: Array) -> Idle:
        """Return the sums of reads."""
        some = posted > 0
        return cls(Line.of(posted, times), int(np.count_nonzero(some)), _product(times[some]))

    def __add__(self, other: tuple[Any, ...]) -> Idle:
        """Return the sums of both."""
        line, behind, ticks = other
        return Idle(self.line + line, self.behind + behind, self.ticks + ticks)

    def moved(self, by: int) -> Idle:
        """Return the sums where so many more bytes stand in front of each."""
        return Idle(self.line.moved(by), self.line.n, self.line.y) if by else self


class Rows(NamedTuple):
    """Sums of reads by something and by the bin of their time, ascending. All arrays have shape (n,).

    Parameters
    ----------
    value, bins : ndarray of int64
        What they have in common, and the bin.
    sums : sequence of ndarray of int64
        The sums.
    """

    value: Array
    bins: Array
    sums: tuple[Array, ...]


class WaitSums:
    """Sums of the reads of devices whose time is known.

    Attributes
    ----------
    sent, front : Line
        The time to the last completion over all bytes that left meanwhile, and to the first one over completions in front of it.
    idle, first : Idle
        For ordering: all reads, but for those of which it is not known yet what stands in front of the part, and these.
    is_guessed : bool
        Whether the direction of some reads is not known.
    """

    def __init__(self) -> None:
        self.sent, self.front = Line(), Line()
        self.idle, self.first = Idle(), Idle()
        # Reads, ticks, bytes sent meanwhile, their own, those for the same requester; other completions.
        self.is_guessed = False
        self._requesters = SumTable(*(np.add,) * 6, most=MAX_LATENCY_BINS, fewer=_of_no_requester)
        self._levels = SumTable(np.add, np.add, most=MAX_LATENCY_BINS, fewer=np.zeros_like)
        self._sizes = SumTable(np.add, np.add)
        self._gaps = SumTable(np.add, np.add)

    def add(self, ended: Transactions) -> None:
        """Add requests that have ended."""
        is_read = (ended.to_last >= 0) & (ended.directions != _OUTBOUND) & _IS_READ[ended.kind]
        is_read &= ended.waits[:, _OWN] > 0  # another device may have answered: that does not leave here
        rows = np.flatnonzero(is_read)
        if not len(rows):
            return
        self.is_guessed |= bool((ended.directions[rows] == UNKNOWN_DIRECTION).any())
        waits, times, firsts = ended.waits[rows], ended.to_last[rows], ended.to_first[rows]
        self.sent += Line.of(waits[:, _SENT], times)
        self.front += Line.of(waits[:, _FRONT], firsts)
        idle = waits[:, _FRONT] == 0
        posted, firsts = waits[idle, _POSTED], firsts[idle]
        known = posted >= 0
        self.idle += Idle.of(posted[known], firsts[known])
        self.first += Idle.of(-1 - posted[~known], firsts[~known])
        bins, one = bin_of(times), np.ones_like(times)
        quiet = waits[idle, _QUIET]
        gaps = np.where(quiet < 0, _OPEN_GAP | _bits(-1 - quiet), _bits(quiet))
        self._gaps.add(gaps << BIN_BITS | bins[idle], one[idle], times[idle])
        requester = ended.requester[rows].astype(np.int64)
        numbers = one, times, waits[:, _SENT], waits[:, _OWN], waits[:, _MINE], np.maximum(waits[:, _WENT] - ended.completions[rows], 0)
        self._requesters.add(requester << BIN_BITS | bins, *numbers)
        self._levels.add(waits[:, _LEVEL] + _ZERO << BIN_BITS | bins, one, times)
        self._sizes.add(np.searchsorted(SIZES, ended.requested[rows]) << BIN_BITS | bins, one, times)

    def merge(self, later: WaitSums, border: Border | None) -> None:
        """Add the sums of the reads behind; `border`: what stands in front of their part, None where nothing does."""
        self.is_guessed |= later.is_guessed
        self.sent += later.sent
        self.front += later.front
        self.idle += later.idle
        first, is_known, level = later.first, False, 0
        if border is not None:
            is_known, level = border.is_hole or border.flows.knows, border.flows.level
            first = first if border.is_hole else first.moved(border.flows.posted)
        if is_known:
            self.idle += first
        else:
            self.first += first
        self._requesters.merge(later._requesters)
        self._sizes.merge(later._sizes)
        self._levels.is_full |= later._levels.is_full
        keys, *sums = later._levels.rows()
        self._levels.add(keys if self._levels.is_full else keys + (level << BIN_BITS), *sums)
        keys, *sums = later._gaps.rows()
        if border is not None:
            gaps, flows = keys >> BIN_BITS, border.flows
            longest = np.maximum(gaps & _GAP_MASK, flows.quiet.bit_length()) | (0 if flows.acts else _OPEN_GAP)
            keys = np.where(gaps & _OPEN_GAP, longest, gaps) << BIN_BITS | keys & _BIN_MASK
        self._gaps.add(keys, *sums)

    @property
    def requesters(self) -> Rows:
        """Reads by requester; by none where there are too many."""
        return _rows(self._requesters)

    @property
    def sizes(self) -> Rows:
        """Reads by position in :data:`~ptttool.analyses.latency.sums.SIZES`."""
        return _rows(self._sizes)

    @property
    def gaps(self) -> Rows:
        """Reads with no other completion in front of their first one, by the bits of the longest time without any TLP in front of them.

        That time counts from the last request of devices, or completion for one, before it; reads of which it is not known are left out.
        """
        rows = _rows(self._gaps)
        known = rows.value < _UNSEEN_GAP
        return Rows(rows.value[known], rows.bins[known], tuple(each[known] for each in rows.sums))

    def levels(self, lowest: int) -> Rows | None:
        """Return reads by how many others were outstanding when they were asked; None where there are too many levels.

        Parameters
        ----------
        lowest : int
            The lowest level of the recording, as it is counted from its start: there, no request is taken to be outstanding.
        """
        rows = _rows(self._levels)
        return None if self._levels.is_full else rows._replace(value=rows.value - _ZERO - lowest)


def _rows(table: SumTable) -> Rows:
    keys, *sums = table.rows()
    return Rows(keys >> BIN_BITS, keys & _BIN_MASK, tuple(sums))


def _bits(values: Array) -> Array:
    """Return how many bits numbers from 0 on have; those of 2^53 and more may have one more."""
    return np.frexp(values.astype(np.float64))[1].astype(np.int64)


def _of_no_requester(keys: Array) -> Array:
    """Return keys for all requesters together."""
    return _NO_REQUESTER << BIN_BITS | keys & _BIN_MASK


def _product(one: Array, other: Array | None = None) -> int:
    """Return the exact sum of numbers from 0 on, or of their products."""
    if not len(one):
        return 0
    most = int(one.max()) * (1 if other is None else int(other.max())) * len(one)
    if most <= _MOST:
        return int(one.sum() if other is None else np.dot(one, other))
    wide = one.astype(object)
    return int(wide.sum() if other is None else np.dot(wide, other.astype(object)))
