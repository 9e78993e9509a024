"""Advice on requests outstanding: where their number stands still, and where tags run out."""

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
    """Yield advice on devices whose requests stand at a level, and on those that use all of their tags, where these are known."""
    for load in result.requesters:
        if (plateau := load.plateau) is not None:
            needs, evidence = "", {}
            if (demand := load.demand) is not None and demand.for_link is not None:
                evidence = {"for_link": round(demand.for_link, 1)}
                fills = "that is enough to fill the link" if plateau.level >= _NEAR * demand.for_link else "it does not fill the link"
                needs = f" With responses as long as these, {demand.for_link:,.0f} fill the link: {fills}."
            yield Advice(
                Severity.INFO,
                "plateau",
                "outstanding",
                f"{load.requester} stands at {plateau} requests for {100 * plateau.held:.1f} % of the time in which it waits for any, and "
                f"{100 * plateau.share:.1f} % of its requests came when another had ended there. That is the limit of the device, or of "
                f"the work that it has at a time (queue depth, size of commands), whatever its tags allow.{needs} Give it more work at a "
                "time: if the level stays, it is the device's, and larger reads (MRRS) or shorter responses are what is left.",
                "ptttool analyze outstanding FILE",
                {"requester": str(load.requester), "level": plateau.level, "held_percent": round(100 * plateau.held, 1), **evidence},
            )
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
