"""The checks before a recording that other packages add."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.doctor.contract import Finding, check, not_recorded, ok
from ptttool.doctor.facts import Facts
from ptttool.doctor.recording_checks import findings_of, other_checks
from ptttool.wording import in_words


@check("plug-ins", order=90)
def plug_ins(facts: Facts) -> Iterator[Finding]:
    """Run them."""
    checks = other_checks()
    names = in_words([one.name for one in checks])
    if facts.host is None and checks:
        yield not_recorded(f"what checks of other packages look at: {names}")
        return
    found = [found for one in checks for found in findings_of(one, facts)]
    yield from found or [ok(f"checks of other packages: {names}" if checks else "no other package adds a check")]
