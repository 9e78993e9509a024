"""Which rows and columns of a recording are wanted: a condition, a range of rows, a choice of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ptttool.decoders.decoded import Decoded
from ptttool.documents import fields_of, is_shape
from ptttool.errors import UsageError
from ptttool.table.batch import Batch
from ptttool.table.schema import Schema
from ptttool.table.values import Mask

if TYPE_CHECKING:
    from ptttool.analyses.contract import Analysis
    from ptttool.machine.model import Machine
    from ptttool.table.where import Where


class Query(Struct, frozen=True):
    """What is wanted of a recording; pushed down to the decoder.

    Parameters
    ----------
    columns : tuple of str
        Columns of the result, in order.
    where : Where or None
        Rows for which it is true.
    offset : int
        How many of those rows to skip.
    limit : int or None
        How many rows to give after that; None for all.
    """

    columns: tuple[str, ...]
    where: Where | None = None
    offset: int = 0
    limit: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all rows are wanted for which the condition is true."""
        return self.offset == 0 and self.limit is None

    @property
    def needs_index(self) -> bool:
        """Whether the numbers of rows are looked at."""
        return "index" in self.columns or (self.where is not None and "index" in self.where.columns)

    def with_columns(self, names: Sequence[str]) -> Query:
        """Return the query with more columns at the end; those that it has stay where they are."""
        return replace(self, columns=tuple(dict.fromkeys((*self.columns, *names))))

    def mask(self, decoded: Decoded) -> Mask | None:
        """Return the rows for which the condition is true, of which only its own columns are decoded; None without a condition."""
        return None if self.where is None else self.where.mask(decoded.batch(self.where.columns).to_polars(), decoded.size)

    def of(self, decoded: Decoded) -> Batch:
        """Apply columns and condition to decoded rows."""
        mask = self.mask(decoded)
        return (decoded if mask is None else decoded.taken(mask)).batch(self.columns)


def parse_query(
    schema: Schema,
    *,
    columns: str | Sequence[str] | None = None,
    everything: Sequence[str] | None = None,
    default: Sequence[str] | None = None,
    where: str | None = None,
    offset: int = 0,
    limit: int | None = None,
    machine: Machine | Callable[[], Machine | None] | None = None,
) -> Query:
    """Check what a user asks for against a schema.

    Parameters
    ----------
    schema : Schema
        The columns that there are.
    columns : str, sequence of str, or None
        ``a,b,c`` or names; ``all`` stands for `everything`; None for `default`.
    everything, default : sequence of str or None
        None: all columns of the schema.
    where : str or None
        An SQL condition on columns.
    offset, limit : int
        A range of the rows for which the condition is true.
    machine : Machine or callable, optional
        The machine whose names the condition may use for IDs, or what returns it: called once, and only where a name is used.

    Raises
    ------
    UsageError
        An unknown column, a column twice, or a condition that means nothing.
    """
    if columns is None:
        names = tuple(default if default is not None else schema.names)
    elif isinstance(columns, str) and columns.strip() == "all":
        names = tuple(everything if everything is not None else schema.names)
    else:
        names = tuple(name.strip() for name in columns.split(",")) if isinstance(columns, str) else tuple(columns)
    try:
        names = schema.checked(names)
    except UsageError as error:
        raise UsageError(f"--columns: {error.message}", hint=error.hint, code=error.code) from None
    condition = None
    if where is not None:
        from ptttool.table.where import compile_where

        try:
            condition = compile_where(where, schema, _find_ids(machine))
        except UsageError as error:
            if error.code == "unknown-column" and "suggestions" not in error.details:
                error.hint = _analysis_of(error.details["column"], schema) or error.hint
            raise
    return Query(names, condition, offset, limit)


def _analysis_of(name: str, schema: Schema) -> str | None:
    """Return the analysis that a name which no column has is of, as a hint: rows are single TLPs, results come from all of them."""
    import difflib

    from ptttool.analyses.contract import ANALYSES

    words = name.lower().split("_")
    analysis = next((each for each in ANALYSES.names() if each in words or each.rstrip("s") in words), None)
    if analysis is None and not difflib.get_close_matches(name.lower(), schema.names, cutoff=0.5):
        # Several have percentiles: most mean those of latency.
        having = (each.name for each in ANALYSES if name.lower() in _result_fields(each))
        analysis = min(having, key=lambda one: one != "latency", default=None)
    if analysis is None:
        return None
    return f"{name} is not of one row: it is a result of an analysis: ptttool analyze {analysis} FILE"


def _result_fields(analysis: type[Analysis[Any]]) -> set[str]:
    """Return the names of the fields in the result of an analysis, at any depth."""
    import typing

    (base,) = [each for each in getattr(analysis, "__orig_bases__", ()) if typing.get_origin(each) is not None][:1] or [None]
    left: list[Any] = list(typing.get_args(base))
    fields: set[str] = set()
    shapes: list[Any] = []
    while left:
        one = left.pop()
        if is_shape(one) and one not in shapes:
            shapes.append(one)
            hints = typing.get_type_hints(one)
            names = [name for name, *_ in fields_of(one)]
            fields |= set(names)
            left += [hints[name] for name in names]
        else:
            left += typing.get_args(one)
    return fields


def _find_ids(machine: Machine | Callable[[], Machine | None] | None) -> Callable[[str], int | None]:
    """Return a function that finds the ID of the only function with a kernel name."""
    from functools import cache

    from ptttool.machine.topology import ids_by_name

    names = cache(lambda: ids_by_name(machine() if callable(machine) else machine))
    return lambda name: names().get(name)


def to_write(batches: Iterator[Batch], most: int) -> Iterator[Batch]:
    """Yield the rows in batches that are worth writing: at most `most` rows each, and an empty one only where it comes first."""
    nothing = True
    for batch in batches:
        for start in range(0, batch.size if batch.size or not nothing else 1, most):
            nothing = False
            yield batch.part(start, start + most)


class Skip(Struct):
    """Rows at the start that are left out: what decodes them need not decode what holds nothing else.

    Parameters
    ----------
    rows : int
        How many are still to be left out.
    """

    rows: int


def in_range(batches: Iterator[Batch], query: Query, skip: Skip | None = None) -> Iterator[Batch]:
    """Yield the rows of the query's range; no more batches are read when there are enough.

    Parameters
    ----------
    batches : iterator of Batch
        All rows for which the condition is true, but those that were left out already.
    query : Query
        The query.
    skip : Skip or None
        The rows that are left out at the start, where `batches` leave some of them out, too.
    """
    if query.is_whole:
        yield from batches
        return
    skip, to_give = Skip(query.offset) if skip is None else skip, query.limit
    for batch in batches:
        start = min(skip.rows, batch.size)
        stop = batch.size if to_give is None else min(start + to_give, batch.size)
        skip.rows -= start
        if to_give is not None:
            to_give -= stop - start
        yield batch.part(start, stop)
        if to_give == 0:
            return
