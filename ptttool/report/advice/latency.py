"""Advice on the time that requests take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ptttool.analyses.drawing.numbers import with_unit
from ptttool.analyses.latency.document import Latency
from ptttool.analyses.shown import no_names
from ptttool.diagnostics import Severity
from ptttool.report.model import Advice

# Requests of which a percentile says something, and how many times p50 a p99 has to be to be worth a look.
_MANY: Final = 1000
_TAIL: Final = 5.0
# Reads whose parts say something; the part of the slowest from which it is what they wait for; how much of the variance the bytes in front
# explain at least; and how many times the mean the slowest take, where others do not wait for the same.
_READS: Final = 100
_MOST: Final = 0.5
_EXPLAINED: Final = 0.5
_SLOWER: Final = 2.0


def on_latency(result: Latency) -> Iterator[Advice]:
    """Yield advice on unanswered requests, missing bytes, long tails, and what the slowest reads waited for."""
    missing = result.unmatched.inside
    if missing:
        yield Advice(
            Severity.WARNING,
            "unanswered",
            "latency",
            f"{missing:,} of {result.requests:,} requests have no completion inside of the recording: it was lost, or never came. Signs of "
            "loss tell which is likely.",
            "ptttool analyze loss,errors FILE",
            {"unanswered": missing, "requests": result.requests},
        )
    if result.short:
        yield Advice(
            Severity.WARNING,
            "short",
            "latency",
            f"Of {result.short:,} answered requests, bytes are missing: completions were lost.",
            "ptttool analyze loss FILE",
            {"requests": result.short},
        )
    yield from _on_waits(result)
    yield from _on_gaps(result)
    for group in result.directions:
        spread = group.ticks
        if spread is None or spread.n < _MANY or not spread.p50 or spread.p99 is None or spread.max_index is None:
            continue
        times = spread.p99 / spread.p50
        if times >= _TAIL:
            p50, p99 = (with_unit(round(result.time.scaled(value)), result.time.unit) for value in (spread.p50, spread.p99))
            yield Advice(
                Severity.INFO,
                "long-tail",
                "latency",
                f"1 % of the {group.key} requests take {times:.3g} times as long as half of them do, or longer: {p99} against {p50}. "
                "Follow the slowest one.",
                f"ptttool decode FILE --follow {spread.max_index}",
                {"direction": group.key, "p99_by_p50": round(times, 1), "slowest_index": spread.max_index},
            )


def _on_waits(result: Latency) -> Iterator[Advice]:
    """Yield what the slowest reads of devices waited for, where one part is most of it."""
    waits = result.waits
    if waits.reads < _READS or waits.slowest is None or waits.mean is None:
        return
    slowest, sentence = waits.slowest, waits.sentence(result.time, no_names)
    if sentence is None or slowest.behind is None or slowest.idle is None:
        return
    evidence = {
        "reads": slowest.reads,
        "behind_percent": round(100 * slowest.behind / slowest.mean, 1),
        "idle_percent": round(100 * slowest.idle / slowest.mean, 1),
    }
    if slowest.behind >= _MOST * slowest.mean and (waits.explained or 0.0) >= _EXPLAINED:
        cause = (
            "So it is the outbound direction that they wait for, more than memory"
            if waits.rate_from == "link"
            else "So it is the rate of completions that they wait for: that of the outbound direction, or of what hands them to it"
        )
        yield Advice(
            Severity.INFO,
            "waits-behind",
            "latency",
            f"The slowest reads wait for completions that leave in front of theirs: {sentence}. {cause}: look at its share of the link, at "
            "larger payloads (MPS), at fewer reads at a time, and at the priority of completions (qos_tx_cpl).",
            "ptttool analyze latency,bandwidth FILE",
            {**evidence, "explained": round(waits.explained or 0.0, 3)},
        )
    elif slowest.idle >= _MOST * slowest.mean and slowest.mean >= _SLOWER * waits.mean:
        yield Advice(
            Severity.INFO,
            "waits-idle",
            "latency",
            f"The slowest reads wait while nothing leaves: {sentence}. So it is not the link that they wait for, but memory, the "
            "translation of their addresses, or the order behind writes: look at memory of other nodes, at the SMMU, at relaxed ordering.",
            "ptttool analyze latency,addresses FILE",
            evidence,
        )


def _on_gaps(result: Latency) -> Iterator[Advice]:
    """Yield how much longer reads take after the longest gaps than after the shorter ones that are best, where they do."""
    gaps = [gap for gap in result.by_gap if gap.n >= _READS and gap.p50]
    if len(gaps) < 2:
        return
    after, before = gaps[-1], min(gaps[:-1], key=lambda gap: gap.p50 or 0)
    assert after.p50 is not None
    assert before.p50 is not None
    if after.p50 >= _SLOWER * before.p50:
        times = (after.at_least, after.p50, before.p50, before.at_least, before.below or 0)
        least, slow, fast, begin, end = (with_unit(round(result.time.scaled(value)), result.time.unit) for value in times)
        other = f"{begin} to {end}" if before.below is not None else f"{begin} (or more, which 11 bits of time do not show)"
        yield Advice(
            Severity.INFO,
            "wake-up",
            "latency",
            f"After a gap of {least} or more, half of the first reads take {slow} or longer, against {fast} after one of {other} "
            f"({after.n:,} and {before.n:,} reads): something wakes up. Look at the power states of the link (ASPM), of the device, and of "
            "the processor.",
            "ptttool analyze latency FILE",
            {"at_least_ticks": after.at_least, "reads": after.n, "p50_ticks": after.p50, "p50_ticks_else": before.p50},
        )
