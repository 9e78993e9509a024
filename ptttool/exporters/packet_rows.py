"""Elements on their way to an output: batches, and where their elements come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ptttool.decoders.element_batch import Elements

# Elements that are written at a time, at least; fewer where the bytes that they lie in take as much memory as this.
_ROWS, _BYTES = 1 << 16, 1 << 24


@dataclass(frozen=True)
class Rows:
    """Elements of one place. ``file``: its name, where there are several. ``cpu``: whose AUX stream they are of, where that is known."""

    batch: Elements
    file: str | None = None
    cpu: int | None = None

    def __len__(self) -> int:
        return len(self.batch)

    def head(self, count: int) -> Rows:
        """The first ones."""
        return replace(self, batch=self.batch.take(np.arange(count)))


def gathered(rows: Iterable[Rows]) -> Iterator[list[Rows]]:
    """Rows, many enough at a time to be worth the overhead of a row group, and few enough for memory to stay bounded."""
    found: list[Rows] = []
    count = held = 0
    for part in rows:
        if not len(part):
            continue
        found.append(part)
        count += len(part)
        held += part.batch.raw.data.nbytes
        if count >= _ROWS or held >= _BYTES:
            yield found
            found, count, held = [], 0, 0
    if found:
        yield found
