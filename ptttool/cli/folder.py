"""Write recordings to a folder of Parquet files: the options, the call of the pipeline, and the final messages."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ptttool.cli.options.origin import origin_of, say_what_is_lacking
from ptttool.cli.options.reading import chosen_workers, failure_of, first_of, report_loss, show_diagnostic, warn_of_no_tlp
from ptttool.cli.terminal.talk import PrintedError, note, outlive_reader, print_json
from ptttool.documents import ErrorBody, document
from ptttool.errors import AccessError, InputError, PtttoolError, UsageError
from ptttool.pipeline.workers.pool import WORTH_A_WRITER, size_of
from ptttool.wording import clean, counted

if TYPE_CHECKING:
    from ptttool.pipeline.dataset import Location
    from ptttool.pipeline.query import Query
    from ptttool.pipeline.recording import Recording, Request
    from ptttool.pipeline.workers.pool import Workers
    from ptttool.pipeline.workers.scheduler import Scheduler


def is_folder(files: list[str], output: str | None, partition: str | None, to: str | None) -> bool:
    """Return whether the output is a folder.

    It is one if there are partitions, if the output names a folder, or if there are several recordings and the output has no suffix.
    """
    if partition is not None:
        return True
    if output is not None and (output.endswith("/") or Path(output).is_dir() or ("://" in output and not Path(output).suffix)):
        return True
    return len(files) > 1 and output is not None and output != "-" and to is None and not Path(output).suffix


@document("decode-folder")
@dataclass(frozen=True)
class FolderResult:
    """What was written to a folder.

    Parameters
    ----------
    folder : str
        The folder.
    records : int
        Number of records in all files.
    recordings : list of RecordingResult
        The recordings, in order.
    """

    folder: str
    records: int
    recordings: list[RecordingResult]


@dataclass(frozen=True)
class RecordingResult:
    """One recording.

    Parameters
    ----------
    path : str
        The recording.
    records : int or None
        Number of its records in the folder; null if it could not be read.
    error : ErrorBody or None
        Why it could not be read, or not to its end.
    """

    path: str
    records: int | None
    error: ErrorBody | None


@dataclass
class FolderJob:
    """The options of a command that writes a folder."""

    files: list[str]
    request: Request
    output: str | None
    to: str | None = None
    where: str | None = None
    columns: str | None = None
    dws: bool = False
    raw: bool | None = None
    partition: str | None = None
    jobs: int | None = None
    scheduler: Scheduler | None = None
    json: bool = False
    sysfs: Path | None = None
    demo: bool = False
    _title: str | None = None

    def run(self) -> None:
        """Decode all recordings. Those that cannot be read are reported and left out; at the end, the first of their errors is raised."""
        from ptttool.cli.terminal.interrupts import tidy_end
        from ptttool.exporters.contract import EXPORTERS

        if self.output is None or self.output == "-":
            raise UsageError("partitions need a folder", hint="name it with -o FOLDER/", code="no-folder")
        if self.to not in (None, "parquet"):
            raise UsageError(f"a folder holds Parquet files, not {self.to}", hint="--to parquet, or one file for each", code="not-parquet")
        known = {suffix for exporter in EXPORTERS for suffix in exporter.suffixes}
        if not self.output.endswith("/") and Path(self.output).suffix in known:
            raise UsageError(
                f"{self.output}: this is a file name, but the output is a folder of Parquet files",
                hint=f"name the folder {self.output}/ if that is meant",
                code="folder-named-as-file",
            )
        real = [file if "://" in file else os.path.realpath(file) for file in self.files]
        doubled = next((file for file, path in zip(self.files, real, strict=True) if real.count(path) > 1), None)
        if doubled is not None:
            raise UsageError(f"{doubled} is named twice", code="recording-twice")
        # The largest recording decides how many processes are started.
        with tidy_end(), chosen_workers(max(self.files, key=size_of), self.jobs, self.scheduler, WORTH_A_WRITER) as workers:
            self._write(self.output, workers)

    def _write(self, output: str, workers: Workers) -> None:
        from ptttool.cli.terminal.interrupts import tidy_end
        from ptttool.pipeline.dataset import Location, checked_partitions, labels, new_folder

        partitions = checked_partitions(self.partition)
        if "-" in self.files and {"host", "device"} & set(partitions):
            message = "the host and device of a recording from a pipe are known too late for partitions"
            raise UsageError(message, hint="save the recording to a file", code="pipe-partition")
        failures: list[PtttoolError] = []
        done: list[RecordingResult] = []
        noun = "row"
        with tidy_end(), new_folder(output) as folder:
            for number, (file, label) in enumerate(zip(self.files, labels(self.files), strict=True)):
                rows: int | None = None
                failure: PtttoolError | None
                try:
                    rows, noun, failure = self._write_one(file, Location(folder, number, label, partitions), workers)
                except (InputError, AccessError) as error:
                    failure = error
                done.append(RecordingResult(file, rows, None if failure is None else ErrorBody.of(failure)))
                if failure is not None:
                    failures.append(failure)
            written = [each.records for each in done if each.records is not None]
            if not written:
                raise first_of(failures)
        failed = f"; {counted(len(failures), 'recording')} with errors" if failures else ""
        note(f"{counted(sum(written), noun)} of {counted(len(written), 'recording')} written to {clean(output)}{failed}")
        if self.json:
            outlive_reader(is_result=True)
            print_json(FolderResult(output, sum(written), done))
        if failures:
            raise PrintedError(first_of(failures)) if self.json else first_of(failures)

    def _write_one(self, file: str, location: Location, workers: Workers) -> tuple[int, str, InputError | None]:
        from ptttool.cli.terminal.walking import shown_progress
        from ptttool.pipeline.dataset import remove_recording, write_recording
        from ptttool.pipeline.recording import Recording

        with Recording(replace(self.request, path=file)) as recording:
            if self._title not in (None, recording.title):
                raise UsageError(
                    f"{file} holds {recording.title}, the recordings before {self._title}: a folder is one table",
                    hint="decode them to folders of their own",
                    code="other-protocol",
                )
            self._title = recording.title
            if recording.is_ptt and self.raw is not None:
                raise UsageError(f"--raw and --no-raw: {recording.title} has no packets", hint="leave it out", code="no-packets")
            if recording.is_ptt and (self.sysfs is not None or self.demo):  # directions, too, are then found by that machine
                origin_of(recording, self.sysfs, self.demo)
            query = self._query(recording)
            walk = recording.walk(workers)
            try:
                with shown_progress(walk.progress):
                    written = write_recording(recording, query, location, workers, walk)
            except (InputError, AccessError):
                remove_recording(location.folder, location.number)
                raise
            if "direction" in query.columns:
                say_what_is_lacking(recording, file)
            for diagnostic in written.findings.diagnostics():
                show_diagnostic(diagnostic, file)
            if recording.is_ptt and written.findings.records:
                report_loss(recording, recording.path)
            elif recording.is_ptt and not recording.contents.problems:
                warn_of_no_tlp(recording.path)
            return written.rows, recording.noun, failure_of(walk)

    def _query(self, recording: Recording) -> Query:
        from ptttool.pipeline.query import parse_query
        from ptttool.tlp.columns import DW_COLUMNS

        schema = recording.schema
        usual = tuple(name for name in schema.usual_names if self.raw is not False or name != "raw")
        query = parse_query(
            schema,
            columns=self.columns,
            everything=schema.usual_names,
            default=usual,
            where=self.where,
            machine=lambda: origin_of(recording, self.sysfs, self.demo).machine,
        )
        return query.with_columns(DW_COLUMNS) if self.dws else query
