"""Timestamps of which a trace has only the low bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptttool.decoders.elements.arrays import U64


class Unwrapper:
    """Counts the wraps of partial timestamps, for each channel.

    A timestamp smaller than the one before has wrapped once; two wraps between two packets look like one.

    Parameters
    ----------
    bits : int
        Bits of a timestamp.
    """

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._last: dict[int, tuple[int, int]] = {}  # by channel: the last partial timestamp, and the wraps so far

    def unwrap(self, channels: NDArray[Any], partial: U64) -> U64:
        """Return whole timestamps (modulo 2^64) for partial ones, in order."""
        if self._bits >= 64 or not len(partial):
            return partial
        whole = np.empty_like(partial)
        for channel in np.unique(channels):
            rows = channels == channel
            values = partial[rows]
            last, wraps = self._last.get(int(channel), (int(values[0]), 0))
            before = np.empty_like(values)
            before[0], before[1:] = last, values[:-1]
            total = wraps + np.cumsum(values < before)
            whole[rows] = values + (total.astype(np.uint64) << np.uint64(self._bits))
            self._last[int(channel)] = (int(values[-1]), int(total[-1]))
        return whole
