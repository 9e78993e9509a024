"""The result of the analysis ``payload``."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from msgspec import Struct

from ptttool.analyses.drawing.result import Shown
from ptttool.analyses.shown import Cell, Column, Facts, Histogram, Names, Note, Part, Scale, Table, Unit, text_column
from ptttool.diagnostics import Diagnostic
from ptttool.documents import document

_SHOWN_SIZES: Final = 4
_SHOWN_GROUPS: Final = 40
# Bars of a chart of sizes.
_MOST_BARS: Final = 24


class Operation(StrEnum):
    """What the TLPs do that have a size in the result."""

    WRITE = "write"
    SMALL_WRITE = "small-write"
    """A write of one DW: an interrupt (MSI), a doorbell, a flag. It says nothing of the sizes that a device uses for data."""
    READ = "read"
    COMPLETION = "completion"
    TRANSLATION = "translation"
    """A read that asks for a translation of its address (ATS). 4DW records do not tell it from other reads."""


_DRAWN: Final = {
    Operation.WRITE: "Sizes of writes of more than 4 bytes",
    Operation.READ: "Sizes of reads",
    Operation.COMPLETION: "Sizes of completions with data",
}


class Limit(Struct, frozen=True):
    """What a size is held against.

    Parameters
    ----------
    name : str
        ``MPS`` (Max_Payload_Size) or ``MRRS`` (Max_Read_Request_Size).
    bytes : int
        The limit; where it is not known, the largest size that was seen: the limit is not below it.
    is_known : bool
        Whether the machine says it.
    supported : int or None
        The largest payload that the function is able to, where the machine says it.
    doubted : int or None
        The limit that the machine says, where TLPs are larger: it does not hold.
    """

    name: str
    bytes: int
    is_known: bool
    supported: int | None = None
    doubted: int | None = None


class Alignment(Struct, frozen=True):
    """Where TLPs begin and end.

    Parameters
    ----------
    tlps : int
        TLPs that were looked at: all writes; of completions those that more follow for the same request.
    begin_at_64 : int or None
        How many begin at a multiple of 64 bytes, with the first byte that is written; None for completions.
    end_at_64 : int
        How many end at one, with the last byte that is written.
    end_at_128 : int or None
        How many end at a multiple of 128 bytes; None for writes.
    boundary : int or None
        The Read Completion Boundary that the root port is set to, where the machine says it.
    """

    tlps: int
    begin_at_64: int | None
    end_at_64: int
    end_at_128: int | None
    boundary: int | None = None


class PartialLines(Struct, frozen=True):
    """Lines of memory that writes fill only partly: the rest of each is read first, or kept from what a cache holds.

    Parameters
    ----------
    line : int
        Bytes of a line.
    writes : int
        Writes with such a line: at their beginning, at their end, or by bytes that are left out.
    lines : int
        Such lines, two at most of a write. One that several writes fill together counts for each.
    bytes : int
        Bytes that are written in them.
    """

    line: int
    writes: int
    lines: int
    bytes: int


class PayloadGroup(Struct, frozen=True):
    """TLPs of one requester, direction and operation; a completion counts for the requester of its request.

    Parameters
    ----------
    requester : str or None
        Requester ID; None for those beyond the budget.
    direction : str
        ``inbound``, ``outbound`` or ``unknown``.
    operation : Operation
        What they do.
    tlps : int
        Number of TLPs.
    bytes : int
        Their bytes, 4 × Length: carried, or asked for by reads.
    smallest, largest : int
        The extremes of the bytes of a TLP.
    smallest_index, largest_index : int or None
        Numbers of the first TLPs of these sizes in the recording; None for several recordings together.
    mean : float
        Their mean.
    sizes : Mapping[str, int]
        TLPs by size in bytes: the most frequent sizes.
    other_sizes : int
        TLPs of all other sizes.
    powers : Mapping[str, int]
        TLPs by power of two: ``256`` stands for 256 to 511 bytes.
    limit : Limit or None
        What the sizes are held against; None for writes of one DW, and for requesters of bus 0, whose TLPs a root port makes.
    at_limit : float or None
        Share of TLPs that are as large as the limit, from 0 to 1.
    efficiency : float or None
        Bytes of data, divided by those with headers and framing; None for reads, which carry none.
    alignment : Alignment or None
        Where they begin and end; None for reads.
    partial : list of PartialLines or None
        Lines of 64 and of 128 bytes that are written partly; None for reads, completions, and writes that go outbound, to a device.
        Interrupts (MSI) are small writes, and go to no memory.
    """

    requester: str | None
    direction: str
    operation: Operation
    tlps: int
    bytes: int
    smallest: int
    largest: int
    smallest_index: int | None
    largest_index: int | None
    mean: float
    sizes: dict[str, int]
    other_sizes: int
    powers: dict[str, int]
    limit: Limit | None
    at_limit: float | None
    efficiency: float | None
    alignment: Alignment | None
    partial: list[PartialLines] | None


@document("payload")
class Payload(Shown, Struct, frozen=True):
    """Sizes of writes, reads and completions.

    Parameters
    ----------
    groups : list of PayloadGroup
        By requester, direction and operation, most bytes first.
    other_tlps : int
        TLPs that are neither memory writes and reads nor completions with data.
    notes : list of Diagnostic
        What is not known, and what stands out.
    sizes : Mapping[str, Mapping[str, int]]
        TLPs of all groups by operation and by size in bytes, ascending: every size that occurs.
    """

    groups: list[PayloadGroup]
    other_tlps: int
    notes: list[Diagnostic]
    sizes: dict[str, dict[str, int]]

    def shown(self, names: Names) -> Iterator[Part]:
        """Yield what stands out, the table of groups, and a histogram of each operation."""
        for note in self.notes:
            yield Note(note.message, note.severity)
        if not self.groups:
            return
        columns = (
            text_column("Requester"), text_column("Name", 4), text_column("Direction", 1), text_column("Operation"),
            Column("TLPs", Unit.TLPS), Column("Mean", Unit.BYTES), Column("Largest", Unit.BYTES),
            Column("Index of largest", Unit.INDEX, weight=3), text_column("Limit"), Column("At limit", Unit.PERCENT, weight=2),
            Column("Efficiency", Unit.PERCENT, weight=1),
        )  # fmt: skip
        rows = [_line(group, names) for group in self.groups[:_SHOWN_GROUPS]]
        below = (
            "Efficiency: data, divided by data with headers and 8 bytes of framing. A completion counts for the requester of its request."
        )
        yield Table("Sizes", columns, rows, None, max(0, len(self.groups) - _SHOWN_GROUPS), below)
        title = (text_column("Requester"), text_column("Direction"), text_column("Operation"))
        sizes = [
            (group.requester or "others", group.direction, group.operation.value, int(size), count, 100 * count / group.tlps)
            for group in self.groups[:_SHOWN_GROUPS]
            for size, count in list(group.sizes.items())[:_SHOWN_SIZES]
        ]
        yield Table("Most frequent sizes", (*title, Column("Size", Unit.BYTES), Column("TLPs"), Column("Share", Unit.PERCENT)), sizes)
        for operation in Operation:
            if operation in _DRAWN and operation.value in self.sizes:
                yield self._histogram(operation)
        aligned = [group for group in self.groups if group.alignment is not None and group.alignment.tlps]
        if aligned:
            heads = ("Begin at 64", "End at 64", "End at 128")
            lines = [_alignment(group) for group in aligned[:_SHOWN_GROUPS]]
            boundaries = sorted({group.alignment.boundary for group in aligned if group.alignment and group.alignment.boundary})
            boundary = f"; it is set to {boundaries[0]}" if len(boundaries) == 1 else ""
            rest = f"Of completions, those that more follow: they end at a Read Completion Boundary (RCB), 64 or 128 bytes{boundary}."
            yield Table("Alignment in bytes", (*title, Column("TLPs"), *(Column(head, Unit.PERCENT) for head in heads)), lines, note=rest)
        yield from self._partial(title)
        yield Facts([("other TLPs", f"{self.other_tlps:,}")])

    def _partial(self, title: tuple[Column, ...]) -> Iterator[Table]:
        """Yield the lines that writes fill partly."""
        rows: list[list[Cell]] = []
        for group in self.groups[:_SHOWN_GROUPS]:
            if group.partial is not None and any(each.writes for each in group.partial):
                numbers = [number for each in group.partial for number in (each.writes, 100 * each.writes / group.tlps, each.bytes)]
                rows.append([group.requester or "others", group.direction, group.operation.value, *numbers])
        if rows:
            heads = [(Column(f"Of {size}"), Column("Share", Unit.PERCENT), Column("Bytes", Unit.BYTES, weight=1)) for size in (64, 128)]
            note = "Writes with a line of 64 or 128 bytes that they fill partly. Memory is read, and written with what is new."
            yield Table("Writes of parts of lines", (*title, *heads[0], *heads[1]), rows, note=note)

    def _histogram(self, operation: Operation) -> Histogram:
        """Return a bar for each size that occurs; where these are too many, one for sizes above a power of two up to the next."""
        sizes = {int(size): count for size, count in self.sizes[operation.value].items()}
        lows, highs, counts = list(sizes), list(sizes), list(sizes.values())
        if len(sizes) > _MOST_BARS:
            limits = [4 << number for number in range((max(sizes) // 4 - 1).bit_length() + 1) if 4 << number >= min(sizes)]
            lows, highs = [min(sizes), *(limit + 4 for limit in limits[:-1])], [*limits[:-1], max(sizes)]
            counts = [sum(count for size, count in sizes.items() if low <= size <= high) for low, high in zip(lows, highs, strict=True)]
        set_to = {(group.limit.name, group.limit.bytes) for group in self.groups
                  if group.operation is operation and group.limit is not None and group.limit.is_known}  # fmt: skip
        marks = {name if len(set_to) == 1 else f"{name} {size}": float(size) for name, size in sorted(set_to)}
        return Histogram(_DRAWN[operation], "Size", lows, highs, counts, Unit.BYTES, marks=marks, scale=Scale.CATEGORIES)


def _line(group: PayloadGroup, names: Names) -> list[Cell]:
    # The first of several names is enough to tell a device.
    name = None if group.requester is None else names(group.requester).partition(",")[0]
    limit = "" if group.limit is None else f"{group.limit.name} {group.limit.bytes}" if group.limit.is_known else "not known"
    return [
        group.requester or "others", None if name == group.requester else name, group.direction, group.operation.value, group.tlps,
        round(group.mean, 1), group.largest, group.largest_index, limit,
        None if group.at_limit is None or group.limit is None or not group.limit.is_known else 100 * group.at_limit,
        None if group.efficiency is None else 100 * group.efficiency,
    ]  # fmt: skip


def _alignment(group: PayloadGroup) -> list[Cell]:
    alignment = group.alignment
    assert alignment is not None
    shares = [
        None if count is None else 100 * count / alignment.tlps
        for count in (alignment.begin_at_64, alignment.end_at_64, alignment.end_at_128)
    ]
    return [group.requester or "others", group.direction, group.operation.value, alignment.tlps, *shares]
