"""Advice on requests under way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ptttool.analyses.outstanding.document import Outstanding
from ptttool.diagnostics import Severity
from ptttool.report.model import Advice, around

# Share of the tags from which a device is near their end, and share of the time there from which tags are its limit.
_NEAR: Final = 0.9
_OFTEN: Final = 0.1


def on_outstanding(result: Outstanding) -> Iterator[Advice]:
    """Yield advice on devices that use all of their tags, where it is known how many they have."""
    for load in result.requesters:
        tags = load.tags
        if tags is None or not tags.is_known or tags.share < _NEAR:
            continue
        often = tags.time_near is not None and tags.time_near >= _OFTEN
        near = "" if tags.time_near is None else f", and is near it {100 * tags.time_near:.1f} % of the time"
        yield Advice(
            Severity.WARNING if often else Severity.INFO,
            "tags",
            "outstanding",
            f"{load.requester} had {load.peak:,} requests under way at once, {100 * tags.share:.0f} % of the {tags.limit} that its tags "
            f"allow{near}. While it is there, it cannot ask for more: more tags (ExtTag, 10-Bit Tag) or larger reads (MRRS) may help, if "
            "the device can use them.",
            around(load.index),
            {"requester": load.requester, "peak": load.peak, "tags": tags.limit, "index": load.index},
        )
