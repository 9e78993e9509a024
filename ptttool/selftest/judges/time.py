"""Assumptions on time: the counter, its tick, its bits, and the order of TLPs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from ptttool.machine.measured import MODELS, MeasuredClock
from ptttool.selftest.document import Judged, Verdict
from ptttool.selftest.evidence import Evidence, Found
from ptttool.selftest.tick import TickRange, coherence, model_of, tick_range, wrapped_range
from ptttool.wording import counted

# Phases as coherent as seen are chance in one of a million recordings, at most.
_CHANCE: Final = 1e-6
# Neighbours whose number of turns is known, at least, so that a wrong tick would have shown.
_FEWEST_KNOWN: Final = 16

_COUNTER = "Time is a counter of 32 bits in 8DW"
_WRAPS = "the 11 bits of 4DW are the low bits of the same counter"
_ORDER = "TLPs of both directions come in order"


def parts(evidence: Evidence) -> Iterator[Found]:
    """Yield the requests and the completions of coded reads, where there are some."""
    for found in (evidence.requests, evidence.completions):
        if len(found) > 1:
            yield found


def windows(evidence: Evidence, found: Found) -> tuple[np.ndarray, np.ndarray]:
    """Return the clock before and after the read of each TLP."""
    assert evidence.readings is not None
    return evidence.readings.before[found.reads], evidence.readings.after[found.reads]


class Clocks:
    """What recordings with coded reads say of the clock.

    Parameters
    ----------
    evidence : sequence of Evidence
        The recordings.

    Attributes
    ----------
    judged : list of Judged
        A1 and A2.
    measured : dict of str to MeasuredClock
        The clocks by format.
    """

    def __init__(self, evidence: Sequence[Evidence]) -> None:
        self.measured: dict[str, MeasuredClock] = {}
        self.tick: TickRange | None = None
        self.judged = [self._judge_counter([one for one in evidence if one.bits == 32 and one.made])]
        self.judged.append(self._judge_wraps([one for one in evidence if one.bits < 32 and one.made]))

    def _judge_counter(self, evidence: Sequence[Evidence]) -> Judged:
        looked = [(one, found, *windows(one, found)) for one in evidence for found in parts(one)]
        if not looked:
            return _judged("A1", Verdict.NOT_TESTED, "no recording in 8DW holds coded reads")
        common = {}
        for model in MODELS:
            bounded = [(one, found, tick_range(found.passed[model], before, after)) for one, found, before, after in looked]
            common[model] = _common(bounded)
        ranges = {model: whole for model, (whole, _, _) in common.items()}
        details = {model: _numbers(whole) for model, whole in ranges.items()}
        fitting = model_of(ranges)
        if fitting is not None and (whole := ranges[fitting]) is not None:
            self.tick = whole
            self.measured["8dw"] = _clock(fitting, 32, whole)
            _, name, indexes = common[fitting]
            said = f"{_said(whole)} ({counted(whole.anchors, 'coded read')})"
            if fitting == "counter":
                return _judged("A1", Verdict.CONFIRMED, f"a counter, {said}; as differences, no tick fits", name, indexes, details)
            message = f"differences to the TLP before, {said}; as a counter, no tick fits"
            return _judged("A1", Verdict.REFUTED, message, *common["counter"][1:], details)
        if any(whole is not None and whole.is_possible for whole in ranges.values()):
            return _judged("A1", Verdict.NOT_TESTED, "too few reads: they do not tell a counter from differences", details=details)
        message = "neither a counter nor differences: two reads bound the tick so that none fits"
        return _judged("A1", Verdict.REFUTED, message, *common["counter"][1:], details)

    def _judge_wraps(self, evidence: Sequence[Evidence]) -> Judged:
        tick = self.tick
        looked = [(one, found, *windows(one, found)) for one in evidence for found in parts(one)]
        if not looked:
            return _judged("A2", Verdict.NOT_TESTED, "no recording in 4DW holds coded reads")
        if tick is None:
            return _judged("A2", Verdict.NOT_TESTED, "the tick of 8DW is not known")
        if self.measured["8dw"].model == "delta":
            return self._judge_small_differences(looked)
        known, chance, at = 0, 1.0, looked[0]
        for one, found, before, after in looked:
            bounded, sure = wrapped_range(found.field, one.bits, before, after, tick)
            known = max(known, sure)
            if bounded is not None and not (bounded.is_possible and bounded.low_ns <= tick.high_ns and tick.low_ns <= bounded.high_ns):
                pairs = bounded.low_rows + bounded.high_rows
                message = f"with the tick of 8DW ({_said(tick)}), two reads do not fit 11 bits that turn round"
                return _judged("A2", Verdict.REFUTED, message, one.name, _indexes(found, pairs), {"known_turns": sure})
            if bounded is not None and sure >= _FEWEST_KNOWN:
                whole = TickRange(max(tick.low_ns, bounded.low_ns), min(tick.high_ns, bounded.high_ns), bounded.anchors, (0, 0), (0, 0))
                self.measured["4dw"] = _clock("counter", one.bits, whole)
                message = f"the same tick, {_said(whole)}: {sure:,} pairs of reads leave one number of turns, and it fits"
                return _judged("A2", Verdict.CONFIRMED, message, one.name, _ends(found), {"known_turns": sure, **_numbers(whole)})
            _, by_chance = coherence(found.field, one.bits, before, after, tick)
            if by_chance < chance:
                chance, at = by_chance, (one, found, before, after)
        one, found, before, after = at
        details = {"known_turns": known, "chance": chance}
        if chance < _CHANCE:
            self.measured["4dw"] = _clock("counter", one.bits, tick)
            message = f"the same tick, {_said(tick)}: the 11 bits of quick reads have the same phase (by chance: {chance:.1g})"
            return _judged("A2", Verdict.CONFIRMED, message, one.name, _ends(found), details)
        shortest, turn = int((after - before).min()), (1 << one.bits) * tick.tick_ns
        message = f"11 bits turn round in {turn / 1e3:.3g} µs, and a read takes {shortest / 1e3:.3g} µs or more: more reads would tell"
        return _judged("A2", Verdict.NOT_TESTED, message, details=details)

    def _judge_small_differences(self, looked: Sequence[tuple[Evidence, Found, np.ndarray, np.ndarray]]) -> Judged:
        for one, found, before, after in looked:
            assert self.tick is not None
            most = (1 << one.bits) - 1
            gaps = before[1:] - after[:-1]
            # Not the first TLP of a pair alone: others may stand between.
            passed = np.diff(found.added)
            long = np.flatnonzero(gaps > 2 * most * self.tick.high_ns)
            if len(long) < _FEWEST_KNOWN:
                continue
            full = passed[long] >= most
            wrong = long if full.all() else long[~full]
            message = f"differences: after long gaps the field is {most}, it is full"
            if not full.all():
                message = f"differences: of long gaps, multiples of {most + 1} are missing"
            return _judged("A2", Verdict.REFUTED, message, one.name, _indexes(found, (wrong[:4] + 1).tolist()), {"gaps": len(long)})
        return _judged("A2", Verdict.NOT_TESTED, "too few gaps are longer than 11 bits of ticks")


def judge_order(evidence: Sequence[Evidence], clocks: Clocks) -> Judged:
    """Judge whether each completion stands behind its request and before the next one, and whether its time says so, too.

    The time can tell where a read takes less than the Time field takes to turn round.
    """
    looked = timed = 0
    shown: Evidence | None = None
    for one in evidence:
        if not len(one.requests) or not len(one.completions) or one.readings is None:
            continue
        reads, requests, completions = np.intersect1d(one.requests.reads, one.completions.reads, return_indices=True)
        first, second = one.requests.index[requests], one.completions.index[completions]
        wrong = second < first
        wrong[:-1] |= second[:-1] > first[1:]
        looked, shown = looked + len(reads), shown or one
        if clocks.tick is not None:
            took = (one.readings.after - one.readings.before)[reads]
            passed = (one.completions.field[completions] - one.requests.field[requests]) % (1 << one.bits)
            if clocks.measured["8dw"].model == "delta":
                passed = one.completions.added[completions] - one.requests.added[requests]
            tells = took < clocks.tick.low_ns * (1 << one.bits)
            timed += int(np.count_nonzero(tells))
            wrong |= tells & (passed * clocks.tick.low_ns > took)
        if wrong.any():
            details = {"wrong": int(wrong.sum()), "looked_at": len(reads)}
            message = f"{int(wrong.sum()):,} of {len(reads):,} completions are not between their request and the next, by place or by time"
            return _judged("A3", Verdict.REFUTED, message, one.name, tuple(second[wrong][:8].tolist()), details)
    if shown is None:
        return _judged("A3", Verdict.NOT_TESTED, "no recording holds requests and completions of coded reads")
    by_time = "their times cannot tell: the field turns round within each read"
    if timed:
        by_time = f"{timed:,} by their times, too"
    message = f"{looked:,} completions stand between their request and the next; {by_time}"
    return _judged("A3", Verdict.CONFIRMED, message, shown.name, _ends(shown.requests), {"looked_at": looked, "timed": timed})


_TEXTS: Final = {"A1": ("Time", _COUNTER), "A2": ("11 bits", _WRAPS), "A3": ("order", _ORDER)}


def _judged(
    name: str,
    verdict: Verdict,
    message: str,
    recording: str | None = None,
    indexes: tuple[int, ...] = (),
    details: Mapping[str, object] | None = None,
) -> Judged:
    return Judged(name, *_TEXTS[name], verdict, message, recording, indexes, details or {})


def _common(looked: Sequence[tuple[Evidence, Found, TickRange | None]]) -> tuple[TickRange | None, str | None, tuple[int, ...]]:
    """Return the ticks that fit all recordings, and the recording and TLPs that bound them most."""
    low = high = None
    anchors = 0
    for one, found, each in looked:
        if each is None:
            continue
        anchors += each.anchors
        if low is None or each.low_ns > low[2].low_ns:
            low = one, found, each
        if high is None or each.high_ns < high[2].high_ns:
            high = one, found, each
    if low is None or high is None:
        return None, None, ()
    one, found, each = low
    whole = TickRange(each.low_ns, high[2].high_ns, anchors, each.low_rows, high[2].high_rows)
    return whole, one.name, _indexes(found, each.low_rows)


def _indexes(found: Found, rows: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted({int(found.index[row]) for row in rows}))


def _ends(found: Found) -> tuple[int, ...]:
    return _indexes(found, (0, len(found) - 1))


def _clock(model: str, bits: int, whole: TickRange) -> MeasuredClock:
    return MeasuredClock(model, bits, whole.tick_ns, whole.low_ns, whole.high_ns, whole.anchors)


def _numbers(whole: TickRange | None) -> dict[str, object]:
    if whole is None:
        return {}
    return (
        {"low_ns": whole.low_ns, "high_ns": whole.high_ns if np.isfinite(whole.high_ns) else None, "anchors": whole.anchors}
        if np.isfinite(whole.low_ns)
        else {"anchors": whole.anchors}
    )


def _said(tick: TickRange) -> str:
    return f"{tick.low_ns:.6g} to {tick.high_ns:.6g} ns a tick"
