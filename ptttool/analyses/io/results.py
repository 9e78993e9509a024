"""What the analysis finds, and how it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from ptttool.analyses.budget import MAX_LISTED
from ptttool.analyses.drawing.result import Shown
from ptttool.analyses.io.commands.document import CommandLatency, DriveCommands, Phases, Queue
from ptttool.analyses.io.commands.view import of_phases, of_queues, where_time_goes
from ptttool.analyses.joined.document import KernelSide
from ptttool.analyses.shown import Column, Names, Note, Part, Table, Unit, text_column
from ptttool.analyses.time.facts import TimeFacts
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document

FRAME_CHECK_SEQUENCE = 4
"""Bytes at the end of an Ethernet frame, which do not go to memory."""


class Bounds(Struct, frozen=True):
    """Limits of a number.

    Parameters
    ----------
    least, most : int or None
        Limits; None where one is not known.
    """

    least: int | None
    most: int | None

    @property
    def exact(self) -> int | None:
        """The number, if both are the same."""
        return self.least if self.least == self.most else None


class By(StrEnum):
    """How it is known what a requester is."""

    CLASS = "class"
    """By its class code: the machine is known."""
    BEHAVIOUR = "behaviour"
    """By the rings that it walks through."""


class Count(StrEnum):
    """What commands were counted by."""

    ENTRIES = "submission entries"
    """Fetches of submission queue entries, and completions of commands that were fetched before the recording began."""
    COMPLETIONS = "completion entries"
    """Writes of completion queue entries: fetches were not traced, or not seen."""
    ANSWERS = "completions of 64 bytes"
    """Completions that answer reads of 64 bytes: neither of both was traced."""


class DataBytes(Struct, frozen=True):
    """Bytes of data of commands.

    Parameters
    ----------
    read : int or None
        Read from the drive: it writes them to memory. None where such TLPs were not traced.
    write : int or None
        Written to the drive: it asks memory for them. None where such TLPs were not traced.
    """

    read: int | None
    write: int | None


class InFlight(Struct, frozen=True):
    """Commands that were fetched and not yet completed. Headers do not tell which completion belongs to which command.

    Parameters
    ----------
    at_start, at_end : int
        How many there were at both ends of the recording; at the start at least.
    peak : int
        The most at a time, at least.
    peak_index : int or None
        Number of the fetch in the recording with which there were so many, the first one of several; None where it was at the start.
    mean : float or None
        The mean over time; None where time is not known.
    ticks : float or None
        Mean time from fetch to completion entry, in ticks: time in flight of all commands by their number. No order of the completions
        changes it. None where some were open at an end: which ones is not known.
    ns : float or None
        The same in nanoseconds, where a tick is known.
    ticks_least, ticks_most : float or None
        Bounds of the mean of the commands that were fetched and ended in the recording, as far as is seen, whatever the order of
        completions. The lower one leaves out the commands that were open the longest, as requests for events are; the upper one has the
        time of all that were open. It is None where the Time field has 11 bits, which may miss ticks.
    is_whole : bool
        Whether every command was fetched and completed in the recording, as far as is seen.
    is_exact : bool
        Whether the means are exact: it is whole, and the Time field has 32 bits. One of 11 bits may miss ticks in long gaps.
    """

    at_start: int
    at_end: int
    peak: int
    peak_index: int | None
    mean: float | None
    ticks: float | None
    ns: float | None
    ticks_least: float | None
    ticks_most: float | None
    is_whole: bool
    is_exact: bool


class Drive(Struct, frozen=True):
    """Commands of an NVMe drive.

    Parameters
    ----------
    requester : str
        Requester ID.
    by : By
        How it is known that it is an NVMe drive.
    commands : int or None
        Commands that were seen; None where nothing tells.
    counted_by : Count or None
        By what.
    submitted, completed : int or None
        Submission queue entries that were fetched, and completion queue entries that were written; None where not traced.
    data_bytes : DataBytes
        Bytes of their data.
    uncertain_bytes : int
        Of ``data_bytes.write``: reads of a whole page that may have been of lists (PRP) instead.
    list_bytes : int or None
        Bytes of lists of addresses (PRP, SGL) that it read.
    interrupts : int or None
        Interrupts (MSI, MSI-X); None where they look like writes of shadow doorbells, or were not traced.
    submission_pages, completion_pages : int
        Pages of submission queues and of completion queues that were accessed.
    in_flight : InFlight or None
        Commands in flight; None where fetches or completion entries were not traced, may be missing inside the recording, or where the
        drive fetches several entries at once, or writes several completion entries at once.
    is_fetched : bool
        Whether it was seen to fetch commands, as far as reads were traced. One that works and fetches none has its submission queues in
        its own memory, perhaps.
    unexplained_tlps, unexplained_bytes : int
        Accesses that are none of all this.
    followed : DriveCommands
        Its commands by queue and by phase.
    """

    requester: str
    by: By
    commands: int | None
    counted_by: Count | None
    submitted: int | None
    completed: int | None
    data_bytes: DataBytes
    uncertain_bytes: int
    list_bytes: int | None
    interrupts: int | None
    submission_pages: int
    completion_pages: int
    in_flight: InFlight | None
    is_fetched: bool
    unexplained_tlps: int
    unexplained_bytes: int
    followed: DriveCommands


class Controller(Struct, frozen=True):
    """Packets of a network controller.

    Parameters
    ----------
    requester : str
        Requester ID.
    by : By
        How it is known that it is a network controller.
    is_understood : bool
        Whether its rings were seen to work as those of a model do, so that packets can be counted. Else bytes are all that is known.
    model : str or None
        How it reports packets: `write-back` as Intel's controllers, `mlx5`, `bnxt`, `hns3` or `virtio`; None if it is not understood.
    written_bytes, asked_bytes : int or None
        All bytes that it wrote to memory and asked memory for: of packets, of descriptors and of all else. None where not traced.
    rx_packets : int or None
        Received packets: descriptors that were written back. A packet that fills several buffers counts for each. None where only limits
        are known.
    rx_packets_least, rx_packets_most : int or None
        Limits of them.
    rx_bytes : int or None
        Their bytes in memory: without the frame check sequence of Ethernet. None where only limits are known.
    rx_bytes_least, rx_bytes_most : int or None
        Limits of them: what was written may be filled up to whole lines of memory, or have a header of the device in front.
    rx_wire_bytes : int or None
        The same with 4 bytes of frame check sequence a packet, as most drivers count.
    tx_descriptors : int or None
        Descriptors that were fetched for transmission.
    tx_sends_least, tx_sends_most : int or None
        Limits of the number of frames handed over for transmission: descriptors without data (contexts), and those with data. The
        controller may cut a frame into several packets (TSO); headers do not tell.
    tx_bytes : int or None
        Bytes that it read for transmission; headers of frames that it cuts count once. None where only limits are known.
    tx_bytes_least, tx_bytes_most : int or None
        Limits of them: some reads may be of descriptors.
    interrupts : int or None
        Interrupts (MSI, MSI-X).
    """

    requester: str
    by: By
    is_understood: bool
    written_bytes: int | None
    asked_bytes: int | None
    model: str | None = None
    rx_packets: int | None = None
    rx_packets_least: int | None = None
    rx_packets_most: int | None = None
    rx_bytes: int | None = None
    rx_bytes_least: int | None = None
    rx_bytes_most: int | None = None
    rx_wire_bytes: int | None = None
    tx_descriptors: int | None = None
    tx_sends_least: int | None = None
    tx_sends_most: int | None = None
    tx_bytes: int | None = None
    tx_bytes_least: int | None = None
    tx_bytes_most: int | None = None
    interrupts: int | None = None


class Nvme(Struct, frozen=True):
    """All NVMe drives.

    Parameters
    ----------
    commands, submitted, completed, data_bytes, uncertain_bytes, interrupts
        Sums of those of the drives; None where one is not known.
    drives : list of Drive
        The drives, those with most commands first.
    queues : list of Queue
        The queues of all drives.
    phases, phases_ns : Phases or None
        Ticks, and nanoseconds, by phase of the commands of all drives; None without a drive, and where the length of a tick is not known.
    latency, latency_ns : CommandLatency or None
        The same from fetch to completion; None where that was not seen, too.
    """

    commands: int | None
    submitted: int | None
    completed: int | None
    data_bytes: DataBytes
    uncertain_bytes: int
    interrupts: int | None
    drives: list[Drive]
    queues: list[Queue]
    phases: Phases | None
    phases_ns: Phases | None
    latency: CommandLatency | None
    latency_ns: CommandLatency | None


class Nic(Struct, frozen=True):
    """All network controllers.

    Parameters
    ----------
    rx_packets, rx_packets_least, rx_packets_most, rx_bytes, rx_bytes_least, rx_bytes_most, rx_wire_bytes : int or None
        Sums of those of the controllers; None where one is not known.
    tx_descriptors, tx_sends_least, tx_sends_most, tx_bytes, tx_bytes_least, tx_bytes_most, interrupts : int or None
        The same.
    controllers : list of Controller
        The controllers, those with most packets first.
    """

    rx_packets: int | None
    rx_packets_least: int | None
    rx_packets_most: int | None
    rx_bytes: int | None
    rx_bytes_least: int | None
    rx_bytes_most: int | None
    rx_wire_bytes: int | None
    tx_descriptors: int | None
    tx_sends_least: int | None
    tx_sends_most: int | None
    tx_bytes: int | None
    tx_bytes_least: int | None
    tx_bytes_most: int | None
    interrupts: int | None
    controllers: list[Controller]


class Unexplained(Struct, frozen=True):
    """TLPs of a requester that is taken for neither.

    Parameters
    ----------
    requester : str
        Requester ID.
    tlps : int
        Its TLPs, and completions for it.
    bytes : int
        Bytes that they wrote or asked for.
    """

    requester: str
    tlps: int
    bytes: int


# Of each count of a controller: its key, its title, its unit, and the weight of its limits' columns.
_COUNTED = (
    ("rx_packets", "Packets received", Unit.NONE, 0),
    ("rx_bytes", "Bytes received", Unit.BYTES, 1),
    ("tx_sends", "Frames sent", Unit.NONE, 1),
    ("tx_bytes", "Bytes sent", Unit.BYTES, 2),
)


@document("io")
class IoResult(Shown, Struct, frozen=True):
    """Commands of NVMe drives, and packets of network controllers.

    Parameters
    ----------
    nvme : Nvme
        The drives.
    nic : Nic
        The network controllers.
    unexplained : list of Unexplained
        Requesters that are taken for neither, those with most TLPs first.
    left_out : int
        Accesses that were not looked at: too many pages or requesters.
    notes : list of Diagnostic
        What is not known of a device, and why.
    time : TimeFacts
        What is known of time.
    kernel : KernelSide or None
        The kernel's side, where it was recorded; null where it was not, and where a condition leaves rows out.
    """

    nvme: Nvme
    nic: Nic
    unexplained: list[Unexplained]
    left_out: int
    notes: list[Diagnostic]
    time: TimeFacts
    kernel: KernelSide | None = None

    def shown(self, names: Names) -> Iterator[Part]:
        """Yield what is to be seen."""
        if self.nvme.drives:
            if self.nvme.phases is not None:
                yield from where_time_goes(self.nvme.phases, self.time)
            yield self._drives(names)
            if self.nvme.queues:
                yield of_queues(self.nvme.queues, names, self.time)
            if self.nvme.phases is not None:
                yield from of_phases(self.nvme.phases, self.nvme.latency, self.time)
        understood = [each for each in self.nic.controllers if each.is_understood]
        others = [each for each in self.nic.controllers if not each.is_understood]
        if understood:
            yield self._controllers(understood, names)
        if others:
            yield Table(
                "Network controllers whose rings are not understood: bytes are all that is known",
                (text_column("Controller"), Column("Bytes written to memory", Unit.BYTES), Column("Bytes asked for", Unit.BYTES)),
                [(_called(each.requester, names), each.written_bytes, each.asked_bytes) for each in others[:MAX_LISTED]],
                more=max(len(others) - MAX_LISTED, 0),
                note="These bytes are of packets, of descriptors and of completions.",
            )
        if not (self.nvme.drives or self.nic.controllers):
            yield Note("No requester was seen to walk through queues of commands, or through rings of descriptors.")
        if self.unexplained:
            yield Table(
                "Requesters that look like neither a drive nor a network controller",
                (text_column("Requester"), Column("TLPs"), Column("Bytes written or asked for", Unit.BYTES)),
                [(_called(each.requester, names), each.tlps, each.bytes) for each in self.unexplained[:MAX_LISTED]],
                more=max(len(self.unexplained) - MAX_LISTED, 0),
            )
        if self.kernel is not None:
            yield from self.kernel.shown()
        yield from self._notes()
        yield from self.time.shown()

    def _drives(self, names: Names) -> Table:
        columns = (
            text_column("Drive"),
            Column("Commands"),
            Column("Bytes read", Unit.BYTES),
            Column("Bytes written", Unit.BYTES),
            Column("Interrupts", weight=2),
            Column("In flight at most", weight=1),
            Column("Mean latency", Unit.TICKS, weight=1),
            Column("Mean latency", Unit.NANOSECONDS, weight=2),
            Column("Mean latency, at least", self.time.unit, weight=1),
            Column("Mean latency, at most", self.time.unit, weight=1),
        )
        rows = []
        for each in self.nvme.drives:
            flight = each.in_flight
            latency: tuple[float | None, ...] = (None,) * 5
            if flight is not None:
                bounds = (None, None) if flight.is_whole else (flight.ticks_least, flight.ticks_most)
                latency = (flight.peak, flight.ticks, flight.ns, *(None if each is None else self.time.scaled(each) for each in bounds))
            data = each.data_bytes
            rows.append((_called(each.requester, names), each.commands, data.read, data.write, each.interrupts, *latency))
        return Table("NVMe", columns, rows)

    def _controllers(self, understood: list[Controller], names: Names) -> Table:
        columns, shown = [text_column("Controller")], list[str]()
        for name, title, unit, weight in _COUNTED:
            ends = {name: ""}
            # Frames sent have limits only.
            exact, most = ([getattr(each, key, None) for each in understood] for key in (name, f"{name}_most"))
            if name == "tx_sends" or any(one is None and limit is not None for one, limit in zip(exact, most, strict=True)):
                ends = {f"{name}_least": ", at least", f"{name}_most": ", at most"}
            columns += [Column(title + end, unit, weight=weight if end else 0) for end in ends.values()]
            shown += ends
        columns.append(Column("Interrupts", weight=2))
        rows = [(_called(each.requester, names), *(getattr(each, name) for name in (*shown, "interrupts"))) for each in understood]
        return Table("Network", columns, rows)

    def _notes(self) -> Iterator[Note]:
        flights = [drive.in_flight for drive in self.nvme.drives if drive.in_flight is not None]
        started, ended = (sum(getattr(flight, name) for flight in flights) for name in ("at_start", "at_end"))
        if started or ended:
            yield Note(
                f"Of the commands, {started:,} were fetched before the recording, and {ended:,} did not end in it. The mean latency leaves "
                "them out. Headers do not tell which ones they are, so it has two bounds: at least, if those that stayed open were open "
                "the longest, as requests for events are; at most, if the time of all counts for those that ended."
            )
        if any(flight.is_whole and not flight.is_exact for flight in flights):
            yield Note("The Time field has 11 bits: latencies and phases are at least so long, and what long gaps hide is in no share.")
        if self.nvme.uncertain_bytes:
            yield Note(
                f"{self.nvme.uncertain_bytes:,} bytes written to drives may be lists of addresses (PRP) of commands that read.",
                Severity.WARNING,
            )
        for note in self.notes:
            yield Note(note.text, note.severity)
        if self.left_out:
            yield Note(f"{self.left_out:,} accesses were not looked at: too many pages or requesters.", Severity.WARNING)


def _called(requester: str, names: Names) -> str:
    name = names(requester)
    return requester if name == requester else f"{requester} {name}"
