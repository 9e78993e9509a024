"""Recordings for Python: ``ptttool.open(path)``."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptttool.pipeline.query import Query, parse_query
from ptttool.pipeline.recording import Recording as _Recording
from ptttool.pipeline.recording import Request
from ptttool.pipeline.report import analyze
from ptttool.pipeline.workers.pool import workers_for
from ptttool.recording.opening import InputForm
from ptttool.table.batch import Batch

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from ptttool.machine.model import Machine

# Rows of the table that a notebook shows.
_SHOWN_ROWS = 10


class Recording(_Recording):
    """An open recording: its rows as tables, and what analyses say about it.

    Made by :func:`open`; a context manager. Every method reads the recording anew, in bounded memory where it returns an iterator.
    Standard input can be read once. It speaks the Arrow PyCapsule interface: ``polars.DataFrame(recording)``,
    ``pyarrow.table(recording)`` and DuckDB take it as it is.
    """

    def batches(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        *,
        offset: int = 0,
        limit: int | None = None,
        jobs: int = 1,
    ) -> Iterator[Batch]:
        """Yield the rows in batches, at least one.

        Parameters
        ----------
        columns : sequence of str or None
            Names of :attr:`schema`; None for all but those that are written on request only.
        where : str or None
            An SQL condition on columns.
        offset : int
            How many rows to skip, of those for which the condition is true.
        limit : int or None
            How many rows to give after that; None for all.
        jobs : int
            Processes that decode.

        Yields
        ------
        Batch
            Rows in the order of the recording, with the columns in the order asked for.

        Raises
        ------
        UsageError
            An unknown column, or a condition that means nothing.
        InputError
            The recording turns out to be of something else, or, if it was opened as strict, the first odd row.
        """
        query = self._query(columns, where, offset, limit)
        with workers_for(self.path, jobs, 0, preload=("ptttool.pipeline.work",)) as workers:
            yield from self.walk(workers).batches(query)

    def to_polars(
        self, columns: Sequence[str] | None = None, where: str | None = None, *, offset: int = 0, limit: int | None = None, jobs: int = 1
    ) -> pl.DataFrame:
        """Return the rows as a polars frame; parameters are those of :meth:`batches`."""
        import polars as pl

        return pl.concat([batch.to_polars() for batch in self.batches(columns, where, offset=offset, limit=limit, jobs=jobs)])

    def to_arrow(
        self, columns: Sequence[str] | None = None, where: str | None = None, *, offset: int = 0, limit: int | None = None, jobs: int = 1
    ) -> pa.Table:
        """Return the rows as a pyarrow table; parameters are those of :meth:`batches`. Needs pyarrow."""
        import pyarrow as pa

        return pa.table(self.to_polars(columns, where, offset=offset, limit=limit, jobs=jobs))

    def to_pandas(
        self, columns: Sequence[str] | None = None, where: str | None = None, *, offset: int = 0, limit: int | None = None, jobs: int = 1
    ) -> pd.DataFrame:
        """Return the rows as a pandas frame; parameters are those of :meth:`batches`. Needs pandas.

        Returns
        -------
        pandas.DataFrame
            Numbers have pandas' nullable types (``UInt16``), so that absent values stay integers; enums are categories.
        """
        from ptttool.table.to_pandas import pandas_of

        return pandas_of(self.to_polars(columns, where, offset=offset, limit=limit, jobs=jobs))

    def analyze(self, name: str, *, jobs: int = 1, machine: Machine | None = None, where: str | None = None, **options: Any) -> Any:
        """Return the result of an analysis, a dataclass.

        Parameters
        ----------
        name : str
            Such as ``summary`` or ``loss``.
        jobs : int
            Processes that decode.
        machine : Machine or None
            The machine that was recorded, for names.
        where : str or None
            Only rows for which this SQL condition is true.
        **options
            Options of the analysis.

        Raises
        ------
        UsageError
            The analysis is unknown, or needs columns that the rows do not have.
        """
        query = None if where is None else parse_query(self.schema, columns=(), where=where)
        with workers_for(self.path, jobs, 0, preload=("ptttool.pipeline.work",)) as workers:
            return analyze(self, name, workers, machine=machine, query=query, **options)

    def _query(self, columns: Sequence[str] | None, where: str | None, offset: int, limit: int | None) -> Query:
        return parse_query(self.schema, columns=columns, default=self.schema.usual_names, where=where, offset=offset, limit=limit)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the rows through the Arrow PyCapsule interface."""
        return self.to_polars().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<Recording {self.path!r}, {self.title}>"

    def _repr_html_(self) -> str:
        """Show the first rows in a notebook."""
        table = self.to_polars(limit=_SHOWN_ROWS)._repr_html_() if self.path != "-" else ""
        return f"<p><b>{html.escape(self.path)}</b>: {html.escape(self.title)}</p>{table}"


def open(
    path: str | Path,
    protocol: str | None = None,
    *,
    parameters: Mapping[str, object] | None = None,
    form: str | None = None,
    strict: bool = False,
) -> Recording:
    """Open a recording.

    Parameters
    ----------
    path : str or Path
        A perf.data (a file, a folder, an address such as ``s3://…``) or raw trace; ``-`` is standard input.
    protocol : str or None
        Name of the protocol; None for the one that belongs to the recording's type of AUX trace.
    parameters : Mapping[str, object] or None
        Parameters of the protocol and its framing by name, such as ``{"srcid_bits": 6}``.
    form : str or None
        ``perf`` or ``raw``; None to see from the first bytes.
    strict : bool
        Whether the first row that is not as it should be is an error.

    Raises
    ------
    InputError
        The file is missing, is not a recording, or holds nothing that the protocol decodes.
    AccessError
        The file may not be read.
    UsageError
        The protocol or its parameters are unknown or missing.

    Examples
    --------
    >>> import ptttool
    >>> with ptttool.open("fixtures/captures/6.12/m-8dw-port10-type7-dir2.data") as recording:
    ...     frame = recording.to_polars(["kind", "requester", "tag"], where="kind = 'MRd'", limit=2)
    >>> frame.shape
    (2, 3)
    """
    from ptttool.decoders.parameters import Given

    given = {name: Given(_text(value), f"parameter {name}") for name, value in (parameters or {}).items()}
    return Recording(Request(str(path), protocol, given, None if form is None else InputForm(form), strict))


def _text(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
