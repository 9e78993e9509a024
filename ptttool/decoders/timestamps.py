"""Timestamps of which a trace has the low bits alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptttool.decoders.element_batch import U64


class Unwrapper:
    """Adds up the wraps of partial timestamps, for each channel: one that is smaller than the one before has wrapped once.

    ``bits``: of a timestamp. Wraps that happen twice between two packets of a channel cannot be told.
    """

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._last: dict[int, tuple[int, int]] = {}  # of each channel: the partial timestamp and the wraps so far

    def unwrap(self, channels: NDArray[Any], partial: U64) -> U64:
        """Whole timestamps (modulo 2^64) of partial ones, in order."""
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
