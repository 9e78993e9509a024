"""The length of a tick, from moments that are known to lie between two readings of a clock.

The model is a line: the TLP of the i-th read passed at ``origin + tick * x[i]``, and that moment lies between ``before[i]`` and
``after[i]``. A pair of reads bounds the tick from below and from above, whatever the origin is; the tightest bounds of all pairs are
exactly the ticks for which an origin exists (the origin eliminated by Fourier and Motzkin). No bound is an estimate: a tick outside of
them contradicts a reading. Where the bounds exclude each other, time does not pass as ``x`` says.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Ticks = npt.NDArray[np.int64]
# Reads that are compared with all others at a time.
_ROWS = 256
# A tick that is less certain than that is no clock's.
_LARGEST_ERROR = 0.01
# Ticks that are tried for each turn by which the ends of a range differ, and at most.
_TRIALS, _MOST_TRIALS = 8, 4096


class TickRange(Struct, frozen=True):
    """The ticks that contradict no reading.

    Parameters
    ----------
    low_ns, high_ns : float
        The shortest and the longest tick, in nanoseconds. ``high_ns < low_ns``: no tick fits.
    anchors : int
        Reads that were compared.
    low_rows, high_rows : tuple of int
        The two reads that bound it from below, and from above.
    """

    low_ns: float
    high_ns: float
    anchors: int
    low_rows: tuple[int, int]
    high_rows: tuple[int, int]

    @property
    def is_possible(self) -> bool:
        """Whether a tick fits all readings."""
        return self.high_ns > 0 and self.low_ns <= self.high_ns

    @property
    def tick_ns(self) -> float:
        """The middle."""
        return (self.low_ns + self.high_ns) / 2

    @property
    def error(self) -> float:
        """Half the width, relative to the middle."""
        return (self.high_ns - self.low_ns) / 2 / self.tick_ns


def tick_range(x: Ticks, before: Ticks, after: Ticks) -> TickRange | None:
    """Return the ticks that contradict no reading; None where nothing bounds them: fewer than two reads, or no time between them.

    Parameters
    ----------
    x : ndarray of int64, shape (n,)
        Ticks from any origin to the TLP of each read.
    before, after : ndarray of int64, shape (n,)
        Nanoseconds of the clock before and after each read; each read ends before the next one begins.
    """
    low, high = 0.0, np.inf
    low_rows = high_rows = (0, 0)
    for start in range(0, len(x), _ROWS):
        rows = slice(start, start + _ROWS)
        ticks = x[None, start + 1 :] - x[rows, None]
        least, most = before[None, start + 1 :] - after[rows, None], after[None, start + 1 :] - before[rows, None]
        later = np.arange(start + 1, len(x))[None, :] > np.arange(start, min(start + _ROWS, len(x)))[:, None]
        # A later read whose TLP is not later: no tick above 0 makes its time pass.
        stands = later & (ticks <= 0) & (least > 0)
        if stands.any():
            first, second = np.unravel_index(int(stands.argmax()), stands.shape)
            pair = int(first) + start, int(second) + start + 1
            return TickRange(np.inf, 0.0, len(x), pair, pair)
        known = later & (ticks > 0)
        if not known.any():
            continue
        divisor = np.where(known, ticks, 1)
        lows, highs = np.where(known, least / divisor, -np.inf), np.where(known, most / divisor, np.inf)
        for values, at in ((lows, int(lows.argmax())), (highs, int(highs.argmin()))):
            first, second = np.unravel_index(at, values.shape)
            value, pair = float(values[first, second]), (int(first) + start, int(second) + start + 1)
            if values is lows and value > low:
                low, low_rows = value, pair
            if values is highs and value < high:
                high, high_rows = value, pair
    return None if low_rows == (0, 0) or high_rows == (0, 0) else TickRange(low, high, len(x), low_rows, high_rows)


def model_of(ranges: Mapping[str, TickRange | None]) -> str | None:
    """Return the model of time that alone fits all readings, and bounds the tick well enough for a clock; None without one.

    Parameters
    ----------
    ranges : Mapping of str to TickRange or None
        By model, ``counter`` and ``delta``: what :func:`tick_range` says of the ticks that pass by it.
    """
    possible = {model: one for model, one in ranges.items() if one is not None and one.is_possible}
    return next((model for model, one in possible.items() if len(possible) == 1 and one.error <= _LARGEST_ERROR), None)


def wrapped_range(fields: Ticks, bits: int, before: Ticks, after: Ticks, tick: TickRange) -> tuple[TickRange | None, int]:
    """Return the ticks that contradict no reading where a counter of few bits may have turned round between two reads.

    Between neighbours the number of turns is known if the readings leave only one that fits the tick's range. Such neighbours make runs,
    which bound the tick as :func:`tick_range` does.

    Parameters
    ----------
    fields : ndarray of int64, shape (n,)
        The counter of each read's TLP.
    bits : int
        Its bits.
    before, after : ndarray of int64, shape (n,)
        As in :func:`tick_range`.
    tick : TickRange
        The range that is known already; it is possible.

    Returns
    -------
    range : TickRange or None
        The range that the longest run leaves; None without a run of two reads. It is not possible if neighbours allow no number of turns.
    known : int
        Neighbours whose number of turns is known.
    """
    turn = 1 << bits
    steps = np.diff(fields) % turn
    least = np.ceil(np.maximum((before[1:] - after[:-1]) / tick.high_ns, 0) - 1e-9)
    most = np.floor((after[1:] - before[:-1]) / tick.low_ns + 1e-9)
    fewest, greatest = np.ceil((least - steps) / turn), np.floor((most - steps) / turn)
    fewest = np.maximum(fewest, 0)
    impossible = np.flatnonzero(greatest < fewest)
    if len(impossible):
        pair = int(impossible[0]), int(impossible[0]) + 1
        return TickRange(np.inf, 0.0, len(fields), pair, pair), int(np.count_nonzero(fewest == greatest))
    single = fewest == greatest
    best: TickRange | None = None
    for run in np.split(np.arange(len(fields)), np.flatnonzero(~single) + 1):
        if len(run) < 2 or (best is not None and len(run) <= best.anchors):
            continue
        passed = np.concatenate([[0], np.cumsum(steps[run[:-1]] + turn * fewest[run[:-1]].astype(np.int64))])
        bounded = tick_range(passed, before[run], after[run])
        if bounded is not None:
            (a, b), (c, d) = bounded.low_rows, bounded.high_rows
            shifted = (int(run[a]), int(run[b])), (int(run[c]), int(run[d]))
            best = TickRange(bounded.low_ns, bounded.high_ns, len(run), *shifted)
    return best, int(np.count_nonzero(single))


def coherence(fields: Ticks, bits: int, before: Ticks, after: Ticks, tick: TickRange) -> tuple[float, float]:
    """Return the tick of a range at which the phases of a counter are most coherent, and how probable that is by chance alone.

    A counter of few bits that turned round unseen tells the phase of its moment all the same. If the middle of quick reads has the same
    phase again and again, the counter turns with that tick (Rayleigh's test, times the number of ticks that were tried).

    Parameters
    ----------
    fields, bits, before, after
        As in :func:`wrapped_range`.
    tick : TickRange
        The ticks to be tried; the range is possible.
    """
    took = after - before
    quick = np.argsort(took, kind="stable")[: len(took) // 4]
    if len(quick) < 2:
        return tick.tick_ns, 1.0
    turn = 1 << bits
    middle = ((before + after) / 2)[quick]
    moments, phases = middle - middle.min(), fields[quick] / turn
    turns = float(moments.max()) / (turn * tick.tick_ns)
    trials = min(max(int(np.ceil(_TRIALS * turns * 2 * tick.error)), 1), _MOST_TRIALS)
    best, best_tick = 0.0, tick.tick_ns
    for each in np.linspace(tick.low_ns, tick.high_ns, trials + 2)[1:-1].tolist():
        mean = abs(np.exp(2j * np.pi * (moments / (each * turn) - phases)).mean())
        if mean > best:
            best, best_tick = float(mean), each
    return best_tick, min(1.0, trials * float(np.exp(-len(quick) * best * best)))
