"""Record the kernel's events beside a trace: a second ``perf record``, on from before the trace until after it."""

from __future__ import annotations

from pathlib import Path

from ptttool.capture.perf.told import NOT_TOLD, ToldPerf
from ptttool.capture.perf.tracepoints import TracepointPlan
from ptttool.diagnostics import Diagnostic, Severity

NOT_RECORDED = "kernel-events-not-recorded"
"""Code of the diagnostic for events that were to be recorded beside a trace, and were not."""


class EventRecording(ToldPerf):
    """One ``perf record`` of tracepoints beside a trace.

    Parameters
    ----------
    plan : TracepointPlan
        What to record.
    output : Path
        The file, by a path that leads to no other one.
    """

    # It may have filled the buffers of all CPUs.
    patience = 60.0

    def __init__(self, plan: TracepointPlan, output: Path) -> None:
        self._plan, self._output = plan, output
        super().__init__()

    def _command(self, control: str) -> list[str]:
        return self._plan.command(str(self._output), ["--control", control, "--delay=-1"])

    def ended(self, since: float | None) -> tuple[bool, Diagnostic | None]:
        """End perf, and wait until its file is finished.

        Parameters
        ----------
        since : float or None
            When its events were on; None where it did not say so.

        Returns
        -------
        lasted : bool
            Whether it recorded until now.
        problem : Diagnostic or None
            Why there is no file that can be read.
        """
        from ptttool.capture.perf.recorder import is_complete

        lasted = self._process is not None and self._process.poll() is None
        status = self._stop()
        if since is not None and is_complete(self._output):
            return lasted, None
        return False, not_recorded(f"perf record: {self._why() or f'it did not record (exit status {status})'}")


def not_recorded(why: str = NOT_TOLD) -> Diagnostic:
    """Return the warning that the kernel's events were not recorded."""
    return Diagnostic(Severity.WARNING, NOT_RECORDED, f"the kernel's events were not recorded beside the trace: {why}")
