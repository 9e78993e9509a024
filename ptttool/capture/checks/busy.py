"""No other process traces the device."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.checks.contract import check
from ptttool.capture.checks.host import Host
from ptttool.capture.device.tracers import is_believed, tracers_of
from ptttool.capture.plan import Plan
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import PerfError

MAYBE_BUSY = "maybe-busy"


@check("busy", order=50, error=PerfError)
def device_free(host: Host, plan: Plan) -> Iterator[Diagnostic]:
    """Look for one: the kernel refuses a second trace on the same CPU (EBUSY), but one on another CPU records nothing, without an error.

    Arguments prove nothing: those of other users are a warning.
    """
    device = plan.device.name
    for process in tracers_of(host.processes, device):
        details = {"pid": process.pid, "user": process.user, "process": str(process)}
        if is_believed(process):
            message = f"{device} is busy: {process} is tracing it"
            hint = "wait for it or stop it; a PTT device serves one trace at a time"
            yield Diagnostic(Severity.ERROR, "device-busy", message, hint, details=details)
        else:
            message = f"{process} has an event of {device} among its arguments: if it is tracing, this trace is refused or empty"
            yield Diagnostic(Severity.WARNING, MAYBE_BUSY, message, details=details)
