"""The result: commands of the kernel and of the link, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from ptttool.analyses.budget import MAX_LISTED
from ptttool.analyses.shown import Column, Facts, Note, Part, Table, Unit, text_column
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.wording import clean

OPCODES = {0: "flush", 1: "write", 2: "read", 8: "write zeroes", 9: "deallocate"}
"""What opcodes of the NVM command set mean."""


class GroupBy(StrEnum):
    """By what commands are summed up."""

    PROCESS = "process"
    QUEUE = "queue"
    SIZE = "size"


class Spread(Struct, frozen=True):
    """How times spread.

    Parameters
    ----------
    p50, p90, p99, max : float
        Percentiles (nearest rank), and the longest.
    """

    p50: float
    p90: float
    p99: float
    max: float


class CommandSum(Struct, frozen=True):
    """Commands that were seen on both sides, of one process, queue or size, or all.

    Parameters
    ----------
    name : str
        Process (name and PID), queue (drive and number), or bytes.
    commands : int
        How many.
    bytes : int or None
        Bytes that they read and write; None where the size of one is not known.
    in_kernel : Spread or None
        From `nvme_setup_cmd` to `nvme_complete_rq`, in nanoseconds; of those that ended.
    on_wire : Spread or None
        From the fetch of the submission entry to the completion entry, in ticks. None where one of them was not traced.
    on_wire_ns : Spread or None
        The same in nanoseconds, where the length of a tick is known, or the clock leaves it open by 2 % or less.
    share : float or None
        Of the time in the kernel, the share that they were on the wire: the sum of the one by that of the other, of those that both
        sides show from begin to end. None where the length of a tick is not known.
    """

    name: str
    commands: int
    bytes: int | None
    in_kernel: Spread | None
    on_wire: Spread | None
    on_wire_ns: Spread | None
    share: float | None


class SlowCommand(Struct, frozen=True):
    """A command that took long.

    Parameters
    ----------
    process : str
        Who submitted it.
    requester : str
        The drive.
    queue, opcode : int
        Its queue, and what it does (1 writes, 2 reads); -1 where the submission was not seen.
    block, bytes : int or None
        Its first logical block, and its size; None where they are not known.
    in_kernel_ns : int
        From submission to end.
    on_wire : int or None
        From fetch to completion entry, in ticks; None where one of them is not known.
    index : int or None
        Number of the TLP of the fetch, else of the completion entry.
    """

    process: str
    requester: str
    queue: int
    opcode: int
    block: int | None
    bytes: int | None
    in_kernel_ns: int
    on_wire: int | None
    index: int | None

    @property
    def does(self) -> str:
        """What its opcode means, where it is one of the NVM command set."""
        name = OPCODES.get(self.opcode) if self.queue > 0 else None
        return f"opcode {self.opcode}" if name is None else name


class Interface(Struct, frozen=True):
    """What the kernel counted of a network interface; None where the event was not recorded.

    Parameters
    ----------
    name : str
        Its name.
    received, received_bytes : int or None
        Packets that the driver handed over (`netif_receive_skb`), after several were merged into one (GRO).
    sent, sent_bytes : int or None
        Packets that were handed to the driver (`net_dev_xmit`), before one is cut into several (TSO).
    polls, polled : int or None
        Calls of the driver's poll function, and the packets that these report (`napi_poll`).
    """

    name: str
    received: int | None
    received_bytes: int | None
    sent: int | None
    sent_bytes: int | None
    polls: int | None
    polled: int | None


class QueueJoin(Struct, frozen=True):
    """How a queue was joined.

    Parameters
    ----------
    requester : str
        The drive.
    controller : int or None
        Number of the controller in the kernel (`nvme0`: 0); None where none fits.
    queue : int
        Number of the queue.
    fetches, completions : int
        Entries on the link.
    submitted, ended : int
        Commands of the kernel's side.
    first_submitted, first_ended : int or None
        Which ones the first fetch and the first completion entry are, from 0. None where that is not known.
    conflicts : int
        How often order contradicts it.
    commands : int
        Commands that are joined.
    """

    requester: str
    controller: int | None
    queue: int
    fetches: int
    completions: int
    submitted: int
    ended: int
    first_submitted: int | None
    first_ended: int | None
    conflicts: int
    commands: int


class ClockBand(Struct, frozen=True):
    """The clocks that contradict nothing: what a tick is, and how well a TLP is placed in the time of the kernel.

    Parameters
    ----------
    is_possible : bool
        Whether one is possible. If not, the Time field is not what it was taken for, or ticks are missing.
    bounds : int
        Moments that bound it.
    tick_ns_low, tick_ns_high : float or None
        The shortest and the longest tick, in nanoseconds. Where no clock is possible for want of ticks of gaps, the longest one all the
        same.
    error_ns : float or None
        A TLP is placed by plus or minus so many nanoseconds, at worst.
    first_ns : int or None
        When the first of the joined TLPs passed, on perf's clock: the middle.
    missed_ns : float
        How far the bounds contradict each other at least; 0 where a clock is possible.
    may_miss_ticks : bool
        Whether ticks may be missing: the Time field has 11 bits, so that it does not show long gaps, or trace is missing.
    """

    is_possible: bool
    bounds: int
    tick_ns_low: float | None
    tick_ns_high: float | None
    error_ns: float | None
    first_ns: int | None
    missed_ns: float
    may_miss_ticks: bool
    anchors: int = 0


class KernelSide(Struct, frozen=True):
    """The kernel's side of a recording.

    Parameters
    ----------
    file : str
        The recording of tracepoints.
    joined : bool
        Whether commands of both sides could be joined.
    commands : int
        Commands that were seen on both sides.
    conflicts : int
        How often order contradicts that.
    seen : int
        Commands of the kernel's side, those of other drives too.
    lost : int
        Samples that the kernel had no room for.
    bytes_read, bytes_written : int or None
        Bytes of the joined commands; None where the size of a block is not known.
    all : CommandSum or None
        All joined commands.
    by : dict of str to list of CommandSum
        The same by `process`, `queue` and `size`, those with most commands first.
    more : dict of str to int
        How many rows were left out of each list.
    slowest : list of SlowCommand
        The commands that took longest in the kernel.
    queues : list of QueueJoin
        How each queue was joined.
    network : list of Interface
        What the kernel counted of packets. They are not joined with those of the trace: order does not tell which is which.
    clock : ClockBand or None
        The clock that follows; None where too little bounds it.
    at_least : bool
        Whether times on the wire are at least so long: the Time field has 11 bits, or trace is missing.
    notes : list of Diagnostic
        What is not known, and why.
    shown_by : GroupBy
        Which list is shown.
    """

    file: str
    joined: bool
    commands: int
    conflicts: int
    seen: int
    lost: int
    bytes_read: int | None
    bytes_written: int | None
    all: CommandSum | None
    by: dict[str, list[CommandSum]]
    more: dict[str, int]
    slowest: list[SlowCommand]
    queues: list[QueueJoin]
    network: list[Interface]
    clock: ClockBand | None
    at_least: bool
    notes: list[Diagnostic]
    shown_by: GroupBy = GroupBy.PROCESS

    @classmethod
    def unread(cls, file: str, code: str, message: str) -> KernelSide:
        """Return what is to be said of a file that cannot be read."""
        note = Diagnostic(Severity.WARNING, code, message, where=file)
        return cls(file, False, 0, 0, 0, 0, None, None, None, {}, {}, [], [], [], None, at_least=False, notes=[note])

    def shown(self) -> Iterator[Part]:
        """Yield what is to be seen."""
        if self.all is not None:
            if self.all.share is not None:
                least = "at least " if self.at_least else ""
                yield Note(
                    f"Of the time that the kernel had the commands that both sides show from begin to end, the drive had them for {least}"
                    f"{100 * self.all.share:.3g} %: from the fetch of each to its completion entry."
                )
            yield self._sums(self.all)
            yield self._slow()
        if self.network:
            yield self._packets()
        if self.clock is not None and self.clock.is_possible:
            yield Facts(tuple(_clock_facts(self.clock)), "Clock of the kernel")
        for note in self.notes:
            yield Note(note.text, note.severity)

    def _sums(self, total: CommandSum) -> Table:
        rows = self.by.get(self.shown_by, [])
        has_ns = any(row.on_wire_ns is not None for row in rows)
        unit = Unit.NANOSECONDS if has_ns else Unit.TICKS
        heads = {GroupBy.PROCESS: "Process", GroupBy.QUEUE: "Queue", GroupBy.SIZE: "Bytes a command"}
        columns = (
            text_column(heads[self.shown_by]),
            Column("Commands"),
            Column("Bytes", Unit.BYTES, weight=1),
            Column("In the kernel, p50", Unit.NANOSECONDS),
            Column("p99", Unit.NANOSECONDS),
            Column("On the wire, p50", unit),
            Column("p99", unit),
            Column("Share of time on the wire", Unit.PERCENT, weight=1),
        )
        cells = [self._cells(row, has_ns=has_ns) for row in rows]
        note = "In the kernel: from nvme_setup_cmd to nvme_complete_rq."
        if any(row.on_wire is not None for row in rows):
            note += f" On the wire: from the fetch of the command to its completion entry{', at least' if self.at_least else ''}."
        return Table(
            "Commands of the kernel", columns, cells,
            total=self._cells(total, has_ns=has_ns) if len(rows) > 1 else None,
            more=self.more.get(self.shown_by, 0),
            note=note,
        )  # fmt: skip

    def _packets(self) -> Table:
        columns = (
            text_column("Interface"),
            Column("Received"),
            Column("Bytes received", Unit.BYTES),
            Column("Sent"),
            Column("Bytes sent", Unit.BYTES),
            Column("Polls", weight=1),
            Column("Packets of polls", weight=1),
        )
        rows = [
            (clean(one.name), one.received, one.received_bytes, one.sent, one.sent_bytes, one.polls, one.polled)
            for one in self.network[:MAX_LISTED]
        ]
        note = "Merged packets (GRO) and those that are cut later (TSO) count once. Order does not join them with those of the trace."
        return Table("Packets of the kernel", columns, rows, more=max(len(self.network) - MAX_LISTED, 0), note=note)

    def _slow(self) -> Table:
        columns = (
            text_column("Process"),
            text_column("Queue", weight=1),
            text_column("Does"),
            Column("Block", weight=1),
            Column("Bytes", Unit.BYTES),
            Column("In the kernel", Unit.NANOSECONDS),
            Column("On the wire", Unit.TICKS),
            Column("TLP", Unit.INDEX),
        )
        rows = [
            (
                clean(one.process), f"{one.requester}, {one.queue}", one.does, one.block, one.bytes,
                one.in_kernel_ns, one.on_wire, one.index,
            )
            for one in self.slowest
        ]  # fmt: skip
        return Table("Slowest commands of the kernel", columns, rows)

    @staticmethod
    def _cells(row: CommandSum, *, has_ns: bool) -> tuple[str | int | float | None, ...]:
        wire = row.on_wire_ns if has_ns else row.on_wire
        return (
            clean(row.name),
            row.commands,
            row.bytes,
            *((None, None) if row.in_kernel is None else (row.in_kernel.p50, row.in_kernel.p99)),
            *((None, None) if wire is None else (wire.p50, wire.p99)),
            None if row.share is None else 100 * row.share,
        )


def _clock_facts(clock: ClockBand) -> Iterator[tuple[str, str]]:
    if clock.tick_ns_low is None or clock.tick_ns_high is None or clock.error_ns is None:
        return
    yield "Tick", f"{clock.tick_ns_low:.6g} to {clock.tick_ns_high:.6g} ns: with any other one, an effect is before its cause"
    yield "TLPs", f"are placed in the kernel's time by ± {clock.error_ns / 1000:,.1f} µs at worst, from {clock.bounds:,} bounds"
