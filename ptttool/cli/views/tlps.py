"""Tables of TLPs for ``info`` and ``trace``: who moved how much in which direction."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from ptttool.analyses.roles import sentence_on_unknown, sentences_on_writes
from ptttool.analyses.shares import percentages
from ptttool.analyses.shown import Column, text_column
from ptttool.cli.terminal.talk import plain_table
from ptttool.machine.model import Machine
from ptttool.machine.topology import functions_by_id
from ptttool.pci import PciAddress
from ptttool.wording import clean, counted, in_words

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

    from ptttool.analyses.summary import RequesterSums, TlpSummary

# Width of a terminal from which on requesters have their TLPs by class.
_WITH_CLASSES = 120
_LEAST_NAME = 14


def fitted(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> Group:
    """Make a table of the columns for which a terminal has room, whole ones, and a line that names the others."""
    from rich.console import Group

    from ptttool.cli.views.shown.table import fitting

    blocks, left_out = fitting(columns, rows, width)
    drawn: list[RenderableType] = []
    for chosen in blocks:
        heads = [columns[at].title for at in chosen]
        numbers = {columns[at].title for at in chosen if columns[at].is_number}
        table = plain_table(heads, right=numbers, whole=heads, overflow="ellipsis")
        for row in rows:
            table.add_row(*(row[at] for at in chosen))
        drawn += ["", table] if drawn else [table]
    if left_out:
        drawn.append(f"no room for: {in_words(dict.fromkeys(columns[at].title for at in left_out))}")
    return Group(*drawn)


def flow_table(summary: TlpSummary, width: int) -> Group:
    """Make a table of TLPs by direction and kind; its columns add up to the last row."""
    columns = (
        text_column("Direction"), text_column("Class", 2), text_column("Kind"), Column("TLPs"), Column("Share", weight=3),
        Column("Bytes carried"), Column("Share", weight=4), Column("Bytes asked for", weight=1),
    )  # fmt: skip
    rows = []
    shares = percentages([flow.records for flow in summary.flows])
    sizes = percentages([flow.payload_bytes for flow in summary.flows])
    for flow, share, size in zip(summary.flows, shares, sizes, strict=True):
        carried = (f"{flow.payload_bytes:,}", f"{size:.1f} %") if flow.payload_bytes else ("", "")
        asked = f"{flow.requested_bytes:,}" if flow.requested_bytes else ""
        rows.append((flow.direction or "", flow.class_ or "", flow.kind, f"{flow.records:,}", f"{share:.1f} %", *carried, asked))
    whole = "100.0 %" if summary.payload_bytes else ""
    sizes_of_all = (f"{summary.payload_bytes:,}", whole, f"{summary.requested_bytes:,}")
    rows.append(("total", "", "", f"{summary.records:,}", "100.0 %", *sizes_of_all))
    return fitted(columns, rows, width)


def requester_table(summary: TlpSummary, machine: Machine | None, width: int, most: int) -> Group:
    """Make a table of TLPs by requester, most frequent first; its columns add up to the last row.

    Names are shown if the machine is known; they are cut to the ``width`` of the terminal.
    """
    classes = ("P", "NP", "CPL") if width >= _WITH_CLASSES else ()
    directions = {"inbound": "Bytes in", "outbound": "Bytes out", "unknown": "Bytes, direction unknown"}
    directions = {name: title for name, title in directions.items() if name != "unknown" or summary.directions[name].payload_bytes}
    titles = ("TLPs", *classes, *directions.values(), "Bytes asked for")
    shown, others = summary.requesters[:most], summary.requesters[most:]

    def numbers(parts: Sequence[RequesterSums]) -> list[str]:
        sums = [sum(part.records for part in parts)]
        sums += [sum(part.classes[name].records for part in parts) for name in classes]
        sums += [sum(part.directions[name].payload_bytes for part in parts) for name in directions]
        sums.append(sum(part.requested_bytes for part in parts))
        return [f"{number:,}" for number in sums]

    rows = [(sums.requester, *numbers([sums]), clean(name_of(machine, sums.requester))) for sums in shown]
    if others:
        rows.append(("others", *numbers(others), f"{counted(len(others), 'requester')}: 'ptttool info --top N' shows more"))
    if len(rows) > 1:
        rows.append(("total", *numbers(summary.requesters), ""))
    columns = [text_column("Requester"), *(Column(title) for title in titles[:-1]), Column(titles[-1], weight=2)]
    if not any(row[-1] for row in rows):
        return fitted(columns, [row[:-1] for row in rows], width)
    taken = sum(max(map(len, column)) + 2 for column in zip(("Requester", *titles), *(row[:-1] for row in rows), strict=True))
    room = max(width - taken, _LEAST_NAME)
    named = [(*cells, name if len(name) <= room else name[: room - 1] + "…") for *cells, name in rows]
    return fitted([*columns, text_column("Name", 1)], named, width)


def name_of(machine: Machine | None, requester: str) -> str:
    """Return the names of a function and its PCI name; empty if the machine is unknown or has no function of that ID."""
    address = PciAddress.try_parse(requester)
    if machine is None or address is None:
        return ""
    function = functions_by_id(machine).get(address.routing_id)
    return "" if function is None else function.names


def remarks_on(summary: TlpSummary, machine: Machine | None, types: Collection[str] = ()) -> Iterator[str]:
    """Yield what the tables mean: of inbound writes, of unknown directions. ``types``: those that were traced, where that is known."""
    addresses = ((PciAddress.try_parse(one.requester), one) for one in summary.requesters)
    written = {address.routing_id: one.written_bytes for address, one in addresses if address is not None}
    for sentence in sentences_on_writes(written, machine):
        yield clean(sentence)
    if types and "p" not in types:
        yield "posted TLPs were not traced: what devices write into memory, such as the data of a read of a disk, is not in the recording"
    unknown = summary.directions["unknown"].records
    if unknown:
        buses = sorted({requester.requester[:2] for requester in summary.requesters if not requester.requester.startswith("00:")})
        yield sentence_on_unknown(unknown, summary.records, buses)
