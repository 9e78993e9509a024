"""A recording summed up for people: how many TLPs of what kind, whose, how much data, and the raw Time fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptttool.cli.talk import clean, console, print_line
from ptttool.pci import format_id

if TYPE_CHECKING:
    from rich.table import Table

    from ptttool.machine import Machine, PciFunction
    from ptttool.protocols.hisi_ptt_tally import Tally

MOST_REQUESTERS = 16


def print_summary(tally: Tally, machine: Machine | None, *, domain: int = 0) -> None:
    """On standard output. ``machine``: where the names of requesters come from; ``domain``: of the traced ports."""
    out = console()
    print_line(f"{tally.records} TLPs with {tally.payload_bytes} bytes of data")
    out.print()
    out.print(_kinds(tally))
    out.print()
    requesters = tally.by_requester()
    out.print(_requesters(requesters, machine, domain))
    if len(requesters) > MOST_REQUESTERS:
        print_line(f"and {len(requesters) - MOST_REQUESTERS} more requesters")
    if tally.time_first is not None:
        out.print()
        print_line(
            f"Time (raw): first {tally.time_first}, last {tally.time_last}, smallest {tally.time_smallest}, largest {tally.time_largest}"
        )


def _table(*columns: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in ("TLPs", "Data bytes") else "left", overflow="fold")
    return table


def _kinds(tally: Tally) -> Table:
    table = _table("Class", "TLPs", "Data bytes", "Kind", "TLPs", "Data bytes")
    classes = [[name, str(records), str(payload)] for name, (records, payload) in tally.by_class().items() if records]
    kinds = [[name, str(records), str(payload)] for name, (records, payload) in tally.by_kind().items()]
    for row in range(max(len(classes), len(kinds))):
        left = classes[row] if row < len(classes) else ["", "", ""]
        right = kinds[row] if row < len(kinds) else ["", "", ""]
        table.add_row(*left, *right)
    return table


def _requesters(requesters: dict[int, tuple[int, int]], machine: Machine | None, domain: int) -> Table:
    table = _table("Requester", "TLPs", "Data bytes", "Name")
    for requester, (records, payload) in list(requesters.items())[:MOST_REQUESTERS]:
        function = None if machine is None else machine.by_id(requester, domain)
        table.add_row(format_id(requester), str(records), str(payload), "" if function is None else clean(_name(function)))
    return table


def _name(function: PciFunction) -> str:
    known = function.kernel_names[0] if function.kernel_names else ""
    return f"{known}: {function.name}" if known else function.name
