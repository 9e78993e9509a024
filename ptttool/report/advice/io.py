"""Advice on the commands of NVMe drives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ptttool.analyses.io.commands.view import where_time_goes
from ptttool.analyses.io.results import IoResult
from ptttool.diagnostics import Severity
from ptttool.report.model import Advice

# Phases of which a mean says something, and the share of the time from which one is most of it.
_MANY: Final = 20
_MOST: Final = 0.5
_NEXT: Final = {
    "doorbell_to_fetch": "Look at what keeps the drive from fetching: its power states, and the commands that it already has (in flight).",
    "fetch_to_completion": "Look at the drive's own statistics, and at what its reads of memory wait for.",
    "completion_to_interrupt": "Look at the drive's interrupt coalescing, which trades this time for fewer interrupts.",
    "interrupt_to_doorbell": "Look at the CPUs that handle its interrupts: how busy they are, and their power states.",
    "doorbell_to_next": "The drive waits for work: give it more at a time (queue depth, more jobs).",
}


def on_io(result: IoResult) -> Iterator[Advice]:
    """Yield in whose hands commands are for most of their time."""
    phases = result.nvme.phases
    longest = None if phases is None else phases.longest
    if phases is None or longest is None:
        return
    name, times = longest
    if times.n >= _MANY and (times.share or 0.0) >= _MOST:
        [sentence] = where_time_goes(phases, result.time)
        yield Advice(
            Severity.INFO,
            "command-time",
            "io",
            f"{sentence.text} {_NEXT[name]}",
            "ptttool analyze io,latency FILE",
            {"phase": name, "share_percent": round(100 * (times.share or 0.0), 1), "mean_ticks": round(times.mean, 1), "seen": times.n},
        )
