"""Recordings to a file: rows selected, encoded where they are decoded, written in order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from msgspec import Struct, structs

from ptttool.analyses.scope import Scope
from ptttool.analyses.time.kept import NOT_USED
from ptttool.decoders.hisi_ptt.payloads import Payload, payloads
from ptttool.diagnostics import Diagnostic
from ptttool.errors import UsageError
from ptttool.exporters.contract import ExportContext, Exporter, Timing, write_pieces
from ptttool.exporters.perf import PerfText, text
from ptttool.files.progress import Progress, Watch
from ptttool.files.remote import is_remote
from ptttool.pipeline.exporting.timed import timed_batches
from ptttool.pipeline.query import Query, Skip, in_range, to_write
from ptttool.pipeline.recording import OpenRecording, Request, lanes_of
from ptttool.pipeline.scope import TimeOptions, scope_of
from ptttool.pipeline.walk import Walk
from ptttool.pipeline.work import encoder_of, selection
from ptttool.pipeline.workers.pool import Workers
from ptttool.recording.opening import InputForm
from ptttool.table.batch import Batch

if TYPE_CHECKING:
    from ptttool.analyses.joined.join import Joined
    from ptttool.pipeline.lanes import Lanes


class Exported(Struct):
    """What was written.

    Parameters
    ----------
    rows : int
        Rows that were written.
    recordings : list of OpenRecording
        The recordings that were read.
    cut : bool
        Whether lines were cut at the terminal's width.
    left_out : int
        Transactions that were left out, since there are too many.
    notes : list of Diagnostic
        What the recordings say against clocks that are kept beside them.
    """

    rows: int = 0
    recordings: list[OpenRecording] = []
    cut: bool = False
    left_out: int = 0
    notes: list[Diagnostic] = []


def export(
    recordings: Iterable[OpenRecording],
    first: OpenRecording,
    exporter: Exporter,
    query: Query,
    file: IO[bytes],
    context: ExportContext,
    workers: Workers,
    watch: Watch,
    time: TimeOptions | None = None,
    kernel: str | None = None,
) -> Exported:
    """Write the selected rows of recordings, one after the other.

    Parameters
    ----------
    recordings : iterable of OpenRecording
        The recordings; the next one is asked for when the one before has been written.
    first : OpenRecording
        The first of them: it says what the columns are.
    exporter : Exporter
        How to write.
    query : Query
        Rows and columns, counted over all recordings.
    file : IO[bytes]
        Where to.
    context : ExportContext
        What the exporter may want to know.
    workers : Workers
        Who decodes.
    watch : callable
        Shows the progress of each walk.
    time : TimeOptions or None
        How the Time field is read, for an exporter that needs time.
    kernel : str or None
        The kernel's side of the recording, for an exporter of transactions; None for the file beside it, if there is one.

    Raises
    ------
    UsageError
        A further recording is of another protocol (code ``other-protocol``), the exporter does not write this one, or it has no use for
        what is said of time (``no-time``) or of the kernel's side (``exclusive-options``).
    InputError
        The kernel's side that is named is no recording of tracepoints.
    """
    check_protocol(first, exporter)
    if exporter.of_transactions and len(context.recordings) > 1:
        message = f"{exporter.name} is written of one recording: times of different recordings do not join"
        raise UsageError(message, hint="write a file for each", code="one-recording")
    if time is not None and not exporter.needs_time:
        message = f"{exporter.name} holds the Time field as it is: how it is read makes no difference"
        raise UsageError(message, hint="leave --time-model and --tick-ns out", code="no-time")
    if kernel is not None and not exporter.of_transactions:
        message = f"--kernel has an effect on formats of transactions only, and {exporter.name} is none"
        raise UsageError(message, hint="leave it out", code="exclusive-options")
    exported = Exported()
    schema = first.schema.select(query.columns)
    if context.names:
        schema = schema.named(context.names)

    def scope(recording: OpenRecording) -> Scope:
        return scope_of(recording, time or TimeOptions(), context.machine) if exporter.needs_time else Scope()

    # What there is to see of time is seen before a recording is walked.
    of_first = scope(first)
    scoped = ((each, of_first if each is first else scope(each)) for each in recordings)
    walks = _walks(scoped, first, workers, watch, exported)

    def counted(pieces: Iterator[tuple[int, Any]]) -> Iterator[Any]:
        for rows, piece in pieces:
            exported.rows += rows
            yield piece

    timing = Timing(of_first.time_model.value)
    # The clock of one recording is not that of others.
    if of_first.known_tick is not None and (of_first.tick_ns is not None or len(context.recordings) < 2):
        timing = Timing(timing.model, *of_first.known_tick)
    writer = exporter.writer(file, schema, structs.replace(context, timing=timing, ending=lambda: _ending(exported, query)))
    if exporter.of_transactions:
        from ptttool.pipeline.analyzing.ask import Ask, ask_of
        from ptttool.pipeline.exporting.kernel import joined_commands

        options = {} if kernel is None else {"io": {"kernel": kernel}}
        ask = ask_of(first, Ask(workers, context.machine, time=time or TimeOptions(), options=options, watch=watch))
        pieces = _transfers(walks, query, exported, joined_commands(first, ask, exported.notes), timing.tick_ns)
    elif query.is_whole and not exporter.needs_time:
        pieces = (piece for walk, _ in walks for piece in walk.pieces(query, exporter, schema))
    else:
        encoder = encoder_of(exporter.name, schema)
        unlimited = structs.replace(query, offset=0, limit=None)
        skip = Skip(query.offset) if query.where is None and not exporter.needs_time else None

        def batches() -> Iterator[Batch]:
            for walk, scope in walks:
                walk.skip = skip
                if exporter.needs_time:
                    notes: list[Diagnostic] = []
                    yield from timed_batches(walk, unlimited, scope, notes)
                    exported.notes += [_already_written(note, timing) for note in notes if timing.tick_ns is not None]
                else:
                    yield from walk.run(selection(unlimited, exporter.rows))

        pieces = ((batch.size, encoder(batch)) for batch in to_write(in_range(batches(), query, skip), exporter.rows))
    write_pieces(writer, counted(pieces))
    exported.cut = getattr(writer, "cut", False)
    return exported


def _transfers(
    walks: Iterator[tuple[Walk, Scope]], query: Query, exported: Exported, found: Joined | None, tick_ns: float | None
) -> Iterator[tuple[int, Any]]:
    """Yield the transactions of each recording, with their number, and the commands of the kernel that were found."""
    from ptttool.pipeline.exporting.kernel import with_commands
    from ptttool.pipeline.exporting.transactions import transactions_of

    for walk, scope in walks:
        transactions = transactions_of(walk, query, scope)
        if found is not None:
            transactions = with_commands(transactions, found, query, None if transactions.dropped is not None else tick_ns)
        exported.left_out += transactions.left_out
        if transactions.dropped is not None:
            exported.notes.append(transactions.dropped)
        yield transactions.size, transactions


def _already_written(dropped: Diagnostic, timing: Timing) -> Diagnostic:
    """Return what is said of a clock that is found to be wrong when packets have their timestamps."""
    message = f"the timestamps that are written, of {timing.tick_ns:.6g} ns a tick, are doubtful: {dropped.message.removesuffix(NOT_USED)}"
    return structs.replace(dropped, message=message, hint="--tick-ns names the length of a tick")


def _ending(exported: Exported, query: Query) -> list[Diagnostic]:
    """Return what was odd about recordings that were read to their ends."""
    from ptttool.analyses.loss import signs_of_loss

    if query.limit is not None:
        return []
    diagnostics = [*exported.notes]
    for recording in exported.recordings:
        diagnostics += [*recording.diagnostics, *signs_of_loss(recording.contents)]
    return diagnostics


def opened(first: OpenRecording, requests: Sequence[Request], workers: Workers) -> Iterator[OpenRecording]:
    """Yield several recordings, each open until the next one is asked for.

    Raw packet traces are one stream each: with several workers the next files are decoded while one is written.

    Parameters
    ----------
    first : OpenRecording
        The first one, already open; the caller closes it.
    requests : sequence of Request
        All of them.
    workers : Workers
        Who decodes.
    """
    ahead: dict[int, Lanes] = {}
    decodes_ahead = workers.jobs > 1 and not workers.reduces and len(requests) > 1 and first.is_raw and not first.is_ptt
    try:
        for number, request in enumerate(requests):
            for later in range(number, min(number + workers.jobs, len(requests)) if decodes_ahead else number):
                if later not in ahead and _can_be_opened_twice(requests[later].path):
                    ahead[later] = lanes_of(requests[later], 1)
            if number == 0:
                first.lanes = ahead.pop(0, None)
                yield first
                continue
            with OpenRecording(request) as recording:
                recording.lanes = ahead.pop(number, None)
                recording.topology = first.topology
                yield recording
    finally:
        for lanes in ahead.values():
            lanes.close()


def _can_be_opened_twice(path: str) -> bool:
    """Whether a path names a file or an address, not a pipe."""
    return is_remote(path) or os.path.isfile(path)  # noqa: PTH113 - False where it may not be looked at


def check_protocol(recording: OpenRecording, exporter: Exporter) -> None:
    """Raise a UsageError (code ``other-protocol``) where an exporter does not write a recording's protocol."""
    if exporter.protocols is not None and recording.protocol not in exporter.protocols:
        raise UsageError(
            f"{exporter.name} is a format of {' and '.join(exporter.protocols)} only, and {recording.path} holds {recording.title}",
            hint="choose another format with --to",
            code="other-protocol",
        )


def _walks(
    scoped: Iterable[tuple[OpenRecording, Scope]], first: OpenRecording, workers: Workers, watch: Watch, exported: Exported
) -> Iterator[tuple[Walk, Scope]]:
    for recording, scope in scoped:
        if recording.title != first.title:
            raise UsageError(
                f"{recording.path} holds {recording.title}, {first.path} {first.title}",
                hint="decode them one by one",
                code="other-protocol",
            )
        walk = recording.walk(workers)
        exported.recordings.append(recording)
        with watch(walk.progress):
            yield walk, scope


def export_payloads(recording: OpenRecording, exporter: PerfText, file: IO[bytes], watch: Watch) -> int:
    """Write the payloads of a PTT recording as they are; return the number of records.

    Raises
    ------
    UsageError
        It is a recording of something else (code ``other-protocol``), or a dump comes through a pipe, so its size is unknown.
    """
    check_protocol(recording, exporter)
    source = recording.source()
    progress = Progress(total=source.size)

    def counted() -> Iterator[Payload]:
        settings: Any = recording.stack.settings
        raw = settings.eight_dw if recording.request.form is InputForm.RAW else None
        for payload in payloads(source, raw=raw, done=lambda position: setattr(progress, "done", max(progress.done, position))):
            progress.records += len(payload.dws)
            yield payload

    with watch(progress):
        for piece in text(counted()):
            file.write(piece)
    return progress.records
