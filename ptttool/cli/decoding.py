"""One ``ptttool decode``: options checked, rows selected, written where they shall go."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ptttool.cli.options.reading import chosen_workers, failure_of, machine_of, traced_part
from ptttool.cli.terminal.destination import destination, page_rows
from ptttool.cli.terminal.talk import clean, note, warn
from ptttool.diagnostics import Severity
from ptttool.errors import UsageError
from ptttool.files.remote import is_remote
from ptttool.pipeline.workers import ALONE, WORTH_A_WRITER, Workers
from ptttool.tlp.columns import WORD_COLUMNS

if TYPE_CHECKING:
    import polars as pl

    from ptttool.machine.model import Machine
    from ptttool.pipeline.selection import Selection
    from ptttool.pipeline.trace import Payload, Trace
    from ptttool.table.where import Where

# Formats that are no frames of columns, with the suffixes of files that mean them.
OTHER_FORMATS: dict[str, tuple[str, ...]] = {"table": (".txt",), "perf": (".perf",)}
# Lines made at a time.
_LINES = 1 << 15


@dataclass
class DecodeJob:
    """What was asked for; fields are the options of the command."""

    path: str
    to: str | None = None
    output: Path | None = None
    force: bool = False
    where: str | None = None
    columns: str | None = None
    words: bool = False
    limit: int | None = None
    offset: int = 0
    raw_format: str | None = None
    pattern: str | None = None
    sysfs: Path | None = None
    demo: bool = False
    jobs: int | None = None
    scheduler: str | None = None
    given_output: str = ""

    def run(self) -> None:
        """Decode. Raises InputError at the end where the recording is damaged: what could be read is written by then."""
        from ptttool.cli.terminal.interrupts import tidy_end
        from ptttool.exporters.export import format_of

        name = format_of(self.to, self.output, OTHER_FORMATS) or "table"
        self._check(name)
        page = page_rows(name, self.limit) if self._on_terminal else None
        with tidy_end(), self._workers(name) as workers:
            self._decode(name, page, workers)

    def _workers(self, name: str) -> Workers:
        """As many as were asked for; else as many as are worth it."""
        from ptttool.exporters.export import FORMATS

        if name == "perf":
            return ALONE
        worth = name not in OTHER_FORMATS and FORMATS.get(name).worth_workers and self.limit is None
        return chosen_workers(self.path, self.jobs, self.scheduler, WORTH_A_WRITER if worth else 0)

    def _decode(self, name: str, page: int | None, workers: Workers) -> None:
        from ptttool.cli.terminal.interrupts import tidy_end
        from ptttool.cli.terminal.walking import shown_progress
        from ptttool.pipeline.trace import open_trace

        selection = self._selection(name, page)
        with open_trace(self.path, raw_format=self.raw_format, pattern=self.pattern) as trace:
            progress = nullcontext() if self._on_terminal else shown_progress(trace)
            with tidy_end(), self._destination(name) as file, progress:
                if name == "perf":
                    rows = self._write_perf(trace, file)
                elif name == "table":
                    rows = self._write_table(trace, selection, file, workers)
                else:
                    rows = self._write_frames(trace, selection, name, file, workers)
            self._tell(trace, name, rows, page)
            failure = failure_of(trace)
        if failure is not None:
            raise failure

    def _check(self, name: str) -> None:
        if name == "perf":
            given = {
                "--where": self.where is not None,
                "--columns": self.columns is not None,
                "--limit": self.limit is not None,
                "--offset": self.offset > 0,
                "--words": self.words,
                "--jobs": self.jobs is not None,
                "--scheduler": self.scheduler is not None,
            }
            for option, is_given in given.items():
                if is_given:
                    raise UsageError(f"{option} has no place with --to perf: it prints the AUX data as they are", code="perf-whole")
        if self.output is not None and is_remote(self.given_output):
            raise UsageError(
                f"{self.given_output}: one file is written on this machine", hint="FOLDER/ may be an address", code="remote-file"
            )

    def _selection(self, name: str, page: int | None) -> Selection:
        from ptttool.exporters.export import FORMATS
        from ptttool.pipeline.selection import Selection

        columns: tuple[str, ...] = ()
        if name == "table":
            from ptttool.exporters.tlp_table import LINE_COLUMNS  # with polars, which other formats do without

            columns = LINE_COLUMNS
        elif name != "perf":
            columns = FORMATS.get(name).columns
        chosen = chosen_rows(self.columns, columns, self.where, words=self.words)
        return Selection(*chosen, self.offset, page if self.limit is None else self.limit)

    @property
    def _on_terminal(self) -> bool:
        return self.output is None and sys.stdout.isatty()

    def _destination(self, name: str) -> AbstractContextManager[IO[bytes]]:
        from ptttool.exporters.export import FORMATS

        binary = name not in OTHER_FORMATS and FORMATS.get(name).binary
        return destination(self.output, [self.path], name, binary=binary, force=self.force)

    def _write_perf(self, trace: Trace, file: IO[bytes]) -> int:
        from ptttool.exporters.perf_text import text

        records = 0

        def counted() -> Iterator[Payload]:
            nonlocal records
            for payload in trace.payloads():
                records += len(payload.words)
                yield payload

        for piece in text(counted()):
            file.write(piece)
        return records

    def _write_frames(self, trace: Trace, selection: Selection, name: str, file: IO[bytes], workers: Workers) -> int:
        from ptttool.exporters.export import write_pieces

        rows = 0

        def pieces() -> Iterator[Any]:
            nonlocal rows
            for count, piece in selection.pieces(trace, name, workers=workers):
                rows += count
                yield piece

        write_pieces(name, pieces(), file, selection.columns, facts_of(trace))
        return rows

    def _write_table(self, trace: Trace, selection: Selection, file: IO[bytes], workers: Workers) -> int:
        from ptttool.exporters.tlp_table import column_lines, tlp_lines

        width = shutil.get_terminal_size().columns if self._on_terminal else None
        lines_of_tlps = self.columns is None
        known = machine_of(self.path, self.sysfs, self.demo) if lines_of_tlps else None
        machine: Machine | None = None
        rows = 0
        headline = True
        for frame in _in_parts(selection.frames(trace, workers=workers)):
            machine = _shown(traced_part(known, trace)) if headline else machine
            head, lines = tlp_lines(frame, machine, width, words=self.words) if lines_of_tlps else column_lines(frame, width)
            if headline:
                file.write((head + "\n").encode())
                headline = False
            _write_lines(lines, file)
            rows += frame.height
        return rows

    def _tell(self, trace: Trace, name: str, rows: int, page: int | None) -> None:
        """On standard error: what the rows do not say."""
        from ptttool.analyses.loss import signs_of_loss

        whole = self.limit is None and page is None
        empty = not (rows or trace.findings.records)
        if empty and not trace.contents.problems:
            warn("the recording holds no TLP; 'ptttool info' says what may be behind it")
        if not rows and not empty and self.limit != 0:
            note(f"none of the recording's {trace.findings.records:,} TLPs is selected")
        if page is not None and rows >= page:
            note(f"the first {rows} TLPs; --limit N shows more, --to and -o write all, --where selects")
        for sentence in trace.findings.sentences() if whole and name != "perf" else ():
            note(clean(sentence))
        for finding in signs_of_loss(trace.contents) if whole and not empty else ():
            if finding.severity is not Severity.INFO:
                warn(clean(finding.text))
        if self.output is not None:
            what = "record" if name == "perf" else "TLP"
            note(f"{rows} {what}{'' if rows == 1 else 's'} written to {clean(str(self.output))}")


def chosen_rows(columns: str | None, otherwise: tuple[str, ...], where: str | None, *, words: bool) -> tuple[tuple[str, ...], Where | None]:
    """Columns and condition by --columns, --words and --where. ``otherwise``: columns where none are named."""
    from ptttool.pipeline.selection import all_of, parse_columns

    names = otherwise if columns is None else parse_columns(columns)
    if words:
        names = all_of(names, WORD_COLUMNS)
    if where is None:
        return names, None
    from ptttool.table.where import compile_where  # with polars, which nothing else on the way to text and Parquet needs

    return names, compile_where(where)


def facts_of(trace: Trace) -> dict[str, str]:
    """What a file keeps of its recording, where it has a place for it."""
    facts = {"ptttool.recording": os.path.basename(trace.path)}  # noqa: PTH119 - "-" is no path
    attribute = trace.attribute
    if attribute is not None:
        facts |= {"ptttool.event": clean(attribute.name or ""), "ptttool.config": f"{attribute.config:#x}"}
    return facts


def _shown(machine: Machine | None) -> Machine | None:
    """The machine with names that a terminal may see."""
    if machine is None:
        return None
    functions = {
        address: replace(function, kernel_names=tuple(clean(name) for name in function.kernel_names))
        for address, function in machine.functions.items()
    }
    return replace(machine, functions=functions)


def _in_parts(frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Frames of at most :data:`_LINES`; an empty one stays."""
    for frame in frames:
        yield from frame.iter_slices(_LINES) if frame.height else (frame,)


def _write_lines(lines: pl.Series, file: IO[bytes]) -> None:
    """Ready lines, as they are."""
    if len(lines):
        buffer = BytesIO()
        lines.to_frame().write_csv(buffer, include_header=False, quote_style="never")
        file.write(buffer.getbuffer())
