"""Write decoded rows to a file or to standard output: the options, the call of the pipeline, and the final messages."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ptttool.cli.options.reading import Origin, Work, check_paths
from ptttool.cli.recordings import (
    Recordings,
    end_with,
    first_of,
    report_end,
    report_loss,
    say_what_is_lacking,
    show_diagnostic,
    warn_of_no_tlp,
)
from ptttool.cli.terminal.colours import has_colour
from ptttool.cli.terminal.destination import destination, page_rows
from ptttool.cli.terminal.talk import note, warn
from ptttool.errors import InputError, UsageError
from ptttool.files.remote import is_remote
from ptttool.pipeline.workers.pool import WORTH_A_WRITER, Workers
from ptttool.wording import clean, counted

if TYPE_CHECKING:
    from ptttool.api.recording import OpenRecording, Query, Recording, Request, TimeOptions
    from ptttool.exporters.contract import Exporter
    from ptttool.files.progress import Progress
    from ptttool.machine.model import Machine
    from ptttool.pipeline.export import Exported


class Output(Struct, frozen=True):
    """What is to be written of recordings, where to, and how.

    Parameters
    ----------
    paths : list of str
        The recordings.
    request : Request
        How they are read, without a path.
    to : str or None
        Name of the format; None to choose it by the output's suffix.
    output : str or None
        The file or folder; None or ``-`` for standard output.
    force : bool
        Whether an existing file is replaced.
    where, columns : str or None
        The condition and the list of columns.
    dws : bool
        Whether the header DWs are added.
    raw : bool or None
        Whether the column ``raw`` is written by default: None for yes.
    limit, offset : int
        The range of rows.
    at : int or None
        The row that the range is around; it is an error if there is none.
    time : TimeOptions or None
        How the Time field is read; None where the user says nothing of it.
    kernel : str or None
        The kernel's side; None for the file beside the recording.
    origin : Origin
        The options that name the machine that names come from.
    names_ids : bool
        Whether IDs in columns of texts have the names of devices.
    work : Work
        Who works.
    layout : str or None
        Layout of a table; None for that of the protocol.
    shown : tuple of str or None
        Columns that are written by default; None for those of the format.
    descriptions : sequence of Path
        Files of parameters; the output must not overwrite them.
    """

    paths: list[str]
    request: Request
    to: str | None = None
    output: str | None = None
    force: bool = False
    where: str | None = None
    columns: str | None = None
    dws: bool = False
    raw: bool | None = None
    limit: int | None = None
    offset: int = 0
    at: int | None = None
    time: TimeOptions | None = None
    kernel: str | None = None
    origin: Origin = Origin()
    names_ids: bool = False
    work: Work = Work()
    layout: str | None = None
    shown: tuple[str, ...] | None = None
    descriptions: Sequence[Path] = ()

    @property
    def path(self) -> Path | None:
        """The file; None for standard output."""
        return None if self.output in (None, "-") else Path(str(self.output))

    @property
    def on_terminal(self) -> bool:
        """Whether people see the rows."""
        return self.path is None and sys.stdout.isatty()

    def query(self, read: Recordings, recording: Recording, default: Sequence[str], limit: int | None = None) -> Query:
        """Return the rows and columns that are wanted of a recording; `default`: the columns, unless the user names some."""
        from ptttool.tlp.columns import DW_COLUMNS

        query = recording.query(
            self.columns,
            self.where,
            self.offset,
            limit,
            everything=recording.schema.usual_names,
            default=[name for name in default if self.raw is not False or name != "raw"],
            machine=lambda: read.machine(recording),
        )
        if recording.is_ptt and self.origin.is_named:  # directions, too, are then found by that machine
            read.machine(recording)
        return query.with_columns(DW_COLUMNS) if self.dws else query

    def say_direction(self, recording: OpenRecording, query: Query, path: str | None) -> None:
        """Report that directions are not known, where they are asked for."""
        if "direction" in query.columns or "direction" in (self.where or ""):
            say_what_is_lacking(recording, path, is_named=self.origin.is_named)

    def write(self) -> None:
        """Write the rows to a file. If a recording is damaged, write the rows before the damage, then raise InputError."""
        from ptttool.exporters.contract import EXPORTERS

        check_paths(self.paths)
        name = self._format()
        worth = WORTH_A_WRITER if name == "parquet" and self.limit is None and not self.offset else 0
        with self.work.workers(self.paths[:1], worth) as workers:
            exporter = EXPORTERS.get(name)
            if self.path is not None and is_remote(str(self.output)):
                message = f"{self.output}: a single file cannot be written to an address"
                raise UsageError(message, hint="a folder can: -o ADDRESS/", code="remote-file")
            if name == "perf":
                self._check_perf()
            # Rows of several recordings are told apart by the column ``file``.
            requests = [replace(self.request, path=path, file=path if len(self.paths) > 1 else None) for path in self.paths]
            # Lines for people have names of registers: they need the addresses of functions.
            read = Recordings(requests[0], workers, self.origin, details=name == "table")
            with read.opened() as first:
                if name == "perf":
                    self._write_perf(first)
                else:
                    self._write_rows(read, first, exporter, requests)

    def _format(self) -> str:
        """Return the name of the format. Exporters are imported later, after the workers have started."""
        suffixes = {".csv": "csv", ".jsonl": "jsonl", ".parquet": "parquet"}
        if self.to in ("csv", "jsonl", "parquet", "table", "arrow"):
            return self.to
        if self.to is None and (self.path is None or self.path.suffix in suffixes):
            return "table" if self.path is None else suffixes[self.path.suffix]
        from ptttool.exporters.contract import exporter_name

        return exporter_name(self.to, self.path) or "table"

    def _write_rows(self, read: Recordings, first: Recording, exporter: Exporter, requests: Sequence[Request]) -> None:
        from ptttool.cli.terminal.interrupts import tidy_end
        from ptttool.exporters.contract import ExportContext
        from ptttool.pipeline.export import export, opened

        workers = read.workers
        page = page_rows(exporter.name, self.limit) if self.on_terminal else None
        self._check_protocol(first, workers, exporter)
        layout = "columns" if self.columns is not None else self.layout or first.stack.protocol.layout
        # A plain table of columns does not show device names.
        names_devices = first.is_ptt and exporter.names_devices and (layout == "tlp" or exporter.name != "table")
        machine = _printable(read.machine(first)) if names_devices or self.names_ids else None
        context = ExportContext(
            recordings=tuple(self.paths),
            protocol=first.protocol,
            facts=first.facts,
            machine=machine if names_devices else None,
            diagnostics=first.diagnostics,
            width=max(shutil.get_terminal_size().columns, 20) if self.on_terminal else None,
            layout=layout,
            extra={"dws": self.dws, "coloured": self.path is None and has_colour(sys.stdout)},
            names=self._names(first, exporter, machine) if self.names_ids else {},
        )
        schema = first.schema
        default = exporter.columns(schema, context) if self.shown is None else tuple(name for name in schema.names if name in self.shown)
        if len(self.paths) > 1 and "file" not in default:
            default = ("file", *default)
        query = self.query(read, first, default, page if self.limit is None else self.limit)
        with tidy_end(), self._file(exporter.name, exporter.is_binary, first.stack.reads) as file:
            recordings = opened(first, requests, workers)
            exported = export(recordings, first, exporter, query, file, context, workers, self._watch, self.time, self.kernel)
            self._check_index(exported)
        if exported.left_out and self.limit is None:
            note(f"{exported.left_out:,} more transactions left out: --limit N writes as many, --where and --offset select")
        for recording in exported.recordings:
            self.say_direction(recording, query, recording.path if len(self.paths) > 1 else None)
        self._report(first, exported, page, exporter.noun or first.noun)

    def _file(self, name: str, binary: bool = False, reads: Sequence[Path] = ()) -> AbstractContextManager[IO[bytes]]:
        """Open the output, which must be none of the inputs."""
        return destination(self.path, self.paths, name, binary=binary, force=self.force, others=(*self.descriptions, *reads))

    def _watch(self, progress: Progress) -> AbstractContextManager[None]:
        from ptttool.cli.terminal.walking import shown_progress

        return nullcontext() if self.on_terminal else shown_progress(progress)

    def _check_index(self, exported: Exported) -> None:
        """Raise a UsageError where there is no row of the number asked for; a damaged recording may have had one."""
        recording = exported.recordings[0]
        if self.at is not None and self.offset + exported.rows <= self.at and not recording.contents.problems:
            raise recording.lacks_row(self.at)

    def _check_protocol(self, first: Recording, workers: Workers, exporter: Exporter) -> None:
        from ptttool.pipeline.export import check_protocol

        check_protocol(first, exporter)
        if self.dws and not first.is_ptt:
            raise UsageError(f"--words: {first.title} has no header DWs", hint="leave it out", code="no-header-dws")
        if self.raw is not None and first.is_ptt:
            raise UsageError(f"--raw and --no-raw: {first.title} has no packets", hint="--words are the header DWs", code="no-packets")
        if workers.reduces and not first.is_ptt:
            raise UsageError(
                "--scheduler: a packet stream is decoded in order, so the cluster cannot share the work on one file",
                hint="with -o FOLDER/, the cluster's workers write one file for each stream",
                code="stream-in-order",
            )

    def _names(self, first: Recording, exporter: Exporter, machine: Machine | None) -> dict[int, str]:
        """Return the names of IDs; reports where there are none."""
        from ptttool.machine.topology import kernel_names_by_id

        if not exporter.writes_texts or not first.is_ptt:
            raise UsageError(f"--ids text: {exporter.name} of {first.title} has no IDs as texts", hint="--to csv", code="no-texts")
        names = kernel_names_by_id(machine)
        if not names:
            note("--ids text: the names of devices are not known: --sysfs names a machine")
        return names

    def _report(self, first: Recording, exported: Exported, page: int | None, written: str) -> None:
        """Print notes and warnings on standard error. Raises InputError for the first damaged recording."""
        noun, rows = first.noun, exported.rows
        total = sum(recording.findings.records for recording in exported.recordings)
        reached_end = self.limit is None and page is None
        if not rows and not total and self.limit != 0 and not any(recording.contents.problems for recording in exported.recordings):
            if first.is_ptt:
                warn_of_no_tlp()
            else:
                warn("the recording holds no element" + (" of these channels" if self.request.channels else ""))
        elif not rows and total and self.limit != 0:
            selected = f"none of the {total:,} {noun}s in the recording is selected"
            note(selected if written == noun else f"no {written} is selected among the {total:,} {noun}s in the recording")
        if page is not None and rows >= page:
            note(f"these are the first {rows} {noun}s; --limit N shows more, --to and -o write all, --where selects")
        if exported.cut and not first.is_ptt:
            note("lines are cut at the terminal's width: '| less -S' shows the whole lines")
        for diagnostic in exported.notes:
            show_diagnostic(diagnostic)
        failures = []
        for recording in exported.recordings:
            path = recording.path if len(self.paths) > 1 else None
            if reached_end or not first.is_ptt:
                for diagnostic in recording.findings.diagnostics():
                    show_diagnostic(diagnostic, path)
            if reached_end and first.is_ptt and total:
                report_loss(recording, path)
            failures.append(first_of(recording.damage))
        self._end(rows, written, failures)

    def _end(self, count: int, written: str, failures: Sequence[InputError | None]) -> None:
        if self.path is not None:
            note(f"{counted(count, written)} written to {clean(str(self.path))}")
        end_with(failures, is_printed=False)

    def _check_perf(self) -> None:
        options = {
            "--where": self.where is not None,
            "--columns": self.columns is not None,
            "--limit": self.limit is not None,
            "--offset": self.offset > 0,
            "--words": self.dws,
            "--kernel": self.kernel is not None,
            "--time-model and --tick-ns": self.time is not None,
            "--jobs": self.work.jobs is not None,
            "--scheduler": self.work.scheduler is not None,
            "several recordings": len(self.paths) > 1,
        }
        for option, is_given in options.items():
            if is_given:
                raise UsageError(f"--to perf prints all AUX data unchanged, so it cannot be combined with {option}", code="perf-whole")

    def _write_perf(self, recording: Recording) -> None:
        from ptttool.cli.terminal.interrupts import tidy_end
        from ptttool.exporters.perf import PerfText
        from ptttool.pipeline.export import check_protocol, export_payloads

        exporter = PerfText()
        check_protocol(recording, exporter)
        with tidy_end(), self._file("perf") as file:
            records = export_payloads(recording, exporter, file, self._watch)
        report_end(recording, records)
        self._end(records, "record", [first_of(recording.damage)])


def _printable(machine: Machine | None) -> Machine | None:
    """Return a machine with names that are safe to print on a terminal."""
    if machine is None:
        return None
    from ptttool.machine.model import PciFunctions

    shown = {
        address: replace(function, kernel_names=tuple(clean(name) for name in function.kernel_names))
        for address, function in machine.functions.items()
    }
    return replace(machine, functions=PciFunctions(shown))
