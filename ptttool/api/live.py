"""Short recordings again and again, each summed up: what ``ptttool top`` shows."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event
from typing import ClassVar

from msgspec import Struct, field, structs

from ptttool.analyses.drawing.names import names_of
from ptttool.analyses.latency.document import Spread
from ptttool.analyses.shown import Names
from ptttool.analyses.traffic import TrafficRow
from ptttool.api.capture import record
from ptttool.api.recording import Ask, Recording, Request
from ptttool.capture.keep import Recorded
from ptttool.capture.perf.counters import LinkCounters, counting, find_counters
from ptttool.capture.perf.tool import find_perf
from ptttool.capture.plan import Plan
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document
from ptttool.errors import PerfError, UsageError
from ptttool.files.ownership import scratch_folder
from ptttool.pipeline.analyzing.ask import run

__all__ = ["Sample", "SampleRow", "Sampling", "samples"]

# What each sample is summed up by.
_ANALYSES = ("traffic", "latency", "errors", "loss")


class SampleRow(Struct, frozen=True):
    """TLPs of one requester, class and direction.

    Parameters
    ----------
    requester : str
        Requester ID.
    name : str or None
        What the function is called, where the machine says so.
    direction : str
        ``inbound``, ``outbound`` or ``unknown``.
    class_ : str
        ``P``, ``NP`` or ``CPL``.
    tlps, bytes, requested_bytes : int
        TLPs, bytes of data that they carried, bytes that they asked for.
    tlps_per_second, bytes_per_second, requested_per_second : float or None
        The same by the seconds of the window; None where these are not known, as of a replay, or something is missing.
    payload : float or None
        Mean bytes of data of a TLP; None where none carried data.
    latency_p50, latency_p99 : float or None
        Ticks from a request of this requester to its last completion, in rows of the class NP; None where none was seen.
    """

    requester: str
    name: str | None
    direction: str
    class_: str = field(name="class")
    tlps: int
    bytes: int
    requested_bytes: int
    tlps_per_second: float | None
    bytes_per_second: float | None
    requested_per_second: float | None
    payload: float | None
    latency_p50: float | None = None
    latency_p99: float | None = None


class ErrorCount(Struct, frozen=True):
    """Errors of one kind.

    Parameters
    ----------
    kind : str
        The code of the kind, as the analysis ``errors`` has it.
    count : int
        How many there were.
    """

    json_name: ClassVar = "ErrorKind"

    kind: str
    count: int


@document("top")
class Sample(Struct, frozen=True):
    """A short recording, summed up.

    Parameters
    ----------
    number : int
        Number of the sample, from 0.
    time : str
        When it was taken, ISO 8601.
    device, event : str
        What traced, and with which event.
    window : float or None
        Seconds that were traced, between perf's answers that the event is on and off; None where that is not known.
    passed : float or None
        Seconds since the sample before began; None for the first one.
    share : float or None
        Part of that time that was traced, by the sample before, in percent: of what happened in between, nothing is known.
    tlps, bytes, requested_bytes : int
        Sums of the rows.
    rows : list of SampleRow
        By requester, class and direction, those with most TLPs first.
    errors : list of ErrorCount
        Errors that the TLPs show.
    loss : list of Diagnostic
        Signs that something is missing from the recording, or that it is empty.
    counters : LinkCounters or None
        Counters beside the recording; no key where the kernel has no such PMU.
    replay_of : str or None
        The command that made the bundled recording which was replayed.
    """

    json_omits_none: ClassVar = ("counters",)

    number: int
    time: str
    device: str
    event: str
    window: float | None
    passed: float | None
    share: float | None
    tlps: int
    bytes: int
    requested_bytes: int
    rows: list[SampleRow]
    errors: list[ErrorCount]
    loss: list[Diagnostic]
    counters: LinkCounters | None = None
    replay_of: str | None = None


def sample_of(number: int, taken: datetime, plan: Plan, recorded: Recorded, *, passed: float | None, before: Sample | None) -> Sample:
    """Sum a short recording up.

    Parameters
    ----------
    number : int
        Number of the sample.
    taken : datetime
        When it was taken.
    plan : Plan
        What was recorded.
    recorded : Recorded
        The recording.
    passed : float or None
        Seconds since the sample before began.
    before : Sample or None
        That sample: its window lies in these seconds.
    """
    with Recording(Request(str(recorded.path))) as recording:
        recording.topology = machine = recording.part_of(plan.machine)
        results = run(recording, Ask(machine=machine, went_offline=recorded.went_offline), _ANALYSES).results
    window, loss = recorded.elapsed, results["loss"].signs
    # What is missing was traced, too: no rate, and no share, follows from the rest.
    whole = _whole(window, loss)
    earlier = None if before is None else _whole(before.window, before.loss)
    traffic, latency = results["traffic"], results["latency"]
    spreads = {group.key: group.ticks for group in latency.requesters if group.ticks is not None}
    names = names_of(machine)
    rows = [_row(each, whole, names, spreads.get(each.requester)) for each in traffic.rows]
    return Sample(
        number=number,
        time=taken.astimezone().isoformat(timespec="milliseconds"),
        device=plan.device.name,
        event=plan.chosen.built.event,
        window=window,
        passed=passed,
        share=None if earlier is None or not passed else 100 * earlier / passed,
        tlps=traffic.total.tlps,
        bytes=traffic.total.bytes,
        requested_bytes=traffic.total.requested_bytes,
        rows=rows,
        errors=[ErrorCount(each.code, each.count) for each in results["errors"].kinds],
        loss=list(loss),
        replay_of=recorded.replay_of,
    )


def _whole(window: float | None, loss: Iterable[Diagnostic]) -> float | None:
    """Return the seconds of a window in which nothing is known to be missing; None for others."""
    return None if any(sign.severity is not Severity.INFO for sign in loss) else window


def _row(row: TrafficRow, window: float | None, names: Names, ticks: Spread | None) -> SampleRow:
    def rate(amount: int) -> float | None:
        return amount / window if window else None

    name = names(row.requester)
    # A completion's time is that of its request.
    latency = ticks if row.class_ == "NP" else None
    return SampleRow(
        requester=row.requester,
        name=None if name == row.requester else name,
        direction=row.direction,
        class_=row.class_,
        tlps=row.tlps,
        bytes=row.bytes,
        requested_bytes=row.requested_bytes,
        tlps_per_second=rate(row.tlps),
        bytes_per_second=rate(row.bytes),
        requested_per_second=rate(row.requested_bytes),
        payload=row.bytes / row.tlps if row.bytes else None,
        latency_p50=None if latency is None else latency.p50,
        latency_p99=None if latency is None else latency.p99,
    )


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
        window = structs.replace(plan, output=output, seconds=sampling.window, command=(), counters=False)
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
                    sample = structs.replace(sample, counters=LinkCounters(counters.pmu, sampling.interval, finish(), counters.filter))
            number, before, last = number + 1, began, sample
            yield sample
            if recorded.stopped_by is not None:
                return
            if sampling.count is None or number < sampling.count:
                stop.wait(max(0.0, began + sampling.interval - time.monotonic()))
