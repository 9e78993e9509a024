"""The process may trace a whole CPU."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.checks.contract import check
from ptttool.capture.checks.host import Host
from ptttool.capture.perf.errors import rights_hint
from ptttool.capture.plan import Plan
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import AccessError


@check("rights", order=30, error=AccessError)
def may_trace(host: Host, _plan: Plan) -> Iterator[Diagnostic]:
    """Look for CAP_PERFMON, which a CPU-wide event needs unless perf_event_paranoid is 0 or less (``perf_allow_cpu``)."""
    paranoid = host.rights.paranoid
    if not host.rights.may_trace and paranoid is not None and paranoid > 0:
        message = f"you may not trace a whole CPU: kernel.perf_event_paranoid is {paranoid}"
        yield Diagnostic(Severity.ERROR, "perf-not-permitted", message, rights_hint(), details={"perf_event_paranoid": paranoid})
