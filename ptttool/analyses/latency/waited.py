"""The time that reads of devices waited, taken apart; what is to be seen of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct

from ptttool.analyses.latency.bins import edges_of, percentile
from ptttool.analyses.latency.sums import size_name
from ptttool.analyses.shown import Cell, Column, Facts, Note, Part, Series, Table, Timeline, Unit, named, text_column
from ptttool.analyses.sums import summed
from ptttool.pci import format_id
from ptttool.wording import counted

if TYPE_CHECKING:
    from ptttool.analyses.latency.waits import Idle, Line, Rows, WaitSums
    from ptttool.analyses.shown import Names
    from ptttool.analyses.time.facts import TimeFacts

_SHOWN: Final = 8
_NEARLY_ALL: Final = 0.995
_P99: Final = 0.99
_REQUESTER: Final = 1 << 16
# Bits of a Time field that shows gaps whole.
_TOLD: Final = 32
# Column of the sums of WaitSums.requesters.
_READS = 0


class WaitGroup(Struct, frozen=True):
    """What some reads waited for: means over the reads.

    Parameters
    ----------
    key : str or None
        Requester ID; None where they are of several.
    reads : int
        Number of reads.
    from_ticks : float or None
        Of the slowest: the time that they took at least, p99; None of others.
    mean : float
        Ticks from the request to the last completion: the sum of the next three.
    own, behind, idle : float or None
        Ticks that its own completions took to leave; that all else took that left meanwhile; the rest. None where the rate is not known.
    itself : float or None
        Of `behind`: completions for the same requester.
    completions : float
        Other completions that left between request and last completion.
    """

    key: str | None
    reads: int
    from_ticks: float | None
    mean: float
    own: float | None
    behind: float | None
    idle: float | None
    itself: float | None
    completions: float


class Fit(Struct, frozen=True):
    """A straight line: the time to the first completion over the completions in front of it.

    Parameters
    ----------
    base, each : float or None
        Ticks of a read with none in front, and ticks for each; None where all have as many in front.
    explained : float or None
        R²: the share of the variance that the line explains; None where it is not known.
    """

    base: float | None
    each: float | None
    explained: float | None


class Ordering(Struct, frozen=True):
    """Reads that may have waited for posted requests in front of them: candidates, no more.

    Parameters
    ----------
    idle : int
        Reads in front of whose first completion no other one left.
    candidates : int
        Those that came behind posted requests of devices, with nothing that left in between.
    mean, others_mean : float or None
        Ticks to the first completion of the candidates, and of the other idle ones.
    explained : float or None
        R² of that time and the bytes of the posted requests, over all idle ones; None where one of both is always the same.
    """

    idle: int
    candidates: int
    mean: float | None
    others_mean: float | None
    explained: float | None


class Waits(Struct, frozen=True):
    """What the reads of devices waited for, in ticks: means over all reads whose time is known.

    Parameters
    ----------
    reads : int
        Number of these reads.
    mean : float or None
        Ticks from the request to the last completion; None without reads.
    own, behind, idle : float or None
        Its parts, as of :class:`WaitGroup`.
    explained : float or None
        R²: the share of the variance of that time which the bytes explain that left meanwhile; None where it does not vary.
    ticks_per_byte : float or None
        Ticks that a byte takes to leave.
    rate_from : str or None
        ``link``: of the link, by the length of a tick; ``recording``: the slope of the time over the bytes that left meanwhile.
    fitted_ticks_per_byte : float or None
        That slope.
    front : Fit
        The time to the first completion.
    slowest : WaitGroup or None
        The reads at p99 and above.
    requesters : list of WaitGroup
        By requester, those with most reads first; those with ID None where there are too many.
    more_requesters : int
        Requesters that are left out.
    ordering : Ordering
        Reads that may have waited for posted requests.
    """

    reads: int
    mean: float | None
    own: float | None
    behind: float | None
    idle: float | None
    explained: float | None
    ticks_per_byte: float | None
    rate_from: str | None
    fitted_ticks_per_byte: float | None
    front: Fit
    slowest: WaitGroup | None
    requesters: list[WaitGroup]
    more_requesters: int
    ordering: Ordering

    def shown(self, time: TimeFacts, names: Names) -> Iterator[Part]:
        """Yield what is to be seen: the parts by requester, and what the slowest waited for."""
        if not self.reads:
            return
        scaled, unit = time.scaled, time.unit
        columns = [
            text_column("Requester"), text_column("Name", 2), Column("Reads", Unit.TLPS), Column("Mean", unit), Column("Own", unit),
            Column("Behind others", unit), Column("Of it its own", unit, weight=2), Column("Idle", unit),
            Column("Completions in front", weight=1),
        ]  # fmt: skip
        groups = self.requesters[:_SHOWN]
        rows: list[list[Cell]] = [[each.key, named(names, each.key), each.reads, *_scaled(each, time), each.completions] for each in groups]
        more = len(self.requesters) - len(groups) + self.more_requesters
        if self.slowest is not None:
            rows.append(["p99 and above", None, self.slowest.reads, *_scaled(self.slowest, time), self.slowest.completions])
        yield Table("What reads of devices waited for, in the mean", columns, rows, None, more)
        yield Facts(list(self._facts(scaled, unit.value)), "Why they waited")
        sentence = self.sentence(time, names)
        if sentence is not None:
            yield Note(sentence)

    def _facts(self, scaled: Callable[[float], float], unit: str) -> Iterator[tuple[str, str]]:
        if self.ticks_per_byte is not None:
            whence = "the rate of the link" if self.rate_from == "link" else "as this recording shows it"
            yield "To leave, a byte takes", f"{scaled(self.ticks_per_byte):,.3g} {unit}, {whence}"
        if self.explained is not None:
            yield "Explained", f"{100 * self.explained:.1f} % of the variance of the time, by the bytes that left meanwhile"
        front = self.front
        if front.base is not None and front.each is not None:
            share = "" if front.explained is None else f"; that explains {100 * front.explained:.1f} %"
            yield (
                "To the first completion",
                f"{scaled(front.base):,.1f} {unit}, and {scaled(front.each):,.1f} for each completion in front{share}",
            )
        order = self.ordering
        if order.candidates:
            text = f"{order.candidates:,} of {order.idle:,} reads with no completion in front came behind posted requests"
            if order.mean is not None and order.others_mean is not None:
                text += f": {scaled(order.mean):,.1f} {unit} to the first completion, the others {scaled(order.others_mean):,.1f}"
            yield "Candidates of ordering", text + ("" if order.explained is None else f"; R² of time and bytes {order.explained:.2f}")

    def sentence(self, time: TimeFacts, names: Names) -> str | None:
        """Return what the slowest reads waited for; None where it is not known.

        Parameters
        ----------
        time : TimeFacts
            The unit in which it is said.
        names : callable
            Returns what a requester is called.
        """
        slowest = self.slowest
        if slowest is None or slowest.behind is None or slowest.own is None or slowest.idle is None or slowest.from_ticks is None:
            return None
        key = "the function that asked" if slowest.key is None else slowest.key
        if (name := named(names, slowest.key)) is not None:
            key += f" ({name})"
        share = (slowest.itself or 0.0) / (slowest.behind or 1.0)
        whose = (
            f"of {key} itself"
            if share > _NEARLY_ALL
            else "of others"
            if share < 1 - _NEARLY_ALL
            else f"{100 * share:.0f} % of {key} itself"
        )
        numbers = [f"{time.scaled(each):,.0f}" for each in (slowest.from_ticks, slowest.mean, slowest.behind, slowest.own, slowest.idle)]
        least, mean, behind, own, idle = numbers
        front = f"{behind} behind {slowest.completions:,.0f} completions {whose}" if slowest.behind else "none of it behind others"
        return (
            f"p99 {least} {time.unit.value}: the {counted(slowest.reads, 'read')} at it or above took {mean} in the mean: {front}, "
            f"{own} for their own, and {idle} while nothing left that is seen (memory, translation of addresses, ordering)"
        )


class Loaded(Struct, frozen=True):
    """Times of the reads of devices that have something in common.

    Parameters
    ----------
    key : int or str
        How many other requests of devices were outstanding when they were asked, or a range of bytes asked for (``33-64``).
    n : int
        Number of reads.
    mean, p50, p99 : float
        Ticks to the last completion.
    """

    key: int | str
    n: int
    mean: float
    p50: float | None
    p99: float | None


class AfterGap(Struct, frozen=True):
    """Times of reads of devices that came first after a gap, with no other completion in front of their first one.

    Parameters
    ----------
    at_least : int
        Ticks without any TLP in front of the read, behind the last request of devices, or completion for one: the longest such time is so
        long or longer.
    below : int or None
        The gap was shorter than that; None where the Time field does not tell: of 11 bits, gaps may be longer by multiples of 2048.
    n : int
        Number of reads.
    mean, p50, p90, p99 : float
        Ticks to the last completion.
    """

    at_least: int
    below: int | None
    n: int
    mean: float
    p50: float | None
    p90: float | None
    p99: float | None


def waits_of(sums: WaitSums, link_ticks: float | None, most: int) -> Waits:
    """Take the time of reads apart.

    Parameters
    ----------
    sums : WaitSums
        The reads.
    link_ticks : float or None
        Ticks that a byte takes on the link; None where the link or the length of a tick is not known.
    most : int
        The most requesters in the result.
    """
    line, rows = sums.sent, sums.requesters
    ordering = _ordering(sums.idle + sums.first)
    front = _fit(sums.front)
    if not line.n:
        return Waits(0, None, None, None, None, None, None, None, None, front, None, [], 0, ordering)
    # Where more bytes in front do not go with more time, they do not tell how long one takes.
    slope = None if line.slope is None or line.slope <= 0 else line.slope
    explained = 0.0 if line.slope is not None and line.slope < 0 else line.explained
    # A link that would have taken longer than the reads did is another one, or the length of a tick is.
    rate, rate_from = (link_ticks, "link") if link_ticks is not None and link_ticks * line.x <= line.y else (slope, "recording")
    whole = _group(None, None, tuple(each.sum() for each in rows.sums), rate)
    ids, *totals = summed((np.add,) * len(rows.sums), rows.value, *rows.sums)
    order = np.argsort(-totals[_READS], kind="stable")
    groups = [_group(_name(int(ids[at])), None, tuple(each[at] for each in totals), rate) for at in order[:most].tolist()]
    return Waits(
        line.n, whole.mean, whole.own, whole.behind, whole.idle, explained, rate, None if rate is None else rate_from, slope, front,
        _slowest(rows, rate), groups, len(ids) - len(groups), ordering,
    )  # fmt: skip


def curve(levels: Sequence[Loaded], time: TimeFacts) -> Timeline:
    """Return the picture of times by how many others were outstanding."""
    series: dict[str, list[float | None]] = {
        "p50": [each.p50 for each in levels],
        "p99": [each.p99 for each in levels],
        "mean": [each.mean for each in levels],
    }
    lines = [Series(name, [None if value is None else time.scaled(value) for value in values]) for name, values in series.items()]
    times = [float(each.key) for each in levels]
    title = "Time to the last completion of reads of devices, by other requests outstanding when they were asked"
    return Timeline(title, times, Unit.NONE, lines, time.unit.value, axis="Outstanding")


def gaps_shown(gaps: Sequence[AfterGap], time: TimeFacts) -> Table:
    """Return the table of reads by the gap in front of them."""
    unit = time.unit
    columns = [Column("Gap of at least", unit), Column("Reads", Unit.TLPS), *(Column(name, unit) for name in ("Mean", "p50", "p90", "p99"))]
    rows: list[list[Cell]] = []
    for each in gaps:
        numbers = (each.mean, each.p50, each.p90, each.p99)
        rows.append([time.scaled(each.at_least), each.n, *(None if value is None else time.scaled(value) for value in numbers)])
    return Table("Reads with no other completion in front, by the longest gap before them", columns, rows)


def _scaled(group: WaitGroup, time: TimeFacts) -> list[Cell]:
    times = (group.mean, group.own, group.behind, group.itself, group.idle)
    return [None if each is None else time.scaled(each) for each in times]


def _slowest(rows: Rows, rate: float | None) -> WaitGroup:
    """Return the reads whose bin is that of p99, or above."""
    order = np.argsort(rows.bins, kind="stable")
    p99 = percentile(rows.bins[order], rows.sums[_READS][order], _P99)
    assert p99 is not None
    chosen = edges_of(rows.bins)[1] >= p99
    ids = np.unique(rows.value[chosen])
    return _group(_name(int(ids[0])) if len(ids) == 1 else None, p99, tuple(each[chosen].sum() for each in rows.sums), rate)


def _name(requester: int) -> str | None:
    return None if requester >= _REQUESTER else format_id(requester)


def _group(key: str | None, least: float | None, sums: tuple[Any, ...], rate: float | None) -> WaitGroup:
    reads, ticks, sent, own, mine, completions = (int(each) for each in sums)
    mean, front = ticks / reads, completions / reads
    if rate is None:
        return WaitGroup(key, reads, least, mean, None, None, None, None, front)
    # Not longer than the whole: the rate is that of all reads, and some bytes left faster.
    own_ticks = min(rate * own / reads, mean)
    behind = min(rate * (sent - own) / reads, mean - own_ticks)
    itself = behind * (mine - own) / (sent - own) if sent > own else 0.0
    return WaitGroup(key, reads, least, mean, own_ticks, behind, mean - own_ticks - behind, itself, front)


def _fit(line: Line) -> Fit:
    slope = line.slope
    return Fit(None if slope is None else (line.y - slope * line.x) / line.n, slope, line.explained)


def _ordering(idle: Idle) -> Ordering:
    line = idle.line
    others = line.n - idle.behind
    return Ordering(
        line.n, idle.behind, idle.ticks / idle.behind if idle.behind else None, (line.y - idle.ticks) / others if others else None,
        line.explained,
    )  # fmt: skip


def levels_of(rows: Rows) -> list[Loaded]:
    """Return the times by how many others were outstanding."""
    return [_loaded(key, *each) for key, each in _by_value(rows)]


def sizes_of(rows: Rows) -> list[Loaded]:
    """Return the times by the bytes asked for."""
    return [_loaded(size_name(key), *each) for key, each in _by_value(rows)]


def gaps_of(rows: Rows, bits: int) -> list[AfterGap]:
    """Return the times by the gap in front of reads; `bits`: of the Time field."""
    return [
        AfterGap(1 << gap >> 1, 1 << gap if bits == _TOLD else None, *_numbers(*each, (0.5, 0.9, _P99)))  # as many bits as the gap
        for gap, each in _by_value(rows)
    ]


def _by_value(rows: Rows) -> Iterator[tuple[int, tuple[Any, Any, Any]]]:
    starts = np.flatnonzero(np.append(True, rows.value[1:] != rows.value[:-1])) if len(rows.value) else np.empty(0, np.intp)
    for begin, end in zip(starts.tolist(), [*starts[1:].tolist(), len(rows.value)], strict=False):
        yield int(rows.value[begin]), (rows.bins[begin:end], rows.sums[0][begin:end], rows.sums[1][begin:end])


def _loaded(key: int | str, bins: Any, counts: Any, ticks: Any) -> Loaded:
    return Loaded(key, *_numbers(bins, counts, ticks, (0.5, _P99)))


def _numbers(bins: Any, counts: Any, ticks: Any, shares: Sequence[float]) -> tuple[Any, ...]:
    """Return how many there are, their mean, and percentiles."""
    n = int(counts.sum())
    return n, int(ticks.sum()) / n, *(percentile(bins, counts, share) for share in shares)
