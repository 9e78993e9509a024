"""Which model of time the first records of a recording speak for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.time.clock import Clock
from ptttool.analyses.time.model import TimeEvidence, TimeModel, TimeSign
from ptttool.analyses.time.ticks import BITS_OF_SIZE

if TYPE_CHECKING:
    from ptttool.table.batch import Batch

LOOK: Final = 1 << 16
"""Records that are looked at, at most."""
# Fewer changes of 32 bits, or records of 11 bits, say nothing.
_FEWEST_CHANGES, _FEWEST_RECORDS = 8, 64
# Of all changes: a counter of 32 bits falls at faults only, one of 11 bits also after a long idle time. Differences fall about as often as
# they rise, whatever they are.
_MOST_FALLS_OF_32, _MOST_FALLS_OF_11, _FEWEST_FALLS_OF_DELTA = 0.02, 0.2, 0.3
# Of the entropy that so many values could have: differences of times have less, because they repeat; a counter comes by all values.
_MOST_ENTROPY_OF_DELTA, _LEAST_ENTROPY_OF_COUNTER = 0.85, 0.5
# Differences go up and down over their whole range again and again; a counter that is a little out of order stays near its course.
_LEAST_ROUGHNESS: Final = 16.0
# By how many bits the differences of a counter have less entropy than its values. Entropies of few records are uncertain by the noise over
# the root of their number.
_GAIN, _NOISE = 0.5, 8.0

Times = npt.NDArray[Any]


class Look:
    """Collects the Time fields of the first records of a recording."""

    def __init__(self) -> None:
        self._times: list[Times] = []
        self._follows: list[npt.NDArray[np.bool_]] = []
        self._clock = Clock()

    @property
    def records(self) -> int:
        """Number of valid records that were looked at."""
        return sum(map(len, self._times))

    def add(self, batch: Batch) -> None:
        """Take the next rows; rows of another format than the first ones are passed over.

        Parameters
        ----------
        batch : Batch
            Rows with the columns of :data:`~ptttool.analyses.time.clock.CLOCK_COLUMNS`.
        """
        bits = self._clock.bits
        ticks = self._clock.ticks(batch)
        times = batch.values("time")
        if times.array is None or (self._times and BITS_OF_SIZE[ticks.record_size] != bits):
            return
        follows = np.ones(batch.size, dtype=np.bool_)
        follows[ticks.holes] = False
        if times.valid is not None:
            # A record behind one that is not valid has no difference.
            follows[1:] &= times.valid[:-1]
            follows = follows[times.valid]
        if not self._times:
            follows[:1] = False
        self._times.append(np.asarray(times.present()))
        self._follows.append(follows)

    @property
    def evidence(self) -> TimeEvidence | None:
        """What the records speak for; None where there are none."""
        if not self.records:
            return None
        times, follows = np.concatenate(self._times)[:LOOK], np.concatenate(self._follows)[:LOOK]
        return evidence_of(times, follows, self._clock.bits)


def evidence_of(times: Times, follows: npt.NDArray[np.bool_], bits: int) -> TimeEvidence:
    """Return what Time fields speak for.

    Parameters
    ----------
    times : ndarray of uint32, shape (n,)
        Time fields of records in order.
    follows : ndarray of bool, shape (n,)
        Which records follow on the one before in their AUX stream; the first is not looked at.
    bits : int
        Bits of the field, 11 or 32.
    """
    differences = ((times[1:] - times[:-1]) & np.uint32((1 << bits) - 1))[follows[1:]]
    if not len(differences):
        return TimeEvidence(TimeSign.TOO_FEW, TimeModel.UNKNOWN, len(times), bits)
    changes = int(np.count_nonzero(differences))
    falls = int(np.count_nonzero(differences >> np.uint32(bits - 1)))
    entropies = entropy(times), entropy(differences)
    fall_share = falls / changes if changes else None
    sign = TimeSign.TOO_FEW
    if fall_share is not None and changes >= _FEWEST_CHANGES and (bits == 32 or len(differences) >= _FEWEST_RECORDS):
        fullness = entropies[0] / min(bits, np.log2(len(times)))
        if bits == 32:
            sign = _sign_of_32(fall_share, fullness, _roughness(times, differences))
        else:
            sign = _sign_of_11(fall_share, fullness, entropies[0] - entropies[1], len(differences))
    return TimeEvidence(sign, _MODEL_OF[sign], len(times), bits, _rounded(fall_share), _rounded(entropies[0]), _rounded(entropies[1]))


_MODEL_OF: Final = {
    TimeSign.RISES: TimeModel.COUNTER,
    TimeSign.DIFFERENCES_REPEAT: TimeModel.COUNTER,
    TimeSign.JUMPS: TimeModel.DELTA,
    TimeSign.AMBIGUOUS: TimeModel.UNKNOWN,
    TimeSign.TOO_FEW: TimeModel.UNKNOWN,
}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _roughness(times: Times, differences: Times) -> float:
    """Return how often the usual step leads through the usual range of values."""
    low, high = np.percentile(times, (10, 90)).tolist()
    step = float(np.median(np.abs(differences.view(np.int32).astype(np.int64))))
    return step * len(times) / (high - low) if high > low else np.inf


def _sign_of_32(falls: float, fullness: float, roughness: float) -> TimeSign:
    if falls <= _MOST_FALLS_OF_32:
        return TimeSign.RISES
    if falls >= _FEWEST_FALLS_OF_DELTA and (fullness <= _MOST_ENTROPY_OF_DELTA or roughness >= _LEAST_ROUGHNESS):
        return TimeSign.JUMPS
    return TimeSign.AMBIGUOUS


def _sign_of_11(falls: float, fullness: float, gain: float, count: int) -> TimeSign:
    if falls >= _FEWEST_FALLS_OF_DELTA and fullness <= _MOST_ENTROPY_OF_DELTA:
        return TimeSign.JUMPS
    if gain < max(_GAIN, _NOISE / count**0.5):
        return TimeSign.AMBIGUOUS
    if falls <= _MOST_FALLS_OF_11 and fullness >= _LEAST_ENTROPY_OF_COUNTER:
        return TimeSign.RISES
    return TimeSign.DIFFERENCES_REPEAT if fullness > _MOST_ENTROPY_OF_DELTA else TimeSign.AMBIGUOUS


def entropy(values: Times) -> float:
    """Return the entropy of some values in bits.

    Parameters
    ----------
    values : ndarray of unsigned integers, shape (n,)
        The values, at least one.
    """
    shares = np.unique(values, return_counts=True)[1] / len(values)
    return max(0.0, float(-(shares * np.log2(shares)).sum()))
