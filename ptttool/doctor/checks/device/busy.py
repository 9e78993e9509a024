"""Nobody else traces the devices."""

from __future__ import annotations

from ptttool.diagnostics import Diagnostic
from ptttool.doctor.contract import ok, unknown
from ptttool.doctor.facts import Facts
from ptttool.doctor.recording_checks import recording_check
from ptttool.wording import in_words


def _stop(_facts: Facts, found: Diagnostic) -> str:
    # SIGINT: perf then finishes its recording.
    return f"kill -INT {found.details['pid']}"


recording_check(
    "busy",
    order=70,
    what="running processes",
    fixes={"device-busy": _stop},
    each_device=True,
    fine=lambda facts: (
        ok(f"no other process traces {in_words([device.name for device in facts.devices], 'or')}")
        if facts.devices
        else unknown("no-device", "no PTT device that could be traced")
    ),
)
