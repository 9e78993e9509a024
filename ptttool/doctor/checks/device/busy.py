"""Nobody else traces the devices."""

from __future__ import annotations

from ptttool.capture.checks.host import Host
from ptttool.diagnostics import Diagnostic
from ptttool.doctor.contract import Finding, ok, unknown
from ptttool.doctor.facts import Facts
from ptttool.doctor.recording_checks import recording_check
from ptttool.wording import in_words


def _stop(_facts: Facts, _host: Host, diagnostic: Diagnostic) -> str:
    # SIGINT: perf then finishes its recording.
    return f"kill -INT {diagnostic.details['pid']}"


@recording_check("busy", order=70, what="running processes", fixes={"device-busy": _stop}, each_device=True)
def busy(facts: Facts, _host: Host) -> Finding:
    """Say that the devices are free."""
    if not facts.devices:
        return unknown("no-device", "no PTT device that could be traced")
    return ok(f"no other process traces {in_words([device.name for device in facts.devices], 'or')}")
