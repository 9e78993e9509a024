"""The disk has room for more than a moment of trace."""

from __future__ import annotations

import shlex

from ptttool.capture.checks.host import Host
from ptttool.diagnostics import Diagnostic
from ptttool.doctor.contract import Finding, ok, unknown
from ptttool.doctor.facts import Facts
from ptttool.doctor.recording_checks import recording_check


def _show_what_is_large(_facts: Facts, host: Host, _found: Diagnostic) -> str:
    return f"du -xh --max-depth=1 {shlex.quote(host.output.folder)} | sort -h | tail"


@recording_check("free-space", order=56, what="the disk of a recording", fixes={"little-space": _show_what_is_large}, needed=False)
def free_space(_facts: Facts, host: Host) -> Finding:
    """Say how much is free."""
    output = host.output
    if output.free is None:
        return unknown("no-free-space", f"the free space of {output.folder} cannot be read")
    return ok(f"{output.free / (1 << 30):.1f} GiB are free in {output.folder}", free=output.free)
