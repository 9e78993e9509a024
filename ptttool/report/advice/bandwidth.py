"""Advice on bandwidth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ptttool.analyses.bandwidth.document import Bandwidth
from ptttool.diagnostics import Severity
from ptttool.report.model import Advice, around

# Share of the time with a full link, and how far above the mean a burst is worth a look.
_OFTEN: Final = 0.1
_BURST: Final = 10.0


def on_bandwidth(result: Bandwidth) -> Iterator[Advice]:
    """Yield advice on a full link and on bursts."""
    most = "at most " if result.time.hides_time else ""
    for direction, full in (result.saturation or {}).items():
        if full.share >= _OFTEN and full.index is not None:
            mean = next((flow.share for flow in result.directions if flow.direction == direction), None)
            of_all = "" if mean is None else f" In the mean, TLPs take {most}{100 * mean:.1f} % of its bytes."
            yield Advice(
                Severity.WARNING,
                "link-full",
                "bandwidth",
                f"The link is full {direction} for {most}{100 * full.share:.1f} % of the time: TLPs take "
                f"{full.bytes_per_second / 1e6:,.0f} MB/s or more, 90 % of what acknowledgements and flow control leave them. In this time "
                f"it is the limit.{of_all} Check that it runs at its full speed and width.",
                around(full.index),
                {"direction": direction, "full_percent": round(100 * full.share, 1), "index": full.index},
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
