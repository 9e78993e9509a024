"""Perfetto traces: a slice for each transaction, counters for outstanding requests and bytes. By Perfetto's own protobuf classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ptttool.errors import MissingPackageError, UsageError
from ptttool.exporters.contract import EXPORTERS, Encoder, ExportContext, Exporter, Timing, Writer
from ptttool.pci import format_id
from ptttool.perfdata.tracepoints.samples import text_of
from ptttool.tlp.columns import DIRECTIONS, KINDS, STATUSES
from ptttool.tlp.transactions import Ending, Transactions
from ptttool.wording import clean, counted

if TYPE_CHECKING:
    from ptttool.diagnostics import Diagnostic
    from ptttool.table.schema import Schema

Array = npt.NDArray[Any]

MAX_SLICES: Final = 100_000
"""Slices of a trace where no number is asked for: more make Perfetto's interface slow."""
# Packets that are made before they are written.
_CHUNK: Final = 5_000
_SEQUENCE: Final = 1
# The latest timestamp: the trace processor takes them for signed numbers of 64 bits.
_LATEST: Final = (1 << 63) - 1
_CLEARED, _NEEDED = 1, 2  # TracePacket.SequenceFlags
# Identifiers of tracks. Those of requesters and of their tags follow from their numbers.
_ROOT, _OUTSTANDING, _BYTES = 1, 2, 3
_COMMANDS, _COMMAND = 1 << 16, 1 << 60
_REQUESTER, _REQUESTER_OUTSTANDING, _UNANSWERED, _TAG = 1 << 20, 1 << 21, 1 << 22, 1 << 40


class CommandTrace(Struct, frozen=True):
    """Commands of NVMe drives that the kernel and the link show.

    Parameters
    ----------
    rows : structured ndarray
        The commands by time: ``requester``, ``queue``, ``opcode``, ``pid``, ``name``, ``block``, ``bytes``; ``setup`` and ``complete``
        (nanoseconds in the kernel); ``fetched`` and ``ended`` (numbers of TLPs), ``fetched_at`` and ``ended_at`` (ticks). -1 is what is
        not known.
    operations : Mapping of int to str
        What opcodes of I/O queues mean.
    begin_ns : int or None
        When tick 0 was, in nanoseconds of the kernel; None where TLPs have no place in its time.
    tick_ns : float or None
        How long a tick is, where they have one.
    about : Mapping of str to str
        What is to be said of the commands and of their time.
    """

    rows: Array
    operations: Mapping[int, str]
    begin_ns: int | None
    tick_ns: float | None
    about: Mapping[str, str]


class TransactionTrace(Struct, frozen=True):
    """Transactions of a recording, and bytes over time.

    Parameters
    ----------
    rows : Transactions
        The transactions in the order of their requests, with the column ``address``; `at` counts from the start of the recording.
    left_out : int
        Transactions that are in the recording and not here.
    begins : ndarray of int64, shape (m,)
        Where intervals of `width` ticks begin.
    width : int
        Ticks of an interval.
    carried : ndarray of int64, shape (m, len(DIRECTIONS))
        Bytes that TLPs carried in each interval, by direction.
    dropped : Diagnostic or None
        What the recording says against the clock that is kept beside it: times are then ticks.
    commands : CommandTrace or None
        The kernel's commands.
    """

    rows: Transactions
    left_out: int
    begins: Array
    width: int
    carried: Array
    dropped: Diagnostic | None = None
    commands: CommandTrace | None = None

    @property
    def size(self) -> int:
        """Number of transactions."""
        return len(self.rows)


class Perfetto(Exporter):
    """A trace for ui.perfetto.dev."""

    name = "perfetto"
    meaning = f"Perfetto trace: a slice for each transaction ({MAX_SLICES:,} at most, or --limit), counters of open requests and bytes"
    suffixes = (".pftrace", ".perfetto-trace")
    is_binary = True
    protocols = ("hisi-ptt",)
    names_devices = True
    needs_time = True
    noun = "transaction"
    of_transactions = True

    def columns(self, schema: Schema, context: ExportContext) -> tuple[str, ...]:
        """Return no column: a trace is made of transactions."""
        return ()

    def encoder(self, schema: Schema) -> Encoder:
        """Raise a UsageError: a trace is not made of rows (code ``not-of-rows``)."""
        raise UsageError(
            "a Perfetto trace is made of transactions, not of rows", hint="choose another format with --to", code="not-of-rows"
        )

    def writer(self, file: IO[bytes], schema: Schema, context: ExportContext) -> Writer:
        """Return a writer of :class:`TransactionTrace`.

        Raises
        ------
        UsageError
            Columns were chosen (code ``columns-fixed``), or it is not known how the Time field counts (``no-time-model``).
        MissingPackageError
            The package perfetto is not installed.
        """
        if len(schema):
            raise UsageError("a Perfetto trace has no columns: --columns does not apply to it", hint="leave it out", code="columns-fixed")
        if context.timing.model == "unknown":
            message = "it is not known how the Time field of this recording counts, and a Perfetto trace is all about time"
            raise UsageError(message, hint="name it with --time-model", code="no-time-model")
        return PerfettoFile(file, context)


class PerfettoFile(Writer):
    """A trace that is being written."""

    def __init__(self, file: IO[bytes], context: ExportContext) -> None:
        try:
            from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos
        except ImportError:
            raise MissingPackageError.of_extra("--to perfetto", "perfetto", "perfetto") from None
        self._protos: Any = protos
        self._file = file
        self._context = context
        self._timing = context.timing
        self._names: dict[str, int] = {}
        self._keys: dict[str, int] = {}
        self._is_first = True
        self._begin = 0

    def add(self, piece: TransactionTrace) -> None:
        """Write the transactions."""
        if piece.dropped is not None:
            self._timing = Timing(self._timing.model)
        if piece.commands is not None and piece.commands.begin_ns is not None:
            self._timing = Timing(self._timing.model, piece.commands.tick_ns, "as the kernel's events allow")
            self._begin = piece.commands.begin_ns
        trace = self._protos.Trace()
        for fill in self._packets(piece):
            packet = trace.packet.add(trusted_packet_sequence_id=_SEQUENCE, sequence_flags=_NEEDED)
            if self._is_first:
                packet.sequence_flags, self._is_first = _CLEARED, False
            fill(packet)
            if len(trace.packet) == _CHUNK:
                self._file.write(trace.SerializeToString())
                trace = self._protos.Trace()  # what was cleared is kept by its arena
        self._file.write(trace.SerializeToString())

    def _packets(self, piece: TransactionTrace) -> Iterator[Any]:
        """Yield what fills each packet of the trace."""
        yield from self._tracks(piece)
        if piece.commands is not None:
            yield from self._commands(piece.commands)
        yield from self._outstanding(piece)
        yield from self._bytes(piece)
        yield from self._slices(piece)

    @property
    def _unit(self) -> float:
        """What a tick is shown as, in nanoseconds."""
        return 1.0 if self._timing.tick_ns is None else self._timing.tick_ns

    def _tracks(self, piece: TransactionTrace) -> Iterator[Any]:
        from ptttool.machine.topology import kernel_names_by_id

        timing = self._timing
        unit = "ticks: 1 tick is shown as 1 ns" if timing.tick_ns is None else f"1 tick is {timing.tick_ns:.6g} ns, {timing.source}"
        recording = self._context.facts.get("ptttool.recording", "recording")
        # The commands of the kernel stand above the transactions.
        order = {} if piece.commands is None else {"child_ordering": self._protos.TrackDescriptor.EXPLICIT}
        yield self._track(_ROOT, f"{recording} ({unit})", None, **order)
        yield self._instant(_ROOT, 0, "about this trace", {**self._context.facts, **self._about(piece, timing)})
        if piece.commands is not None:
            yield self._track(_COMMANDS, "commands of the kernel", _ROOT, sibling_order_rank=-1)
            yield self._instant(_COMMANDS, 0, "about the kernel's side", dict(piece.commands.about))
        names = kernel_names_by_id(self._context.machine)
        for requester in np.unique(piece.rows.requester).tolist():
            name = f" {names[requester]}" if requester in names else ""
            yield self._track(_REQUESTER + requester, f"{format_id(requester)}{name}", _ROOT)
        # Tracks of one name in one place are shown as one that is as high as they overlap.
        for key in np.unique(_tag_keys(piece.rows)).tolist():
            yield self._track(_TAG + key, "requests", _REQUESTER + (key >> 14))

    def _about(self, piece: TransactionTrace, timing: Timing) -> dict[str, object]:
        about: dict[str, object] = {
            "time model": timing.model,
            "unit": "ticks of the Time field, which are not nanoseconds" if timing.tick_ns is None else "nanoseconds",
            "transactions": piece.size,
            "left out": piece.left_out,
        }
        if piece.dropped is not None:
            about["clock"] = piece.dropped.message
        if piece.left_out:
            about["note"] = f"{counted(piece.left_out, 'transaction')} left out: outstanding requests count those that are shown"
        return about

    def _commands(self, piece: CommandTrace) -> Iterator[Any]:
        """Show each command in the kernel, and on the wire within; where TLPs have no place in the kernel's time, on the wire alone."""
        is_placed, begin, end = piece.begin_ns is not None, self._protos.TrackEvent.TYPE_SLICE_BEGIN, self._protos.TrackEvent.TYPE_SLICE_END
        times = {name: piece.rows[name].tolist() for name in ("setup", "complete")}
        for name in ("fetched_at", "ended_at"):
            times[name] = [self._time(at) if at >= 0 else -1 for at in piece.rows[name].tolist()]
        lanes: dict[int, list[tuple[int, int]]] = {}
        known: set[int] = set()
        for row, setup, complete, fetched, ended in zip(piece.rows, *times.values(), strict=True):
            key = int(row["requester"]) << 16 | int(row["queue"])
            start, stop = (setup, complete) if is_placed else (fetched, ended)
            is_whole = stop >= start >= 0
            if max(start, stop) < 0:
                continue
            # Commands of a queue overlap: each takes the first lane that is free.
            free = lanes.setdefault(key, [])
            lane = heappop(free)[1] if is_whole and free and free[0][0] <= start else len(free)
            track = _COMMAND + (key << 24) + (lane + 1 if is_whole else 0)
            if track not in known:
                known.add(track)
                name = f"{format_id(key >> 16)} queue {key & 0xFFFF}"
                yield self._track(track, name if is_whole else f"{name}: not seen as a whole", _COMMANDS)
            name, facts = _command(row, piece.operations)
            if not is_whole:
                yield self._event(track, max(start, stop), self._protos.TrackEvent.TYPE_INSTANT, name, facts, is_ns=True)
                continue
            heappush(free, (stop, lane))
            yield self._event(track, start, begin, name, facts, is_ns=True)
            if is_placed and setup <= fetched <= ended <= complete:
                yield self._event(track, fetched, begin, "on the wire", is_ns=True)
                yield self._event(track, ended, end, is_ns=True)
            elif is_placed and max(fetched, ended) >= 0:
                at, what = (fetched, "fetched") if fetched >= 0 else (ended, "completion entry")
                yield self._event(track, at, self._protos.TrackEvent.TYPE_INSTANT, what, is_ns=True)
            yield self._event(track, stop, end, is_ns=True)

    def _outstanding(self, piece: TransactionTrace) -> Iterator[Any]:
        """Count open requests: those whose end is known."""
        rows = piece.rows
        ends = rows.to_last >= 0
        yield self._counter(_OUTSTANDING, "outstanding requests", _ROOT)
        yield from self._samples(_OUTSTANDING, *_open_over_time(rows.at[ends], rows.to_last[ends]))
        for requester in np.unique(rows.requester).tolist():
            mine = ends & (rows.requester == requester)
            if mine.any():
                track = _REQUESTER_OUTSTANDING + requester
                yield self._counter(track, "outstanding", _REQUESTER + requester)
                yield from self._samples(track, *_open_over_time(rows.at[mine], rows.to_last[mine]))

    def _bytes(self, piece: TransactionTrace) -> Iterator[Any]:
        for number, direction in enumerate(DIRECTIONS):
            if not piece.carried[:, number].any():
                continue
            named = "" if direction == "unknown" else f"{direction} "
            if self._timing.tick_ns is None:
                name, scale = f"{named}bytes in {piece.width} ticks", 1.0
            else:
                name, scale = f"{named}MB/s", 1e3 / (piece.width * self._unit)
            yield self._counter(_BYTES + number, name, _ROOT)
            yield from self._samples(_BYTES + number, piece.begins, piece.carried[:, number] * scale)
            if len(piece.begins):
                yield from self._samples(_BYTES + number, piece.begins[-1:] + piece.width, np.zeros(1))

    def _slices(self, piece: TransactionTrace) -> Iterator[Any]:
        tracks = (_tag_keys(piece.rows) + _TAG).tolist()
        columns = zip(
            *(getattr(piece.rows, name).tolist() for name in (
                "request", "first", "last", "status", "tag", "requested", "received", "completions", "ending", "to_first",
            )), _addresses(piece.rows), strict=True,
        )  # fmt: skip
        places = zip(tracks, *(getattr(piece.rows, name).tolist() for name in ("requester", "kind", "at", "to_last")), strict=True)
        unanswered: set[int] = set()
        for (track, requester, kind, at, to_last), row in zip(places, columns, strict=True):
            request, first, last, status, tag, requested, received, count, ending, to_first, address = row
            facts: dict[str, object] = {"request": request}
            if count:
                facts |= {"first completion": first, "last completion": last, "status": STATUSES[status]}
            facts |= {"tag": tag, "requested bytes": requested, "received bytes": received, "completions": count}
            facts["ending"] = Ending(ending).name.lower()
            if to_first >= 0:
                facts["ticks to first"] = to_first
            if address is not None:
                facts["address"] = f"{address:#x}"
            name = f"{KINDS[kind]} {requested} B"
            if to_last < 0:
                if requester not in unanswered:
                    unanswered.add(requester)
                    yield self._track(_UNANSWERED + requester, "no known end", _REQUESTER + requester)
                yield self._instant(_UNANSWERED + requester, at, name, facts)
                continue
            yield self._event(track, at, self._protos.TrackEvent.TYPE_SLICE_BEGIN, name, facts)
            yield self._event(track, at + to_last, self._protos.TrackEvent.TYPE_SLICE_END)

    def _track(self, uuid: int, name: str, parent: int | None, **order: int) -> Any:
        def fill(packet: Any) -> None:
            for field, value in order.items():
                setattr(packet.track_descriptor, field, value)
            packet.track_descriptor.uuid = uuid
            packet.track_descriptor.name = clean(name)
            if parent is not None:
                packet.track_descriptor.parent_uuid = parent

        return fill

    def _counter(self, uuid: int, name: str, parent: int) -> Any:
        def fill(packet: Any) -> None:
            self._track(uuid, name, parent)(packet)
            packet.track_descriptor.counter.unit_name = ""

        return fill

    def _samples(self, track: int, times: Array, values: Array) -> Iterable[Any]:
        kind = self._protos.TrackEvent.TYPE_COUNTER
        whole = values.dtype.kind == "i"
        for at, value in zip(times.tolist(), values.tolist(), strict=True):

            def fill(packet: Any, at: int = at, value: float = value) -> None:
                packet.timestamp = self._time(at)
                event = packet.track_event
                event.type, event.track_uuid = kind, track
                if whole:
                    event.counter_value = int(value)
                else:
                    event.double_counter_value = value

            yield fill

    def _instant(self, track: int, at: int, name: str, facts: dict[str, object]) -> Any:
        return self._event(track, at, self._protos.TrackEvent.TYPE_INSTANT, name, facts)

    def _event(
        self, track: int, at: int, kind: int, name: str | None = None, facts: dict[str, object] | None = None, *, is_ns: bool = False
    ) -> Any:
        def fill(packet: Any) -> None:
            packet.timestamp = at if is_ns else self._time(at)
            event = packet.track_event
            event.type, event.track_uuid = kind, track
            if name is not None:
                event.name_iid = self._interned(packet.interned_data.event_names, self._names, name)
            for key, value in (facts or {}).items():
                iid = self._interned(packet.interned_data.debug_annotation_names, self._keys, key)
                if isinstance(value, int):
                    event.debug_annotations.add(name_iid=iid, int_value=value)
                else:
                    event.debug_annotations.add(name_iid=iid, string_value=clean(str(value)))

        return fill

    def _interned(self, table: Any, iids: dict[str, int], text: str) -> int:
        iid = iids.get(text)
        if iid is None:
            iid = iids[text] = len(iids) + 1
            table.add(iid=iid, name=clean(text))
        return iid

    def _time(self, ticks: int) -> int:
        return min(max(self._begin + round(ticks * self._unit), 0), _LATEST) if self._unit != 1.0 or self._begin else ticks


def _command(row: Any, operations: Mapping[int, str]) -> tuple[str, dict[str, object]]:
    """Return the name of a command, and what is known of it."""
    opcode, size = int(row["opcode"]), int(row["bytes"])
    does = operations.get(opcode) if row["queue"] > 0 else None
    name = "command" if opcode < 0 else does or f"opcode {opcode:#x}"
    facts: dict[str, object] = {"process": text_of(bytes(row["name"])), "queue": int(row["queue"])}
    numbers = {
        "opcode": opcode, "pid": int(row["pid"]), "first block": int(row["block"]), "bytes": size, "fetched by TLP": int(row["fetched"]),
        "completion entry": int(row["ended"]),
    }  # fmt: skip
    for what, begin, end in (("ns in the kernel", "setup", "complete"), ("ticks on the wire", "fetched_at", "ended_at")):
        numbers[what] = int(row[end] - row[begin]) if row[begin] >= 0 and row[end] >= 0 else -1
    facts |= {key: value for key, value in numbers.items() if value >= 0}
    return (f"{name} {size} B" if size >= 0 else name), facts


def _tag_keys(rows: Transactions) -> Array:
    return rows.requester.astype(np.int64) << 14 | rows.tag.astype(np.int64)


def _addresses(rows: Transactions) -> list[int | None]:
    """Return the address of each request; None where it has none."""
    values = rows.extra["address"].dense(len(rows))
    if values.array is None:
        return [None] * len(rows)
    numbers: list[int | None] = np.asarray(values.array).tolist()
    mask = values.mask(len(rows))
    return numbers if mask is None else [number if there else None for number, there in zip(numbers, mask.tolist(), strict=True)]


def _open_over_time(at: Array, to_last: Array) -> tuple[Array, Array]:
    """Return the moments at which the number of open requests changes, ascending, and the number from then on."""
    times, inverse = np.unique(np.concatenate((at, at + to_last)), return_inverse=True)
    changes = np.bincount(inverse, np.repeat([1.0, -1.0], len(at)), len(times))
    return times, np.cumsum(changes).astype(np.int64)


EXPORTERS.add("perfetto", Perfetto())
