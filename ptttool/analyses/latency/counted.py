"""The mean latency that counters of the ``hisi_pcie`` PMU measured beside the trace, against that of the recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptttool.analyses.latency.document import LatencyGroup
from ptttool.capture.perf.counters import LinkCounters
from ptttool.diagnostics import Diagnostic, Severity

CODE = "counted-latency"
# By direction: the event whose name begins so adds latencies up, and what it is called.
_EVENTS = {"inbound": "rx_mrd", "outbound": "tx_mrd"}


def counted_latency(
    counters: LinkCounters | None, kinds: Sequence[LatencyGroup], directions: Sequence[LatencyGroup]
) -> Iterator[Diagnostic]:
    """Yield a note with both means of each direction in which all requests are memory reads: other requests are not counted.

    What a cycle of the PMU is, and whether its latency ends with the first completion or with the last, no document says. So the note has
    a ratio, and no nanosecond follows.

    Parameters
    ----------
    counters : LinkCounters or None
        What was counted.
    kinds, directions : sequence of LatencyGroup
        The requests of the recording by kind and by direction.
    """
    if counters is None or {group.key for group in kinds} != {"MRd"}:
        return
    for group in directions:
        event = _EVENTS.get(group.key, "")
        sum_, count = counters.value(f"{event}_latency"), counters.value(f"{event}_cnt")
        first, last = (None if spread is None else spread.mean for spread in (group.to_first, group.ticks))
        if not sum_ or not count or not first or not last:
            continue
        cycles = sum_ / count
        yield Diagnostic(
            Severity.INFO, CODE,
            f"{counters.pmu} measured {cycles:,.5g} of its cycles for an {group.key} read in the mean of {count:,} ({event}_latency / "
            f"{event}_cnt); here it is {first:,.5g} ticks to the first completion and {last:,.5g} to the last: a tick is "
            f"{cycles / last:.4g} to {cycles / first:.4g} cycles, if both measure the same. No document says how long a cycle is",
            details={"direction": group.key, "cycles": cycles, "count": count, "ticks_to_first": first, "ticks_to_last": last},
        )  # fmt: skip
