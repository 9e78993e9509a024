"""Who moves how much, with what, in which direction: TLPs and bytes by requester, direction and class."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ptttool.analyses.budget import MAX_REQUESTERS
from ptttool.analyses.contract import ANALYSES, Analysis, AnalysisContext
from ptttool.analyses.drawing.result import Shown
from ptttool.analyses.needs import Need
from ptttool.analyses.roles import sentence_on_unknown, sentences_on_writes
from ptttool.analyses.shares import percentages
from ptttool.analyses.shown import Cell, Column, Facts, Names, Note, Part, Table, Unit, text_column
from ptttool.analyses.tally import COLUMNS, Tally
from ptttool.analyses.tally import Cell as Sums
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document
from ptttool.pci import format_id
from ptttool.tlp.columns import CLASSES, DIRECTIONS, KINDS

if TYPE_CHECKING:
    from ptttool.table.batch import Batch

# Rows of a table that people see; --json has all.
_SHOWN_ROWS = 60


class Amount(Struct, frozen=True):
    """A sum over TLPs.

    Parameters
    ----------
    tlps : int
        Number of TLPs.
    bytes : int
        Bytes of data that they carried.
    requested_bytes : int
        Bytes that reads and atomics among them asked for. Writes ask for nothing: their bytes are those that they carried.
    """

    tlps: int
    bytes: int
    requested_bytes: int


class TrafficRow(Struct, frozen=True):
    """What one requester moved in one direction, of one class; a completion counts for the requester of its request.

    Parameters
    ----------
    requester : str
        Requester ID.
    direction : str
        ``inbound``, ``outbound`` or ``unknown``.
    class_ : str
        ``P``, ``NP`` or ``CPL``.
    tlps, bytes, requested_bytes : int
        As in :class:`Amount`.
    share_of_tlps, share_of_bytes : float
        Shares in all TLPs, and in all bytes that were carried, from 0 to 1.
    kinds : Mapping[str, Amount]
        The same by kind.
    """

    requester: str
    direction: str
    class_: str = field(name="class")
    tlps: int
    bytes: int
    requested_bytes: int
    share_of_tlps: float
    share_of_bytes: float
    kinds: dict[str, Amount]


@document("traffic")
class Traffic(Shown, Struct, frozen=True):
    """Who moves how much in which direction.

    Parameters
    ----------
    total : Amount
        All TLPs, undecodable ones among them.
    directions : Mapping[str, Amount]
        TLPs by direction.
    undecodable : int
        Records that are not TLPs: they have no requester, no class and no direction.
    rows : list of TrafficRow
        TLPs by requester (most bytes first), direction and class, of at most 2,048 requesters.
    more_requesters : int
        Requesters without rows, as there are too many.
    left_out : Mapping[str, Mapping[str, Amount]]
        Their TLPs, by direction and kind.
    notes : list of Diagnostic
        What the sums mean, and what is not known.
    """

    total: Amount
    directions: dict[str, Amount]
    undecodable: int
    rows: list[TrafficRow]
    more_requesters: int
    left_out: dict[str, dict[str, Amount]]
    notes: list[Diagnostic]

    def shown(self, names: Names) -> Iterator[Part]:
        """Yield the total, what the sums mean, the table of requesters and the one of kinds."""
        facts = [("TLPs", f"{self.total.tlps:,}"), ("bytes carried", f"{self.total.bytes:,}")]
        facts.append(("asked for by reads", f"{self.total.requested_bytes:,} bytes"))
        if self.undecodable:
            facts.append(("not TLPs", f"{self.undecodable:,}"))
        yield Facts(facts)
        for note in self.notes:
            yield Note(note.message, note.severity)
        if not self.rows:
            return
        share = Column("Share", Unit.PERCENT, weight=1)
        sums = (Column("TLPs", Unit.TLPS), share, Column("Bytes carried", Unit.BYTES), share, Column("Asked for", Unit.BYTES))
        whole = (
            self.total.tlps - self.undecodable,
            100.0,
            self.total.bytes,
            100.0 if self.total.bytes else 0.0,
            self.total.requested_bytes,
        )
        columns = (text_column("Requester"), text_column("Name", 3), text_column("Direction"), text_column("Class"), *sums)
        others = [amount for kinds in self.left_out.values() for amount in kinds.values()]
        shares = percentages([row.tlps for row in self.rows] + [amount.tlps for amount in others])[: len(self.rows)]
        sizes = percentages([row.bytes for row in self.rows] + [amount.bytes for amount in others])[: len(self.rows)]
        lines: list[list[Cell]] = []
        for row, part, size in zip(self.rows, shares, sizes, strict=True):
            name = names(row.requester)
            head: list[Cell] = [row.requester, None if name == row.requester else name, row.direction, row.class_]
            lines.append([*head, row.tlps, part, row.bytes, size, row.requested_bytes])
        more = max(0, len(lines) - _SHOWN_ROWS)
        below = "A completion counts for the requester of its request."
        if self.more_requesters:
            below += f" {self.more_requesters:,} requesters are in no row, as there are too many; the total holds them."
        yield Table("Who moves how much", columns, lines[:_SHOWN_ROWS], ("total", None, None, None, *whole), more, below)
        yield self._by_kind(sums, whole)

    def _by_kind(self, sums: tuple[Column, ...], whole: tuple[Cell, ...]) -> Table:
        found: dict[tuple[str, str], list[int]] = {}
        for direction, kinds in (*((row.direction, row.kinds) for row in self.rows), *self.left_out.items()):
            for kind, amount in kinds.items():
                cell = found.setdefault((direction, kind), [0, 0, 0])
                for number, value in enumerate((amount.tlps, amount.bytes, amount.requested_bytes)):
                    cell[number] += value
        keys = sorted(found, key=lambda key: (DIRECTIONS.index(key[0]), KINDS.index(key[1])))
        shares = percentages([found[key][0] for key in keys])
        sizes = percentages([found[key][1] for key in keys])
        lines = [
            (*key, found[key][0], part, found[key][1], size, found[key][2]) for key, part, size in zip(keys, shares, sizes, strict=True)
        ]
        return Table("By kind", (text_column("Direction"), text_column("Kind"), *sums), lines, ("total", None, *whole))


class TrafficAnalysis(Analysis[Traffic]):
    """Adds TLPs up by requester, kind and direction."""

    name = "traffic"
    meaning = "who moves how much in which direction: TLPs and bytes by requester, direction and class"
    columns = COLUMNS
    sums_recordings = True
    needs = (
        Need("data that devices write, such as those of a read of a disk", "--direction inbound", inbound=("P",), is_vital=False),
        Need("what devices ask for", "--direction inbound", inbound=("NP",), is_vital=False),
        Need("data that devices get", "--direction both --type np,cpl", outbound=("CPL",), is_vital=False),
    )

    def __init__(self) -> None:
        self.tally = Tally()

    def update(self, batch: Batch) -> None:
        """Add TLPs."""
        self.tally.add(batch)

    def merge(self, later: TrafficAnalysis) -> None:
        """Add the sums of the TLPs behind."""
        self.tally.merge(later.tally)

    def result(self, context: AnalysisContext) -> Traffic:
        """Return the sums: the requesters with most bytes first."""
        cells = self.tally.cells()
        total = _amount(cells)
        known = [cell for cell in cells if cell.direction is not None]
        directions = {name: _amount([cell for cell in known if cell.direction == name]) for name in DIRECTIONS}
        rows, more, left_out = _rows(known, total)
        return Traffic(total, directions, total.tlps - _amount(known).tlps, rows, more, left_out, list(_notes(known, context)))


def _amount(cells: list[Sums]) -> Amount:
    return Amount(sum(cell.records for cell in cells), sum(cell.payload for cell in cells), sum(cell.asked for cell in cells))


def _key(cell: Sums) -> tuple[int, int, int]:
    assert cell.requester is not None and cell.direction is not None and cell.tlp_class is not None
    return cell.requester, DIRECTIONS.index(cell.direction), CLASSES.index(cell.tlp_class)


def _rows(cells: list[Sums], total: Amount) -> tuple[list[TrafficRow], int, dict[str, dict[str, Amount]]]:
    """Return the rows of the requesters that move most, how many others there are, and what those move by direction and kind."""
    weights: dict[int, list[int]] = {}
    for cell in cells:
        weight = weights.setdefault(_key(cell)[0], [0, 0])
        weight[0] -= cell.payload + cell.asked
        weight[1] -= cell.records
    listed = set(heapq.nsmallest(MAX_REQUESTERS, weights, key=lambda requester: (weights[requester], requester)))
    left_out: dict[str, dict[str, list[Sums]]] = {}
    for cell in cells:
        if cell.requester not in listed:
            left_out.setdefault(str(cell.direction), {}).setdefault(cell.kind, []).append(cell)
    found = []
    ordered = sorted(
        (cell for cell in cells if cell.requester in listed), key=lambda cell: (weights[_key(cell)[0]], _key(cell), KINDS.index(cell.kind))
    )
    for (requester, direction, tlp_class), group in groupby(ordered, key=_key):
        parts = list(group)
        amount = _amount(parts)
        found.append(
            TrafficRow(
                requester=format_id(requester),
                direction=DIRECTIONS[direction],
                class_=CLASSES[tlp_class],
                tlps=amount.tlps,
                bytes=amount.bytes,
                requested_bytes=amount.requested_bytes,
                share_of_tlps=amount.tlps / total.tlps,
                share_of_bytes=amount.bytes / total.bytes if total.bytes else 0.0,
                kinds={cell.kind: _amount([cell]) for cell in parts},
            )
        )
    sums = {direction: {kind: _amount(parts) for kind, parts in kinds.items()} for direction, kinds in left_out.items()}
    return found, len(weights) - len(listed), sums


def _notes(cells: list[Sums], context: AnalysisContext) -> Iterator[Diagnostic]:
    written: dict[int, int] = {}
    for cell in cells:
        if cell.requester is not None and cell.tlp_class == "P" and cell.direction != "outbound":
            written[cell.requester] = written.get(cell.requester, 0) + cell.payload
    for sentence in sentences_on_writes(written, context.machine):
        yield Diagnostic(Severity.INFO, "inbound-writes", sentence)
    unknown = sum(cell.records for cell in cells if cell.direction == "unknown")
    if unknown:
        records = sum(cell.records for cell in cells)
        buses = sorted({f"{cell.requester >> 8:02x}" for cell in cells if cell.requester is not None and cell.requester >> 8})
        details = {"tlps": unknown, "share": unknown / records, "buses": buses}
        yield Diagnostic(Severity.WARNING, "direction-unknown", sentence_on_unknown(unknown, records, buses), details=details)


ANALYSES.add("traffic", TrafficAnalysis)
