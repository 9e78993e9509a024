"""The result of ``outstanding``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ptttool.analyses.budget import MAX_REQUESTERS
from ptttool.analyses.drawing.result import Shown
from ptttool.analyses.link import LinkRate, rates_unknown
from ptttool.analyses.outstanding.levels import DIRECTION_SERIES, NO_ENTRIES, Entries, Levels, lasts_of_series
from ptttool.analyses.outstanding.plateau import Demand, Plateau, demand_of, plateau_of
from ptttool.analyses.shown import Cell, Column, Facts, Histogram, Names, Note, Part, Series, Table, Timeline, Unit, named, text_column
from ptttool.analyses.sums import SumTable
from ptttool.analyses.time.facts import TimeFacts
from ptttool.analyses.time.line import Line
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document
from ptttool.pci import PciAddress, format_id
from ptttool.tlp.columns import DIRECTIONS

if TYPE_CHECKING:
    from ptttool.analyses.matching.analysis import Totals
    from ptttool.analyses.matching.traced import Untraced
    from ptttool.machine.model import Machine

Array = npt.NDArray[Any]

# Section 2.2.6.2: requests of a function that can be outstanding, by the bits of its tags: 5, 8, and 10 less the values that start with 00.
TAG_LIMITS: Final = (32, 256, 768)
# What may be above: tags of 10 bits to some completers and of 8 bits to others, and tags of 14 bits.
_MORE_TAGS: Final = (1024, 1 << 14)
_NEAR: Final = 0.9
# Requesters that are shown on a screen.
_MOST_SHOWN: Final = 20


class LevelTime(Struct, frozen=True):
    """How long so many requests were outstanding.

    Parameters
    ----------
    level : int
        Number of requests.
    ticks : int
        How long.
    requests : int
        How many requests brought the number to this one.
    """

    level: int
    ticks: int
    requests: int


class TagUse(Struct, frozen=True):
    """How near the peak comes to a number of tags. That is an upper limit: a device may have fewer reads under way by its design.

    Parameters
    ----------
    limit : int
        Requests that can be outstanding with as many tags: 32, 256 or 768; 1,024 or 16,384 where more were.
    is_known : bool
        Whether the machine says that this is the limit of the requester; else it is the next one above the peak.
    share : float
        The peak as a share of the limit, 1 at most.
    time_near : float or None
        Share of the time with 90 % of the limit or more; None where nothing is known of time.
    doubted : int or None
        The limit that the machine says, where the peak is above it: it does not hold.
    """

    limit: int
    is_known: bool
    share: float
    time_near: float | None
    doubted: int | None = None


class Load(Struct, frozen=True):
    """Requests outstanding at the same time, of a requester or in a direction.

    Parameters
    ----------
    requester : str or None
        Requester ID.
    direction : str or None
        Direction of the requests; None for a requester.
    requests : int
        Requests that were seen whole.
    peak : int
        Most of them that were outstanding at the same time.
    index : int
        Number of the TLP with which the peak was reached for the first time.
    mean : float or None
        Mean over time; None where nothing is known of time.
    p50, p90, p99 : int or None
        As many or fewer were outstanding for half of the time, and so on.
    response_ticks : float or None
        Mean time from a request to the completion that ended it.
    per_tick : float or None
        Requests by the elapsed ticks.
    little : float or None
        What the mean has to be by Little's law: requests per tick times mean response. It differs where the time of some requests is not
        known.
    tags : TagUse or None
        Against the number of tags; None for a direction, whose requesters have tags of their own.
    levels : list of LevelTime
        How long how many were outstanding.
    at_peak : float or None
        Share of the busy time, with one request outstanding or more, at the peak; None where nothing is known of time.
    plateau : Plateau or None
        Where the number stands still; None where it does not, and where nothing is known of time.
    demand : Demand or None
        How many requests a bandwidth needs; None where no data came, and where nothing is known of time.
    """

    requester: str | None
    direction: str | None
    requests: int
    peak: int
    index: int
    mean: float | None
    p50: int | None
    p90: int | None
    p99: int | None
    response_ticks: float | None
    per_tick: float | None
    little: float | None
    tags: TagUse | None
    levels: list[LevelTime]
    at_peak: float | None
    plateau: Plateau | None
    demand: Demand | None


class NotCounted(Struct, frozen=True):
    """Requests that were not seen whole: while they were outstanding, there were more than is said.

    Parameters
    ----------
    before : int
        Requests in front of the recording or of a hole, of which a completion ended one.
    inside : int
        Requests without a completion inside of the recording.
    at_end : int
        Requests that were open at the end of the recording or of an AUX stream.
    left_out : int
        Requests that were not followed, because too many were open.
    not_traced : int
        Requests without a completion where completions are not traced, or may not be.
    partly : int
        Requests with completions of which the last one was not seen: their tag was used again, or records are missing.
    """

    before: int
    inside: int
    at_end: int
    left_out: int
    not_traced: int
    partly: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.before + self.inside + self.at_end + self.left_out + self.not_traced + self.partly


class OutstandingLine(Struct, frozen=True):
    """Outstanding requests over time.

    Parameters
    ----------
    width : int
        Ticks of an interval.
    begins : list of int
        Where each begins.
    indexes : list of int
        Number of the first TLP of each; between two points of the time line it is interpolated.
    mean : Mapping[str, list of float]
        Mean of each interval by direction. What a point of the time line holds that lies in several intervals is divided among them by
        time.
    """

    width: int
    begins: list[int]
    indexes: list[int]
    mean: dict[str, list[float]]


@document("outstanding")
class Outstanding(Shown, Struct, frozen=True):
    """Requests that are outstanding at the same time.

    Parameters
    ----------
    time : TimeFacts
        What is known of time.
    requests : int
        Requests that are answered, seen in the recording.
    counted : int
        Those that were seen whole, from the request to its last completion. All numbers below are of them.
    not_counted : NotCounted
        The others.
    directions, requesters : list of Load
        By direction, and by requester, the one with the highest peak first; at most 2,048
        requesters.
    more_requesters : int
        Further requesters that are not listed; the sums by direction hold their requests.
    line : OutstandingLine or None
        Over time; None where nothing is known of it.
    notes : list of Diagnostic
        What is not seen.
    """

    time: TimeFacts
    requests: int
    counted: int
    not_counted: NotCounted
    directions: list[Load]
    requesters: list[Load]
    more_requesters: int
    line: OutstandingLine | None
    notes: list[Diagnostic] = []

    def shown(self, names: Names) -> Iterator[Part]:
        """Yield the tables by direction and requester, the time line, the distribution."""
        for note in self.notes:
            if note.severity is not Severity.INFO:
                yield Note(note.text, note.severity)
        left = self.not_counted
        cut_off = f"{left.before:,} from before the start or a hole, {left.inside:,} without a completion, {left.at_end:,} open at the end"
        cut_off += "".join(
            f", {count:,} {what}"
            for count, what in ((left.partly, "of which completions are missing"), (left.not_traced, "whose completions are not traced"))
            if count
        )
        yield Facts([("Requests", f"{self.requests:,}, of which {self.counted:,} were seen whole"), ("Not counted", cut_off)])
        if self.counted:
            yield self._table("Outstanding by direction", [load for load in self.directions if load.requests], names)
            yield self._table("Outstanding by requester", self.requesters, names, self.more_requesters)
            yield from self._demands(names)
            yield from self._line()
            yield from self._histograms()
        yield from self.time.shown()
        for note in self.notes:
            if note.severity is Severity.INFO:
                yield Note(note.text, note.severity)

    def _table(self, title: str, loads: list[Load], names: Names, more: int = 0) -> Table:
        is_requester = bool(loads) and loads[0].requester is not None
        unit = self.time.unit
        columns = [text_column("Requester" if is_requester else "Direction")]
        columns += [text_column("Name", 3)] if is_requester else []
        columns += [
            Column("Requests"), Column("Mean"), Column("p50", weight=2), Column("p90", weight=2), Column("p99", weight=1), Column("Peak"),
            Column("at index", Unit.INDEX, weight=1), Column("Response", unit, weight=2), Column("At peak", Unit.PERCENT, weight=3),
            Column("Plateau", weight=1),
        ]  # fmt: skip
        if is_requester:
            columns += [Column("Tags", weight=1), Column("Tags used", Unit.PERCENT), Column("Time near", Unit.PERCENT, weight=3)]
        rows: list[list[str | int | float | None]] = []
        for load in loads[:_MOST_SHOWN]:
            row: list[str | int | float | None] = [load.requester or load.direction]
            if load.requester is not None:
                row.append(named(names, load.requester))
            response = None if load.response_ticks is None else self.time.scaled(load.response_ticks)
            row += [load.requests, load.mean, load.p50, load.p90, load.p99, load.peak, load.index, response]
            row += [None if load.at_peak is None else 100 * load.at_peak, None if load.plateau is None else load.plateau.level]
            if load.tags is not None:
                tags = load.tags
                row += [tags.limit, 100 * tags.share, None if tags.time_near is None else 100 * tags.time_near]
            rows.append(row)
        below = "At peak: of the time with one request or more." if is_requester and self.time.elapsed_ticks else ""
        return Table(title, columns, rows, more=max(0, len(loads) - _MOST_SHOWN) + more, note=below)

    def _demands(self, names: Names) -> Iterator[Table]:
        """Yield how many requests a bandwidth needs."""
        per_second = self.time.tick_ns is not None
        columns = (
            text_column("Requester"), text_column("Name", 3), Column("Bytes of each"), Column("Response", self.time.unit),
            Column("MB/s of each" if per_second else "Bytes/tick of each"), Column("To fill the link"),
        )  # fmt: skip
        rows: list[list[Cell]] = []
        for load in self.requesters[:_MOST_SHOWN]:
            if (demand := load.demand) is not None and load.requester is not None:
                rate = demand.bytes_per_tick if demand.bytes_per_second is None else demand.bytes_per_second / 1e6
                row = [load.requester, named(names, load.requester), demand.bytes, self.time.scaled(demand.response_ticks), rate]
                rows.append([*row, None if demand.for_link is None else round(demand.for_link, 1)])
        if rows:
            note = "A bandwidth divided by that of one is the number of requests that it needs, with responses as long as these."
            yield Table("Requests that a bandwidth needs", columns, rows, note=note)

    def _line(self) -> Iterator[Part]:
        if self.line is None:
            return
        series = [Series(name, values) for name, values in self.line.mean.items() if any(values)]
        times = [self.time.scaled(begin) for begin in self.line.begins]
        yield Timeline(
            "Requests outstanding over time, mean of each interval", times, self.time.unit, series, "requests", self.line.indexes
        )

    def _histograms(self) -> Iterator[Part]:
        for load in self.directions:
            if load.requests and self.time.elapsed_ticks:
                ticks = {each.level: each.ticks for each in load.levels}
                levels = list(range(min(ticks), max(ticks) + 1))
                marks = {name: float(value) for name, value in (("p50", load.p50), ("p99", load.p99)) if value is not None}
                counts = [ticks.get(level, 0) for level in levels]
                yield Histogram(
                    f"Requests outstanding, {load.direction}", "Requests outstanding", levels, levels, counts, Unit.NONE, "ticks", marks
                )


def document_of(
    levels: Levels | None,
    whole: SumTable,
    line: Line,
    totals: Totals,
    untraced: Untraced,
    time: TimeFacts,
    machine: Machine | None,
    link: LinkRate | None,
) -> Outstanding:
    """Return the result.

    Parameters
    ----------
    levels : Levels or None
        The levels of the whole recording; None without rows.
    whole : SumTable
        The requests that were seen whole, by series: how many, of how many the time is known; and of these the ticks from request to
        end, the bytes that came, and the completions that brought them.
    line : Line
        Requests times ticks by direction.
    totals : Totals
        How the requests ended.
    untraced : Untraced
        Those whose completions are not traced.
    time : TimeFacts
        What is known of time.
    machine : Machine or None
        The machine, for the bits of tags.
    link : LinkRate or None
        What the traced links can carry; None where that is not known.
    """
    entries = NO_ENTRIES if levels is None else levels.entries
    whole_series, *sums = whole.rows()
    # Of each series with requests that were seen whole, its last entry, whose level is its peak.
    lasts = lasts_of_series(entries.keys)
    firsts = np.append(0, lasts + 1)[:-1]
    kept = np.flatnonzero(np.isin(entries.series.take(lasts), whole_series, assume_unique=True))
    is_requester = entries.series.take(lasts.take(kept)) < DIRECTION_SERIES[0]
    requesters = kept[is_requester]
    # The highest peaks come first.
    listed = requesters.take(np.argsort(-entries.level.take(lasts.take(requesters)), kind="stable")[:MAX_REQUESTERS])

    def load(at: int) -> Load:
        """Return the load of one of the series."""
        series = int(entries.series[lasts[at]])
        own = Entries(*(each[firsts[at] : lasts[at] + 1] for each in entries))
        return _load(series, own, [int(each[np.searchsorted(whole_series, series)]) for each in sums], time, machine, link)

    loads = [load(at) for at in listed.tolist()]
    counted = int(sums[0][np.isin(whole_series, entries.series.take(lasts.take(requesters)), assume_unique=True)].sum())
    not_counted = NotCounted(
        before=totals.early_ends,
        inside=totals.inside - untraced.inside,
        at_end=totals.open_at_end - untraced.end,
        left_out=totals.left_out,
        not_traced=untraced.requests,
        partly=totals.requests - counted - totals.inside - totals.open_at_end,
    )
    return Outstanding(
        time=time,
        requests=totals.requests,
        counted=counted,
        not_counted=not_counted,
        directions=[load(at) for at in kept[~is_requester].tolist()],
        requesters=loads,
        more_requesters=len(requesters) - len(listed),
        line=None if time.elapsed_ticks is None or levels is None else _line_of(line),
        notes=list(_notes(not_counted, counted, loads, time, untraced, link)),
    )


def _load(number: int, entries: Entries, sums: list[int], time: TimeFacts, machine: Machine | None, link: LinkRate | None) -> Load:
    requests, timed, response, received, completions = sums
    level, ticks, sent = entries.level, entries.ticks, entries.requests
    elapsed = time.elapsed_ticks
    peak = int(level[-1])
    is_requester = number < DIRECTION_SERIES[0]
    mean = per_tick = little = at_peak = plateau = demand = None
    p50 = p90 = p99 = None
    if elapsed:
        mean, per_tick = float((level * ticks).sum()) / elapsed, requests / elapsed
        until = np.cumsum(ticks)
        p50, p90, p99 = (int(level[np.searchsorted(until, share * until[-1])]) for share in (0.5, 0.9, 0.99))
    response_ticks = response / timed if timed and elapsed is not None else None
    if per_tick is not None and response_ticks is not None:
        little = per_tick * response_ticks
    if elapsed:
        busy = int(ticks[level > 0].sum())
        at_peak = int(ticks[-1]) / busy if busy else None
        plateau = plateau_of(level, ticks, sent)
        usable = None if link is None else link.usable_per_second
        demand = demand_of(timed, response, received, completions, time.tick_ns, usable)
    return Load(
        requester=format_id(number) if is_requester else None,
        direction=None if is_requester else DIRECTIONS[number - DIRECTION_SERIES[0]],
        requests=requests,
        peak=peak,
        index=int(entries.row[-1]),
        mean=mean,
        p50=p50,
        p90=p90,
        p99=p99,
        response_ticks=response_ticks,
        per_tick=per_tick,
        little=little,
        tags=_tags_of(number, peak, level, ticks, elapsed, machine) if is_requester else None,
        levels=[LevelTime(*each) for each in zip(level.tolist(), ticks.tolist(), sent.tolist(), strict=True)],
        at_peak=at_peak,
        plateau=plateau,
        demand=demand,
    )


def _tags_of(requester: int, peak: int, level: Array, ticks: Array, elapsed: int | None, machine: Machine | None) -> TagUse:
    own_limit, doubted = _limit_of(requester, machine), None
    if own_limit is not None and peak > own_limit:
        own_limit, doubted = None, own_limit
    limit = own_limit or next(each for each in (*TAG_LIMITS, *_MORE_TAGS) if each >= peak)
    near = float(ticks[level >= _NEAR * limit].sum()) / elapsed if elapsed else None
    return TagUse(limit, own_limit is not None, peak / limit, near, doubted)


def _limit_of(requester: int, machine: Machine | None) -> int | None:
    """Return how many requests a function can have outstanding by the bits of its tags; None where they are not known."""
    function = None if machine is None else machine.functions.get(PciAddress.from_id(requester))
    if function is None or function.transfers is None or function.transfers.extended_tags is None:
        return None
    if function.transfers.ten_bit_tags:
        return TAG_LIMITS[2]
    if function.transfers.ten_bit_tags is None:
        return None
    return TAG_LIMITS[1] if function.transfers.extended_tags else TAG_LIMITS[0]


def _line_of(line: Line) -> OutstandingLine:
    intervals = line.intervals()
    mean = {name: (intervals.sums[:, code] / intervals.width).tolist() for code, name in enumerate(DIRECTIONS)}
    return OutstandingLine(intervals.width, intervals.begins.tolist(), intervals.rows.tolist(), mean)


def _notes(
    left: NotCounted, counted: int, requesters: list[Load], time: TimeFacts, untraced: Untraced, link: LinkRate | None
) -> Iterator[Diagnostic]:
    if left.not_traced:
        yield untraced.note
    if left.total and not counted:
        yield Diagnostic(
            Severity.WARNING, "outstanding-unseen",
            "no request was seen from its start to its last completion: how many are outstanding is not known",
        )  # fmt: skip
    elif missing := left.inside + left.left_out + left.partly:
        yield Diagnostic(
            Severity.WARNING, "outstanding-lower-bound",
            f"{missing:,} requests have no last completion in the recording: more were outstanding than is said",
        )  # fmt: skip
    elif cut_off := left.before + left.at_end:
        yield Diagnostic(
            Severity.INFO, "outstanding-cut-off",
            f"{cut_off:,} requests were cut off by an end of the recording or a hole: near it, more were outstanding than is said",
        )  # fmt: skip
    for load in requesters:
        if load.tags is not None and load.tags.doubted is not None:
            yield Diagnostic(
                Severity.WARNING, "tag-limit-doubted",
                f"{load.requester} had {load.peak:,} requests outstanding, more than the {load.tags.doubted} that its settings allow: the "
                "settings are not those that held while recording, so nothing is said of its limit",
                details={"requester": load.requester, "peak": load.peak, "limit": load.tags.doubted},
            )  # fmt: skip
    if any(load.tags is not None and not load.tags.is_known for load in requesters):
        yield Diagnostic(
            Severity.INFO, "tag-bits-unknown",
            "how many bits the tags of a requester may have is not known for all: they are held against the next limit above their peak",
        )  # fmt: skip
    for load in requesters:
        if (plateau := load.plateau) is not None:
            yield Diagnostic(
                Severity.INFO, "plateau",
                f"{load.requester} has {plateau} requests outstanding for {100 * plateau.held:.1f} % of its "
                f"busy time, and {100 * plateau.share:.1f} % of its requests came when another had ended there: that is the limit of the "
                "device, or of the work that it has at a time, whatever its tags allow",
                details={"requester": load.requester, "level": plateau.level, "held": plateau.held, "refills": plateau.refills},
            )  # fmt: skip
    if any(load.demand is not None and load.demand.for_link is None for load in requesters):
        why = rates_unknown(link, time.tick_ns)
        yield Diagnostic(Severity.INFO, "link-need-unknown", f"how many requests fill the link is not known: {why}")
    for load in requesters:
        if load.mean is not None and load.little is not None and abs(load.mean - load.little) > 0.05 * max(load.mean, load.little):
            yield Diagnostic(
                Severity.INFO, "little-differs",
                f"{load.requester}: by Little's law {load.little:.3g} requests would be outstanding, {load.mean:.3g} are: "
                f"not of all requests it is known how long they took ({time.breaks} breaks in time)",
            )  # fmt: skip
