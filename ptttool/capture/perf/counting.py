"""Count beside a trace: ``perf stat --control`` (perf 5.9) turns its events on and off when it is told to, and answers.

Its events are on for a time that lies within that of the trace. So what they count has been traced, and what is not in the recording of
it was lost: no difference of the two times can explain it.
"""

from __future__ import annotations

import os

from ptttool.capture.perf.counters import CounterPlan, LinkCounters, parse_perf_stat
from ptttool.capture.perf.told import ToldPerf, printed
from ptttool.diagnostics import Diagnostic, Severity

NOT_COUNTED = "not-counted"
"""Code of the diagnostic for counters that are there and did not count."""


class Counting(ToldPerf):
    """One ``perf stat`` beside a trace.

    Parameters
    ----------
    plan : CounterPlan
        What to count.
    """

    def __init__(self, plan: CounterPlan) -> None:
        self.plan = plan
        super().__init__()

    def _command(self, control: str) -> list[str]:
        (self._printed,) = self._opened((os.memfd_create("perf-stat"),))
        return self.plan.command_until_told(control, self._printed)

    def _inherited(self) -> tuple[int, ...]:
        return (self._printed,)

    def ended(self, since: float | None, until: float | None) -> tuple[LinkCounters | None, Diagnostic | None]:
        """End perf, and return what it counted; or why it did not count.

        Parameters
        ----------
        since, until : float or None
            Between these times its events were on; None where it did not say so.
        """
        status = self._stop()
        if since is None or until is None:
            why = self._why() or f"it did not answer when the trace {'began' if since is None else 'ended'} (exit status {status})"
            return None, not_counted(self.plan, f"perf stat: {why}")
        counted = parse_perf_stat(printed(self._printed), self.plan)
        if all(one.value is None for one in counted):
            return None, not_counted(self.plan, "its counters are busy, or it does not have these events")
        return LinkCounters(self.plan.pmu, max(until - since, 0.0), counted, self.plan.filter), None


def not_counted(plan: CounterPlan, why: str) -> Diagnostic:
    """Return the note that counters are there and did not count."""
    message = f"{plan.pmu} did not count beside the trace: {why}"
    hint = "what the device itself overwrote leaves no other sign"
    return Diagnostic(Severity.INFO, NOT_COUNTED, message, hint=hint, details={"pmu": plan.pmu, "events": list(plan.events)})
