"""No change of tune attributes was cut off."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.diagnostics import Severity
from ptttool.doctor.contract import Finding, Status, check, ok, unknown
from ptttool.doctor.facts import Facts
from ptttool.tune.journal.folder import has_open_changes, journal_folder, journal_names
from ptttool.tune.journal.unfinished import HALF_DONE, find_unfinished


@check("journal", order=80, needed=False)
def journal(facts: Facts) -> Iterator[Finding]:
    """Look into the journal of tune attributes: after half a change, a trace shows neither the old nor the new settings."""
    folder = journal_folder(facts.source)
    try:
        if folder is not None:
            journal_names(folder)
    except OSError as error:
        yield unknown("journal-unreadable", f"{folder}: {error.strerror}")
        return
    if not has_open_changes(facts.source):
        yield ok("no change of tune attributes was cut off")
        return
    diagnostics = [one for one in find_unfinished(facts.source).diagnostics if one.severity is not Severity.INFO]
    for one in diagnostics:
        fix = "ptttool tune recover --restore" if one.code == HALF_DONE else "ptttool tune recover"
        yield Finding(Status.WARNING, one.code, one.message, fix=fix, details=one.details, hint=one.hint)
    if not diagnostics:
        yield ok("no tune attribute is half done")
