"""Advice on the time that requests take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ptttool.analyses.drawing.numbers import with_unit
from ptttool.analyses.latency.document import Latency
from ptttool.diagnostics import Severity
from ptttool.report.model import Advice

# Requests of which a percentile says something, and how many times p50 a p99 has to be to be worth a look.
_MANY: Final = 1000
_TAIL: Final = 5.0


def on_latency(result: Latency) -> Iterator[Advice]:
    """Yield advice on unanswered requests, missing bytes and long tails."""
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
