"""The result of the analysis ``bandwidth``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from ptttool.analyses.drawing.result import Shown
from ptttool.analyses.link import LinkRate
from ptttool.analyses.shown import Column, Facts, Names, Note, Part, Series, Table, Timeline, Unit, text_column
from ptttool.analyses.time.facts import TimeFacts
from ptttool.analyses.time.kept import TickFloor
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document


class Flow(Struct, frozen=True):
    """What went over the link in one direction and of one class; of all classes, or in all directions.

    Parameters
    ----------
    direction : str or None
        ``inbound``, ``outbound`` or ``unknown``; None: all.
    class_ : str or None
        ``P``, ``NP``, ``CPL``; None: all.
    tlps : int
        Number of TLPs.
    payload_bytes : int
        Bytes of data that they carried.
    wire_bytes : int
        Bytes that they took on the link: data, headers, prefixes, digests and framing. 4DW records do not keep prefixes and digests.
    tlps_per_tick, payload_per_tick, wire_per_tick : float or None
        The same by the elapsed ticks; None where they are not known.
    tlps_per_second, payload_per_second, wire_per_second : float or None
        The same by the elapsed seconds.
    share : float or None
        Share of what the link can carry in one direction, from 0 to 1; None where that or the time is not known, or where there were more
        bytes than the link can carry (``more-than-the-link``).
    """

    direction: str | None
    class_: str | None = field(name="class")
    tlps: int
    payload_bytes: int
    wire_bytes: int
    tlps_per_tick: float | None = None
    payload_per_tick: float | None = None
    wire_per_tick: float | None = None
    tlps_per_second: float | None = None
    payload_per_second: float | None = None
    wire_per_second: float | None = None
    share: float | None = None


class Burst(Struct, frozen=True):
    """The interval of the time line with most bytes on the link in one direction.

    Parameters
    ----------
    begin : int
        Where it begins, in ticks.
    index : int
        Number of its first TLP, about.
    flow : Flow
        About what went over the link in it: TLPs that lie close together at its edges are divided by time.
    times_mean : float or None
        How many times the mean of the recording that is.
    """

    begin: int
    index: int
    flow: Flow
    times_mean: float | None


class Saturation(Struct, frozen=True):
    """For how long the link was full in one direction.

    Parameters
    ----------
    bytes_per_second : float
        From here on it is full: 90 % of what DLLPs leave of it to TLPs.
    ticks : int
        Time of the windows with as much or more.
    share : float
        Their share of the elapsed time; at most this where time is hidden.
    window_ticks : float or None
        Mean length of a window: what is full for a shorter time is not seen. None where no window has a known length.
    longest : int
        Ticks of the longest run of full windows.
    index : int or None
        Number of the TLP that it begins with; None where there is none.
    """

    bytes_per_second: float
    ticks: int
    share: float
    window_ticks: float | None
    longest: int
    index: int | None


class Idle(Struct, frozen=True):
    """Time without traced TLPs.

    Parameters
    ----------
    from_ticks : int
        Gaps between two TLPs from this length on are counted.
    gaps : int
        Number of them.
    ticks : int
        Their ticks.
    share : float
        Their share of the elapsed time.
    longest : int
        Ticks of the longest gap of all.
    index : int
        Number of the TLP behind it.
    """

    from_ticks: int
    gaps: int
    ticks: int
    share: float
    longest: int
    index: int


class BandwidthLine(Struct, frozen=True):
    """Bytes over time.

    Parameters
    ----------
    width : int
        Ticks of an interval; TLPs where nothing is known of time.
    begins : list of int
        Where each interval begins.
    indexes : list of int
        Number of the first TLP of each; between two points of the time line it is interpolated.
    tlps, payload_bytes, wire_bytes : Mapping[str, list of int]
        The sums of each interval by direction. Their totals are exact; what a point of the time line holds that lies in several intervals
        is divided among them by time.
    """

    width: int
    begins: list[int]
    indexes: list[int]
    tlps: dict[str, list[int]]
    payload_bytes: dict[str, list[int]]
    wire_bytes: dict[str, list[int]]


MORE_THAN_THE_LINK: Final = "more-than-the-link"
"""Code of the note that the link cannot have carried so much in the time."""


@document("bandwidth")
class Bandwidth(Shown, Struct, frozen=True):
    """How much goes over the link, when.

    Parameters
    ----------
    time : TimeFacts
        What is known of time.
    total : Flow
        All TLPs.
    directions : list of Flow
        TLPs by direction.
    flows : list of Flow
        TLPs by direction and class.
    undecodable : int
        Records that are not TLPs; nothing is known of their bytes.
    link : LinkRate or None
        What the link can carry in each direction; None where its speed and width are not known.
    bursts : Mapping[str, Burst]
        The busiest interval of each direction.
    tick_floor : TickFloor or None
        How long a tick is at least: no interval holds more bytes than the fastest link of the traced ports. None where that is not known,
        where time is not, or in 11 bits, which hide time.
    idle : Idle or None
        Time without TLPs; None where nothing is known of time.
    line : BandwidthLine
        Bytes over time.
    notes : list of Diagnostic
        What is not seen.
    saturation : Mapping[str, Saturation] or None
        For how long the link was full, by direction with TLPs; None where its rate or the length of a tick is not known, or where there
        were more bytes than it can carry.
    """

    time: TimeFacts
    total: Flow
    directions: list[Flow]
    flows: list[Flow]
    undecodable: int
    link: LinkRate | None
    bursts: dict[str, Burst]
    tick_floor: TickFloor | None
    idle: Idle | None
    line: BandwidthLine
    notes: list[Diagnostic]
    saturation: dict[str, Saturation] | None = None

    def shown(self, names: Names) -> Iterator[Part]:
        """Yield the sums by direction, the time line, bursts and idle time."""
        for note in self.notes:
            if note.severity is not Severity.INFO:
                yield Note(note.text, note.severity)
        yield self._table()
        if self.total.tlps:
            yield self._line()
            yield Facts(list(self._bursts()), "Bursts and idle time")
        yield from self.time.shown()
        for note in self.notes:
            if note.severity is Severity.INFO:
                yield Note(note.text, note.severity)

    def _table(self) -> Table:
        per_second = self.time.tick_ns is not None
        columns = [
            text_column("Direction"), text_column("Class"), Column("TLPs", Unit.TLPS), Column("Payload bytes", Unit.BYTES),
            Column("Wire bytes", Unit.BYTES, weight=1),
        ]  # fmt: skip
        if per_second:
            columns += [Column("TLPs/s", weight=2), Column("Payload MB/s"), Column("Wire MB/s", weight=1)]
        elif self.time.elapsed_ticks:
            columns += [Column("TLPs/1000 ticks", weight=2), Column("Payload bytes/tick"), Column("Wire bytes/tick", weight=1)]
        if self.link is not None and per_second:
            columns.append(Column("Of the link", Unit.PERCENT))
        rows = [self._row(each, len(columns)) for each in self.flows if each.tlps]
        title = "Traffic over the link" + ("; rates are at most these" if self.time.elapsed_ticks and self.time.hides_time else "")
        return Table(title, columns, rows, self._row(self.total, len(columns)) if len(rows) > 1 else None)

    def _row(self, flow: Flow, width: int) -> list[str | int | float | None]:
        row: list[str | int | float | None] = [
            flow.direction or "all", flow.class_ or "all", flow.tlps, flow.payload_bytes, flow.wire_bytes,
        ]  # fmt: skip
        if self.time.tick_ns is not None:
            row += [flow.tlps_per_second, _mega(flow.payload_per_second), _mega(flow.wire_per_second)]
        elif self.time.elapsed_ticks:
            row += [None if flow.tlps_per_tick is None else 1000 * flow.tlps_per_tick, flow.payload_per_tick, flow.wire_per_tick]
        row.append(None if flow.share is None else 100 * flow.share)
        return row[:width]

    def _line(self) -> Timeline:
        tick_ns = self.time.tick_ns
        if self.time.elapsed_ticks is None:
            scale, unit, time_unit, factor = 1 / self.line.width, "bytes/TLP", Unit.INDEX, 1.0
        elif tick_ns is None:
            scale, unit, time_unit, factor = 1 / self.line.width, "bytes/tick", Unit.TICKS, 1.0
        else:
            scale, unit, time_unit, factor = 1e3 / (self.line.width * tick_ns), "MB/s", Unit.NANOSECONDS, tick_ns
        series = [Series(name, [value * scale for value in values]) for name, values in self.line.wire_bytes.items() if any(values)]
        limits = {} if self.link is None or unit != "MB/s" else {"link": self.link.bytes_per_second / 1e6}
        times = [begin * factor for begin in self.line.begins]
        title = "Bytes on the link over " + ("what is seen of time" if self.time.hides_time else "time")
        return Timeline(title, times, time_unit, series, unit, self.line.indexes, limits)

    def _bursts(self) -> Iterator[tuple[str, str]]:
        unit = self.time.unit.value
        for direction, burst in self.bursts.items():
            much = "" if burst.times_mean is None else f", {burst.times_mean:.3g} × the mean"
            where = f"at {self.time.scaled(burst.begin):,.0f} {unit}, from index {burst.index} on"
            yield (
                f"Busiest {direction}",
                f"about {burst.flow.wire_bytes:,} bytes in {self.time.scaled(self.line.width):,.0f} {unit}{much}, {where}",
            )
        for direction, full in (self.saturation or {}).items():
            most = "at most " if self.time.hides_time else ""
            long = "" if full.index is None else f"; longest {self.time.scaled(full.longest):,.0f} {unit}, from index {full.index} on"
            yield (
                f"Full {direction}",
                f"{most}{100 * full.share:.1f} % of the time, at {full.bytes_per_second / 1e6:,.0f} MB/s or more{long}",
            )
        if (floor := self.tick_floor) is not None:
            yield "A tick is", f"{floor.tick_ns:.3g} ns or more: {floor}"
        if self.idle is not None:
            idle, scaled = self.idle, self.time.scaled
            of_what = "what is seen of the time" if self.time.hides_time else "the time"
            yield (
                "Idle",
                f"{100 * idle.share:.1f} % of {of_what} in {idle.gaps:,} gaps of {scaled(idle.from_ticks):,.0f} {unit} or more",
            )
            least = "at least " if self.time.hides_time else ""
            yield "Longest gap", f"{least}{scaled(idle.longest):,.0f} {unit}, before index {idle.index}"


def _mega(value: float | None) -> float | None:
    return None if value is None else value / 1e6
