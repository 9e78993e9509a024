"""The CPU that records is online."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.checks.contract import check
from ptttool.capture.checks.host import Host
from ptttool.capture.plan import Plan
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import DeviceError
from ptttool.machine.unusable.offline_cpus import how_to_bring_online


@check("online-cpu", order=70, error=DeviceError)
def cpu_online(host: Host, plan: Plan) -> Iterator[Diagnostic]:
    """Look at it again: it was chosen when the machine was read, and may have gone offline since."""
    if host.online is not None and plan.cpu not in host.online:
        message = f"CPU {plan.cpu} is offline: perf cannot record on it"
        yield Diagnostic(Severity.ERROR, "cpu-offline", message, how_to_bring_online(plan.cpu), details={"cpu": plan.cpu})
