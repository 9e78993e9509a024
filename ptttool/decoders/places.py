"""Where bytes lie in the stream that they come from: one after the other, or, behind a framing, scattered."""

from __future__ import annotations

import numpy as np

from ptttool.decoders.element_batch import I64, U64, Array


class Places:
    """Indexes of bytes. ``of``: the index of the first of contiguous bytes, or an index for every byte."""

    def __init__(self, of: int | U64) -> None:
        self._of = of

    @property
    def contiguous(self) -> bool:
        """Whether the bytes lie one after the other."""
        return isinstance(self._of, int)

    @property
    def first(self) -> int | None:
        """Index of the first byte; None where there is none."""
        if isinstance(self._of, int):
            return self._of
        return int(self._of[0]) if len(self._of) else None

    def index(self, offset: int) -> int:
        """Index of the byte at an offset."""
        return self._of + offset if isinstance(self._of, int) else int(self._of[offset])

    def indexes(self, offsets: Array) -> U64:
        """Indexes of the bytes at offsets (integers from 0)."""
        if isinstance(self._of, int):
            found: U64 = offsets.astype(np.uint64) + np.uint64(self._of)
            return found
        return self._of[offsets]

    def end(self, count: int) -> int | None:
        """Index after so many contiguous bytes; None where they are scattered."""
        return self._of + count if isinstance(self._of, int) else None

    def after(self, offset: int) -> Places:
        """Places of the bytes from an offset on."""
        return Places(self._of + offset if isinstance(self._of, int) else self._of[offset:])

    def then(self, later: Places, held: int, count: int) -> Places:
        """Places of ``held`` bytes of these followed by ``count`` later ones."""
        if not held:
            return later
        if isinstance(self._of, int) and isinstance(later._of, int) and self._of + held == later._of:
            return self
        return Places(np.concatenate([self._all(held), later._all(count)]))

    def _all(self, count: int) -> U64:
        offsets: I64 = np.arange(count)
        return self.indexes(offsets)
