"""Short recordings again and again, each summed up: what ``ptttool top`` shows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Event

from msgspec import structs

from ptttool.api.capture import record
from ptttool.api.sample import LinkCounters, Sample, sample_of
from ptttool.capture.counters import counting, find_counters
from ptttool.capture.perf.tool import find_perf
from ptttool.capture.plan import Plan
from ptttool.errors import PerfError, UsageError
from ptttool.files.own_folders import scratch_folder

__all__ = ["Sample", "Sampling", "samples"]

SHORTEST = 0.001
"""The shortest window, in seconds: perf itself takes longer than that to start and end a trace."""


@dataclass(frozen=True)
class Sampling:
    """How samples are taken.

    Parameters
    ----------
    interval : float
        Seconds from the begin of one recording to that of the next one, at least.
    window : float
        Seconds that each recording lasts.
    count : int or None
        How many samples; None: until they are stopped.
    """

    interval: float = 1.0
    window: float = 0.05
    count: int | None = None

    def __post_init__(self) -> None:
        if self.window < SHORTEST:
            raise UsageError("--window: at least 1ms", hint="50ms is a good window", code="window-too-short")
        if self.window > self.interval:
            raise UsageError(
                f"--window {self.window:g} s is longer than --interval {self.interval:g} s",
                hint="'ptttool trace' records without a break",
                code="window-too-long",
            )
        if self.count is not None and self.count < 1:
            raise UsageError("--count: at least 1", code="count-too-small")


def samples(plan: Plan, sampling: Sampling, *, stop: Event | None = None, hold: Event | None = None) -> Iterator[Sample]:
    """Record a short time again and again, and yield each recording summed up; the recordings themselves are removed.

    On a recorded machine, the same bundled recording is replayed each time.

    Parameters
    ----------
    plan : Plan
        What to record; its output and duration are not used.
    sampling : Sampling
        How often, and how long.
    stop : Event, optional
        Ends the samples when it is set.
    hold : Event, optional
        No sample is taken while it is set.

    Yields
    ------
    Sample
        What a recording holds; one without a TLP is a sample, too.

    Raises
    ------
    BusyError
        Another run of ptttool traces the device.
    PtttoolError
        A check prevents the recording, or perf failed.
    """
    stop = Event() if stop is None else stop
    source = plan.device.source
    counters, request = None, plan.chosen.request
    if source is not None and source.live:
        with suppress(PerfError):  # the recording reports it
            counters = find_counters(source, plan.device, request.root_ports, request.requester, find_perf())
    with scratch_folder() as folder:
        output = folder / "perf.data"
        window = replace(plan, output=output, seconds=sampling.window, command=())
        number = 0
        before: float | None = None
        last: Sample | None = None
        while not stop.is_set() and (sampling.count is None or number < sampling.count):
            if hold is not None and hold.is_set():
                before = last = None
                stop.wait(0.1)
                continue
            began = time.monotonic()
            with nullcontext() if counters is None else counting(counters, sampling.interval) as finish:
                recorded = record(window)
                passed = None if before is None else began - before
                sample = sample_of(number, datetime.now(UTC), window, recorded, passed=passed, before=last)
                for path in folder.iterdir():
                    path.unlink()
                if counters is not None and finish is not None:
                    sample = structs.replace(sample, counters=LinkCounters(counters.pmu, sampling.interval, finish()))
            number, before, last = number + 1, began, sample
            yield sample
            if recorded.stopped_by is not None:
                return
            if sampling.count is None or number < sampling.count:
                stop.wait(max(0.0, began + sampling.interval - time.monotonic()))
