"""The recording can be written."""

from __future__ import annotations

import shlex

from ptttool.capture.checks.host import Host
from ptttool.diagnostics import Diagnostic
from ptttool.doctor.contract import Finding, ok
from ptttool.doctor.facts import Facts
from ptttool.doctor.recording_checks import recording_check


def _make_folder(_facts: Facts, host: Host, _found: Diagnostic) -> str:
    return f"mkdir -p {shlex.quote(host.output.folder)}"


@recording_check("output", order=55, what="the disk of a recording", fixes={"output-folder-missing": _make_folder})
def output(_facts: Facts, host: Host) -> Finding:
    """Say where a recording can be written."""
    return ok(f"a recording can be written to {host.output.folder}")
