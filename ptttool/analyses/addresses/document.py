"""The result of the analysis ``addresses``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from ptttool.analyses.drawing.result import Shown
from ptttool.analyses.registers import with_name
from ptttool.analyses.shares import percentages
from ptttool.analyses.shown import Cell, Column, Facts, Names, Note, Part, Table, Unit, named, text_column
from ptttool.diagnostics import Severity
from ptttool.documents import document

# Rows of a table that people see; the JSON has more.
_SHOWN = 20


class FoundBy(StrEnum):
    """How interrupts were recognised."""

    DOORBELL = "doorbell"
    """The machine names the range that takes them."""
    PATTERN = "pattern"
    """They look like it: 4-byte writes to one address, and nothing else goes to its page."""


class RegionSums(Struct, frozen=True):
    """Requests to a region.

    Parameters
    ----------
    region : str or None
        Its name; None for addresses without one.
    kind : str or None
        ``bar``, ``io-bar``, ``memory``, ``window`` or ``doorbell``.
    direction : str
        ``inbound``, ``outbound`` or ``unknown``.
    operation : str
        ``read``, ``write``, ``atomic``, ``io-read`` or ``io-write``.
    requests : int
        Number of requests.
    bytes : int
        Bytes asked for or written.
    index : int
        Number of the first of them in the recording.
    """

    region: str | None
    kind: str | None
    direction: str
    operation: str
    requests: int
    bytes: int
    index: int


class PageSums(Struct, frozen=True):
    """Memory requests to a page.

    Parameters
    ----------
    address : str
        Its first byte.
    region : str or None
        The region of its first byte.
    direction : str
        ``inbound``, ``outbound`` or ``unknown``.
    requests, reads, writes, atomics : int
        Number of requests, and of each operation.
    bytes : int
        Bytes asked for or written.
    index : int
        Number of the first request.
    """

    address: str
    region: str | None
    direction: str
    requests: int
    reads: int
    writes: int
    atomics: int
    bytes: int
    index: int


class Pages(Struct, frozen=True):
    """The pages with most requests.

    Parameters
    ----------
    page_bytes : int
        Bytes of a page: 4096, or more where there were too many pages.
    pages : int
        Number of pages, counted for each direction.
    rows : list of PageSums
        Those with most requests, the most first.
    other_requests : int
        Requests to all other pages.
    """

    page_bytes: int
    pages: int
    rows: list[PageSums]
    other_requests: int


class Crossings(Struct, frozen=True):
    """Memory reads and writes across a 4 KiB boundary, which no device may send.

    Parameters
    ----------
    requests : int
        Number of them.
    indexes : list of int
        Numbers of the first ones in the recording.
    """

    requests: int
    indexes: list[int]


class AlignmentSums(Struct, frozen=True):
    """Alignment of requests of at least 64 bytes.

    Parameters
    ----------
    direction, operation : str
        Of the requests.
    requests : int
        Number of requests of at least 64 bytes.
    aligned_64, aligned_128, aligned_256 : int
        Those that begin at a multiple of so many bytes: with the first byte that the byte enables ask for, where the request has some.
    whole_lines : int
        Those that begin and end at multiples of 64 bytes.
    """

    direction: str
    operation: str
    requests: int
    aligned_64: int
    aligned_128: int
    aligned_256: int
    whole_lines: int


class WidthSums(Struct, frozen=True):
    """Where memory requests go, below or above 4 GiB.

    Parameters
    ----------
    direction : str
        Of the requests.
    below_4g, above_4g : int
        Number of requests.
    """

    direction: str
    below_4g: int
    above_4g: int


class InterruptSums(Struct, frozen=True):
    """Interrupts (MSI, MSI-X).

    Parameters
    ----------
    address : str
        Where they are written.
    requester : str or None
        Who wrote them; None where there were too many to tell.
    writes : int
        Number of writes.
    index : int
        Number of the first one.
    """

    address: str
    requester: str | None
    writes: int
    index: int


class Interrupts(Struct, frozen=True):
    """Writes that are interrupts.

    Parameters
    ----------
    found_by : str or None
        How they were found: ``doorbell``, ``pattern``; None without any.
    writes : int
        Number of them.
    rows : list of InterruptSums
        By address and requester, the most writes first.
    more : int
        Rows that are left out.
    """

    found_by: FoundBy | None
    writes: int
    rows: list[InterruptSums]
    more: int


class DoorbellSums(Struct, frozen=True):
    """Small writes of the processor to a register.

    Parameters
    ----------
    address : str
        The register.
    register : str or None
        The same within its BAR, such as ``01:00.0 BAR 0 + 0x1000``; None where no BAR is known for it.
    name : str or None
        What it is, such as ``SQ 1 tail doorbell``; None where that is not known.
    size : int
        Bytes of a write: 4, or 8 for larger ones.
    writes : int
        Number of writes.
    index : int
        Number of the first one.
    """

    address: str
    register: str | None
    name: str | None
    size: int
    writes: int
    index: int


class Doorbells(Struct, frozen=True):
    """Outbound memory writes of at most 8 bytes: doorbells, and other registers.

    Parameters
    ----------
    writes : int
        Number of writes.
    rows : list of DoorbellSums
        The registers with most writes, the most first.
    more : int
        Registers that are left out.
    """

    writes: int
    rows: list[DoorbellSums]
    more: int


class PeerSums(Struct, frozen=True):
    """Requests of a device to another one's BAR.

    Parameters
    ----------
    requester : str or None
        The device; None where there were too many to tell.
    region : str
        The BAR.
    operation : str
        ``read``, ``write``, ``atomic``, ``io-read`` or ``io-write``.
    requests, bytes : int
        Number of requests, and the bytes that they ask for or write.
    index : int
        Number of the first one.
    """

    requester: str | None
    region: str
    operation: str
    requests: int
    bytes: int
    index: int


class SenderSums(Struct, frozen=True):
    """Outbound requests by requester.

    Parameters
    ----------
    requester : str
        Requester ID.
    is_device : bool or None
        Whether it is a device behind another port, so that the requests are peer-to-peer; None where the machine is not known.
    requests, bytes : int
        Number of requests, and the bytes that they ask for or write.
    index : int
        Number of the first one.
    """

    requester: str
    is_device: bool | None
    requests: int
    bytes: int
    index: int


class PeerToPeer(Struct, frozen=True):
    """Requests from one device to another one.

    Parameters
    ----------
    inbound : list of PeerSums
        Requests from behind the traced port to a BAR; the most first.
    outbound : list of SenderSums
        Who sends requests to devices behind the traced port; the most first.
    more : int
        Rows that are left out.
    """

    inbound: list[PeerSums]
    outbound: list[SenderSums]
    more: int


@document("addresses")
class AddressMap(Shown, Struct, frozen=True):
    """Requests with an address, summed up by it.

    Parameters
    ----------
    requests, bytes : int
        Number of requests, and the bytes that they ask for or write.
    regions_known : int
        Number of named ranges that the machine has; 0 where it is not known: then no region has a name.
    translated : bool or None
        Whether an SMMU translates the addresses of devices; None where that is not known.
    regions : list of RegionSums
        Requests by region, direction and operation; the most bytes first.
    pages : Pages
        Hot pages.
    crossings : Crossings
        Requests across a 4 KiB boundary.
    alignment : list of AlignmentSums
        Alignment by direction and operation.
    widths : list of WidthSums
        Addresses below and above 4 GiB by direction.
    interrupts : Interrupts
        Interrupts.
    doorbells : Doorbells
        Small writes to registers.
    peer_to_peer : PeerToPeer
        Requests between devices.
    """

    requests: int
    bytes: int
    regions_known: int
    translated: bool | None
    regions: list[RegionSums]
    pages: Pages
    crossings: Crossings
    alignment: list[AlignmentSums]
    widths: list[WidthSums]
    interrupts: Interrupts
    doorbells: Doorbells
    peer_to_peer: PeerToPeer

    def shown(self, names: Names) -> Iterator[Part]:
        """Yield the sums by region, then what is odd, then pages and registers."""
        yield Facts(
            [
                ("requests", f"{self.requests:,} with an address"),
                ("bytes", f"{self.bytes:,} asked for or written"),
                ("addresses", _WHAT_ADDRESSES_ARE[self.translated]),
            ]
        )
        if not self.requests:
            return
        if not self.regions_known:
            yield Note("no BARs and memory ranges are known: name the machine with --sysfs, or keep the sidecar beside the recording")
        if self.crossings.requests:
            where = ", ".join(map(str, self.crossings.indexes))
            text = f"{self.crossings.requests:,} requests cross a 4 KiB boundary, which is illegal; the first ones have the index {where}"
            yield Note(text, Severity.ERROR)
        yield self._regions_table()
        yield from self._interrupts_parts(names)
        yield from self._doorbell_parts()
        yield from self._peer_parts(names)
        yield self._pages_table()
        yield from self._shape_tables()

    def _regions_table(self) -> Table:
        columns = (
            text_column("Region"), text_column("Direction"), text_column("Operation"), Column("Requests", Unit.TLPS),
            Column("Bytes", Unit.BYTES), Column("Share", Unit.PERCENT, weight=1), Column("First", Unit.INDEX, weight=2),
        )  # fmt: skip
        shares = percentages([one.bytes for one in self.regions])
        regions = ["(no known range)" if one.region is None else one.region for one in self.regions]
        rows = [
            (region, one.direction, one.operation, one.requests, one.bytes, share, one.index)
            for region, one, share in zip(regions, self.regions, shares, strict=True)
        ]
        return Table("By region", columns, rows, ("all", None, None, self.requests, self.bytes, 100.0 if self.bytes else None, None))

    def _interrupts_parts(self, names: Names) -> Iterator[Part]:
        if self.interrupts.found_by is None:
            return
        note = _HOW_FOUND[self.interrupts.found_by]
        columns = (
            text_column("Address"), text_column("Requester"), text_column("Name", 2), Column("Writes", Unit.TLPS),
            Column("First", Unit.INDEX, weight=1),
        )  # fmt: skip
        rows = [(one.address, one.requester, named(names, one.requester), one.writes, one.index) for one in self.interrupts.rows]
        yield _shortened("Interrupts", columns, rows, ("all", None, None, self.interrupts.writes, None), self.interrupts.more, note)

    def _doorbell_parts(self) -> Iterator[Part]:
        if not self.doorbells.writes:
            return
        columns = (
            text_column("Register"), text_column("Address", 2), Column("Size", Unit.BYTES), Column("Writes", Unit.TLPS),
            Column("First", Unit.INDEX, weight=1),
        )  # fmt: skip
        rows = [(with_name(one.register, one.name), one.address, one.size, one.writes, one.index) for one in self.doorbells.rows]
        note = "outbound memory writes of at most 8 bytes: doorbells, and other registers"
        yield _shortened("Doorbells", columns, rows, ("all", None, None, self.doorbells.writes, None), self.doorbells.more, note)

    def _peer_parts(self, names: Names) -> Iterator[Part]:
        peers = self.peer_to_peer
        columns = (
            text_column("Requester"), text_column("Name", 2), text_column("Target"), text_column("Operation"),
            Column("Requests", Unit.TLPS), Column("Bytes", Unit.BYTES), Column("First", Unit.INDEX, weight=1),
        )  # fmt: skip
        rows: list[Sequence[Cell]] = [
            (one.requester, named(names, one.requester), one.region, one.operation, one.requests, one.bytes, one.index)
            for one in peers.inbound
        ]
        rows += [
            (one.requester, named(names, one.requester), "behind the traced port", None, one.requests, one.bytes, one.index)
            for one in peers.outbound
            if one.is_device
        ]
        if rows:
            yield _shortened("Peer-to-peer", columns, rows, None, peers.more)

    def _pages_table(self) -> Table:
        size = self.pages.page_bytes
        columns = (
            text_column("Page"), text_column("Region", 2), text_column("Direction"), Column("Requests", Unit.TLPS),
            Column("Reads", Unit.TLPS, weight=2), Column("Writes", Unit.TLPS, weight=2), Column("Bytes", Unit.BYTES),
            Column("First", Unit.INDEX, weight=1),
        )  # fmt: skip
        rows = [
            (one.address, one.region, one.direction, one.requests, one.reads, one.writes, one.bytes, one.index)
            for one in self.pages.rows[:_SHOWN]
        ]
        note = ""
        if size > _PAGE_BYTES:
            note = f"too many pages of 4 KiB: these are ranges of {_size_text(size)}; --where with a range of addresses looks closer"
        return Table(f"Hot ranges of {_size_text(size)}", columns, rows, None, self.pages.pages - len(rows), note)

    def _shape_tables(self) -> Iterator[Part]:
        shares = [Column(title, Unit.PERCENT) for title in ("To 64 B", "To 128 B", "To 256 B", "Whole lines")]
        rows: list[Sequence[Cell]] = [
            (
                one.direction, one.operation, one.requests,
                *(100 * part / one.requests for part in (one.aligned_64, one.aligned_128, one.aligned_256, one.whole_lines)),
            )
            for one in self.alignment
        ]  # fmt: skip
        if rows:
            columns = (text_column("Direction"), text_column("Operation"), Column("Requests", Unit.TLPS), *shares)
            note = "requests of at least 64 bytes; whole lines begin and end at multiples of 64 bytes"
            yield Table("Alignment", columns, rows, note=note)
        columns = (text_column("Direction"), Column("Below 4 GiB", Unit.TLPS), Column("Above 4 GiB", Unit.TLPS))
        if self.widths:
            yield Table("Addresses", columns, [(one.direction, one.below_4g, one.above_4g) for one in self.widths])


_PAGE_BYTES = 4096
_WHAT_ADDRESSES_ARE = {
    True: "those of devices are IOVAs: an SMMU translates them, so the ranges of /proc/iomem do not apply to them",
    False: "physical: no SMMU translates those of the devices",
    None: "physical, or IOVAs where an SMMU translates: the machine does not say",
}
_HOW_FOUND = {
    FoundBy.DOORBELL: "writes to the range that the machine names for interrupts",
    FoundBy.PATTERN: "these look like interrupts: 4-byte writes to one address, and nothing else goes to its page",
}


def _shortened(
    title: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], total: Sequence[Cell] | None, more: int, note: str = ""
) -> Table:
    """Return a table of the first rows; `more`: those that are left out already."""
    return Table(title, columns, rows[:_SHOWN], total, max(len(rows) - _SHOWN, 0) + more, note)


def _size_text(size: int) -> str:
    """Return a power of two from 4 KiB on in the unit that fits."""
    power = min((size.bit_length() - 1) // 10, 5)
    return f"{size >> 10 * power:,} {('B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB')[power]}"
