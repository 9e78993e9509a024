"""Checks that other packages add: those before a recording are run, and broken ones are named."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.checks.contract import CHECKS as RECORDING_CHECKS
from ptttool.doctor.contract import CHECKS, Finding, Status, check, not_recorded, ok
from ptttool.doctor.facts import Facts
from ptttool.doctor.recording_checks import findings_of, other_checks
from ptttool.wording import in_words


@check("plug-ins", order=90)
def plug_ins(facts: Facts) -> Iterator[Finding]:
    """Run the checks before a recording; those of the doctor have lines of their own."""
    broken = [*CHECKS.broken(), *RECORDING_CHECKS.broken()]
    for error in broken:
        yield Finding(Status.WARNING, error.code, error.message, details=error.details, hint=error.hint)
    checks = other_checks()
    names = in_words([one.name for one in checks])
    findings = []
    if facts.host is not None:
        findings = [finding for one in checks for finding in findings_of(one, facts, facts.host, {})]
    elif checks:
        findings = [not_recorded(f"what checks of other packages look at: {names}")]
    yield from findings
    if not findings and not broken:
        yield ok(f"checks of other packages: {names}" if checks else "no other package adds a check")
