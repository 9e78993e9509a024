"""Advice on the sizes of TLPs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ptttool.analyses.payload.document import Operation, Payload, PayloadGroup
from ptttool.diagnostics import Severity
from ptttool.report.model import Advice

# Share of writes with parts of lines from which it is advice.
_PARTIAL: Final = 0.2
# TLPs of which sizes say something, the share of full ones from which the limit matters, and the share of data below which it is small.
_MANY: Final = 1000
_FULL: Final = 0.5
_EFFICIENT: Final = 0.7


def on_payload(result: Payload) -> Iterator[Advice]:
    """Yield advice on payload limits that could be larger, on many small writes, and on writes of parts of lines."""
    for group in result.groups:
        if group.tlps < _MANY:
            continue
        who = group.requester or "Others"
        yield from _on_lines(group, who)
        limit = group.limit
        if limit is not None and limit.is_known and limit.supported is not None and limit.supported > limit.bytes:
            if (group.at_limit or 0) >= _FULL:
                yield Advice(
                    Severity.WARNING,
                    "limit-too-small",
                    "payload",
                    f"{who}: {100 * (group.at_limit or 0):.1f} % of {group.tlps:,} {group.direction} {group.operation}s are as large as "
                    f"{limit.name} allows, {limit.bytes} bytes, and the function can do {limit.supported}. See what the path to it allows.",
                    "ptttool analyze payload FILE",
                    {"limit": limit.bytes, "supported": limit.supported, "full_percent": round(100 * (group.at_limit or 0), 1)},
                )
        elif _is_small(group):
            yield Advice(
                Severity.INFO,
                "small-writes",
                "payload",
                f"{who} writes {group.mean:.4g} bytes with a TLP in the mean: data are {100 * (group.efficiency or 0):.1f} % of what its "
                f"{group.tlps:,} {group.direction} writes take on the link. Larger transfers use it better.",
                "ptttool analyze payload FILE",
                {"mean_bytes": round(group.mean, 1), "tlps": group.tlps},
            )


def _on_lines(group: PayloadGroup, who: str) -> Iterator[Advice]:
    if group.operation is not Operation.WRITE or group.partial is None:
        return
    short, long = group.partial
    if short.writes >= _PARTIAL * group.tlps:
        share = 100 * short.writes / group.tlps
        yield Advice(
            Severity.INFO,
            "read-modify-write",
            "payload",
            f"{who}: {short.writes:,} of {group.tlps:,} writes of more than 4 bytes ({share:.1f} %) fill {short.lines:,} lines of "
            f"{short.line} bytes only partly, with {short.bytes:,} bytes ({long.lines:,} lines of {long.line} bytes). What is not in a "
            "cache is read from memory and written again, for each. Buffers and rings that begin and end at a line avoid it.",
            "ptttool analyze payload FILE",
            {"writes": short.writes, "lines": short.lines, "bytes": short.bytes, "share_percent": round(share, 1)},
        )


def _is_small(group: PayloadGroup) -> bool:
    return group.operation is Operation.WRITE and group.efficiency is not None and group.efficiency < _EFFICIENT
