"""Which rows and columns of a recording are wanted: a condition, a range of rows, a choice of columns, pushed down to the decoder."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ptttool.decoders.hisi_ptt.columns import decode
from ptttool.decoders.hisi_ptt.findings import Findings
from ptttool.decoders.hisi_ptt.records import UNIT_RECORDS, Records
from ptttool.errors import UsageError
from ptttool.exporters.export import FORMATS, Encoder
from ptttool.pipeline.workers import ALONE, Workers
from ptttool.table.block import Block, Values
from ptttool.tlp.columns import ALL_COLUMNS, BY_NAME

if TYPE_CHECKING:
    import polars as pl

    from ptttool.pipeline.trace import Trace
    from ptttool.table.where import Where


@dataclass(frozen=True)
class Select:
    """Work: the columns of those records of a unit for which a condition is true."""

    columns: tuple[str, ...]
    where: Where | None = None
    unit_records: int = UNIT_RECORDS

    @property
    def needs_index(self) -> bool:
        """Whether rows are numbered."""
        return "index" in self.columns or (self.where is not None and "index" in self.where.columns)

    def __call__(self, records: Records, index: int, findings: Findings, /) -> Block:
        if self.where is None:
            return decode(records, self.columns, index=index, findings=findings)
        from ptttool.table.frames import frame_of

        wanted = self.where.mask(frame_of(decode(records, self.where.columns, index=index, findings=findings)), records.size)
        block = decode(records.taken(wanted), self.columns)
        if "index" not in self.columns:
            return block
        places = np.flatnonzero(wanted).astype(np.uint64) + np.uint64(index)
        return Block(block.size, {**block.columns, "index": Values(places)})


@dataclass(frozen=True)
class Encode:
    """Work: the same as a piece of a file, with its number of rows."""

    select: Select
    format: str

    @property
    def needs_index(self) -> bool:
        """Whether rows are numbered."""
        return self.select.needs_index

    @property
    def unit_records(self) -> int:
        """Records at a time."""
        return self.select.unit_records

    def __call__(self, records: Records, index: int, findings: Findings, /) -> tuple[int, Any]:
        block = self.select(records, index, findings)
        return block.size, _encoder(self.format, self.select.columns)(block)


@lru_cache(maxsize=8)
def _encoder(format: str, columns: tuple[str, ...]) -> Encoder:
    """Once in a process: encoders have tables."""
    return FORMATS.get(format).encoder(columns)


@dataclass(frozen=True)
class Selection:
    """``columns``: of the result. ``where``: rows for which it is true. ``offset``: of those, how many to pass over; ``limit``: how many
    to give after that, None for all."""

    columns: tuple[str, ...]
    where: Where | None = None
    offset: int = 0
    limit: int | None = None

    @property
    def whole(self) -> bool:
        """All rows for which the condition is true."""
        return self.offset == 0 and self.limit is None

    def blocks(self, trace: Trace, *, workers: Workers = ALONE) -> Iterator[Block]:
        """The selected rows, at least one block; the walk ends as soon as there are enough."""
        blocks = trace.run(Select(self.columns, self.where), workers=workers)
        if self.whole:
            yield from blocks
            return
        to_skip, to_give = self.offset, self.limit
        for block in blocks:
            start = min(to_skip, block.size)
            stop = block.size if to_give is None else min(start + to_give, block.size)
            to_skip -= start
            if to_give is not None:
                to_give -= stop - start
            yield block.part(start, stop)
            if to_give == 0:
                return

    def frames(self, trace: Trace, *, workers: Workers = ALONE) -> Iterator[pl.DataFrame]:
        """The same as frames."""
        from ptttool.table.frames import frame_of

        return map(frame_of, self.blocks(trace, workers=workers))

    def pieces(self, trace: Trace, format: str, *, workers: Workers = ALONE) -> Iterator[tuple[int, Any]]:
        """The same as pieces of a file (:mod:`ptttool.exporters.export`), each with its number of rows."""
        if self.whole:
            work = Encode(Select(self.columns, self.where, FORMATS.get(format).unit_records), format)
            return trace.run(work, workers=workers)
        encoder = _encoder(format, self.columns)
        return ((block.size, encoder(block)) for block in self.blocks(trace, workers=workers))


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
