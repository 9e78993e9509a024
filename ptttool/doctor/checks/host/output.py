"""The recording can be written."""

from __future__ import annotations

import shlex

from ptttool.diagnostics import Diagnostic
from ptttool.doctor.contract import Finding, ok
from ptttool.doctor.facts import Facts
from ptttool.doctor.recording_checks import recording_check


def _fine(facts: Facts) -> Finding:
    assert facts.host is not None
    return ok(f"a recording can be written to {facts.host.output.folder}")


def _make_folder(facts: Facts, _found: Diagnostic) -> str:
    assert facts.host is not None
    return f"mkdir -p {shlex.quote(facts.host.output.folder)}"


recording_check("output", order=55, what="the disk of a recording", fixes={"output-folder-missing": _make_folder}, fine=_fine)
