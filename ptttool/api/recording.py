"""Recordings for Python: ``ptttool.open(path)``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from ptttool.errors import MissingPackageError, PtttoolError
from ptttool.files.progress import unwatched
from ptttool.pipeline.analyzing.ask import Ask, ask_of, lacks_of, run
from ptttool.pipeline.query import Query, parse_query
from ptttool.pipeline.recording import OpenRecording, Request
from ptttool.pipeline.scope import TimeOptions
from ptttool.pipeline.workers.pool import Workers, workers_for
from ptttool.recording.opening import InputForm
from ptttool.table.batch import Batch

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from ptttool.analyses.follow import Follow
    from ptttool.analyses.needs import Lack
    from ptttool.machine.model import Machine

__all__ = ["Ask", "InputForm", "OpenRecording", "Query", "Recording", "Request", "TimeOptions", "open", "request_of"]

# Rows of the table that a notebook shows.
_SHOWN_ROWS = 10


class Recording(OpenRecording):
    """An open recording: its rows as tables, and what analyses say about it.

    :func:`open` makes it. It is a context manager. Every method reads the recording anew; standard input can be read once. A damaged
    recording gives what can be read: :attr:`diagnostics` says afterwards what is wrong with it.

    The recording speaks the Arrow PyCapsule interface: ``polars.DataFrame(recording)``, ``pandas.DataFrame.from_arrow(recording)``,
    ``pyarrow.table(recording)`` and DuckDB take it as it is. So do they take each of its batches.
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
        """Yield the rows in batches, at least one, in bounded memory.

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
            An unknown column, a condition that means nothing, or the recording is closed.
        InputError
            The recording turns out to be of something else, or, if it was opened as strict, the first odd row.
        """
        return self._batches(self.query(columns, where, offset, limit), jobs)

    def _batches(self, query: Query, jobs: int) -> Iterator[Batch]:
        with self._workers(jobs) as workers:
            for batch in self.walk(workers).batches(query):
                yield batch
                self.check_open()

    def to_polars(
        self, columns: Sequence[str] | None = None, where: str | None = None, *, offset: int = 0, limit: int | None = None, jobs: int = 1
    ) -> pl.DataFrame:
        """Return the rows as a polars frame; parameters are those of :meth:`batches`."""
        import polars as pl

        return pl.concat([batch.to_polars() for batch in self.batches(columns, where, offset=offset, limit=limit, jobs=jobs)])

    def to_arrow(
        self, columns: Sequence[str] | None = None, where: str | None = None, *, offset: int = 0, limit: int | None = None, jobs: int = 1
    ) -> pa.Table:
        """Return the rows as a pyarrow table; parameters are those of :meth:`batches`.

        Raises
        ------
        MissingPackageError
            pyarrow is not installed.
        """
        try:
            import pyarrow as pa
        except ImportError:
            raise MissingPackageError("to_arrow() needs pyarrow", hint="pip install pyarrow", package="pyarrow") from None
        return pa.table(self.to_polars(columns, where, offset=offset, limit=limit, jobs=jobs))

    def to_pandas(
        self, columns: Sequence[str] | None = None, where: str | None = None, *, offset: int = 0, limit: int | None = None, jobs: int = 1
    ) -> pd.DataFrame:
        """Return the rows as a pandas frame; parameters are those of :meth:`batches`.

        Returns
        -------
        pandas.DataFrame
            Numbers have pandas' nullable types (``UInt16``), so that absent values stay integers; enums are categories.

        Raises
        ------
        MissingPackageError
            pandas is not installed.
        """
        from ptttool.table.to_pandas import pandas_of

        return pandas_of(self.to_polars(columns, where, offset=offset, limit=limit, jobs=jobs))

    def analyze(
        self,
        name: str,
        *,
        jobs: int = 1,
        machine: Machine | None = None,
        where: str | None = None,
        time_model: str = "auto",
        tick_ns: float | None = None,
        **options: Any,
    ) -> Any:
        """Return the result of an analysis, a dataclass.

        Parameters
        ----------
        name : str
            One of ``ptttool.ANALYSES.names()``, such as ``summary`` or ``loss``.
        jobs : int
            Processes that decode.
        machine : Machine or None
            The machine that was recorded, for names; by default the one that ``trace`` keeps beside a recording.
        where : str or None
            Only rows for which this SQL condition is true.
        time_model : str
            How the Time field of TLPs is read: ``counter``, ``delta``, or ``auto`` to see from the recording.
        tick_ns : float or None
            Nanoseconds of a tick of Time.
        **options
            Options of the analysis.

        Raises
        ------
        UsageError
            The analysis is unknown, or needs columns that the rows do not have (code ``missing-columns``); the time model is unknown.
        """
        with self._workers(jobs) as workers:
            ask = Ask(workers, time=TimeOptions(time_model, tick_ns), options={name: options})
            return run(self, ask_of(self, ask, where, machine), (name,)).results[name]

    def commands(self, kernel: str | Path | None = None, *, jobs: int = 1) -> pl.DataFrame:
        """Return the commands of NVMe drives that both the link and the kernel's events beside it show, by time.

        Parameters
        ----------
        kernel : str, Path or None
            The kernel's side; by default the file beside the recording.
        jobs : int
            Processes that decode.

        Returns
        -------
        polars.DataFrame
            Each command: ``requester``, ``queue``, ``opcode``, ``pid``, ``process``, ``block`` (the first logical one), ``bytes``;
            ``setup`` and ``complete`` (nanoseconds on perf's clock); ``fetched`` and ``ended`` (numbers of the TLPs), ``fetched_at`` and
            ``ended_at`` (ticks since the start). Null is what is not known. Empty if nothing can be joined: the analysis `io` says why.

        Raises
        ------
        InputError
            There is no kernel's side (code ``no-kernel-side``), or it is no recording of tracepoints.
        """
        import polars as pl

        from ptttool.pci import format_id
        from ptttool.perfdata.tracepoints.samples import text_of
        from ptttool.pipeline.analyzing.commands import commands

        options = {} if kernel is None else {"io": {"kernel": str(kernel)}}
        with self._workers(jobs) as workers:
            rows = commands(self, ask_of(self, Ask(workers, options=options))).rows
        frame = pl.DataFrame(
            {
                "requester": [format_id(each) for each in rows["requester"].tolist()],
                **{name: rows[name] for name in ("queue", "opcode", "pid")},
                "process": [text_of(each) for each in rows["name"].tolist()],
                **{name: rows[name] for name in ("block", "bytes", "setup", "complete", "fetched", "fetched_at", "ended", "ended_at")},
            },
            schema_overrides={"requester": pl.String, "process": pl.String},
        )
        numbers = pl.selectors.integer()
        return frame.with_columns(pl.when(numbers >= 0).then(numbers))

    def export(
        self,
        path: str | Path,
        to: str | None = None,
        *,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        offset: int = 0,
        limit: int | None = None,
        jobs: int = 1,
        machine: Machine | None = None,
        force: bool = False,
        time_model: str = "auto",
        tick_ns: float | None = None,
        names: Mapping[int, str] | None = None,
        kernel: str | Path | None = None,
    ) -> int:
        """Write the rows to a file, which appears whole or not at all.

        Parameters
        ----------
        path : str or Path
            The file.
        to : str or None
            One of ``ptttool.EXPORTERS.names()``; None: the one that the suffix of the file means.
        columns : sequence of str or None
            Columns to write; None for those of the format.
        where, offset, limit, jobs
            As in :meth:`batches`. perf's text (``perf``) is made of whole payloads: it has no choice of rows and columns.
        machine : Machine or None
            As in :meth:`analyze`.
        force : bool
            Replace an existing file.
        time_model : str
            How a format with time reads the Time field: ``auto``, ``counter`` or ``delta``.
        tick_ns : float or None
            Nanoseconds of a tick.
        names : Mapping[int, str] or None
            What IDs are called in a file of texts, such as ``{0x100: "nvme0"}``.
        kernel : str, Path or None
            The kernel's side, whose commands a Perfetto trace shows; by default the file beside the recording.

        Returns
        -------
        int
            Number of rows that were written.

        Raises
        ------
        UsageError
            The format is unknown or does not write this protocol; an unknown column; a condition that means nothing.
        OutputError
            The file exists, or cannot be written.

        Examples
        --------
        >>> target = getfixture("tmp_path") / "reads.csv"
        >>> with ptttool.open("fixtures/captures/6.12/m-8dw-port10-type7-dir2.data") as recording:
        ...     recording.export(target, columns=["index", "requester"], where="kind = 'MRd'", limit=2)
        2
        >>> print(target.read_text())
        index,requester
        0,01:00.0
        1,01:00.0
        <BLANKLINE>
        """
        from ptttool.exporters.contract import EXPORTERS, ExportContext, exporter_name
        from ptttool.exporters.perf import PerfText
        from ptttool.files.atomic import output_file
        from ptttool.pipeline.export import export, export_payloads

        exporter = EXPORTERS.get(exporter_name(to, Path(path)) or "table")
        if isinstance(exporter, PerfText):
            with output_file(path, force=force) as file:
                return export_payloads(self, exporter, file, unwatched)
        time = None if time_model == "auto" and tick_ns is None else TimeOptions(time_model, tick_ns)
        layout = self.stack.protocol.layout
        context = ExportContext(
            recordings=(self.path,),
            protocol=self.protocol,
            facts=self.facts,
            machine=machine or self.machine,
            diagnostics=self.diagnostics,
            layout="columns" if columns is not None and layout == "tlp" else layout,
            names=names or {},
        )
        default = exporter.columns(self.schema, context)
        query = self.query(columns, where, offset, limit, default=default, machine=lambda: machine or self.machine)
        side = None if kernel is None else str(kernel)
        with output_file(path, force=force) as file, self._workers(jobs) as workers:
            return export([self], self, exporter, query, file, context, workers, unwatched, time, side).rows

    def follow(self, index: int, *, time_model: str = "auto", tick_ns: float | None = None, jobs: int = 1) -> Follow:
        """Return the transaction of a TLP: its request, all completions, how long they took and what they brought.

        Parameters
        ----------
        index : int
            Number of the TLP in the recording: of a request or of a completion.
        time_model, tick_ns, jobs
            As in :meth:`analyze`.

        Raises
        ------
        UsageError
            The recording is not of TLPs (code ``no-tlps``), or has no TLP of that number (``no-such-index``).

        Examples
        --------
        >>> with ptttool.open("fixtures/captures/6.12/m-4dw-port10-type7-dir2.data") as recording:
        ...     found = recording.follow(0)
        >>> found.state.value
        'posted'
        """
        from ptttool.pipeline.analyzing.follow import follow

        with self._workers(jobs) as workers:
            return follow(self, ask_of(self, Ask(workers, time=TimeOptions(time_model, tick_ns))), index)

    def lacks(self, name: str) -> list[Lack]:
        """Return what an analysis cannot see in the recording, with the options of ``ptttool trace`` that bring it.

        Parameters
        ----------
        name : str
            Name of the analysis.

        Raises
        ------
        UsageError
            The analysis is unknown.
        """
        return lacks_of(self, name, self.machine)

    def query(
        self,
        columns: str | Sequence[str] | None = None,
        where: str | None = None,
        offset: int = 0,
        limit: int | None = None,
        *,
        everything: Sequence[str] | None = None,
        default: Sequence[str] | None = None,
        machine: Callable[[], Machine | None] | None = None,
    ) -> Query:
        """Check what is wanted of the recording; parameters and errors are those of :func:`ptttool.pipeline.query.parse_query`.

        By default the columns are those that are not written on request only, and names are of the recorded machine.
        """
        return parse_query(
            self.schema,
            columns=columns,
            everything=everything,
            default=self.schema.usual_names if default is None else default,
            where=where,
            offset=offset,
            limit=limit,
            machine=machine or (lambda: self.machine),
        )

    def _workers(self, jobs: int) -> Workers:
        return workers_for((self.path,), jobs)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the rows through the Arrow PyCapsule interface.

        With pyarrow installed, batches are decoded while the reader takes them; without it, all rows are decoded first.
        """
        try:
            import pyarrow as pa
        except ImportError:
            return self.to_polars().__arrow_c_stream__(requested_schema)
        import polars as pl

        from ptttool.table.frame import polars_schema

        schema = pa.table(pl.DataFrame(schema=polars_schema(self.schema.select(self.schema.usual_names)))).schema
        parts = (part for batch in self.batches() for part in pa.table(batch.to_polars()).to_batches())
        return pa.RecordBatchReader.from_batches(schema, parts).__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<Recording {self.path!r}, {self.title}>"

    def _repr_html_(self) -> str:
        """Show the first rows in a notebook; what cannot be read again is not read for that."""
        import html

        shown = ""
        if self.path != "-" and not self.is_closed:
            try:
                shown = self.to_polars(limit=_SHOWN_ROWS)._repr_html_()
            except PtttoolError as error:
                shown = f"<p>{html.escape(error.message)}</p>"
        return f"<p><b>{html.escape(self.path)}</b>: {html.escape(self.title)}</p>{shown}"


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
    >>> with ptttool.open("fixtures/captures/6.12/m-8dw-port10-type7-dir2.data") as recording:
    ...     frame = recording.to_polars(["kind", "requester", "tag"], where="kind = 'MRd'", limit=2)
    >>> frame.shape
    (2, 3)
    """
    request = request_of(protocol, parameters)
    return Recording(structs.replace(request, path=str(path), form=None if form is None else InputForm(form), strict=strict))


def request_of(protocol: str | None, parameters: Mapping[str, object] | None) -> Request:
    """Return as what recordings are to be read; the paths are not known yet."""
    from ptttool.decoders.parameters import Given

    values = {name: Given(_text(value), f"parameter {name}") for name, value in (parameters or {}).items()}
    return Request("", protocol, values)


def _text(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
