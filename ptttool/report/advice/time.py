"""Advice on what is not known of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ptttool.analyses.time.facts import TimeFacts
from ptttool.analyses.time.model import TimeModel
from ptttool.diagnostics import Severity
from ptttool.report.model import Advice


def on_time(results: Mapping[str, object]) -> Iterator[Advice]:
    """Yield advice where times are ticks only, or nothing at all; every result that speaks of time says the same of it."""
    times = {name: time for name, each in results.items() if isinstance(time := getattr(each, "time", None), TimeFacts)}
    name, facts = next(iter(times.items()), ("", None))
    if facts is None or facts.evidence is None or not facts.evidence.records:
        return
    if facts.model is TimeModel.UNKNOWN:
        yield Advice(
            Severity.INFO,
            "time-unknown",
            name,
            f"The first {facts.evidence.records:,} records do not tell what the Time field counts, so nothing is said of time. If you know "
            "it, name it.",
            "ptttool report FILE --time-model counter -o report.html",
            {"sign": facts.evidence.sign.value, "records": facts.evidence.records},
        )
    elif facts.dropped is not None:
        yield Advice(
            Severity.WARNING,
            "clock-dropped",
            name,
            f"{facts.dropped.message[:1].upper()}{facts.dropped.message[1:]}.",
            "ptttool selftest",
            facts.dropped.details,
        )
    elif facts.tick_ns is None:
        yield Advice(
            Severity.INFO,
            "tick-unknown",
            name,
            f"The recording spans {'at least ' if facts.is_at_least else ''}{facts.elapsed_ticks or 0:,} ticks of unknown length. If you "
            "know how long a tick is, name it: times are then nanoseconds, and rates bytes per second. 'ptttool selftest' on the machine "
            "measures it for the recordings after it; a longer recording may tell, too.",
            "ptttool report FILE --tick-ns NANOSECONDS -o report.html",
            {"elapsed_ticks": facts.elapsed_ticks or 0},
        )
