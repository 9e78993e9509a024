"""The disk has room for more than a moment of trace."""

from __future__ import annotations

import shlex

from ptttool.diagnostics import Diagnostic
from ptttool.doctor.contract import Finding, ok, unknown
from ptttool.doctor.facts import Facts
from ptttool.doctor.recording_checks import recording_check


def _fine(facts: Facts) -> Finding:
    assert facts.host is not None
    output = facts.host.output
    if output.free is None:
        return unknown("no-free-space", f"the free space of {output.folder} cannot be read")
    return ok(f"{output.free / (1 << 30):.1f} GiB are free in {output.folder}", free=output.free)


def _show_what_is_large(facts: Facts, _found: Diagnostic) -> str:
    assert facts.host is not None
    return f"du -xh --max-depth=1 {shlex.quote(facts.host.output.folder)} | sort -h | tail"


recording_check(
    "free-space", order=56, what="the disk of a recording", fixes={"little-space": _show_what_is_large}, fine=_fine, needed=False
)
