"""What is done with decoded rows where they are decoded, in this process or another one. All of it can be pickled."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from ptttool.analyses.contract import Analysis
from ptttool.analyses.time.model import CLOCK_COLUMNS
from ptttool.decoders.decoded import Decoded, Findings
from ptttool.errors import PtttoolError
from ptttool.exporters.contract import EXPORTERS, Encoder
from ptttool.pipeline.query import Query
from ptttool.pipeline.workers.memory import give_back, has_much_memory
from ptttool.table.batch import Batch, SourceRows
from ptttool.table.schema import Schema

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

# Records of a unit, at most: its columns are some 20 MB.
UNIT_RECORDS = 1 << 18
# Records of a unit that is only summed up: its few columns fit into a processor's second-level cache.
_ANALYSIS_RECORDS = 1 << 17
# Records of a unit that a condition looks at: most conditions select few of them.
_FILTERED_RECORDS = 1 << 17


class Work(Protocol[R_co]):
    """What is done with the rows of a unit.

    ``needs_index``: whether the numbers of rows are looked at. ``unit_records``: records that it is given at a time, at most.
    """

    @property
    def needs_index(self) -> bool:
        """Whether the numbers of rows are used."""
        ...

    @property
    def unit_records(self) -> int:
        """Largest number of records in a unit."""
        ...

    def __call__(self, decoded: Decoded, /) -> R_co:
        """Work on decoded rows."""
        ...


class Mergeable(Protocol):
    """A result that takes in the one of the rows behind."""

    def merge(self, later: Any) -> None:
        """Merge the result of later rows into this one."""
        ...


class Outcome(Struct, Generic[R]):
    """What came of some units: the value, what was odd, bytes of trace, and the error that ended them early."""

    value: R
    findings: Findings | None = None
    size: int = 0
    error: PtttoolError | None = None

    @property
    def rows(self) -> int:
        """Number of rows, as far as it was counted."""
        return 0 if self.findings is None else self.findings.records


class OfQuery(Struct, frozen=True):
    """Work on the rows of a query."""

    query: Query

    @property
    def needs_index(self) -> bool:
        """Whether the numbers of rows are looked at."""
        return self.query.needs_index


class Select(OfQuery, frozen=True):
    """Work: the selected rows and columns."""

    unit_records: int = UNIT_RECORDS

    def __call__(self, decoded: Decoded, /) -> Batch:
        """Return the rows of the query."""
        return self.query.of(decoded)


def selection(query: Query, rows: int) -> Select:
    """Return the work that selects rows for a file that takes `rows` at a time: a condition looks at more of them at once."""
    return Select(query, rows if query.where is None else max(rows, _FILTERED_RECORDS))


class Encode(OfQuery, frozen=True):
    """Work: the selected rows as a piece of a file, with their number. ``schema``: of the file."""

    exporter: str
    schema: Schema
    unit_records: int = UNIT_RECORDS

    def __call__(self, decoded: Decoded, /) -> tuple[int, Any]:
        """Return the number of rows and their encoded form."""
        batch = self.query.of(decoded)
        return batch.size, encoder_of(self.exporter, self.schema)(batch)


@lru_cache(maxsize=8)
def encoder_of(exporter: str, schema: Schema) -> Encoder:
    """Return the exporter's encoder, made once in a process: encoders have tables."""
    return EXPORTERS.get(exporter).encoder(schema)


class PlannedAnalysis(Struct, frozen=True):
    """An analysis that is to be made where rows are decoded.

    ``kind``: its class. ``options``: of the analysis, by name. ``further``: columns that it looks at besides its own.
    """

    kind: type[Analysis[Any]]
    options: tuple[tuple[str, Any], ...] = ()
    further: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are decoded."""
        return (*self.kind.columns, *self.further)

    def made(self) -> Analysis[Any]:
        """Return the analysis, which has seen nothing yet."""
        return self.kind(**dict(self.options))


class Analyses:
    """Several analyses that see the same rows.

    Parameters
    ----------
    parts : tuple of Analysis
        The analyses.
    """

    def __init__(self, parts: tuple[Analysis[Any], ...]) -> None:
        self.parts = parts

    def merge(self, later: Analyses) -> None:
        """Add what the other ones have seen of the rows behind."""
        theirs, later.parts = list(reversed(later.parts)), ()
        is_much = has_much_memory()
        for mine in self.parts:
            mine.merge(theirs.pop())  # which holds no memory from here on
            if is_much:
                give_back()


class Analyze(Struct, frozen=True):
    """Work: analyses that have seen the rows for which the condition is true; every column is decoded once.

    All of them are given the same batch, so that what they share can be kept with it.
    """

    parts: tuple[PlannedAnalysis, ...]
    query: Query | None = None
    unit_records: int = _ANALYSIS_RECORDS

    @property
    def needs_index(self) -> bool:
        """Whether the numbers of rows are looked at."""
        return any("index" in part.columns for part in self.parts) or (self.query is not None and self.query.needs_index)

    def __call__(self, decoded: Decoded, /) -> Analyses:
        """Return the analyses of these rows."""
        analyses = tuple(part.made() for part in self.parts)
        columns = [column for part in self.parts for column in part.columns]
        batch = _wanted(decoded, self.query, columns, [column for part in self.parts for column in part.kind.whole_columns])
        is_much = has_much_memory()
        for analysis in analyses:
            analysis.update(batch)
            if is_much:
                give_back()
        return Analyses(analyses)


def _wanted(decoded: Decoded, query: Query | None, columns: Sequence[str], of_all: Sequence[str]) -> Batch:
    """Return columns of the rows for which the condition of a query is true; those `of_all`, and time, go with them for all rows."""
    columns = tuple(dict.fromkeys(columns))
    mask = None if query is None else query.mask(decoded)
    if mask is None:
        return decoded.batch(columns)
    batch = decoded.taken(mask).batch(columns)
    if set(CLOCK_COLUMNS) <= set(columns):
        batch.whole = SourceRows(decoded.batch(tuple(dict.fromkeys((*CLOCK_COLUMNS, *of_all)))), mask)
    return batch
