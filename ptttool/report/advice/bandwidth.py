"""Advice on bandwidth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ptttool.analyses.bandwidth.document import Bandwidth
from ptttool.diagnostics import Severity
from ptttool.report.model import Advice, around

# Share of the link from which little is left, and how far above the mean a burst is worth a look.
_FULL: Final = 0.8
_BURST: Final = 10.0


def on_bandwidth(result: Bandwidth) -> Iterator[Advice]:
    """Yield advice on a full link and on bursts."""
    for flow in result.directions:
        if flow.share is not None and flow.share >= _FULL:
            yield Advice(
                Severity.WARNING,
                "link-full",
                "bandwidth",
                f"{flow.direction} TLPs take {100 * flow.share:.1f} % of the link's bytes in the mean. TLPs can never have all of them: "
                "acknowledgements and flow control, which a trace does not have, take their part. So little room is left in this "
                "direction, and at times there may have been none. Check that the link runs at its full speed and width.",
                "ptttool list --tree",
                {"direction": flow.direction, "share_percent": round(100 * flow.share, 1)},
            )
    for direction, burst in result.bursts.items():
        if burst.times_mean is not None and burst.times_mean >= _BURST:
            yield Advice(
                Severity.INFO,
                "burst",
                "bandwidth",
                f"{direction} traffic comes in bursts: the busiest interval has {burst.times_mean:.3g} times the mean. Means "
                "of this recording say little of what the device needs at its peak.",
                around(burst.index),
                {"direction": direction, "times_mean": round(burst.times_mean, 1), "index": burst.index},
            )
