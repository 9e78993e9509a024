"""One ``ptttool decode`` of one or several recordings to a folder of Parquet files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptttool.cli.decoding import OTHER_FORMATS, chosen_rows, facts_of
from ptttool.cli.options.reading import chosen_workers, failure_of
from ptttool.cli.terminal.talk import PrintedError, clean, note, print_json, warn
from ptttool.diagnostics import Severity
from ptttool.errors import AccessError, InputError, PtttoolError, UsageError
from ptttool.pipeline.workers import WORTH_A_WRITER, size_of
from ptttool.wording import counted

if TYPE_CHECKING:
    from ptttool.pipeline.dataset import Place
    from ptttool.pipeline.selection import Select
    from ptttool.pipeline.workers import Workers


def is_dataset(files: list[str], output: str | None, partition: str | None) -> bool:
    """Whether a folder was asked for: by several recordings, by partitions, or by what the output is."""
    if len(files) > 1 or partition is not None:
        return True
    return output is not None and (output.endswith("/") or Path(output).is_dir() or ("://" in output and not Path(output).suffix))


@dataclass
class DatasetJob:
    """What was asked for; fields are the options of the command."""

    files: list[str]
    output: str | None
    to: str | None
    force: bool
    where: str | None
    columns: str | None
    words: bool
    partition: str | None
    raw_format: str | None
    pattern: str | None
    jobs: int | None
    scheduler: str | None
    json: bool

    def run(self) -> None:
        """Decode all. What cannot be read is told and left out; at the end the first of these errors is raised."""
        from ptttool.cli.terminal.interrupts import tidy_end
        from ptttool.exporters.export import suffixes

        if self.output is None or self.output == "-":
            raise UsageError("several recordings, or parts of one, go to a folder", hint="name it with -o FOLDER", code="no-folder")
        if self.to not in (None, "parquet"):
            raise UsageError(f"a folder holds Parquet files, not {self.to}", hint="--to parquet, or one file for each", code="not-parquet")
        if not self.output.endswith("/") and Path(self.output).suffix in suffixes(OTHER_FORMATS):
            raise UsageError(
                f"{self.output}: its name is that of one file, and this is a folder of Parquet files",
                hint=f"{self.output}/ for a folder all the same",
                code="folder-named-as-file",
            )
        real = [file if "://" in file else os.path.realpath(file) for file in self.files]
        doubled = next((file for file, path in zip(self.files, real, strict=True) if real.count(path) > 1), None)
        if doubled is not None:
            raise UsageError(f"{doubled} is named twice", code="recording-twice")
        # The largest one says how many processes are worth it.
        with tidy_end(), chosen_workers(max(self.files, key=size_of), self.jobs, self.scheduler, WORTH_A_WRITER) as workers:
            self._write(self.output, workers)

    def _write(self, output: str, workers: Workers) -> None:
        from ptttool.cli.terminal.interrupts import tidy_end
        from ptttool.pipeline.dataset import Place, checked_partitions, labels, new_folder

        partitions = checked_partitions(self.partition)
        if "-" in self.files and {"host", "device"} & set(partitions):
            raise UsageError("a pipe tells its host and device too late to sort by them", hint="save it to a file", code="pipe-partition")
        select = self._select()
        failures: list[PtttoolError] = []
        done: list[dict[str, Any]] = []
        with tidy_end(), new_folder(output, self.files, force=self.force) as folder:
            for number, (file, label) in enumerate(zip(self.files, labels(self.files), strict=True)):
                rows: int | None = None
                failure: PtttoolError | None
                try:
                    rows, failure = self._write_one(file, Place(folder, number, label, partitions), select, workers)
                except (InputError, AccessError) as error:
                    failure = error
                done.append({"path": file, "records": rows, "error": None if failure is None else failure.as_json()})
                if failure is not None:
                    failures.append(failure)
            written = [each["records"] for each in done if each["records"] is not None]
            if not written:
                raise _told(failures)
        failed = f"; {counted(len(failures), 'recording')} with errors" if failures else ""
        note(f"{counted(sum(written), 'TLP')} of {counted(len(written), 'recording')} written to {clean(output)}{failed}")
        if self.json:
            print_json({"folder": output, "records": sum(written), "recordings": done})
        if failures:
            raise PrintedError(_told(failures)) if self.json else _told(failures)

    def _write_one(self, file: str, place: Place, select: Select, workers: Workers) -> tuple[int, InputError | None]:
        from ptttool.analyses.loss import signs_of_loss
        from ptttool.cli.terminal.walking import shown_progress
        from ptttool.pipeline.dataset import remove_recording, write_recording
        from ptttool.pipeline.trace import open_trace

        with open_trace(file, raw_format=self.raw_format, pattern=self.pattern) as trace, shown_progress(trace):
            try:
                rows = write_recording(trace, select, place, facts_of(trace), workers)
            except (InputError, AccessError):
                remove_recording(place.folder, place.number)
                raise
            for sentence in trace.findings.sentences():
                note(clean(f"{file}: {sentence}"))
            if not trace.findings.records and not trace.contents.problems:
                warn(clean(f"{file}: the recording holds no TLP; 'ptttool info' says what may be behind it"))
            for finding in signs_of_loss(trace.contents) if trace.findings.records else ():
                if finding.severity is not Severity.INFO:
                    warn(clean(f"{file}: {finding.text}"))
            return rows, failure_of(trace)

    def _select(self) -> Select:
        from ptttool.pipeline.selection import Select
        from ptttool.tlp.columns import ALL_COLUMNS

        return Select(*chosen_rows(self.columns, ALL_COLUMNS, self.where, words=self.words))


def _told(failures: list[PtttoolError]) -> PtttoolError:
    """The first of several errors; the others are said on standard error."""
    for failure in failures[1:]:
        warn(clean(str(failure)))
    return failures[0]
