"""Which rows and columns of a recording are wanted: a condition, a range of rows, a choice of columns, pushed down to the decoder."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptttool.columns import ALL_COLUMNS, BY_NAME
from ptttool.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from ptttool.trace import Trace
    from ptttool.where import Where


@dataclass(frozen=True)
class Selection:
    """``columns``: of the result. ``where``: rows for which it is true. ``offset``: of those, how many to pass over; ``limit``: how many
    to give after that, None for all."""

    columns: tuple[str, ...]
    where: Where | None = None
    offset: int = 0
    limit: int | None = None

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns to decode: those of the result, and those that the condition looks at."""
        return tuple(dict.fromkeys((*self.columns, *(self.where.columns if self.where is not None else ()))))

    def frames(self, trace: Trace) -> Iterator[pl.DataFrame]:
        """The selected rows, a frame a block, at least one; the walk ends as soon as there are enough."""
        to_skip, to_give = self.offset, self.limit
        needed = self.needed
        for frame in trace.frames(needed):
            if self.where is not None:
                frame = self.where.filter(frame)
            if len(needed) != len(self.columns):
                frame = frame.select(self.columns)
            if to_skip:
                skipped = min(to_skip, frame.height)
                frame, to_skip = frame.slice(skipped), to_skip - skipped
            if to_give is not None:
                frame = frame.head(min(to_give, frame.height))
                to_give -= frame.height
            yield frame
            if to_give == 0:
                return


def parse_columns(text: str) -> tuple[str, ...]:
    """``a,b,c`` as names of columns, each once; ``all`` for all but the words. Raises UsageError with near misses of an unknown one."""
    if text.strip() == "all":
        return ALL_COLUMNS
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in BY_NAME:
            near = difflib.get_close_matches(name, BY_NAME, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else "columns: " + ", ".join(BY_NAME)
            raise UsageError(f"--columns: no column is called {name!r}", hint=hint, code="unknown-column")
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise UsageError(f"--columns: {doubled} is named twice", code="column-twice")
    return tuple(names)


def all_of(columns: Sequence[str], words: Sequence[str]) -> tuple[str, ...]:
    """Columns with the header words behind them, each once."""
    return tuple(dict.fromkeys((*columns, *words)))
