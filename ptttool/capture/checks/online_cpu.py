"""The CPU that records is online."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.checks.contract import check
from ptttool.capture.checks.host import Host
from ptttool.capture.plan import Plan
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import DeviceError


@check("online-cpu", order=70, error=DeviceError)
def cpu_online(host: Host, plan: Plan) -> Iterator[Diagnostic]:
    """Warn where all CPUs of the device are offline; a CPU that the user names is checked before."""
    if host.online is not None and plan.cpu not in host.online:
        message = f"CPU {plan.cpu} is offline, as are all of {plan.device.name}'s CPUs: perf will record nothing"
        yield Diagnostic(Severity.WARNING, "cpu-offline", message, details={"cpu": plan.cpu})
