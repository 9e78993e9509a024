"""No other perf traces the device."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.checks.contract import check
from ptttool.capture.checks.host import Host
from ptttool.capture.perf.command import records_device
from ptttool.capture.plan import Plan
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import PerfError


@check("busy", order=50, error=PerfError)
def device_free(host: Host, plan: Plan) -> Iterator[Diagnostic]:
    """Look for it: the kernel refuses one on the same CPU (EBUSY), but one on another CPU records nothing, without an error."""
    device = plan.device.name
    for process in host.processes:
        if records_device(process.arguments, device):
            message = f"{device} is busy: process {process.pid} is tracing it ({' '.join(process.arguments)[:120]})"
            hint = "wait for it or stop it; a PTT device serves one trace at a time"
            yield Diagnostic(Severity.ERROR, "device-busy", message, hint, details={"pid": process.pid})
