"""The numbers that a reader looks for first, one a tile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from ptttool.analyses.bandwidth.document import MORE_THAN_THE_LINK, Bandwidth
from ptttool.analyses.drawing.numbers import with_unit
from ptttool.analyses.errors.document import Errors
from ptttool.analyses.io.results import IoResult
from ptttool.analyses.latency.document import Latency
from ptttool.analyses.outstanding.document import Outstanding
from ptttool.analyses.shown import Unit
from ptttool.analyses.summary import TlpSummary
from ptttool.diagnostics import Severity
from ptttool.report.chapters import chapter_of
from ptttool.report.model import Glance
from ptttool.wording import counted

_WHO: Final = {
    ("Written", "inbound"): "devices to memory",
    ("Asked for", "inbound"): "by devices, of memory",
    ("Written", "outbound"): "processor to devices",
    ("Asked for", "outbound"): "by the processor, of registers",
}
_SPANS: Final = (("s", 1e9), ("ms", 1e6), ("µs", 1e3))
_SIZES: Final = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


def glances_of(results: Mapping[str, object], seconds: float | None = None) -> list[Glance]:
    """Return the numbers of a recording, in the order of a report.

    Parameters
    ----------
    results : Mapping[str, object]
        Results by name of the analysis.
    seconds : float or None
        For how long the host measured that it traced.
    """
    glances = [each for name, glance in _GLANCES.items() if name in results for each in glance(results[name])]
    if seconds is not None and "bandwidth" in results:
        glances.insert(0, Glance("Traced time", time_text(seconds * 1e9, Unit.NANOSECONDS), "bandwidth", seconds))
    return [replace(each, analysis=chapter_of(each.analysis, results)) for each in glances]


def _summary(result: TlpSummary) -> Iterator[Glance]:
    for direction in result.directions:
        flows = [flow for flow in result.flows if flow.direction == direction]
        written = sum(flow.payload_bytes for flow in flows if flow.class_ == "P")
        asked = sum(flow.requested_bytes for flow in flows if flow.class_ == "NP")
        for what, size in (("Written", written), ("Asked for", asked)):
            if size:
                yield Glance(f"{what}, {direction}", size_text(size), "summary", size, _WHO.get((what, direction), ""))


def _latency(result: Latency) -> Iterator[Glance]:
    for group in result.directions:
        spread = group.ticks
        if spread is None or spread.p50 is None or spread.p99 is None:
            continue
        p50, p99 = (time_text(result.time.scaled(value), result.time.unit) for value in (spread.p50, spread.p99))
        yield Glance(f"Time to answer, {group.key}", p50, "latency", spread.p50, f"half of {spread.n:,} requests; p99 {p99}")


def _outstanding(result: Outstanding) -> Iterator[Glance]:
    if result.requesters:
        most = result.requesters[0]
        tags = "" if most.tags is None or not most.tags.is_known else f" of {most.tags.limit:,} tags"
        yield Glance("Under way at once, at most", f"{most.peak:,}", "outstanding", most.peak, f"{most.requester}{tags}")


def _bandwidth(result: Bandwidth) -> Iterator[Glance]:
    time = result.time
    # More than the link can carry in one direction: the tick, and with it every rate and every time in seconds, is wrong.
    is_wrong = any(note.code == MORE_THAN_THE_LINK for note in result.notes)
    least, most = ("at least ", "at most ") if time.is_at_least else ("", "")
    if time.elapsed_ticks:
        text = time_text(time.elapsed_ticks, Unit.TICKS) if is_wrong else time_text(time.scaled(time.elapsed_ticks), time.unit)
        detail = "the length of a tick is wrong" if is_wrong else "" if time.tick_ns is None else f"a tick of {time.tick_text}"
        yield Glance("Time of the device", least + text, "bandwidth", time.elapsed_ticks, detail)
    for flow in result.directions:
        if flow.tlps and flow.share is not None and not is_wrong and flow.wire_per_second is not None:
            rate = f"{most}{size_text(flow.wire_per_second)}/s with headers"
            yield Glance(f"Share of the link, {flow.direction}", f"{most}{100 * flow.share:.1f} %", "bandwidth", flow.share, rate)


def _errors(result: Errors) -> Iterator[Glance]:
    bad = [kind for kind in result.kinds if kind.severity is not Severity.INFO]
    worst = min((kind.severity for kind in bad), key=lambda severity: severity.rank, default=None)
    detail = counted(len(bad), "kind") if bad else ""
    yield Glance("Errors", f"{sum(kind.count for kind in bad):,}", "errors", sum(kind.count for kind in bad), detail, worst)


def _io(result: IoResult) -> Iterator[Glance]:
    nvme, nic = result.nvme, result.nic
    if nvme.commands:
        amounts = ((nvme.data_bytes.read, "read"), (nvme.data_bytes.write, "written"))
        detail = ", ".join(f"{size_text(size)} {what}" for size, what in amounts if size)
        yield Glance("NVMe commands", f"{nvme.commands:,}", "io", nvme.commands, detail)
    if nic.rx_packets is None and nic.rx_packets_least and nic.rx_packets_most:
        text = f"{nic.rx_packets_least:,} to {nic.rx_packets_most:,}"
        yield Glance("Received packets", text, "io", nic.rx_packets_least, "headers give limits")
    if nic.rx_packets:
        yield Glance(
            "Received packets", f"{nic.rx_packets:,}", "io", nic.rx_packets, "" if nic.rx_bytes is None else size_text(nic.rx_bytes)
        )


def size_text(size: float) -> str:
    """Return bytes as people say them: ``1.21 MB``."""
    for name, unit in _SIZES:
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return with_unit(size, Unit.BYTES)


def time_text(time: float, unit: Unit) -> str:
    """Return a time as people say it: ``1.36 s``, ``48.8 million ticks``."""
    if unit is Unit.NANOSECONDS:
        for name, size in _SPANS:
            if time >= size:
                return f"{time / size:.3g} {name}"
    elif time >= 1e6:
        return f"{time / 1e6:.3g} million {unit.value}"
    return with_unit(round(time), unit)


_GLANCES: Final[Mapping[str, Callable[[Any], Iterable[Glance]]]] = {
    "summary": _summary,
    "latency": _latency,
    "outstanding": _outstanding,
    "bandwidth": _bandwidth,
    "errors": _errors,
    "io": _io,
}
