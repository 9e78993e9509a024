"""Write recordings to a folder of Parquet files: the options, the call of the pipeline, and the final messages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from ptttool.cli.recordings import Recordings, end_with, report_end, show_diagnostic
from ptttool.cli.terminal.talk import note, outlive_reader, print_json
from ptttool.documents import ErrorBody, document
from ptttool.errors import AccessError, InputError, UsageError
from ptttool.pipeline.workers.pool import WORTH_A_WRITER
from ptttool.wording import clean, counted

if TYPE_CHECKING:
    from ptttool.api.recording import Recording
    from ptttool.cli.rows import Output
    from ptttool.pipeline.dataset import Location


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
class FolderResult(Struct, frozen=True):
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


class RecordingResult(Struct, frozen=True):
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


def write_folder(table: Output, partition: str | None, *, json: bool) -> None:
    """Decode all recordings. Those that cannot be read are reported and left out; at the end, the first of their errors is raised."""
    from ptttool.cli.terminal.interrupts import tidy_end
    from ptttool.pipeline.dataset import Location, checked_partitions, labels, new_folder

    files = table.paths
    output = _checked(table)
    with table.work.workers(files, WORTH_A_WRITER) as workers:
        partitions = checked_partitions(partition)
        if "-" in files and {"host", "device"} & set(partitions):
            message = "the host and device of a recording from a pipe are known too late for partitions"
            raise UsageError(message, hint="save the recording to a file", code="pipe-partition")
        nouns: dict[str, str] = {}
        with tidy_end(), new_folder(output) as folder:
            places = {
                file: Location(folder, number, label, partitions)
                for number, (file, label) in enumerate(zip(files, labels(files), strict=True))
            }
            read = Recordings(table.request, workers, table.origin)
            done, failures = read.each(
                files,
                lambda one: _write_one(read, one, table, places[one.path], nouns),
                lambda path, error: RecordingResult(path, None, ErrorBody.of(error)),
            )
            written = [each.records for each in done if each.records is not None]
            if not written:
                end_with(failures, is_printed=False)
    failed = f"; {counted(len(failures), 'recording')} with errors" if failures else ""
    note(f"{counted(sum(written), *nouns.values())} of {counted(len(written), 'recording')} written to {clean(output)}{failed}")
    if json:
        outlive_reader(is_result=True)
        print_json(FolderResult(output, sum(written), done))
    end_with(failures, is_printed=json)


def _checked(table: Output) -> str:
    """Return the folder. Raises a UsageError where it is none, or a recording is named twice."""
    from ptttool.exporters.contract import EXPORTERS

    output, files = table.output, table.paths
    if output is None or output == "-":
        raise UsageError("partitions need a folder", hint="name it with -o FOLDER/", code="no-folder")
    if table.to not in (None, "parquet"):
        raise UsageError(f"a folder holds Parquet files, not {table.to}", hint="--to parquet, or one file for each", code="not-parquet")
    suffixes = {suffix for exporter in EXPORTERS for suffix in exporter.suffixes}
    if not output.endswith("/") and Path(output).suffix in suffixes:
        raise UsageError(
            f"{output}: this is a file name, but the output is a folder of Parquet files",
            hint=f"name the folder {output}/ if that is meant",
            code="folder-named-as-file",
        )
    real = [file if "://" in file else os.path.realpath(file) for file in files]
    doubled = next((file for file, path in zip(files, real, strict=True) if real.count(path) > 1), None)
    if doubled is not None:
        raise UsageError(f"{doubled} is named twice", code="recording-twice")
    return output


def _write_one(
    read: Recordings, recording: Recording, table: Output, location: Location, nouns: dict[str, str]
) -> tuple[RecordingResult, InputError | None]:
    from ptttool.cli.terminal.walking import shown_progress
    from ptttool.pipeline.dataset import remove_recording, write_recording

    path = recording.path
    nouns[recording.title] = recording.noun
    if len(nouns) > 1:
        raise UsageError(
            f"{path} holds {recording.title}, the recordings before {next(iter(nouns))}: a folder is one table",
            hint="decode them to folders of their own",
            code="other-protocol",
        )
    if recording.is_ptt and table.raw is not None:
        raise UsageError(f"--raw and --no-raw: {recording.title} has no packets", hint="leave it out", code="no-packets")
    query = table.query(read, recording, recording.schema.usual_names)
    try:
        rows = write_recording(recording, query, location, read.workers, shown_progress)
    except (InputError, AccessError):
        remove_recording(location.folder, location.number)
        raise
    table.say_direction(recording, query, path)
    for diagnostic in recording.findings.diagnostics():
        show_diagnostic(diagnostic, path)
    report_end(recording, recording.findings.records, path)
    failure = read.failure(recording)
    return RecordingResult(path, rows, None if failure is None else ErrorBody.of(failure)), failure
