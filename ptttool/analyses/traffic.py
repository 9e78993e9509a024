"""Who moves how much, with what, in which direction: TLPs and bytes by requester, direction and class."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import groupby
from operator import add
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import astuple

from ptttool.analyses.budget import MAX_REQUESTERS
from ptttool.analyses.contract import ANALYSES, Analysis, AnalysisContext
from ptttool.analyses.drawing.result import Shown
from ptttool.analyses.needs import Need
from ptttool.analyses.roles import sentence_on_unknown, sentences_on_writes
from ptttool.analyses.shares import amounts_table
from ptttool.analyses.shown import Facts, Names, Note, Part, named, text_column
from ptttool.analyses.tally import COLUMNS, Tally, added
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
        rows = [(row.requester, named(names, row.requester), row.direction, row.class_) for row in self.rows[:_SHOWN_ROWS]]
        every: list[TrafficRow | Amount] = [*self.rows, *(amount for kinds in self.left_out.values() for amount in kinds.values())]
        whole = (self.total.tlps - self.undecodable, self.total.bytes, self.total.requested_bytes)
        below = "A completion counts for the requester of its request."
        if self.more_requesters:
            below += f" {self.more_requesters:,} requesters are in no row, as there are too many; the total holds them."
        heads = (text_column("Requester"), text_column("Name", 3), text_column("Direction"), text_column("Class"))
        amounts = [(each.tlps, each.bytes, each.requested_bytes) for each in every]
        yield amounts_table("Who moves how much", heads, rows, amounts, whole, len(self.rows) - len(rows), below)
        by_kind: dict[tuple[str, str], list[int]] = {}
        for direction, kinds in (*((row.direction, row.kinds) for row in self.rows), *self.left_out.items()):
            for kind, amount in kinds.items():
                sums = by_kind.setdefault((direction, kind), [0, 0, 0])
                sums[:] = map(add, sums, astuple(amount))
        keys = sorted(by_kind, key=lambda key: (DIRECTIONS.index(key[0]), KINDS.index(key[1])))
        yield amounts_table("By kind", (text_column("Direction"), text_column("Kind")), keys, [by_kind[key] for key in keys], whole)


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
        directed = [cell for cell in cells if cell.direction is not None]
        directions = {name: _amount([cell for cell in directed if cell.direction == name]) for name in DIRECTIONS}
        rows, more, left_out = _rows(directed, total)
        return Traffic(total, directions, total.tlps - _amount(directed).tlps, rows, more, left_out, list(_notes(directed, context)))


def _amount(cells: list[Sums]) -> Amount:
    return Amount(sum(cell.records for cell in cells), sum(cell.payload for cell in cells), sum(cell.asked for cell in cells))


def _key(cell: Sums) -> tuple[int, int, int]:
    assert cell.requester is not None and cell.direction is not None and cell.tlp_class is not None
    return cell.requester, DIRECTIONS.index(cell.direction), CLASSES.index(cell.tlp_class)


def _rows(cells: list[Sums], total: Amount) -> tuple[list[TrafficRow], int, dict[str, dict[str, Amount]]]:
    """Return the rows of the requesters that move most, how many others there are, and what those move by direction and kind."""
    moved = added(cells, lambda cell: _key(cell)[0])
    most = heapq.nsmallest(MAX_REQUESTERS, moved, key=lambda requester: (-sum(moved[requester][1:]), -moved[requester][0], requester))
    places = {requester: place for place, requester in enumerate(most)}
    left_out: dict[str, dict[str, Amount]] = {}
    others = added((cell for cell in cells if cell.requester not in places), lambda cell: (str(cell.direction), cell.kind))
    for (name, kind), sums in others.items():
        left_out.setdefault(name, {})[kind] = Amount(*sums)
    rows = []
    listed = (cell for cell in cells if cell.requester in places)
    ordered = sorted(listed, key=lambda cell: (places[_key(cell)[0]], _key(cell), KINDS.index(cell.kind)))
    for (requester, direction, tlp_class), group in groupby(ordered, key=_key):
        parts = list(group)
        amount = _amount(parts)
        rows.append(
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
    return rows, len(moved) - len(most), left_out


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
