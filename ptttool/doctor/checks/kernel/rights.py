"""The process may trace a whole CPU."""

from __future__ import annotations

from ptttool.capture.checks.host import Host
from ptttool.doctor.contract import Finding, ok, unknown
from ptttool.doctor.facts import Facts
from ptttool.doctor.recording_checks import recording_check

# The path is root's to know: sudo does not search a user's folders.
_AS_ROOT = 'sudo "$(command -v ptttool)" doctor'


@recording_check("rights", order=50, what="the rights of who would trace", fixes={"perf-not-permitted": _AS_ROOT})
def trace_rights(_facts: Facts, host: Host) -> Finding:
    """Say why it may."""
    rights = host.rights
    if rights.may_trace:
        return ok("this process has CAP_PERFMON or CAP_SYS_ADMIN", perf_event_paranoid=rights.paranoid)
    if rights.paranoid is None:
        return unknown("no-paranoid", "kernel.perf_event_paranoid cannot be read")
    return ok(f"kernel.perf_event_paranoid is {rights.paranoid}", perf_event_paranoid=rights.paranoid)
