"""The analysis ``latency``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from ptttool.analyses.budget import MAX_LISTED
from ptttool.analyses.contract import ANALYSES, AnalysisContext
from ptttool.analyses.latency.bins import RELATIVE_ERROR, edges_of, percentile
from ptttool.analyses.latency.counted import counted_latency
from ptttool.analyses.latency.document import Bins, Latency, LatencyGroup, Spread, Unmatched
from ptttool.analyses.latency.sums import By, Group, LatencySums, size_name
from ptttool.analyses.latency.waited import AfterGap, Loaded, gaps_of, levels_of, sizes_of, waits_of
from ptttool.analyses.latency.waits import WaitSums
from ptttool.analyses.link import rate_of_ports
from ptttool.analyses.matching.analysis import MatchingAnalysis, Transactions
from ptttool.analyses.matching.traced import Untraced, untraced_answers
from ptttool.analyses.needs import Need
from ptttool.analyses.regions import is_translated
from ptttool.analyses.scope import Scope
from ptttool.analyses.time.facts import TimeFacts
from ptttool.analyses.time.model import TimeModel
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.pci import format_id
from ptttool.recording.traced_buses import ports_of
from ptttool.tlp.columns import DIRECTIONS, KINDS
from ptttool.tlp.transactions import ENDING_BITS, ENDING_MASK, REQUESTER_BITS, UNKNOWN_DIRECTION, Ending
from ptttool.wording import counted

if TYPE_CHECKING:
    from ptttool.machine.model import Machine

_BOTH = "--format 4dw --direction both --type np,cpl"
# Bins of the histogram: so many fine bins in one.
_COARSE = 4
_OUTBOUND = DIRECTIONS.index("outbound")
_TIMES = ("min", "mean", "p50", "p90", "p99", "p999", "max")


class LatencyAnalysis(MatchingAnalysis[Latency]):
    """Adds the times of requests up.

    Parameters
    ----------
    scope : Scope
        What is known of the recording.
    """

    name = "latency"
    meaning = "time from requests to their first and last completions: percentiles, by requester, kind, size and direction"
    needs = (
        Need("requests of devices with their completions", f"{_BOTH} --completions b", inbound=("NP",), outbound=("CPL",)),
        Need("requests of the processor with their completions", f"{_BOTH} --completions a", inbound=("CPL A",), outbound=("NP",)),
    )

    one_need_is_enough = True

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(scope)
        self._sums = LatencySums()
        self._waits = WaitSums()

    def add(self, ended: Transactions) -> None:
        """Add requests that have ended."""
        self._sums.add(ended)
        self._waits.add(ended)

    def merge_sums(self, later: LatencyAnalysis) -> None:
        """Add the requests behind."""
        self._sums.merge(later._sums)
        self._waits.merge(later._waits, self.border)

    def finish(self, context: AnalysisContext) -> Latency:
        """Return the times, and what is not known of them."""
        time = self.scope.time_facts(self.clock, context)
        is_timed = self.scope.time_model is not TimeModel.UNKNOWN
        totals = self.totals
        wholes = self._sums.groups(By.ALL)
        nothing = _spread(None, 0) if is_timed else None
        whole = _group(wholes[0], "all", is_timed) if wholes else LatencyGroup("all", 0, 0, 0, 0, 0, 0, nothing, nothing)
        directions = self._sums.groups(By.DIRECTION)
        untraced = untraced_answers(context, totals)
        requesters = self._sums.groups(By.REQUESTER, MAX_LISTED)
        by_level, by_gap = self._by_level(time), gaps_of(self._waits.gaps, time.bits)
        by_kind = [_group(each, KINDS[each.value], is_timed) for each in self._sums.groups(By.KIND)]
        by_direction = [_group(each, DIRECTIONS[each.value], is_timed) for each in directions]
        return Latency(
            requests=totals.requests,
            matched=totals.matched,
            unmatched=Unmatched(totals.early_ends, totals.inside - untraced.inside, totals.open_at_end - untraced.end, untraced.requests),
            errors=int(totals.endings[Ending.ERROR]),
            short=int(totals.endings[Ending.SHORT]),
            requested_bytes=whole.requested_bytes,
            received_bytes=whole.received_bytes,
            ticks=whole.ticks,
            to_first=whole.to_first,
            ns=_scaled(whole.ticks, time),
            to_first_ns=_scaled(whole.to_first, time),
            requesters=[_group(each, format_id(each.value), is_timed) for each in requesters],
            kinds=by_kind,
            sizes=[_group(each, size_name(each.value), is_timed) for each in self._sums.groups(By.SIZE)],
            directions=by_direction,
            more_requesters=self._sums.count(By.REQUESTER) - len(requesters),
            histogram=_histogram(wholes[0]) if is_timed and wholes else None,
            completions_without_request=totals.orphans,
            time=time,
            relative_error=RELATIVE_ERROR,
            waits=waits_of(self._waits, self._link_ticks(time, context), MAX_LISTED),
            by_level=by_level,
            by_size=sizes_of(self._waits.sizes),
            by_gap=by_gap,
            notes=[
                *self._notes(time, directions, untraced, context.machine),
                *self._wait_notes(time, by_level, by_gap),
                *counted_latency(context.counters, by_kind, by_direction),
            ],
        )

    def _link_ticks(self, time: TimeFacts, context: AnalysisContext) -> float | None:
        """Return the ticks that a byte takes on the link; None where they are not known."""
        ports = None if time.tick_ns is None else ports_of(context.contents, context.machine)
        link = None if ports is None else rate_of_ports(ports)
        return None if link is None or time.tick_ns is None else 1e9 / (link.bytes_per_second * time.tick_ns)

    def _by_level(self, time: TimeFacts) -> list[Loaded] | None:
        """Return the times by level; None where it is not known how many requests were outstanding."""
        rows = None if time.holes or self._astray else self._waits.levels(self.lowest)
        return None if rows is None else levels_of(rows)

    @property
    def _astray(self) -> int:
        """How many requests of devices or completions have no end or no beginning, so that levels behind or before them are wrong."""
        keys, counts = self.totals.counts.rows()
        endings, directions = keys & ENDING_MASK, keys >> ENDING_BITS + REQUESTER_BITS
        astray = (directions != _OUTBOUND) & ((endings == Ending.INSIDE) | (endings == Ending.SHORT))
        if (directions == UNKNOWN_DIRECTION).any():  # completions of unknown direction may be those of the processor's requests
            astray |= (directions == _OUTBOUND) & (endings < Ending.INSIDE)
        return int(counts[astray].sum()) + self.totals.orphans

    def _notes(self, time: TimeFacts, directions: list[Group], untraced: Untraced, machine: Machine | None) -> Iterator[Diagnostic]:
        totals = self.totals
        if not totals.requests:
            yield Diagnostic(Severity.WARNING, "no-requests", "there is no request that is to be answered: no latency is seen")
        elif not totals.matched:
            yield Diagnostic(Severity.WARNING, "no-completions", "no request has its completion in the recording: no latency is seen")
        if untraced.requests:
            yield untraced.note
        if time.holes:
            yield Diagnostic(
                Severity.WARNING, "holes",
                f"records may be missing at {counted(time.holes, 'point')}: nothing is matched across",
                details={"holes": time.holes},
            )  # fmt: skip
        if totals.left_out:
            yield Diagnostic(
                Severity.WARNING,
                "too-many-open",
                f"{totals.left_out:,} open requests were too many to follow",
                details={"rows": totals.left_out},
            )
        if not self._sums.are_requesters_binned:
            yield Diagnostic(Severity.WARNING, "too-many-requesters", "there are too many requesters: they have no percentiles")
        if time.bits < 32 and time.model is not TimeModel.UNKNOWN:
            yield Diagnostic(
                Severity.INFO, "latency-11-bits",
                "the Time field has 11 bits: where no TLP was recorded for 2048 ticks or more, a latency across the gap is too short",
            )  # fmt: skip
        names = {DIRECTIONS[each.value] for each in directions}
        if "inbound" in names:
            yield Diagnostic(
                Severity.INFO, "port-side-inbound",
                "inbound requests: the time from the request to its completions at the port, without the way between port and device: "
                "memory, translation of addresses, ordering, and the wait behind other completions",
            )  # fmt: skip
        if "outbound" in names:
            yield Diagnostic(
                Severity.INFO, "port-side-outbound", "outbound requests: the time is that of the link and the device, seen at the port"
            )
        if names & {"inbound", "unknown"} and time.bits < 32 and is_translated(machine):
            yield Diagnostic(
                Severity.INFO, "translations-in-reads",
                "addresses of devices are translated (SMMU): where a device has ATS on, its translation requests are among the reads, "
                "since 4DW records do not tell them apart; 'lspci -vv' shows ATSCtl",
            )  # fmt: skip
        if "unknown" in names and totals.matched:
            yield Diagnostic(
                Severity.INFO, "port-side-unknown",
                "the times are those seen at the port: of memory and the wait behind other completions for requests of devices, of link "
                "and device for others",
                "--downstream names the buses behind the port",
            )  # fmt: skip

    def _wait_notes(self, time: TimeFacts, by_level: list[Loaded] | None, by_gap: list[AfterGap]) -> Iterator[Diagnostic]:
        line, totals = self._waits.sent, self.totals
        if not line.n:
            if totals.requests and time.model is not TimeModel.UNKNOWN:
                yield Diagnostic(
                    Severity.INFO, "waits-not-seen",
                    "what reads of devices wait for is not seen: that needs these reads and their completions in one recording",
                    f"ptttool trace {_BOTH}",
                )  # fmt: skip
            return
        if line.slope is None:
            yield Diagnostic(
                Severity.INFO, "waits-all-alike",
                "as many bytes left for each read, so the recording does not show how long a byte takes: --tick-ns, and the machine's "
                "links, would say it",
            )  # fmt: skip
        if self._waits.is_guessed:
            yield Diagnostic(
                Severity.INFO, "waits-directions",
                "the direction of reads is not known: all are taken for reads of devices, and all completions for theirs",
                "--downstream names the buses behind the port",
            )  # fmt: skip
        if any(each.below is None for each in by_gap):
            yield Diagnostic(
                Severity.INFO, "gaps-at-least",
                "the Time field has 11 bits: gaps in front of reads are as long as shown, or longer by multiples of 2048 ticks, which are "
                "not seen; so reads after long gaps may be among those after short ones",
            )  # fmt: skip
        if by_level is None:
            yield Diagnostic(
                Severity.INFO, "levels-not-known",
                "how many requests were outstanding when a read was asked is not known: records may be missing, or requests or "
                "completions have no counterpart",
                details={"holes": time.holes, "astray": self._astray},
            )  # fmt: skip


def _group(group: Group, key: str, is_timed: bool) -> LatencyGroup:
    endings = group.endings
    return LatencyGroup(
        key=key,
        requests=int(endings.sum()),
        matched=int(endings[: Ending.INSIDE].sum()),
        errors=int(endings[Ending.ERROR]),
        short=int(endings[Ending.SHORT]),
        requested_bytes=int(group.requested),
        received_bytes=int(group.received),
        ticks=_spread(group, 1) if is_timed else None,
        to_first=_spread(group, 0) if is_timed else None,
    )


def _spread(group: Group | None, which: int) -> Spread:
    n = 0 if group is None else int(group.timed[which])
    if group is None or not n:
        return Spread(0, None, None, None, None, None, None, None, None, None)
    bins, counts = group.bins[which], group.counts[which]
    smallest, largest = int(group.smallest[which]), int(group.largest[which])
    percentiles = (percentile(bins, counts, share) for share in (0.5, 0.9, 0.99, 0.999))
    p50, p90, p99, p999 = (None if value is None else min(max(value, smallest), largest) for value in percentiles)
    smallest_at, largest_at = int(group.smallest_at[which]), int(group.largest_at[which])
    return Spread(n, smallest, int(group.ticks[which]) / n, p50, p90, p99, p999, largest, smallest_at, largest_at)


def _scaled(spread: Spread | None, time: TimeFacts) -> Spread | None:
    if spread is None or time.tick_ns is None:
        return None
    times = {name: getattr(spread, name) for name in _TIMES}
    return replace(spread, **{name: None if value is None else time.scaled(value) for name, value in times.items()})


def _histogram(whole: Group) -> Bins:
    coarse = [bins // _COARSE for bins in whole.bins]
    every: Any = np.concatenate(coarse)
    if not len(every):
        return Bins([], [], [])
    first, last = int(every.min()), int(every.max())
    low, _ = edges_of(np.arange(first, last + 2) * _COARSE)
    counts = [
        np.bincount(bins - first, numbers, last - first + 1).astype(np.int64).tolist()
        for bins, numbers in zip(coarse, whole.counts, strict=True)
    ]
    return Bins(low.tolist(), *counts)


ANALYSES.add("latency", LatencyAnalysis)
