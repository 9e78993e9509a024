"""How much goes over the link, when: TLPs and bytes by direction and class, bursts, idle time, and the share of what the link can carry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.contract import ANALYSES, AnalysisContext
from ptttool.analyses.drawing.result import Shown
from ptttool.analyses.link import FRAMING, LinkRate, rate_of_ports
from ptttool.analyses.needs import Need
from ptttool.analyses.scope import Scope, TlpAnalysis
from ptttool.analyses.shown import Column, Facts, Names, Note, Part, Series, Table, Timeline, Unit, text_column
from ptttool.analyses.time.facts import TimeFacts
from ptttool.analyses.time.line import Intervals, Line
from ptttool.analyses.time.model import CLOCK_COLUMNS
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document
from ptttool.recording.traced_buses import ports_of
from ptttool.tlp.columns import CLASSES, DIRECTIONS

if TYPE_CHECKING:
    from ptttool.analyses.time.clock import Ticks
    from ptttool.table.batch import Batch

# Gaps between two TLPs of this many ticks or more are idle time. With ticks of 4 ns, which no document confirms, a microsecond.
IDLE_TICKS: Final = 256
# A cell for each class in each direction, and one for what is not a TLP.
_CELLS: Final = len(DIRECTIONS) * len(CLASSES) + 1
_UNKNOWN: Final = _CELLS - 1
_NO_CLASS: Final = len(CLASSES)
# TLPs of a group stand below DWs of data in one number, which a double holds exactly: a unit has fewer than 2^20 rows of 2^10 DWs.
_COUNT_BITS: Final = 20
# Of header DW 0 as recorded: the bit that says that a header has four DWs, and the digest's. 4DW records keep no TD.
_FOUR_DWS_IN_4DW, _FOUR_DWS_IN_8DW, _DIGEST_IN_8DW = 30, 29, 15

Sums = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Flow:
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
        Share of what the link can carry in one direction, from 0 on; None where that or the time is not known.
    """

    direction: str | None
    class_: str | None
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


@dataclass(frozen=True)
class Burst:
    """The interval of the time line with most bytes on the link in one direction.

    Parameters
    ----------
    begin : int
        Where it begins, in ticks.
    index : int
        Number of its first TLP, about.
    flow : Flow
        What went over the link in it.
    times_mean : float or None
        How many times the mean of the recording that is.
    """

    begin: int
    index: int
    flow: Flow
    times_mean: float | None


@dataclass(frozen=True)
class Idle:
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


@dataclass(frozen=True)
class BandwidthLine:
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
        The sums of each interval by direction.
    """

    width: int
    begins: list[int]
    indexes: list[int]
    tlps: dict[str, list[int]]
    payload_bytes: dict[str, list[int]]
    wire_bytes: dict[str, list[int]]


@document("bandwidth")
@dataclass(frozen=True)
class Bandwidth(Shown):
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
    idle : Idle or None
        Time without TLPs; None where nothing is known of time.
    line : BandwidthLine
        Bytes over time.
    notes : list of Diagnostic
        What is not seen.
    """

    time: TimeFacts
    total: Flow
    directions: list[Flow]
    flows: list[Flow]
    undecodable: int
    link: LinkRate | None
    bursts: dict[str, Burst]
    idle: Idle | None
    line: BandwidthLine
    notes: list[Diagnostic]

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
        return Table("Traffic over the link", columns, rows, self._row(self.total, len(columns)) if len(rows) > 1 else None)

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
        return Timeline("Bytes on the link over time", times, time_unit, series, unit, self.line.indexes, limits)

    def _bursts(self) -> Iterator[tuple[str, str]]:
        unit = self.time.unit.value
        for direction, burst in self.bursts.items():
            much = "" if burst.times_mean is None else f", {burst.times_mean:.3g} × the mean"
            where = f"at {self.time.scaled(burst.begin):,.0f} {unit}, from index {burst.index} on"
            yield (
                f"Busiest {direction}",
                f"{burst.flow.wire_bytes:,} bytes in {self.time.scaled(self.line.width):,.0f} {unit}{much}, {where}",
            )
        if self.idle is not None:
            idle, scaled = self.idle, self.time.scaled
            yield (
                "Idle",
                f"{100 * idle.share:.1f} % of the time in {idle.gaps:,} gaps of {scaled(idle.from_ticks):,.0f} {unit} or more",
            )
            yield "Longest gap", f"{scaled(idle.longest):,.0f} {unit}, before index {idle.index}"


def _mega(value: float | None) -> float | None:
    return None if value is None else value / 1e6


class BandwidthAnalysis(TlpAnalysis[Bandwidth]):
    """Sums bytes up over time.

    Parameters
    ----------
    scope : Scope
        What is known of the recording.
    """

    name = "bandwidth"
    meaning = "TLPs and bytes on the link over time, by direction and class; bursts, idle time, share of the link"
    columns = (*CLOCK_COLUMNS, "class", "direction", "payload_bytes", "dw0", "prefix")
    needs = (
        Need("the inbound load of the link", "--direction inbound", inbound=("P", "NP", "CPL A", "CPL B"), is_vital=False),
        Need("the outbound load of the link", "--direction both --format 4dw", outbound=("P", "NP", "CPL"), is_vital=False),
    )
    # A time line, bursts, idle time: times of different recordings do not join.
    sums_recordings = False

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(scope)
        self._clock = self.scope.clock
        self._line = Line(3 * _CELLS, self.scope.grain)
        self._gaps, self._gap_ticks = 0, 0
        # Ticks of the longest gap, and the number of the row behind it.
        self._longest = (0, 0)
        # Ticks and number of the first row and of the last one.
        self._ends: tuple[tuple[int, int], tuple[int, int]] | None = None
        self._is_partial = False

    def update(self, batch: Batch) -> None:
        """Add TLPs."""
        ticks = self._clock.ticks(batch)
        self._add_gaps(ticks)
        if not batch.size:
            return
        groups = self._line.groups(batch)
        cells = _cells_of(batch)
        eight_dw = ticks.record_size == 32
        self._is_partial |= not eight_dw
        keys = groups.of_rows * _CELLS + cells
        size = len(groups.starts) * _CELLS
        data: Any = batch.values("payload_bytes")
        weights = (_numbers(data.array, data.valid, batch.size) >> 2) * float(1 << _COUNT_BITS) + 1.0
        both = np.bincount(keys, weights, size).astype(np.int64).reshape(-1, _CELLS)
        tlps, payload = both & ((1 << _COUNT_BITS) - 1), both >> _COUNT_BITS << 2
        more = np.bincount(keys, _extra_dws(batch, eight_dw), size).astype(np.int64).reshape(-1, _CELLS) << 2
        wire = payload + more + tlps * (12 + FRAMING)
        wire[:, _UNKNOWN] = 0
        self._line.add(batch, ticks, groups, tlps, payload, wire)

    def _add_gaps(self, ticks: Ticks) -> None:
        """Add the gaps between rows."""
        if ticks.at is None or not len(ticks.at):
            return
        first, last = ((int(ticks.at[row]), int(ticks.numbers(np.array([row]))[0])) for row in (0, len(ticks.at) - 1))
        self._add_ends(first, last)  # before the gaps behind: of several longest ones, the first one counts
        steps = np.diff(ticks.at)
        long = steps >= IDLE_TICKS
        self._gaps += int(np.count_nonzero(long))
        self._gap_ticks += int(steps[long].sum())
        if len(steps):
            row = int(steps.argmax())
            self._see(int(steps[row]), int(ticks.numbers(np.array([row + 1]))[0]))

    def _add_ends(self, first: tuple[int, int], last: tuple[int, int]) -> None:
        """Add the gap between the rows that were seen and those behind them."""
        if self._ends is None:
            self._ends = first, last
            return
        self._see_gap(first[0] - self._ends[1][0], first[1])
        self._ends = self._ends[0], last

    def _see_gap(self, gap: int, row: int) -> None:
        if gap >= IDLE_TICKS:
            self._gaps += 1
            self._gap_ticks += gap
        self._see(gap, row)

    def _see(self, gap: int, row: int) -> None:
        if gap > self._longest[0]:
            self._longest = (gap, row)

    def merge(self, later: BandwidthAnalysis) -> None:
        """Add the TLPs behind."""
        seam = self._clock.merge(later._clock)
        self._line.merge(later._line, seam)
        if later._ends is not None:
            first, last = ((ticks + seam.ticks, row + seam.rows) for ticks, row in later._ends)
            self._add_ends(first, last)
        self._gaps += later._gaps
        self._gap_ticks += later._gap_ticks
        self._see(later._longest[0], later._longest[1] + seam.rows)
        self._is_partial |= later._is_partial

    def result(self, context: AnalysisContext) -> Bandwidth:
        """Return the sums, and rates as far as time is known."""
        time = self.scope.time_facts(self._clock, context.contents)
        ports = ports_of(context.contents, context.machine)
        link = None if ports is None else rate_of_ports(ports)
        rates = _Rates(time.elapsed_ticks or None, time.tick_ns, link)
        sums = self._line.sums.sum(axis=0).reshape(3, _CELLS)
        known = sums[:, :_UNKNOWN].reshape(3, len(DIRECTIONS), len(CLASSES))
        total = rates.flow(None, None, sums.sum(axis=1))
        intervals = self._line.intervals(by_rows=time.elapsed_ticks is None)
        directions = [rates.flow(name, None, known[:, code].sum(axis=1)) for code, name in enumerate(DIRECTIONS)]
        return Bandwidth(
            time=time,
            total=total,
            directions=directions,
            flows=[
                rates.flow(name, tlp_class, known[:, code, number])
                for code, name in enumerate(DIRECTIONS)
                for number, tlp_class in enumerate(CLASSES)
            ],
            undecodable=int(sums[0, _UNKNOWN]),
            link=link,
            bursts={} if time.elapsed_ticks is None else _bursts(intervals, rates),
            idle=self._idle(time.elapsed_ticks),
            line=_line_of(intervals),
            notes=list(self._notes(time, directions)),
        )

    def _idle(self, elapsed: int | None) -> Idle | None:
        if not elapsed:
            return None
        return Idle(IDLE_TICKS, self._gaps, self._gap_ticks, self._gap_ticks / elapsed, *self._longest)

    def _notes(self, time: TimeFacts, directions: Iterable[Flow]) -> Iterator[Diagnostic]:
        if any(each.share is not None and each.share > 1 for each in directions):
            yield Diagnostic(
                Severity.WARNING, "more-than-the-link",
                "more bytes than the link can carry: the length of a tick, or what is known of the link, is wrong",
            )  # fmt: skip
        if time.breaks:
            yield Diagnostic(
                Severity.WARNING, "rates-too-high",
                "time that passed unseen is not counted and TLPs may be missing: rates are those of the time that was seen",
            )  # fmt: skip
        if self._is_partial:
            yield Diagnostic(
                Severity.INFO, "wire-bytes-partial", "4DW records keep neither prefixes nor digests: wire bytes are without them",
                "--format 8dw records them",
            )  # fmt: skip
        yield Diagnostic(
            Severity.INFO, "not-traced-at-all",
            "DLLPs (acknowledgements, flow control), ordered sets and replays are not traced: they take some per cent of a link",
        )  # fmt: skip


@dataclass(frozen=True)
class _Rates:
    """What makes rates of sums. ``ticks``: that elapsed; None or 0: nothing is known."""

    ticks: float | None
    tick_ns: float | None
    link: LinkRate | None

    def flow(self, direction: str | None, tlp_class: str | None, sums: Any) -> Flow:
        tlps, payload, wire = (int(each) for each in sums)
        if not self.ticks:
            return Flow(direction, tlp_class, tlps, payload, wire)
        flow = Flow(direction, tlp_class, tlps, payload, wire, tlps / self.ticks, payload / self.ticks, wire / self.ticks)
        if self.tick_ns is None:
            return flow
        scale = 1e9 / (self.ticks * self.tick_ns)
        # Each direction has the whole rate to itself.
        share = None if self.link is None or direction in (None, "unknown") else wire * scale / self.link.bytes_per_second
        return replace(flow, tlps_per_second=tlps * scale, payload_per_second=payload * scale, wire_per_second=wire * scale, share=share)


def _by_direction(intervals: Intervals) -> Sums:
    """Return the sums of each interval, shape (n, 3, directions)."""
    sums = intervals.sums.reshape(-1, 3, _CELLS)[:, :, :_UNKNOWN]
    by_direction: Sums = sums.reshape(-1, 3, len(DIRECTIONS), len(CLASSES)).sum(axis=3)
    return by_direction


def _bursts(intervals: Intervals, rates: _Rates) -> dict[str, Burst]:
    found = {}
    sums = _by_direction(intervals)
    here = _Rates(intervals.width, rates.tick_ns, rates.link)
    for code, name in enumerate(DIRECTIONS):
        wire = sums[:, 2, code]
        if not wire.any():
            continue
        at = int(wire.argmax())
        flow = here.flow(name, None, sums[at, :, code])
        mean = float(wire.sum()) / rates.ticks if rates.ticks else None
        times = None if mean is None or flow.wire_per_tick is None else flow.wire_per_tick / mean
        found[name] = Burst(int(intervals.begins[at]), int(intervals.rows[at]), flow, times)
    return found


def _line_of(intervals: Intervals) -> BandwidthLine:
    sums = _by_direction(intervals)
    tlps, payload, wire = ({name: sums[:, each, code].tolist() for code, name in enumerate(DIRECTIONS)} for each in range(3))
    return BandwidthLine(intervals.width, intervals.begins.tolist(), intervals.rows.tolist(), tlps, payload, wire)


def _cells_of(batch: Batch) -> npt.NDArray[np.intp]:
    """Return the cell of each TLP."""
    classes, directions = batch.values("class"), batch.values("direction")
    if classes.array is None:
        return np.full(batch.size, _UNKNOWN)
    where: Any = len(DIRECTIONS) - 1 if directions.array is None else directions.array
    cells = np.asarray(classes.array).astype(np.intp)
    cells += where * np.intp(len(CLASSES))
    for valid in (classes.valid, directions.valid):
        if valid is not None:
            cells[~valid] = _UNKNOWN
    return cells


def _numbers(array: Any, valid: Any, size: int) -> Any:
    """Return the values of a column, 0 where there is none."""
    if array is None:
        return np.zeros(size, dtype=np.int64)
    return array if valid is None else np.where(valid, array, 0)


def _extra_dws(batch: Batch, eight_dw: bool) -> Any:
    """Return the DWs of each TLP on the link besides three of its header and its data: the fourth, a digest, a prefix."""
    dw0: Any = batch.values("dw0").array
    if not eight_dw:
        return dw0 >> np.uint32(_FOUR_DWS_IN_4DW) & np.uint32(1)
    more = (dw0 >> np.uint32(_FOUR_DWS_IN_8DW) & np.uint32(1)) + (dw0 >> np.uint32(_DIGEST_IN_8DW) & np.uint32(1))
    prefix = batch.values("prefix")
    if prefix.array is not None:
        more += np.ones(batch.size, dtype=np.uint32) if prefix.valid is None else prefix.valid
    return more


ANALYSES.add("bandwidth", BandwidthAnalysis)
