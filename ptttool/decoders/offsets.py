"""Offsets of bytes in their stream: contiguous, or scattered behind a framing."""

from __future__ import annotations

import numpy as np

from ptttool.decoders.elements.arrays import I64, U64, Array


class Offsets:
    """Offsets of some bytes.

    Parameters
    ----------
    start : int or ndarray of uint64
        Offset of the first of contiguous bytes, or one offset for every byte.
    """

    def __init__(self, start: int | U64) -> None:
        self._start = start

    @property
    def contiguous(self) -> bool:
        """Whether the bytes follow one another."""
        return isinstance(self._start, int)

    @property
    def first(self) -> int | None:
        """Offset of the first byte; None where there is none."""
        if isinstance(self._start, int):
            return self._start
        return int(self._start[0]) if len(self._start) else None

    def of(self, position: int) -> int:
        """Return the offset of the byte at a position."""
        return self._start + position if isinstance(self._start, int) else int(self._start[position])

    def at(self, positions: Array) -> U64:
        """Return the offsets of the bytes at positions (integers from 0)."""
        if isinstance(self._start, int):
            offsets: U64 = positions.astype(np.uint64) + np.uint64(self._start)
            return offsets
        return self._start[positions]

    def end(self, count: int) -> int | None:
        """Return the offset behind `count` contiguous bytes; None where they are scattered."""
        return self._start + count if isinstance(self._start, int) else None

    def after(self, position: int) -> Offsets:
        """Return the offsets of the bytes from a position on."""
        return Offsets(self._start + position if isinstance(self._start, int) else self._start[position:])

    def then(self, later: Offsets, held: int, count: int) -> Offsets:
        """Return the offsets of the first `held` bytes of these, followed by `count` later ones."""
        if not held:
            return later
        if isinstance(self._start, int) and isinstance(later._start, int) and self._start + held == later._start:
            return self
        return Offsets(np.concatenate([self._all(held), later._all(count)]))

    def _all(self, count: int) -> U64:
        positions: I64 = np.arange(count)
        return self.at(positions)
