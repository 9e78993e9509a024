"""Advice on addresses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ptttool.analyses.addresses.document import AddressMap
from ptttool.diagnostics import Severity
from ptttool.report.model import Advice, around

# Requests of which the alignment says something, and the share of whole cache lines below which it is advice.
_MANY: Final = 1000
_WHOLE_LINES: Final = 0.5


def on_addresses(result: AddressMap) -> Iterator[Advice]:
    """Yield advice on illegal requests and on requests that cut cache lines."""
    crossings = result.crossings
    if crossings.requests:
        at = crossings.indexes[0]
        yield Advice(
            Severity.ERROR,
            "crosses-4k",
            "addresses",
            f"{crossings.requests:,} requests cross a 4 KiB boundary, which no device may send. Look at the first one: its requester is at "
            "fault.",
            around(at),
            {"requests": crossings.requests, "first_index": at},
        )
    for one in result.alignment:
        if one.requests >= _MANY and one.whole_lines < _WHOLE_LINES * one.requests:
            share = 100 * one.whole_lines / one.requests
            yield Advice(
                Severity.INFO,
                "partial-lines",
                "addresses",
                f"Only {share:.1f} % of {one.requests:,} {one.direction} {one.operation}s of at least 64 bytes begin and end at a cache "
                "line. Buffers that are aligned to 64 bytes avoid accesses to parts of lines.",
                "ptttool analyze addresses FILE",
                {"direction": one.direction, "operation": one.operation, "whole_lines_percent": round(share, 1)},
            )
