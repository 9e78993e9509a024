"""The result of the analysis ``latency``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ptttool.analyses.drawing.bins import histogram_of_times
from ptttool.analyses.drawing.result import Shown
from ptttool.analyses.latency.waited import AfterGap, Loaded, Waits, curve, gaps_shown
from ptttool.analyses.shown import Cell, Column, Facts, Names, Note, Part, Table, Unit, named, text_column
from ptttool.analyses.time.facts import TimeFacts
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document

# Rows of a table that people see; the JSON has more.
_SHOWN = 20


class Spread(Struct, frozen=True):
    """How times are distributed. The percentiles are those of the nearest rank, and off by at most 1/256 of their value.

    Parameters
    ----------
    n : int
        Number of times.
    min, mean, p50, p90, p99, p999, max : float or None
        Smallest, mean, percentiles, largest; None without times. The smallest and the largest are exact.
    min_index, max_index : int or None
        Numbers of the requests with the smallest and with the largest time in the recording; the first ones of several.
    """

    n: int
    min: float | None
    mean: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    p999: float | None
    max: float | None
    min_index: int | None
    max_index: int | None


class Unmatched(Struct, frozen=True):
    """Requests without a completion, and completions without a request.

    Parameters
    ----------
    start : int
        Transactions of which only the end is seen: the request stands in front of the recording or of a hole in it, or is not traced.
        They are not among the requests.
    inside : int
        Requests without a completion whose tag was used again, or behind which records are missing.
    end : int
        Requests that were open when the recording, or one of its AUX streams, ended.
    not_traced : int
        Requests without a completion where completions are not traced (the recording's event asks for none, or for none of their
        direction), or may not be (it filters for one requester).
    """

    start: int
    inside: int
    end: int
    not_traced: int


class LatencyGroup(Struct, frozen=True):
    """Latency of requests that have something in common.

    Parameters
    ----------
    key : str
        What it is: a Requester ID, a kind, a direction, or a range of bytes asked for (``33-64``).
    requests, matched, errors, short : int
        Number of requests; of those with a completion, of those with an error status, of those with missing bytes.
    requested_bytes, received_bytes : int
        Bytes asked for, and bytes that completions brought.
    ticks, to_first : Spread or None
        Ticks to the last and to the first completion; None where the model of time is not known.
    """

    key: str
    requests: int
    matched: int
    errors: int
    short: int
    requested_bytes: int
    received_bytes: int
    ticks: Spread | None
    to_first: Spread | None


class Bins(Struct, frozen=True):
    """A histogram.

    Parameters
    ----------
    edges : list of int
        Ticks: limits of the bins, ascending, one more than there are bins; a bin holds its lower one, not its upper one.
    to_first, to_last : list of int
        Requests in each bin, by the time to the first and to the last completion.
    """

    edges: list[int]
    to_first: list[int]
    to_last: list[int]


@document("latency")
class Latency(Shown, Struct, frozen=True):
    """Time from requests to their completions.

    Parameters
    ----------
    requests : int
        Number of requests that are to be answered.
    matched : int
        Those with a completion; `requests` less those of `unmatched`, but for `unmatched.start`.
    unmatched : Unmatched
        What was not matched.
    errors, short : int
        Matched requests whose last completion has an error status, and those of which bytes are missing.
    requested_bytes, received_bytes : int
        Bytes asked for, and bytes that completions brought.
    ticks, to_first : Spread or None
        Ticks to the last and to the first completion; None where the model of time is not known.
    ns, to_first_ns : Spread or None
        The same in nanoseconds; None where the length of a tick is not known.
    requesters, kinds, sizes, directions : list of LatencyGroup
        The same by requester, kind, bytes asked for and direction; requesters with most requests first.
    more_requesters : int
        Requesters that are left out.
    histogram : Bins or None
        All times; None where the model of time is not known.
    completions_without_request : int
        Completions inside of the recording without an open request.
    time : TimeFacts
        What is known of time.
    relative_error : float
        How far a percentile can be off, as a share of it.
    waits : Waits
        What the reads of devices waited for, in ticks.
    by_level, by_size : list of Loaded, or None
        Times of the reads of devices in ticks, by how many other requests of devices were outstanding when they were asked, and by bytes
        asked for; None where it is not known how many there were.
    by_gap : list of AfterGap
        The same of reads with no other completion in front, by the longest time without any TLP in front of them, behind
        the last request of devices or completion for one.
    notes : list of Diagnostic
        What is odd, and what is not seen.
    """

    requests: int
    matched: int
    unmatched: Unmatched
    errors: int
    short: int
    requested_bytes: int
    received_bytes: int
    ticks: Spread | None
    to_first: Spread | None
    ns: Spread | None
    to_first_ns: Spread | None
    requesters: list[LatencyGroup]
    kinds: list[LatencyGroup]
    sizes: list[LatencyGroup]
    directions: list[LatencyGroup]
    more_requesters: int
    histogram: Bins | None
    completions_without_request: int
    time: TimeFacts
    relative_error: float
    waits: Waits
    by_level: list[Loaded] | None
    by_size: list[Loaded]
    by_gap: list[AfterGap]
    notes: list[Diagnostic]

    def shown(self, names: Names) -> Iterator[Part]:
        """Yield what is to be seen: the whole, histograms, groups, what is not seen."""
        for note in self.notes:
            if note.severity is not Severity.INFO:
                yield Note(note.text, note.severity)
        yield Facts(list(self._counts()))
        if self.requests:
            yield from self._tables(names)
            yield from self.waits.shown(self.time, names)
            if self.by_level is not None and len(self.by_level) > 1:
                yield curve(self.by_level, self.time)
            if len(self.by_gap) > 1:
                yield gaps_shown(self.by_gap, self.time)
            yield from self._histograms()
        yield from self.time.shown()
        for note in self.notes:
            if note.severity is Severity.INFO:
                yield Note(note.text, note.severity)

    def _counts(self) -> Iterator[tuple[str, str]]:
        yield "Requests", f"{self.requests:,}, {self.matched:,} with completions"
        missing = self.unmatched
        yield (
            "Without completions",
            f"{missing.inside:,} inside, {missing.end:,} open at the end, {missing.not_traced:,} whose completions are not traced",
        )
        yield "Begun before", f"{missing.start:,} transactions of which only the end is seen"
        yield "Error status", f"{self.errors:,}"
        yield "Bytes missing", f"{self.short:,} requests"
        yield "Bytes", f"{self.received_bytes:,} received of {self.requested_bytes:,} asked for or written"

    def _tables(self, names: Names) -> Iterator[Part]:
        # What is known of a group is known of all requests under the same names.
        whole = LatencyGroup("all", *(getattr(self, name) for name in LatencyGroup.__struct_fields__[1:]))
        if self.ticks is None or not self.ticks.n:
            return
        yield self._table("Time to the last completion, by direction", "Direction", self.directions, whole)
        yield self._table("Time to the first completion, by direction", "Direction", self.directions, whole, is_first=True)
        yield self._table("Time to the last completion, by kind", "Kind", self.kinds, None)
        yield self._table("Time to the last completion, by bytes asked for", "Bytes", self.sizes, None)
        more = max(len(self.requesters) - _SHOWN, 0) + self.more_requesters
        yield self._table("Time to the last completion, by requester", "Requester", self.requesters[:_SHOWN], None, more, names)

    def _table(
        self,
        title: str,
        head: str,
        groups: Sequence[LatencyGroup],
        whole: LatencyGroup | None,
        more: int = 0,
        names: Names | None = None,
        *,
        is_first: bool = False,
    ) -> Table:
        unit = self.time.unit
        columns = [
            text_column(head), *([text_column("Name", 2)] if names else []), Column("Requests", Unit.TLPS), Column("Mean", unit, weight=1),
            Column("p50", unit), Column("p90", unit, weight=2), Column("p99", unit), Column("p99.9", unit, weight=2), Column("Max", unit),
            Column("Index of max", Unit.INDEX, weight=1),
        ]  # fmt: skip
        rows = [self._row(each, names, is_first=is_first) for each in groups]
        total = None if whole is None or len(rows) < 2 else self._row(whole, None, is_first=is_first)
        return Table(title, columns, rows, total, more)

    def _row(self, group: LatencyGroup, names: Names | None, *, is_first: bool) -> list[Cell]:
        row: list[Cell] = [group.key]
        if names is not None:
            row.append(named(names, group.key))
        row.append(group.requests)
        spread = group.to_first if is_first else group.ticks
        if spread is None:
            return [*row, *[None] * 7]
        values = (spread.mean, spread.p50, spread.p90, spread.p99, spread.p999, spread.max)
        return [*row, *(None if value is None else self.time.scaled(value) for value in values), spread.max_index]

    def _histograms(self) -> Iterator[Part]:
        if self.histogram is None:
            return
        shown = (("last", self.histogram.to_last, self.ticks), ("first", self.histogram.to_first, self.to_first))
        for name, counts, spread in shown:
            if spread is None or not spread.n:
                continue
            marks = {"min": spread.min, "p50": spread.p50, "p99": spread.p99, "p99.9": spread.p999, "max": spread.max}
            yield histogram_of_times(f"Time to the {name} completion", self.histogram.edges, counts, self.time, "requests", marks)
